/* Does a rebuild from a list keep what was added since it began, and forget the rest?
 *
 * One shard, N=3 W=2 R=2, so F=2. One key is tracked; whether it is in the user's list is open. A
 * record of a node's log names the keysets that it belongs to: old, new or both. Each stage is an
 * epoch of its own:
 *
 *   epoch 1 single:    adds go to the old keyset, checks read it
 *   epoch 2 both:      adds go to both, checks read the old one, what is fed goes to the new one.
 *                      `begin` returns when F nodes have fenced epoch 2; then the list is made
 *   epoch 3 committed: adds go to the new keyset, checks read it. `commit` returns when F nodes have
 *                      fenced epoch 3
 *        or aborted:   adds go to the old keyset, checks read it
 *
 * Everybody may hold any older document, any message may be lost, late or repeated, adds are tried
 * again under later epochs, nodes pull from each other's logs at any time. Accepting and writing to the
 * log are one step: what a kill takes with it had not been answered, and is as good as a message that
 * was lost. A node that takes a document logs it as its fence, above what it accepted before and
 * below what it answers under it; so holding and having fenced are one step too (replica_change.pml
 * looks into both). From then on the node may free the keyset that is left.
 *
 * Properties:
 *   kept       never do R replicas say, under one epoch, that a key is absent which was acknowledged
 *              before. Under epoch 3, committed: which was sent after `begin` had returned and
 *              acknowledged, or fed. Aborted: which was acknowledged as an add, ever
 *   forgotten  a key that is not in the list, and was not added under epoch 2 or later, never gets
 *              into the new keyset; and once `commit` has returned no N - R + 1 replicas say,
 *              under one epoch, that it is present
 *
 * Wrong variants; each breaks one of them:
 *   BEGIN_UNFENCED   `begin` returns at once
 *   BEGIN_ONE_SHORT  `begin` returns with a fence less than F
 *   COMMIT_ONE_SHORT `commit` returns with a fence less than F
 *   FREE_FIRST       a node frees the old keyset before its own fence is durable
 *   FREE_AT_BEGIN    a node frees the old keyset while an abort is still possible
 *   MERGE_ANYWHERE   what a peer's log has is put into whatever keysets the receiver now writes
 *   REPLAY_OLD       a restart puts all records of the log into the keyset that it serves
 *   FEED_IS_ALL      adds go to the new keyset only, from `begin` on
 *   SINCE_ANSWERED   what was sent before `begin` returned, and acknowledged after, is not in the list
 *   MIXED_EPOCHS     answers under different epochs acknowledge one add together
 *
 * NO_PULLS and COMMITS (no abort) spare the search what most of these do not need.
 *
 * Left out: several rebuilds in a row (the number of a keyset is never used again), replacing a
 * replica meanwhile, the arrays (expansion.pml), answers by one "present" alone when no other can be
 * expected. */

#define NODES 3
#define WRITE_QUORUM 2
#define READ_QUORUM 2
#define PRESENT_QUORUM 2

#if defined(BEGIN_UNFENCED)
#define BEGIN_FENCES 0
#elif defined(BEGIN_ONE_SHORT)
#define BEGIN_FENCES 1
#else
#define BEGIN_FENCES 2
#endif
#ifdef COMMIT_ONE_SHORT
#define COMMIT_FENCES 1
#else
#define COMMIT_FENCES 2
#endif

#define SINGLE 1
#define BOTH 2
#define ENDED 3

byte document = SINGLE; /* the newest epoch in the store */
bool committed;         /* how it ended; else aborted */
bool begun;             /* `begin` has returned */
bool ended;             /* `commit` has returned */
bool listed;            /* the key is in the list */

/* What the log has of the key, by keyset. */
bool in_old[NODES];
bool in_new[NODES];
byte held[NODES] = SINGLE; /* the document, and the durable fence */

byte added_under;  /* the last epoch under which it was sent as an add */
bool acknowledged; /* as an add */
bool promised;     /* as an add sent since `begin` returned, or as part of the list */

#ifdef FEED_IS_ALL
#define WRITES_OLD(e) ((e) == SINGLE || ((e) == ENDED && !committed))
#else
#define WRITES_OLD(e) ((e) <= BOTH || !committed)
#endif
#define WRITES_NEW(e) ((e) == BOTH || ((e) == ENDED && committed))
#define READS_NEW(e)  ((e) == ENDED && committed)
#define PRESENT(n, e) (READS_NEW(e) -> in_new[n] : in_old[n])
#define IN_NEW        (in_new[0] + in_new[1] + in_new[2])
#define FENCED(e)     ((held[0] >= (e)) + (held[1] >= (e)) + (held[2] >= (e)))

/* The newest epoch decides: what was added under it is not to be forgotten. */
#define TO_BE_FORGOTTEN (!listed && added_under <= SINGLE)

