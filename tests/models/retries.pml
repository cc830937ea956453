/* Is the verdict of an add right, however often the add is sent? node/vote_cache.h as a model.
 *
 * Client X adds a key and tries again, each time through another router; client Y adds the same key
 * once. NODES replicas, none of which has the key at first. An attempt is one batch, and a message
 * of it to each node; any message or answer may be lost, and be late: executed, or counted, when
 * later attempts have been answered already. With RESENDS a router may send a batch to a node again.
 * A node executes whatever comes, keeps the vote of the first execution that it remembers, and may
 * forget that at any moment (a kill is that, too: what had been answered is in its log).
 *
 * Verdicts: NEW if least_new() replicas say new; PRESENT if W say present without a flag; a router may
 * decide on any answers that it has. An acknowledgement alone (MAYBE_NEW) needs W answers.
 *
 * Properties:
 *   NEW      at most one client hears it, and none whose add was first sent after the other one's was
 *            acknowledged
 *   PRESENT  X never hears it before Y's add was executed anywhere, nor Y before X's; and never do
 *            both hear it: `dedup` would print the key for nobody
 *
 * Wrong variants; each breaks one of them:
 *   FORGET_SILENTLY   a node that has no memory of an add takes any attempt for the first one
 *   BELIEVE_OLD       a client believes the PRESENT of an attempt that it has given up
 *   ANY_ORDER         a remembered "present" is repeated for sure to any attempt
 *   NO_MEMORY         every execution votes for itself
 *   IGNORE_FLAGS      a router counts "present" with a flag
 *   ANY_BATCH         a node does not know a batch that comes again (RESENDS)
 *   FEW_NEW           N - W + 1 new votes suffice, less than a majority
 *
 * Left out: a third replica (too many states; W = N = 2 here), epochs, pairs, votes of replicas that do not count, gossip, several keys in one batch. */

#ifndef NODES
#define NODES 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif

#define WRITE_QUORUM NODES
#ifdef FEW_NEW
#define LEAST_NEW (NODES - WRITE_QUORUM + 1)
#else
#define LEAST_NEW (NODES / 2 + 1) /* no less than N - W + 1 */
#endif

/* X's messages, and what each tells a node. */
#ifdef RESENDS
#define MESSAGES   (2 * ATTEMPTS)
#define BATCH(m)   ((m) / 2)
#define ATTEMPT(m) ((m) / 2 + (m) % 2)
#else
#define MESSAGES   ATTEMPTS
#define BATCH(m)   (m)
#define ATTEMPT(m) (m)
#endif

mtype = {new, present, flagged, none};

/* Nodes */
bool has[NODES];
bool met[NODES * ATTEMPTS];      /* batches */
bool executed[NODES * MESSAGES]; /* each message arrives once, if ever */
mtype vote[NODES] = none;        /* remembered of X's add ... */
byte vote_batch[NODES];
bool y_executed[NODES];

/* Routers */
mtype answer[NODES * ATTEMPTS] = none;
mtype y_answer[NODES] = none;

/* Clients */
byte attempts;     /* that X has begun */
mtype x_verdict = none;
mtype y_verdict = none;
bool y_begun;
bool x_acknowledged;
bool y_acknowledged;
bool x_follows; /* first sent after Y's was acknowledged */
bool y_follows;

#if NODES == 1
#define COUNT(p, b) (p(0, b))
#else
#define COUNT(p, b) (p(0, b) + p(1, b))
#endif

/* ---- nodes ---- */

#ifdef ANY_BATCH
#define ARRIVED false
#else
#define ARRIVED met[n * ATTEMPTS + BATCH(m)]
#endif
#ifdef FORGET_SILENTLY
#define FIRST_UNSURE ARRIVED
#else
#define FIRST_UNSURE (ARRIVED || ATTEMPT(m) > 0)
#endif
#ifdef ANY_ORDER
#define IN_ORDER true
#else
#define IN_ORDER (vote_batch[n] == BATCH(m) || (ATTEMPT(m) == 1 && !ARRIVED))
#endif

