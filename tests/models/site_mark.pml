/* Does a mark between two sites mean what it says, at the site that keys come from?
 *
 * A link follows the logs of the source site's nodes and sends what routers added there to the
 * receiving site; where it is in each log, with all before it applied, are the cursors. A mark asks R
 * replicas of one epoch where their logs end; it is done when the cursors are there.
 *
 * One slot group, N=3 R=2, W=2 or 3; one key, added once. A node writes to its log what a router sends
 * and answers; the batch may have no number there, or be a part without the key, as the node was full.
 * It takes over from its peers what it lacks, as "repaired": that is not sent to the other site. So is
 * what an incoming replica copies. Meanwhile slot 0 goes from A to D in the four epochs of
 * replica_change.pml: a node that has fenced an epoch serves none below; fences are kept through
 * kills, what requests raise is not. Anybody may hold any older document, any message may be lost or late.
 *
 *   NO_CHANGE   A, B and C for good, but records without number and parts. Nothing was compared
 *               at first: each cursor begins with a comparison (sites that have just met)
 *   BUFFERED    with it: a record is written first and durable later; else that is one step, as
 *               what a kill takes with it is as good as a message that was lost
 *   CRASH       with it: B loses the end of its log, and catches up from A and C before it serves
 *   no flag     the change. A, B and C were compared before; D was a reader long ago, has left, and
 *               has a cursor from then
 *
 * Property: a mark that began after the key was acknowledged is not done before the key is
 * applied. Once that has happened nothing can be lost; so it never happens here, and no mark may
 * ever be done. While the key is on its way, no cursor passes it: the stream that it is in breaks before
 * anything comes of it. So sending it and losing the stream are one step, and a cursor never stands
 * behind what the link has read. A link that takes up an older cursor is a link that was slow. A cursor
 * that skips the key is found by a mark that counts on it. A comparison is a step: it sees a log as
 * it was at one moment, and only ends later. What "applied" is: site_applied.pml.
 *
 * Wrong variants; each loses the key:
 *   ONE_SHORT           a mark asks R - 1 replicas
 *   AS_SYNC             ... N - W + 1, which is enough for who copies under a fence (W=3)
 *   MIXED_EPOCHS        ... R replicas, each under an epoch of its own
 *   NOT_DURABLE         a log's end is where it is written to, what is sent is what is durable
 *   NUMBERED_ONLY       records without number are not sent
 *   KEEP_MEMORY         what an earlier stream has sent is a repeat in the next one
 *   REPEAT_BY_NUMBER    a whole batch is a repeat of a part of it
 *   KNOWN_BATCH         a node does not log what a router adds if it was taken over before
 *   ALL_CURSORS         R replicas are compared, and the cursors of all N begin
 *   MOVED_NOT_COMPARED  a reader without cursor is followed from the beginning of its log on
 *   LEFT_AND_CAME_BACK  a cursor counts though its node was no reader in between
 *   VIEW_FIRST          a replica is compared as it was, under the epoch that it has afterwards
 *   CAUGHT_UP_GOES_ON   CRASH: B's cursor counts on
 * NO_GOSSIP spares the search what some of these do not need.
 *
 * Left out: logs that are no longer kept and new incarnations (a comparison, as for D), several slot
 * groups and keysets (all of it is per group and keyset), retries (each is a batch of its own),
 * sites that lost data. */

#ifndef WRITE_QUORUM
#define WRITE_QUORUM 2
#endif
#define READ_QUORUM 2
#define FENCES 2                   /* F = N - min(W, R) + 1 */
#define SOURCES (4 - WRITE_QUORUM) /* N - W + 1 */

#define A 0
#define B 1
#define C 2
#define D 3
#define MEMBERS 4

#if defined(ONE_SHORT)
#define ASKED (READ_QUORUM - 1)
#elif defined(AS_SYNC)
#define ASKED SOURCES
#else
#define ASKED READ_QUORUM
#endif

