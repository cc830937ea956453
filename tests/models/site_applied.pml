/* When does a site that takes over another site's keys have them? What a mark and a cursor count on.
 *
 * A link sends what it got from the other site to this site's nodes, as a router would; or compares
 * the other site's keys with theirs, and sends what any of them lacks. It may be killed at any time;
 * the next one takes up a cursor or, where it finds none, compares. What counts as applied: all
 * that W replicas have acknowledged under one epoch, or were found to have. After that a mark
 * may be done, and a cursor be written.
 *
 * One slot group, N=3 W=2 R=2; one key. Meanwhile slot 0 goes from A to D in the four epochs of
 * replica_change.pml, with its fences: confirmed by F=2, records of the log as any other, in one step here;
 * what requests raise is not kept. Any node may hold any older document, any message may be lost
 * or late. A node writes a record first, it is durable later, and a kill, of which there may be any number,
 * takes with it what is not. The key may come to any node at any time without anybody's counting it:
 * by a message of a link that was killed, from a peer, by an add that failed. One link is looked at;
 * others that are active, or were before, do no more than that, and write cursors.
 *
 * A cursor is not written before what it covers is applied, so all are true: which of them is found does
 * not matter, and none is kept here. A link begins anew at any moment, before the key or with
 * comparing; what lies behind the key has been applied already.
 *
 * Property: from when the key is applied, R replicas never say, under one epoch, that it is absent.
 *
 * Wrong variants; each loses the key:
 *   APPLIED_AT_ONE      one acknowledgement is enough
 *   MIXED_EPOCHS        answers of two epochs count together
 *   NOT_CONTIGUOUS      what was sent before something that is applied counts, too
 *   CURSOR_FIRST        a cursor is written when the key is sent
 *   COMPARED_WITH_ONE   found at one replica, it is not sent
 *   PAIR_HALF           of a slot with two members one was found to have it
 *   COMPARED_IN_MEMORY  found at a replica where it is not durable
 *   JUDGED_FIRST        a replica's epoch is looked at before its keys are, not with them
 *
 * Left out: the other site (site_mark.pml), several slot groups (a cursor is behind all that any of
 * them was sent), nodes that lost data with the cursors in it, a filter that is full (it waits). */

#define A 0
#define B 1
#define C 2
#define D 3
#define MEMBERS 4
#ifdef APPLIED_AT_ONE
#define WRITE_QUORUM 1
#else
#define WRITE_QUORUM 2
#endif
#ifdef COMPARED_WITH_ONE
#define COMPARE_QUORUM 1
#else
#define COMPARE_QUORUM 2
#endif
#define READ_QUORUM 2
#define FENCES 2
#define SOURCES 2

#define WRITTEN(m, e) (m == B || m == C || (m == A && e < 4) || (m == D && e >= 2))
#define READ(m, e)    (m == B || m == C || (m == A && e < 3) || (m == D && e >= 3))

byte document = 1;       /* the newest epoch in the store */
byte fence[MEMBERS] = 1; /* the lowest epoch served */
bool buffered[MEMBERS];  /* the key is in the buffer of the log */
bool committed[MEMBERS]; /* ... or safe in it */
bool applied;            /* the key, as far as anybody knows */

/* The link that is at work */
byte e = 1;             /* the document that it has */
bool sends;             /* the key; else it compares */
bool accepted[MEMBERS]; /* its message, and will answer it */
bool has[MEMBERS];      /* as it was told under e */
bool slot_0;            /* MIXED_EPOCHS: it had answered under an earlier one */

#define SERVES(m, e) (fence[m] <= e)
#define LACKS(m)     (!buffered[m] && !committed[m])

/* ---- the nodes of this site ---- */

inline commit(m) {
    has[m] = has[m] || accepted[m];
    accepted[m] = false;
    committed[m] = committed[m] || buffered[m];
    buffered[m] = false
}

inline kill(m) {
    accepted[m] = false;
    buffered[m] = false
}

active proctype Nodes() {
end:
    do
    :: atomic { LACKS(A) -> buffered[A] = true }
    :: atomic { LACKS(B) -> buffered[B] = true }
    :: atomic { LACKS(C) -> buffered[C] = true }
    :: atomic { LACKS(D) && document > 1 -> buffered[D] = true }
    :: atomic { buffered[A] || accepted[A] -> commit(A) }
    :: atomic { buffered[B] || accepted[B] -> commit(B) }
    :: atomic { buffered[C] || accepted[C] -> commit(C) }
    :: atomic { buffered[D] || accepted[D] -> commit(D) }
    :: atomic { buffered[A] -> kill(A) }
    :: atomic { buffered[B] -> kill(B) }
    :: atomic { buffered[C] -> kill(C) }
    :: atomic { buffered[D] -> kill(D) }
    od
}

/* ---- the coordinator of this site, and D ---- */

