/* The server's round: chunks that arrive, what is added, what is released, what is claimed.
 *
 * The shuffler is honest: a round has one closed batch for ever (shuffler_batch.pml), which it
 * delivers in an order that it keeps. Its streams are cut anywhere and begin again; two of them can
 * run at once. With garbage in the batch it also repeats what it has sent. The server can be killed at any moment and goes on from any earlier checkpoint; it
 * then asks for its rounds anew. A member may have put a report into the batch that does not open.
 *
 *   here                 in the program
 *   round, attempt       src/server/coordinator/coordinator.cpp (collect, open, begin_batch, deliver)
 *   taken, added, boxes  src/server/coordinator/collection.cpp (begin_batch, next_chunk, repeated, took_chunk)
 *   saved, model         src/server/checkpoint.cpp, src/server/run.cpp
 *   recorded             rounds whose reports the server has opened: what its certificate counts;
 *                        src/server/coordinator/opened.cpp, src/server/exposure_log.cpp
 *   Stream               a Deliver call of src/transport/grpc/grpc_shuffler.cpp
 *   Direct               with DIRECT, no shuffler: a client's whole report, Coordinator::submit
 *
 * Promises: no chunk is added twice to a sum (TWICE), nor one of another round (OTHER_ROUND); no
 * release of fewer well-formed reports than the minimum (MINIMUM) or of a batch in part (WHOLE); a
 * round is in the model once (ONCE); and what was opened is claimed, also if its round released
 * nothing or was lost by a kill (CLAIMED). An honest shuffler's batch that came whole is not short of a
 * report, however often its streams were cut (LOST).
 */
#define ROUNDS 2
#define REPORTS 3    /* of a batch; the last may be garbage */
#define CHUNKS 6     /* two positions of each report */
#define MINIMUM 3
#define KILLS 2

#define bit_of(number) (1 << (number)) /* of the batch's sequence: position, then report */

/* On disk. */
byte saved = 0;       /* the last round in the checkpoint */
byte saved_model = 0; /* rounds that its model has in it, as bits */
byte recorded = 0;    /* rounds that the certificate counts, as bits */
/* In memory. */
byte done = 0;        /* the last round that ended */
byte round = 0;       /* that is collected; 0: none */
byte attempt = 0;     /* tells a round that was begun anew from the same round before */
byte taken = 0;       /* chunks of the batch's sequence */
byte added = 0;       /* chunks in the sum, as bits */
byte boxes = 0;       /* chunks that came for the present position, as bits */
byte model = 0;       /* rounds that the model has in it, as bits */
/* The world. */
byte opened = 0;      /* rounds of which the server has opened a report, as bits */
bool garbage = false; /* whether the last report of every batch does not open */
byte kills = 0;

/* How many well-formed reports the poorer position has. */
#define of(first) (((added >> (first)) & 1) + ((added >> (first + 1)) & 1) + ((added >> (first + 2)) & 1))
#define COVER (of(0) < of(3) -> of(0) : of(3))

#ifdef BREAK_COVER /* garbage counts as somebody to hide among */
#define ENOUGH (taken / 2 >= MINIMUM)
#else
#ifdef BREAK_MINIMUM
#define ENOUGH (COVER > 0)
#else
#define ENOUGH (COVER >= MINIMUM)
#endif
#endif
#ifdef DIRECT
#define ARRIVED_WHOLE true
#else
#ifdef BREAK_WHOLE /* whoever is there at the deadline */
#define ARRIVED_WHOLE (taken >= REPORTS)
#undef ENOUGH
#define ENOUGH (of(0) >= MINIMUM)
#else
#define ARRIVED_WHOLE (taken == CHUNKS)
#endif
#endif

inline clear() {
  taken = 0; boxes = 0;
#ifdef BREAK_SUMS /* sums that outlive what was known of them */
  skip
#else
  added = 0
#endif
}

/* The server opens what is sealed to it. */
inline open_box() {
#ifndef BREAK_CLAIMED
  recorded = recorded | (1 << round);
#endif
  opened = opened | (1 << round)
}