/* In which epochs is who written, and read, and since when? D has been a reader before: in epoch 0. */
#define WRITTEN(m, e) (m == B || m == C || (m == A && e < 4) || (m == D && e >= 2))
#define READ(m, e)    (m == B || m == C || (m == A && e < 3) || (m == D && e >= 3))
#define SINCE(m)      (m == D -> 3 : 1)

/* Records */
#define OWN 1      /* the key's batch, whole, from a router */
#define UNNAMED 2  /* the same without a number */
#define PART 3     /* the batch's number, and what of it the node had room for: not the key */
#define REPAIRED 4 /* the key's batch, from another node */

byte document = 1;       /* the newest epoch in the store */
byte fence[MEMBERS] = 1; /* the lowest epoch served */
byte first[MEMBERS];     /* a log: two records at most */
byte second[MEMBERS];
byte durable[MEMBERS];   /* so many of them are */
bool down;               /* CRASH: B does not serve */
byte added_under;        /* an epoch; 0: not yet sent */
bool acknowledged;

#define TOOK(r)        (r == OWN || r == UNNAMED)
#define KEY(r)         (TOOK(r) || r == REPAIRED)
#define FROM_ROUTER(r) (TOOK(r) || r == PART)
#define END(m)         ((first[m] != 0) + (second[m] != 0))
#define LOGGED(m)      (KEY(first[m]) || KEY(second[m]))
#define KEPT(m)        ((durable[m] > 0 && KEY(first[m])) || (durable[m] > 1 && KEY(second[m])))
#define SERVES(m, e)   (fence[m] <= e && !(m == B && down))

/* ---- the source site's nodes, and a router ---- */

inline append(m, r) {
    second[m] = (first[m] != 0 -> r : 0);
    first[m] = (first[m] == 0 -> r : first[m]);
#ifndef BUFFERED
    durable[m] = END(m)
#endif
}

inline accept(m) {
    if
    :: true -> append(m, OWN)
#ifdef NO_CHANGE
    :: true -> append(m, UNNAMED)
    :: true -> append(m, PART)
#endif
    fi
}

#ifdef KNOWN_BATCH
#define EXECUTED(m) LOGGED(m)
#define ANSWERS(m)  KEPT(m)
#else
#define EXECUTED(m) (FROM_ROUTER(first[m]) || FROM_ROUTER(second[m]))
#define ANSWERS(m)  ((durable[m] > 0 && TOOK(first[m])) || (durable[m] > 1 && TOOK(second[m])))
#endif
#define CAN_ACCEPT(m) \
    (added_under > 0 && WRITTEN(m, added_under) && SERVES(m, added_under) && second[m] == 0 && !EXECUTED(m))
#define CAN_PULL(m) (second[m] == 0 && !LOGGED(m) && (KEPT(A) || KEPT(B) || KEPT(C) || KEPT(D)))

active proctype Nodes() {
end:
    do
    :: atomic { CAN_ACCEPT(A) -> accept(A) }
    :: atomic { CAN_ACCEPT(B) -> accept(B) }
    :: atomic { CAN_ACCEPT(C) -> accept(C) }
    :: atomic { CAN_ACCEPT(D) -> accept(D) }
#ifdef BUFFERED
    :: atomic { END(A) > durable[A] -> durable[A] = END(A) }
    :: atomic { END(B) > durable[B] -> durable[B] = END(B) }
    :: atomic { END(C) > durable[C] -> durable[C] = END(C) }
#endif
#ifndef NO_GOSSIP
    :: atomic { CAN_PULL(A) -> append(A, REPAIRED) }
    :: atomic { CAN_PULL(B) -> append(B, REPAIRED) }
    :: atomic { CAN_PULL(C) -> append(C, REPAIRED) }
    :: atomic { CAN_PULL(D) && document > 1 -> append(D, REPAIRED) }
#endif
    od
}

#define PAIRED (added_under == 2 || added_under == 3)
#define SLOT_0 (PAIRED -> ANSWERS(A) && ANSWERS(D) : (added_under == 1 -> ANSWERS(A) : ANSWERS(D)))

