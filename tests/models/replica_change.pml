/* Does replacing a replica keep every acknowledged key? coordinator/plan/change.h, as a model.
 *
 * One slot group, N=3 W=2 R=2: A, B, C; slot 0 goes from A to D, which is the next life of A's
 * node, or another one. One key is tracked. Everybody may hold any older document, any message may
 * be lost or late, and in between
 *   - A may be lost with all its data at any moment, or live on, cut off from the coordinator,
 *   - one process (KILLS) may be killed: what its log had not committed is gone then.
 * A node accepts a write into the buffer of its log and answers when that is committed. A fence is a
 * record of the same log, confirmed in the same way. A request raises the fence of who serves it,
 * in memory only.
 *
 *   no flag            the rule                                                     holds
 *   GONE               the change begins when A is lost: a node that comes back     holds
 * Wrong variants; each loses the key:
 *   ONE_FENCE_SHORT    v2 and v3 end with a fence less than F
 *   NO_FENCE_V3        v4 follows v3 at once
 *   NO_PAIR            D receives writes in v2, but they count without it; then D alone
 *   COUNT_JOINING      D's acknowledgement counts in v2 like anybody's
 *   FENCE_FIRST        a fence is confirmed before the log is committed
 *   ONE_SOURCE         D copies from N - W members
 *   COPY_FIRST         D copies before its sources have fenced
 *   COPY_IN_MEMORY     D is complete before what it copied is committed
 *   OLD_COPY           B comes back with an older copy of its folder, as the same incarnation
 *
 * Left out: retries, several slots at once, windows, D dying on the way. */

#ifndef KILLS
#define KILLS 1
#endif

#define A 0
#define B 1
#define C 2
#define D 3
#define MEMBERS 4
#define WRITE_QUORUM 2
#define READ_QUORUM 2

#ifdef ONE_FENCE_SHORT
#define FENCES 1
#else
#define FENCES 2
#endif

#ifdef ONE_SOURCE
#define SOURCES 1
#else
#define SOURCES 2
#endif

/* In which epochs is A written and read, and D? The last one is D's alone. */
#ifdef NO_PAIR
#define LAST 3
#else
#define LAST 4
#endif
#define WRITTEN(m, e) (m == B || m == C || (m == A && e < LAST) || (m == D && e >= 2))
#define READ(m, e)    (m == B || m == C || (m == A && e < 3) || (m == D && e >= 3))

byte document = 1;       /* the newest epoch in the store */
bool buffered[MEMBERS];  /* the key is in the buffer of the log */
bool committed[MEMBERS]; /* ... or safe in it */
byte fence[MEMBERS] = 1; /* the lowest epoch served */
byte noted[MEMBERS];     /* a fence in the buffer of the log; 0: none */
byte kept[MEMBERS] = 1;  /* the last fence that is safe */
bool lost;               /* A and its data */
bool acknowledged;
byte kills = KILLS;

#define UP(m)          (m != A || !lost)
#define SERVES(m, e)   (UP(m) && e >= fence[m])
#define RAISE(what, e) what = (e > what -> e : what)

inline commit(m) {
    committed[m] = committed[m] || buffered[m];
    buffered[m] = false;
    RAISE(kept[m], noted[m]);
    noted[m] = 0
}

/* ---- clients, through routers: what never happens here is a message that was lost ---- */

inline accept(m) {
    accepted[m] = true;
    buffered[m] = true;
    RAISE(fence[m], e)
}

inline answer(m) { /* a process that was killed meanwhile gives none */
    accepted[m] = false;
    if
    :: buffered[m] || committed[m] ->
        commit(m);
        answered[m] = true
    :: else
    fi
}

#define CAN_ACCEPT(m) (WRITTEN(m, e) && SERVES(m, e) && !accepted[m] && !answered[m])
#define CAN_ANSWER(m) (UP(m) && accepted[m])

#define HAS(m) answered[m]
#if defined(COUNT_JOINING)
#define SLOT_0 (e == 1 -> HAS(A) : (e == 2 -> HAS(A) + HAS(D) : (e == 3 -> HAS(A) && HAS(D) : HAS(D))))
#elif defined(NO_PAIR)
#define SLOT_0 (e < LAST -> HAS(A) : HAS(D))
#else
#define SLOT_0 (e == 1 -> HAS(A) : (e < LAST -> HAS(A) && HAS(D) : HAS(D)))
#endif

