/* The client's ledger and what it sends: charge, bind, send, delivered.
 *
 * Two processes of one owner work with one ledger. A hostile server asks them for any round of any
 * training, with any mechanism, as often as it likes. A process can be killed before every step.
 * With COPIES the owner may put an older copy of the ledger in its place at any time.
 *
 *   here          in the program
 *   state, made_by, kept
 *                 the ledger's log: src/account/ledger/ledger.cpp, src/account/ledger/ledger_book.cpp
 *   head          the file beside the ledger that remembers its length: src/account/ledger/ledger_head.cpp
 *   Client        src/client/participant.cpp (report, delivered), src/transport/grpc/grpc_client.cpp (the calls)
 *   slot          a round of a training; the last slot is of another training than the others
 *   report        1 or 2: two draws of the mechanism's noise are equal or not, and no more than two
 *                 colours are needed to see that two reports differ
 *
 * Promises: a report that leaves is charged (UNCHARGED), it is the only one that ever leaves for its
 * charge (TWO_REPORTS), it was made by the mechanism that was charged (OTHER_MECHANISM), and no more
 * rounds leave than the limit of the whole ledger allows (LIMIT).
 */
#define LIMIT 2
#ifdef COPIES /* an older copy of the ledger comes back; one process and two rounds show it */
#define SLOTS 2
#else
#define SLOTS 3
#endif

mtype = { none, charged, bound, delivered };

typedef Log {
  mtype state[SLOTS] = none;
  byte made_by[SLOTS];  /* the mechanism that was charged: 1 or 2 */
  byte kept[SLOTS];     /* the bound report; 0: its bytes are not kept */
};

Log ledger;
byte head = 0;   /* entries that the ledger is known to have had */
#ifdef COPIES
Log copy;        /* an earlier state of the file, and of the one beside it */
byte copy_head = 0;
#endif
bool open[2];    /* whether the process has opened the ledger */

/* What the world has seen: the report that left first for a slot. */
byte left[SLOTS];

#ifdef COPIES
#define ENTRIES (length(0) + length(1))
#define PAYMENTS (PAID(0) + PAID(1))
#define REPORTS (LEFT(0) + LEFT(1))
#else
#define ENTRIES (length(0) + length(1) + length(2))
#define PAYMENTS (PAID(0) + PAID(1) + PAID(2))
#define REPORTS (LEFT(0) + LEFT(1) + LEFT(2))
#endif
#define length(i) ((ledger.state[i] == charged -> 1 : 0) + (ledger.state[i] == bound -> 2 : 0) + \
                   (ledger.state[i] == delivered -> 3 : 0))
#define PAID(i) (ledger.state[i] != none -> 1 : 0)
#ifdef BREAK_WHOLE_LEDGER /* a budget of its own for whatever the server calls another training */
#define SPENT (s < 2 -> PAID(0) + PAID(1) : PAID(2))
#else
#define SPENT PAYMENTS
#endif
#define LEFT(i) (left[i] != 0 -> 1 : 0)

/* Before a step: the process may be killed, or find the ledger exchanged. */
#define STEP if :: open[me] :: goto start fi

/* The entry is in the file, and its length in the file beside it, before anybody is answered. */
inline committed() { head = ENTRIES }

/* The draw of a report is none of the ledger's business: any of the two. */
inline draw() { if :: report = 1 :: report = 2 fi }

inline charge() {
  atomic {
    STEP;
    before = ledger.state[s];
    if
    :: before == none ->
       if
#ifdef BREAK_LIMIT
       :: true ->
#else
       :: SPENT < LIMIT ->
#endif
          ledger.state[s] = charged; ledger.made_by[s] = m; committed()
#ifndef BREAK_LIMIT
       :: else -> goto start /* declines: no budget */
#endif
       fi
#ifndef BREAK_MECHANISM
    :: before != none && ledger.made_by[s] != m -> goto start /* refuses: another report was charged */
#endif
    :: else
    fi
  }
}