active proctype Router() {
    atomic {
        if
        :: added_under = document
        :: document > 1 -> added_under = 1
        :: document > 2 -> added_under = 2
        :: document > 3 -> added_under = 3
        fi
    };
    atomic { SLOT_0 + ANSWERS(B) + ANSWERS(C) >= WRITE_QUORUM -> acknowledged = true }
}

/* ---- the link ---- */

byte position[MEMBERS]; /* the cursors */
#define NO_EPOCH 9
#if defined(NO_CHANGE)
byte begun[MEMBERS] = NO_EPOCH; /* under which epoch was it compared? */
#elif defined(MOVED_NOT_COMPARED)
byte begun[MEMBERS] = {1, 1, 1, 3};
#else
byte begun[MEMBERS] = {1, 1, 1, 0};
#endif
bool remembered; /* the batch is taken for one that was sent */

#ifdef LEFT_AND_CAME_BACK
#define GOES_ON(m) (begun[m] != NO_EPOCH)
#else
#define GOES_ON(m) (begun[m] != NO_EPOCH && begun[m] >= SINCE(m))
#endif
#ifdef NOT_DURABLE
#define TOLD_END(m) END(m)
#else
#define TOLD_END(m) durable[m]
#endif
#ifdef NUMBERED_ONLY
#define IS_SENT(r) (r == OWN && !remembered)
#else
#define IS_SENT(r) ((r == OWN && !remembered) || r == UNNAMED)
#endif

/* What is sent in a stream is remembered until that ends: with the key on its way, at once. */
#if defined(KEEP_MEMORY)
#define REMEMBERS(r) (r == OWN)
#elif defined(REPEAT_BY_NUMBER)
#define REMEMBERS(r) (r == PART)
#else
#define REMEMBERS(r) false
#endif

#define NEXT(m)     (position[m] == 0 -> first[m] : second[m])
#define CAN_READ(m) (GOES_ON(m) && position[m] < TOLD_END(m))

inline read_log(m) {
    if
    :: position[m] < durable[m] ->
        sent = IS_SENT(NEXT(m));
        remembered = remembered || REMEMBERS(NEXT(m));
        position[m] = (sent -> position[m] : position[m] + 1);
        sent = false
    :: else -> position[m] = TOLD_END(m)
    fi
}

/* If the replica has the key it is applied now. */
#define CAN_COMPARE(m, e) (e <= document && !GOES_ON(m) && READ(m, e) && SERVES(m, e) && !KEPT(m))

inline compare(m, e) {
    begun[m] = e;
    position[m] = durable[m]
}

active proctype Link() {
    bool sent;
#ifdef VIEW_FIRST
    byte view = NO_EPOCH; /* where D's log ended in it */
#endif

end:
    do
    :: atomic { CAN_READ(A) -> read_log(A) }
    :: atomic { CAN_READ(B) -> read_log(B) }
    :: atomic { CAN_READ(C) -> read_log(C) }
    :: atomic { CAN_READ(D) -> read_log(D) }
#ifdef NO_CHANGE
    :: atomic { CAN_COMPARE(A, 1) -> compare(A, 1) }
    :: atomic { CAN_COMPARE(B, 1) -> compare(B, 1) }
    :: atomic { CAN_COMPARE(C, 1) -> compare(C, 1) }
#endif
    :: atomic { CAN_COMPARE(D, 3) -> compare(D, 3) }
    :: atomic { CAN_COMPARE(D, 4) -> compare(D, 4) }
#ifdef ALL_CURSORS
    :: atomic { CAN_COMPARE(A, 1) && CAN_COMPARE(B, 1) -> compare(A, 1); compare(B, 1); compare(C, 1) }
#endif
#ifdef VIEW_FIRST
    :: atomic { view == NO_EPOCH && document > 1 && !KEPT(D) -> view = durable[D] }
    :: atomic { view != NO_EPOCH && document > 2 && !GOES_ON(D) -> begun[D] = 3; position[D] = view }
#endif
#ifndef KEEP_MEMORY
    :: atomic { remembered -> remembered = false } /* the stream broke */
#endif
    od
}