inline execute(n, m) {
    executed[n * MESSAGES + m] = true;
#ifdef NO_MEMORY
    said = (has[n] -> present : new);
#else
    if
    :: vote[n] == none ->
        vote[n] = (!has[n] -> new : (FIRST_UNSURE -> flagged : present));
        vote_batch[n] = (vote[n] == present -> BATCH(m) : 0); /* else it makes no difference */
        said = vote[n]
    :: else -> said = (vote[n] == present && !IN_ORDER -> flagged : vote[n])
    fi;
    met[n * ATTEMPTS + BATCH(m)] = true;
#endif
    has[n] = true;
    if /* or the answer is lost */
    :: answer[n * ATTEMPTS + BATCH(m)] = said
    :: true
    fi
}

inline forget(n) {
    vote[n] = none;
    vote_batch[n] = 0
}

active[NODES] proctype Node() {
    byte m;
    mtype said = none;

    do
    :: x_verdict != none && y_verdict != none -> break
    :: atomic {
        select(m : 0 .. MESSAGES - 1);
        if
        :: BATCH(m) < attempts && !executed[_pid * MESSAGES + m] -> execute(_pid, m)
        :: else
        fi;
        m = 0;
        said = none
    }
    :: atomic { vote[_pid] != none -> forget(_pid) }
    :: atomic {
        y_begun && !y_executed[_pid] ->
        y_executed[_pid] = true;
        if
        :: y_answer[_pid] = (has[_pid] -> present : new)
        :: true
        fi;
        has[_pid] = true
    }
    od
}

/* ---- clients, with the router of each attempt ---- */

#define X_SAID(n, b) (answer[(n) * ATTEMPTS + (b)] != none)
#define X_NEW(n, b)  (answer[(n) * ATTEMPTS + (b)] == new)
#ifdef IGNORE_FLAGS
#define X_PRESENT(n, b) (answer[(n) * ATTEMPTS + (b)] == present || answer[(n) * ATTEMPTS + (b)] == flagged)
#else
#define X_PRESENT(n, b) (answer[(n) * ATTEMPTS + (b)] == present)
#endif
#define Y_SAID(n, b)      (y_answer[n] != none)
#define Y_NEW(n, b)       (y_answer[n] == new)
#define Y_PRESENT(n, b)   (y_answer[n] == present)
#define Y_EXECUTED(n, b)  (y_executed[n])

#ifdef BELIEVE_OLD
#define BELIEVED(b) true
#else
#define BELIEVED(b) ((b) + 1 == attempts)
#endif

active proctype X() {
    byte b;

    do
    :: atomic {
        attempts < ATTEMPTS && x_verdict == none ->
        x_follows = (attempts == 0 -> y_acknowledged : x_follows);
        attempts++
    }
    :: atomic {
        attempts > 0 && x_verdict == none ->
        select(b : 0 .. attempts - 1);
        if
        :: COUNT(X_SAID, b) >= WRITE_QUORUM -> x_acknowledged = true
        :: COUNT(X_NEW, b) >= LEAST_NEW && COUNT(X_SAID, b) >= WRITE_QUORUM ->
            x_acknowledged = true;
            x_verdict = new;
            assert(y_verdict != new && !x_follows)
        :: COUNT(X_PRESENT, b) >= WRITE_QUORUM && BELIEVED(b) ->
            x_acknowledged = true;
            x_verdict = present;
            assert(y_verdict != present && COUNT(Y_EXECUTED, 0) > 0)
        :: else
        fi;
        b = 0
    }
    od
}

active proctype Y() {
    atomic { y_begun = true; y_follows = x_acknowledged };
    atomic { COUNT(Y_SAID, 0) >= WRITE_QUORUM -> y_acknowledged = true };
    atomic {
        if
        :: COUNT(Y_NEW, 0) >= LEAST_NEW ->
            y_verdict = new;
            assert(x_verdict != new && !y_follows)
        :: COUNT(Y_PRESENT, 0) >= WRITE_QUORUM ->
            y_verdict = present;
            assert(x_verdict != present && attempts > 0)
        fi
    }
}
