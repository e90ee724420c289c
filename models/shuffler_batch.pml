/* The shuffler's batch: what it keeps, closes and releases, whatever the server announces.
 *
 * Four senders: three honest clients and a hostile member. A hostile server announces any round of
 * any training at any time, sets deadlines as it likes, and asks each client for something else if
 * it likes. The shuffler can be killed at any moment and starts again from its folder.
 *
 *   here           in the program
 *   contract       what a client signs with its report: training, recipe, round, group, mechanisms
 *                  with their ranges, form, key, model. Here: training, round, and a variant that
 *                  stands for all the rest. src/shuffle/contract.cpp, src/transport/grpc/messages.cpp
 *   now, kept      the round that is collected and its reports; src/shuffle/spool.cpp
 *   over           the latest round of each training that will never come back; its memory on disk
 *   batch          the file that closes a batch
 *   agreed         the reports of which none asks for more members than there are
 *   World          what Open answers, obeyed by the Forwarder of src/transport/grpc/grpc_shuffler.cpp, and what
 *                  clients and member send
 *   signed_        what an honest client's ledger keeps: one report a round (client_ledger.pml)
 *
 * Promises about what is released: reports of one contract (ONE_CONTRACT), of at least as many
 * different senders as the largest minimum among them (MINIMUM), one of a sender in a round
 * (ONE_REPORT), the same batch for ever (CLOSED), and none of a round below one that was collected
 * (UPWARDS).
 */
#define SENDERS 4
#define HONEST 3
#define MEMBER 3 /* the hostile one, after three honest clients */
#define ALL 15
#define HUGE 9
#define OWN 2    /* the shuffler's own minimum */

/* The honest clients' own minima; the member's is in its report. */
#define MINIMUM_0 2
#define MINIMUM_1 3
#define MINIMUM_2 2

#define in(set, who) (((set) >> (who)) & 1)
#define size(set) (in(set, 0) + in(set, 1) + in(set, 2) + in(set, 3))
#define at(t, r) ((t) * 2 + (r) - 1)

/* On disk. */
byte now_t = 0, now_r = 0; /* training and round that are collected; round 0: none */
byte over[2];              /* of each training: the latest round that is over */
byte kept[SENDERS];        /* each sender's report: 0 none, else its contract's variant, 1 or 2 */
byte named;                /* the minimum in the member's report */
byte again;                /* how many reports of the member beyond its first (broken model) */
byte batch[3];             /* of each variant: the senders of the closed batch; 0: it is not closed */

/* In honest clients' ledgers: the variant that they signed for a round; 0: none yet. */
typedef Signed { byte variant[4]; };
Signed signed_[HONEST];

/* What the server has seen: the senders of the first batch of each round and variant. */
byte seen1[4], seen2[4];
/* The latest round of each training of which a report was kept. */
byte latest[2];

#ifdef BREAK_LATE
#define takes_more(v) (true)
#else
#define takes_more(v) (batch[v] == 0)
#endif

#ifdef BREAK_AGAIN /* whatever the server announces is collected */
#define may_begin(t, r) (true)
#else
#ifdef BREAK_UPWARDS /* remembers batches that were sent, not the rounds that are over */
#define may_begin(t, r) (seen1[at(t, r)] == 0 && seen2[at(t, r)] == 0)
#else
#define may_begin(t, r) (r > over[t] && !(USED && now_t == t && r < now_r))
#endif
#endif

/* Any training, round and variant. Two trainings are tried with one round each. */
#ifdef TRAININGS
inline any_training() { if :: t = 0 :: t = 1 fi }
inline any_round() { r = 1 }
#else
inline any_training() { t = 0 }
inline any_round() { if :: r = 1 :: r = 2 fi }
#endif
inline any_variant() { if :: v = 1 :: v = 2 fi }

inline forget() {
  kept[0] = 0; kept[1] = 0; kept[2] = 0; kept[3] = 0; named = 0; again = 0;
  batch[1] = 0; batch[2] = 0
}

/* Of the round that is collected something was kept. */
#define USED (kept[0] + kept[1] + kept[2] + kept[3] != 0)

/* The round that is collected is over: remembered first, then deleted. */
inline leave() {
  if
#ifndef BREAK_OTHER_TRAINING
  :: USED && now_r > over[now_t] -> over[now_t] = now_r
#endif
  :: else
  fi;
  now_r = 0; now_t = 0;
  forget()
}

inline keep_round() {
  if :: now_r > latest[now_t] -> latest[now_t] = now_r :: else fi
}

/* The largest set of reports of one contract in which all have as large a batch as they ask for. */
inline agreed(v) {
  set = 0;
  who = 0;
  do
  :: who < SENDERS ->
     if
#ifdef BREAK_ONE_CONTRACT /* the round that was announced decides, not what was signed */
     :: kept[who] != 0 -> set = set | (1 << who)
#else
     :: kept[who] == v -> set = set | (1 << who)
#endif
     :: else
     fi;
     who++
  :: who == SENDERS -> who = 0; break
  od;
#ifdef BREAK_ONE_SENDER
#define COUNT (size(set) + again)
#else
#define COUNT size(set)
#endif
#ifndef BREAK_MINIMUM
  /* Whoever asks for most goes first. */
  if :: in(set, MEMBER) && named > COUNT -> set = set & (ALL - (1 << MEMBER)) :: else fi;
  if :: in(set, 1) && MINIMUM_1 > COUNT -> set = set & (ALL - 2) :: else fi;
  if :: in(set, MEMBER) && named > COUNT -> set = set & (ALL - (1 << MEMBER)) :: else fi;
#endif
  if :: COUNT < OWN -> set = 0 :: else fi
}