inline bind() {
  atomic {
    STEP;
    if
    :: ledger.state[s] == charged ->
       ledger.state[s] = bound; ledger.kept[s] = report; committed();
       /* Reports that were delivered earlier need not be kept any longer. */
       drop = 0;
       do
       :: drop < SLOTS ->
          if
          :: ledger.state[drop] == delivered -> ledger.kept[drop] = 0
          :: else
          fi;
          drop++
       :: drop == SLOTS -> drop = 0; break
       od
#ifdef BREAK_BIND_ONCE
    :: ledger.state[s] != charged -> ledger.kept[s] = report
#else
    :: ledger.state[s] != charged && ledger.kept[s] != report -> goto start /* another is bound */
    :: ledger.state[s] != charged && ledger.kept[s] == report
#endif
    fi
  }
}

inline send() {
  atomic {
    STEP;
    assert(ledger.state[s] != none);                            /* UNCHARGED */
    assert(left[s] == 0 || left[s] == report);                  /* TWO_REPORTS */
    assert(ledger.made_by[s] == m);                             /* OTHER_MECHANISM */
#ifdef REACH_RESEND
    assert(!(left[s] == report && before == bound));
#endif
    left[s] = report;
    assert(REPORTS <= LIMIT)                                    /* LIMIT */
  }
}

proctype Client(bit me) {
  byte s, m, report, drop;
  mtype before;
start:
  atomic { s = 0; m = 0; report = 0; before = none; open[me] = false };
  /* Opens the ledger; one that is shorter than it is known to be is refused. */
  atomic {
#ifndef BREAK_HEAD
    ENTRIES >= head;
#endif
    open[me] = true
  };
  atomic {
#ifdef COPIES
    if :: s = 0 :: s = 1 fi;
#else
    if :: s = 0 :: s = 1 :: s = 2 fi;
#endif
    if :: m = 1 :: m = 2 fi
  };
#ifdef BREAK_CHARGE_FIRST
  draw(); send(); charge();
#else
  charge();
#endif
  if
  :: before == none || before == charged ->
     draw();
#ifdef BREAK_BIND_FIRST
     send(); bind()
#else
     bind(); send()
#endif
  :: else ->
     atomic {
       STEP;
#ifdef BREAK_RESEND
       draw()
#else
       report = ledger.kept[s];
       if
       :: report != 0
#ifdef BREAK_GONE
       :: report == 0 -> draw()
#else
       :: report == 0 -> goto start /* declines: delivered long ago, its bytes are gone */
#endif
       fi
#endif
     };
     send()
  fi;
  atomic {
    STEP;
    if
    :: ledger.state[s] == bound ->
       ledger.state[s] = delivered; committed()
    :: else
    fi
#ifdef REACH_DELIVERED
    ; assert(!(ledger.state[0] == delivered && ledger.state[SLOTS - 1] == delivered))
#endif
  };
  goto start
}

#ifdef COPIES
inline copy_log(to, from) {
  to.state[0] = from.state[0]; to.state[1] = from.state[1];
  to.made_by[0] = from.made_by[0]; to.made_by[1] = from.made_by[1];
  to.kept[0] = from.kept[0]; to.kept[1] = from.kept[1]
}

/* The owner, or an accident, keeps a copy of the ledger and puts it back. */
proctype Disk() {
  do
  :: atomic { copy_log(copy, ledger); copy_head = head }
  :: atomic { copy_log(ledger, copy); open[0] = false; open[1] = false }
#ifdef BREAK_COMMIT /* answers before the disk has it: a power cut brings back an older state */
  :: atomic { copy_log(ledger, copy); head = copy_head; open[0] = false; open[1] = false }
#endif
  od
}
#endif

init {
  atomic {
    run Client(0);
#ifdef COPIES
    run Disk()
#else
    run Client(1)
#endif
  }
}