active proctype Writer() {
    byte e;
    bool accepted[MEMBERS];
    bool answered[MEMBERS];

    e = document;
end:
    do
    :: atomic { CAN_ACCEPT(A) -> accept(A) }
    :: atomic { CAN_ACCEPT(B) -> accept(B) }
    :: atomic { CAN_ACCEPT(C) -> accept(C) }
    :: atomic { CAN_ACCEPT(D) -> accept(D) }
    :: atomic { CAN_ANSWER(A) -> answer(A) }
    :: atomic { CAN_ANSWER(B) -> answer(B) }
    :: atomic { CAN_ANSWER(C) -> answer(C) }
    :: atomic { CAN_ANSWER(D) -> answer(D) }
    :: atomic { SLOT_0 + HAS(B) + HAS(C) >= WRITE_QUORUM -> acknowledged = true; break }
    od
}

/* Only "absent" can be wrong. Who asks before the acknowledgement is promised nothing. */
#define SAYS_ABSENT(m) (READ(m, e) && SERVES(m, e) && !seen[m] && !buffered[m] && !committed[m])

inline hear(m) {
    seen[m] = true;
    RAISE(fence[m], e);
    assert(seen[A] + seen[B] + seen[C] + seen[D] < READ_QUORUM)
}

active proctype Reader() {
    byte e;
    bool seen[MEMBERS];

    atomic { acknowledged -> select(e : 1 .. document) }
end:
    do
    :: atomic { SAYS_ABSENT(A) -> hear(A) }
    :: atomic { SAYS_ABSENT(B) -> hear(B) }
    :: atomic { SAYS_ABSENT(C) -> hear(C) }
    :: atomic { SAYS_ABSENT(D) -> hear(D) }
    od
}

/* ---- what goes wrong ---- */

active proctype Loss() {
    atomic {
        lost = true;
        buffered[A] = false;
        committed[A] = false
    }
}

active proctype Killer() {
    byte m;

end:
    do
    :: atomic {
        kills > 0 -> kills--;
        select(m : A .. D);
        buffered[m] = false;
        noted[m] = 0;
        fence[m] = kept[m]
    }
    od
}

#ifdef OLD_COPY
active proctype Restore() {
    atomic {
        buffered[B] = false;
        committed[B] = false
    }
}
#endif

/* ---- the coordinator, and D ---- */

inline ask_fence(m, e) {
    if
    :: atomic { UP(m) -> RAISE(fence[m], e); RAISE(noted[m], e) };
#ifdef FENCE_FIRST
        atomic { UP(m) -> kept[m] = fence[m]; confirmed[m] = true }
#else
        atomic { UP(m) -> commit(m); confirmed[m] = kept[m] >= e }
#endif
    :: !UP(m)
    fi
}

#define CONFIRMED (confirmed[A] + confirmed[B] + confirmed[C])
#define COPIED    (copied[A] + copied[B] + copied[C])

/* What D receives from a source, and its cursor, are one record of D's log. */
inline copy(m) {
    copied[m] = true;
#ifdef COPY_IN_MEMORY
    buffered[D] = buffered[D] || committed[m]
#else
    committed[D] = committed[D] || committed[m]
#endif
}

#if defined(COPY_FIRST)
#define SOURCE(m) (UP(m) && !copied[m])
#elif defined(ONE_FENCE_SHORT)
#define SOURCE(m) (UP(m) && !copied[m] && (confirmed[m] || CONFIRMED == FENCES))
#else
#define SOURCE(m) (UP(m) && !copied[m] && confirmed[m])
#endif

active proctype Coordinator() {
    bool confirmed[3];
    bool copied[3];

#ifdef GONE
    lost;
#endif
    document = 2;
    do
    :: !confirmed[A] && UP(A) -> ask_fence(A, 2)
    :: !confirmed[B] -> ask_fence(B, 2)
    :: !confirmed[C] -> ask_fence(C, 2)
    :: atomic { SOURCE(A) -> copy(A) }
    :: atomic { SOURCE(B) -> copy(B) }
    :: atomic { SOURCE(C) -> copy(C) }
    :: CONFIRMED >= FENCES && COPIED >= SOURCES -> break
    od;
    atomic {
        document = 3;
        confirmed[A] = false;
        confirmed[B] = false;
        confirmed[C] = false
    };
#ifndef NO_PAIR
#ifndef NO_FENCE_V3
    do
    :: !confirmed[A] && UP(A) -> ask_fence(A, 3)
    :: !confirmed[B] -> ask_fence(B, 3)
    :: !confirmed[C] -> ask_fence(C, 3)
    :: CONFIRMED >= FENCES -> break
    od;
#endif
    document = 4
#endif
}