/* The server sees a batch: all that this model promises is said here. */
inline release(t, r, v, members) {
  assert(!in(members, 0) || signed_[0].variant[at(t, r)] == v);    /* ONE_CONTRACT */
  assert(!in(members, 1) || signed_[1].variant[at(t, r)] == v);    /* ONE_CONTRACT */
  assert(!in(members, 2) || signed_[2].variant[at(t, r)] == v);    /* ONE_CONTRACT */
  assert(r == latest[t]);                                          /* UPWARDS */
  if
  :: v == 1 ->
     assert(seen1[at(t, r)] == 0 || seen1[at(t, r)] == members);   /* CLOSED */
     seen1[at(t, r)] = members
  :: v == 2 ->
     assert(seen2[at(t, r)] == 0 || seen2[at(t, r)] == members);   /* CLOSED */
     seen2[at(t, r)] = members
  fi;
  assert((seen1[at(t, r)] & seen2[at(t, r)]) == 0);                /* ONE_REPORT */
  assert(!in(members, 0) || size(members) >= MINIMUM_0);           /* MINIMUM */
  assert(!in(members, 1) || size(members) >= MINIMUM_1);           /* MINIMUM */
  assert(!in(members, 2) || size(members) >= MINIMUM_2);           /* MINIMUM */
#ifdef REACH_RELEASE
  assert(!(members == ALL && r == 2));
#endif
#ifdef REACH_WITHOUT_MEMBER
  /* A member whose minimum nobody can meet does not keep the others' batch back. */
  assert(!(members == ALL - (1 << MEMBER) && kept[MEMBER] == v && named == HUGE));
#endif
  skip
}

active proctype World() {
  byte t, r, v, who, set;
  do
  :: atomic { /* the server announces a round; one that is over is refused */
       any_training();
       any_round();
       if
       :: now_r == r && now_t == t
       :: (now_r != r || now_t != t) && may_begin(t, r) ->
          leave();
          now_t = t; now_r = r
       :: else
       fi;
       t = 0; r = 0
     }
  :: atomic { now_r != 0 -> leave() } /* the server says that it has all that it wants of the round */
  :: atomic { /* an honest client signs what it is asked for, once a round; it may send it again */
       any_training();
       any_round();
       if :: who = 0 :: who = 1 :: who = 2 fi;
       if
       :: signed_[who].variant[at(t, r)] == 0 ->
          any_variant();
          signed_[who].variant[at(t, r)] = v
       :: else -> v = signed_[who].variant[at(t, r)]
       fi;
       if
       :: now_r == r && now_t == t && kept[who] == 0 && takes_more(v) ->
          kept[who] = v; keep_round()
       :: else
       fi;
       t = 0; r = 0; v = 0; who = 0
     }
  :: atomic { /* the member sends any contract with any minimum, as often as it likes */
       any_variant();
       if
       :: now_r != 0 && kept[MEMBER] == 0 && takes_more(v) ->
          kept[MEMBER] = v; keep_round();
          if :: named = 0 :: named = 3 :: named = HUGE fi
#ifdef BREAK_ONE_SENDER
       :: kept[MEMBER] == v && again == 0 -> again = 1
#endif
#ifdef BREAK_ONE_REPORT /* one report of a sender for each contract, and not for the round */
       :: kept[MEMBER] != 0 && kept[MEMBER] != v && batch[v] == 0 -> kept[MEMBER] = v
#endif
       :: else
       fi;
       v = 0
     }
  :: atomic { /* the deadline, which the server sets: a batch is closed, on disk, and only then sent */
       now_r != 0;
       any_variant();
       if
       :: batch[v] == 0 ->
          agreed(v);
          if
          :: set != 0 ->
#ifdef BREAK_SENT_FIRST /* sends first; a kill may come before the file is written */
             release(now_t, now_r, v, set);
             if :: batch[v] = set :: skip fi
#else
             batch[v] = set
#endif
          :: else
          fi
       :: else
       fi;
       v = 0; set = 0
     }
  :: atomic { /* the closed batch is sent, whole or in part, and again after every restart */
       any_variant();
       if
       :: batch[v] != 0 ->
#ifdef BREAK_LATE /* who comes later is taken along */
          agreed(v); batch[v] = set;
#endif
          release(now_t, now_r, v, batch[v])
       :: else
       fi;
       v = 0; set = 0
     }
  /* A kill takes what is in memory: nothing, unless a defence is broken. */
#ifdef BREAK_BATCH_ON_DISK
  :: atomic { batch[1] = 0; batch[2] = 0 }
#endif
#ifdef BREAK_OVER_ON_DISK
  :: atomic { over[0] = 0; over[1] = 0; now_t = 0; now_r = 0; forget() }
#endif
  od
}