active proctype Server() {
  do
  :: atomic { round == 0 && done < ROUNDS -> round = done + 1; attempt++; clear() }
  :: atomic { round != 0 -> /* all have been heard, or the deadline has come */
#ifndef DIRECT
#ifndef BREAK_ROUND
       assert(garbage || taken < CHUNKS || COVER == REPORTS);   /* LOST */
#endif
#endif
       if
       :: ARRIVED_WHOLE && ENOUGH ->
#ifndef DIRECT
          assert(taken == CHUNKS);                  /* WHOLE */
#endif
          assert(COVER >= MINIMUM);                 /* MINIMUM */
          assert((model & (1 << round)) == 0);      /* ONCE */
          model = model | (1 << round);
#ifdef BREAK_CLAIMED /* only rounds that release anything are counted */
          recorded = recorded | (1 << round);
#endif
       :: else
       fi;
       done = round; round = 0; clear()
     }
  :: atomic { round == 0 && done > saved -> /* a checkpoint, after some rounds */
       saved_model = model;
#ifdef BREAK_CHECKPOINT /* model and round in two files: only one of them may be there */
       if :: saved = done :: true fi
#else
       saved = done
#endif
     }
  :: atomic { kills < KILLS -> /* a kill and a start: memory is lost, the checkpoint is not */
       kills++;
#ifdef BREAK_RECORD_ON_DISK
       recorded = saved_model;
#endif
       done = saved; model = saved_model; round = 0; clear()
     }
  :: atomic { round == 0 && done == ROUNDS ->
       assert((opened & recorded) == opened);       /* CLAIMED */
#ifdef REACH_END
       assert(!(model == 6 && kills == KILLS));
#endif
       break
     }
  od
}

#ifdef DIRECT
/* A client hands in its report until it is told that it was taken, and after that too. */
proctype Direct(byte who) {
  byte in_round;
  do
  :: atomic { round != 0 -> /* the header is checked: its report is awaited; then chunks are read */
       if
       :: (added & bit_of(who)) == 0 -> in_round = round
       :: else -> in_round = 0 /* known already */
       fi
     };
     atomic {
       if
       :: in_round != 0 && in_round == round ->
          if
#ifdef BREAK_ARRIVED /* checked only before the chunks are read */
          :: true ->
#else
          :: (added & bit_of(who)) == 0 ->
#endif
             open_box();
             assert((added & (bit_of(who) | bit_of(who + REPORTS))) == 0);  /* TWICE */
             added = added | bit_of(who) | bit_of(who + REPORTS)
#ifndef BREAK_ARRIVED
          :: else
#endif
          fi
       :: else
       fi;
       in_round = 0
     }
  :: round == 0 && done == ROUNDS -> break
  od
}

init { atomic { run Direct(0); run Direct(0); run Direct(1); run Direct(2) } }
#else
/* The shuffler asks what the server has, and sends the rest of the batch's sequence. That the server
 * compares where a stream begins with what it has is left out: the promises do not rest on it. */
byte owner = 0; /* the stream that delivers now: the last one that began */
proctype Stream(byte me) {
  byte of_round, of_attempt, next;
  bool fits;
start:
  atomic { of_round = 0; of_attempt = 0; next = 0 };
  if
  :: atomic { round != 0 -> of_round = round; of_attempt = attempt; next = taken; owner = me }
  :: round == 0 && done == ROUNDS -> goto finished
  fi;
  do
  :: atomic {
       if
#ifdef BREAK_ROUND /* neither the stream's attempt nor the round inside the box is looked at */
       :: round != 0 && taken < CHUNKS && next < CHUNKS ->
#else
#ifdef BREAK_STREAM /* what an older stream still held is taken for the newer one's */
       :: round != 0 && of_attempt == attempt && taken < CHUNKS && next < CHUNKS ->
#else
       :: round != 0 && of_attempt == attempt && owner == me && taken < CHUNKS && next < CHUNKS ->
#endif
#endif
          open_box();
          /* Inside the box are its round and place, and no box is sealed twice. */
          fits = !(garbage && next % REPORTS == REPORTS - 1);
#ifndef BREAK_PLACE
          fits = fits && next / REPORTS == taken / REPORTS;
#endif
#ifndef BREAK_REPEATED
          fits = fits && (boxes & bit_of(next)) == 0;
#endif
          boxes = boxes | bit_of(next);
          if
          :: fits ->
             assert(of_round == round);                 /* OTHER_ROUND */
             assert((added & bit_of(next)) == 0);       /* TWICE */
             added = added | bit_of(next)
          :: else
          fi;
          taken++;
          if :: taken == REPORTS -> boxes = 0 :: else fi;
          fits = false;
          if
          :: next++
          :: garbage -> skip /* a shuffler of the same kind sends what it has sent before */
          :: garbage -> next = 0
          fi
       :: else -> goto start
       fi
     }
  :: goto start /* cut, or the shuffler was killed */
  od;
finished: skip
}

init { atomic { if :: garbage = false :: garbage = true fi; run Stream(1); run Stream(2) } }
#endif