/* ---- a mark ---- */

byte to[MEMBERS]; /* 1 + the end that was told, or 0 */

#ifdef MIXED_EPOCHS
#define OF_EPOCH(m) \
    ((READ(m, 1) && SERVES(m, 1)) || (READ(m, document) && SERVES(m, document)))
#else
#define OF_EPOCH(m) (READ(m, e) && SERVES(m, e))
#endif
#define CAN_TELL(m)   (asked < ASKED && to[m] == 0 && OF_EPOCH(m))
#define IS_APPLIED(m) (to[m] > 0 && GOES_ON(m) && position[m] + 1 >= to[m])

inline tell(m) {
    asked++;
    to[m] = TOLD_END(m) + 1
}

active proctype Mark() {
    byte e;
    byte asked;

    atomic {
        acknowledged ->
        if /* of the epochs with the same readers the last one is served wherever others are */
        :: e = document
        :: document > 2 -> e = 2
        fi
    };
end:
    do
    :: atomic { CAN_TELL(A) -> tell(A) }
    :: atomic { CAN_TELL(B) -> tell(B) }
    :: atomic { CAN_TELL(C) -> tell(C) }
    :: atomic { CAN_TELL(D) -> tell(D) }
    :: atomic { IS_APPLIED(A) + IS_APPLIED(B) + IS_APPLIED(C) + IS_APPLIED(D) >= ASKED -> assert(false) }
    od
}

/* ---- the coordinator of the source site, and D ---- */

/* A fence is a record of the log, durable with all that came before it. */
inline ask_fence(m, e) {
    durable[m] = END(m);
    fence[m] = e;
    confirmed[m] = true
}

inline copy(m) {
    copied[m] = true;
    if
    :: KEPT(m) && !LOGGED(D) -> append(D, REPAIRED)
    :: else
    fi
}

inline forget_answers() {
    confirmed[A] = false;
    confirmed[B] = false;
    confirmed[C] = false;
    copied[A] = false;
    copied[B] = false;
    copied[C] = false
}

#define CONFIRMED (confirmed[A] + confirmed[B] + confirmed[C])
#define COPIED    (copied[A] + copied[B] + copied[C])

#ifndef NO_CHANGE
active proctype Coordinator() {
    bool confirmed[3];
    bool copied[3];

    document = 2;
end2:
    do
    :: atomic { !confirmed[A] -> ask_fence(A, 2) }
    :: atomic { !confirmed[B] -> ask_fence(B, 2) }
    :: atomic { !confirmed[C] && confirmed[B] -> ask_fence(C, 2) } /* they are alike: B is the first one */
    :: atomic { confirmed[A] && !copied[A] -> copy(A) }
    :: atomic { confirmed[B] && !copied[B] -> copy(B) }
    :: atomic { confirmed[C] && !copied[C] -> copy(C) }
    :: atomic { CONFIRMED >= FENCES && COPIED >= SOURCES -> document = 3; forget_answers(); break }
    od;
end3:
    do
    :: atomic { !confirmed[A] -> ask_fence(A, 3) }
    :: atomic { !confirmed[B] -> ask_fence(B, 3) }
    :: atomic { !confirmed[C] -> ask_fence(C, 3) }
    :: atomic { CONFIRMED >= FENCES -> document = 4; forget_answers(); break }
    od
}
#endif

/* ---- B's log loses its end: as much as was there ---- */

#ifdef CRASH
active proctype Crash() {
    atomic {
        down = true;
        first[B] = 0;
        second[B] = 0;
        durable[B] = 0;
        position[B] = 0; /* a new boot: it begins behind all that was told of the last one */
        to[B] = (to[B] > 0 -> 1 : 0);
#ifndef CAUGHT_UP_GOES_ON
        begun[B] = NO_EPOCH
#endif
    };
    atomic {
        if
        :: KEPT(A) || KEPT(C) -> append(B, REPAIRED)
        :: else
        fi;
        down = false
    }
}
#endif