inline ask_fence(m, e) {
    commit(m);
    fence[m] = e;
    confirmed[m] = true
}

inline copy(m) {
    copied[m] = true;
    committed[D] = committed[D] || committed[m]
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

/* ---- the links ---- */

#define SLOT_0 (e == 1 -> has[A] : (e < 4 -> has[A] && has[D] : has[D]))
#ifdef PAIR_HALF
#define SLOT_0_COMPARED (e == 1 -> has[A] : (e < 4 -> has[A] || has[D] : has[D]))
#else
#define SLOT_0_COMPARED SLOT_0
#endif

#ifdef MIXED_EPOCHS
#define SLOT_0_APPLIED (slot_0 || SLOT_0)
#else
#define SLOT_0_APPLIED SLOT_0
#endif

inline forget_answers_of_all() {
    slot_0 = false;
    has[A] = false;
    has[B] = false;
    has[C] = false;
    has[D] = false;
    accepted[A] = false;
    accepted[B] = false;
    accepted[C] = false;
    accepted[D] = false
}

inline select_epoch() {
    if
    :: e = document
    :: document > 1 -> e = document - 1
    :: document > 2 -> e = document - 2
    :: document > 3 -> e = document - 3
    fi
}

#if defined(JUDGED_FIRST)
#define CAN_JUDGE(m)   (!sends && !accepted[m] && WRITTEN(m, e) && SERVES(m, e))
#define CAN_COMPARE(m) (!sends && accepted[m] && !has[m] && committed[m])
#elif defined(COMPARED_IN_MEMORY)
#define CAN_COMPARE(m) (!sends && WRITTEN(m, e) && SERVES(m, e) && !has[m] && !LACKS(m))
#else
#define CAN_COMPARE(m) (!sends && WRITTEN(m, e) && SERVES(m, e) && !has[m] && committed[m])
#endif
#define CAN_ACCEPT(m)  (sends && WRITTEN(m, e) && SERVES(m, e) && !accepted[m] && !has[m])

inline accept(m) {
    accepted[m] = true;
    buffered[m] = !committed[m]
}

active proctype Link() {
#ifdef CURSOR_FIRST
    bool cursor;
#endif

end:
    do
#ifdef JUDGED_FIRST
    :: atomic { CAN_JUDGE(A) -> accepted[A] = true }
    :: atomic { CAN_JUDGE(B) -> accepted[B] = true }
    :: atomic { CAN_JUDGE(C) -> accepted[C] = true }
    :: atomic { CAN_JUDGE(D) -> accepted[D] = true }
#endif
    :: atomic { CAN_COMPARE(A) -> has[A] = true }
    :: atomic { CAN_COMPARE(B) -> has[B] = true }
    :: atomic { CAN_COMPARE(C) -> has[C] = true }
    :: atomic { CAN_COMPARE(D) -> has[D] = true }
    :: atomic { !sends && SLOT_0_COMPARED + has[B] + has[C] >= COMPARE_QUORUM -> applied = true; break }
    :: atomic { CAN_ACCEPT(A) -> accept(A) }
    :: atomic { CAN_ACCEPT(B) -> accept(B) }
    :: atomic { CAN_ACCEPT(C) -> accept(C) }
    :: atomic { CAN_ACCEPT(D) -> accept(D) }
    :: atomic { sends && SLOT_0_APPLIED + has[B] + has[C] >= WRITE_QUORUM -> applied = true; break }
#ifdef NOT_CONTIGUOUS
    :: atomic { sends -> applied = true; break } /* what was sent behind it is */
#endif
#ifdef CURSOR_FIRST
    :: atomic { sends -> cursor = true }
    :: atomic { !sends && cursor -> applied = true; break } /* by the cursor that it took up */
#endif
#ifdef MIXED_EPOCHS
    :: atomic { sends && e < document -> slot_0 = slot_0 || SLOT_0; e++ }
#endif
    :: atomic { forget_answers_of_all(); sends = !sends; select_epoch() }
    :: atomic { forget_answers_of_all(); select_epoch() }
    od
}

/* ---- checks ---- */

#define SAYS_ABSENT(m) (READ(m, e) && SERVES(m, e) && !seen[m] && LACKS(m))

inline hear(m) {
    seen[m] = true;
    assert(seen[A] + seen[B] + seen[C] + seen[D] < READ_QUORUM)
}

active proctype Reader() {
    bool seen[MEMBERS];

    atomic { applied -> forget_answers_of_all(); sends = false; select_epoch() };
end:
    do
    :: atomic { SAYS_ABSENT(A) -> hear(A) }
    :: atomic { SAYS_ABSENT(B) -> hear(B) }
    :: atomic { SAYS_ABSENT(C) -> hear(C) }
    :: atomic { SAYS_ABSENT(D) -> hear(D) }
    od
}