/* ---- nodes ---- */

inline free_left(n) {
    if
    :: committed -> in_old[n] = false
    :: else -> in_new[n] = false
    fi
}

#ifdef FREE_FIRST
#define MAY_FREE(n) (document == ENDED)
#else
#define MAY_FREE(n) (held[n] == ENDED)
#endif

/* What a peer has comes with the names of its keysets. */
#ifdef MERGE_ANYWHERE
#define TAKES_OLD(n, peer) ((in_old[peer] || in_new[peer]) && WRITES_OLD(held[n]))
#define TAKES_NEW(n, peer) ((in_old[peer] || in_new[peer]) && WRITES_NEW(held[n]))
#else
#define TAKES_OLD(n, peer) (in_old[peer] && (held[n] < ENDED || !committed))
#define TAKES_NEW(n, peer) (in_new[peer] && (held[n] < ENDED || committed))
#endif

inline pull(n, peer) {
    in_old[n] = in_old[n] || TAKES_OLD(n, peer);
    in_new[n] = in_new[n] || TAKES_NEW(n, peer)
}

active[NODES] proctype Node() {
    byte peer;

    do
    :: atomic { held[_pid] < document -> held[_pid]++ }
    :: atomic { MAY_FREE(_pid) -> free_left(_pid) }
#ifndef NO_PULLS
    :: atomic { select(peer : 0 .. NODES - 1); pull(_pid, peer); peer = 0 }
#endif
#ifdef REPLAY_OLD
    :: atomic { READS_NEW(held[_pid]) -> in_new[_pid] = in_new[_pid] || in_old[_pid] }
#endif
#ifdef FREE_AT_BEGIN
    :: atomic { held[_pid] == BOTH -> in_old[_pid] = false }
#endif
    od
}

/* ---- clients, through routers ---- */

#ifdef SINCE_ANSWERED
#define SINCE begun
#else
#define SINCE since
#endif

active proctype Adder() {
    bool answered[NODES];
    bool since; /* sent first after `begin` had returned */
    byte e = SINGLE;
    byte n;
    byte count;

    do
    :: atomic {
        select(n : 0 .. NODES - 1);
        if
        :: held[n] == e ->
            in_old[n] = in_old[n] || WRITES_OLD(e);
            in_new[n] = in_new[n] || WRITES_NEW(e);
            added_under = e;
            if /* or the answer is lost */
            :: !answered[n] ->
                answered[n] = true;
                count++;
                acknowledged = acknowledged || count >= WRITE_QUORUM;
                promised = promised || (SINCE && count >= WRITE_QUORUM)
            :: true
            fi
        :: else
        fi;
        n = 0
    }
    :: atomic { /* again, or another add; perhaps by who knows a newer document */
        since = begun;
        if
        :: e < document -> e++
        :: true
        fi;
#ifndef MIXED_EPOCHS
        answered[0] = false;
        answered[1] = false;
        answered[2] = false;
        count = 0
#endif
    }
    od
}

/* The list is made after `begin` has returned. */
active proctype Feeder() {
    byte n;

    atomic { begun -> listed = true };
    do
    :: atomic {
        select(n : 0 .. NODES - 1);
        in_new[n] = in_new[n] || held[n] == BOTH;
        n = 0
    }
    :: atomic { IN_NEW >= WRITE_QUORUM -> promised = true }
    od
}

/* Checks under one epoch, begun at any time. Who asks before the acknowledgement is promised nothing. */
active proctype Reader() {
    bool answered[NODES];
    bool forgotten;
    byte e;
    byte n;
    byte count;

    atomic {
        select(e : SINGLE .. document);
        if
        :: (READS_NEW(e) -> promised : acknowledged)
        :: ended && TO_BE_FORGOTTEN -> forgotten = true
        fi
    };
    do
    :: atomic {
        select(n : 0 .. NODES - 1);
        if
        :: held[n] == e && !answered[n] && PRESENT(n, e) == forgotten ->
            answered[n] = true;
            count++;
            assert(count < (forgotten -> PRESENT_QUORUM : READ_QUORUM) || (forgotten && !TO_BE_FORGOTTEN))
        :: else
        fi;
        n = 0
    }
    :: atomic { IN_NEW > 0 -> assert(!TO_BE_FORGOTTEN) }
    od
}

/* ---- the coordinator; any of them goes on where another one died ---- */

active proctype Coordinator() {
    document = BOTH;
    atomic { FENCED(BOTH) >= BEGIN_FENCES -> begun = true };
    atomic {
        if
        :: committed = true
#ifndef COMMITS
        :: skip
#endif
        fi;
        document = ENDED
    };
    atomic { FENCED(ENDED) >= COMMIT_FENCES -> ended = committed }
}
