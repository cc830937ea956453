/* Does a filter that lives in several sites keep its promises while sites join, leave and are
 * removed? lib/map/sites.h, and the steps between them, as a model.
 *
 * NS sites; one key is added once, at any of them, at any time. Each site has a newest document and
 * one that is fenced, with its set of sites and three flags: it takes adds, it says "absent", it is
 * settled (bounded checks may be told "absent", too). A step of the set is one edit, made on the
 * site's own document and on what the others have fenced; what they tell is merged into it.
 *
 *   join    an old site names the newcomer (JOINING). That one hears first of a site that counts,
 *           merges all that it hears, and takes adds when every site of its set has told the very
 *           same set. Then it copies all of them, is COUNTED, and says "absent" when each has
 *           fenced that and a whole mark of each, begun after that one's fence, has been applied;
 *           and when it is settled.
 *   leave   the leaver fences LEAVING. A site is done with it when it has applied a mark of every
 *           other one, begun after that one had fenced LEAVING, and is settled. When all that stay
 *           are done, and have fenced LEAVING, it is GONE.
 *   remove  a site that burnt is GONE at once. Whoever learns so of a site that it was not done
 *           with is not settled until it has been compared with every other one, each comparison
 *           begun when both had fenced the removal.
 *
 *   EACH    an add is acknowledged when all COUNTED sites have it; nobody who may say "absent"
 *           lacks it
 *   KEPT    ... when NEED sites have it; so many have it ever after, but for those that burn
 *   FRESH   ... at once; a fresh check that says "absent" misses no key that was acknowledged
 *           before the question, and that a site has which did not burn and has not left
 *
 *   NEW=m, LEAVER=i, BURNT=i, CHECKS=m   who does what; m: a mask of sites                  holds
 *   LATE=i     the key was acknowledged at BURNT, which is off already, and is on its way to i
 *   RETURNS    BURNT was only off and returns with its data, as if nothing had been        holds
 * Wrong variants:
 *   OUTSIDE           the set that is acknowledged or asked under is not that of the epoch
 *   ADDS_EARLY        a newcomer takes adds when one site names it
 *   MISSED            ... when all that it first heard of name it, though they name others, too
 *   SAME_IDS          ... when all have told the same sites, in whatever states
 *   UNMARKED          it says "absent" without marks since it counts
 *   JOINING_OUT       a fresh check does not ask who is JOINING
 *   COUNT_LEAVING     who is LEAVING counts for an acknowledgement
 *   LAST_OF_LEAVER    the last marks are those of the leaver alone
 *   LEAVE_UNTAKEN     there are no last marks
 *   COMPARED_EARLY    a comparison counts that began before the other site had fenced the removal
 *   JOINS_UNSETTLED   a newcomer says "absent" before it is settled: what it was to have of a site
 *                     that burnt meanwhile, marks of others do not bring, as they do not pass on
 *                     what is not theirs
 *   LEAVES_UNSETTLED  the same of what only the leaver has of a site that burnt
 *   FORGOTTEN         GONE is forgotten, and the site returns as itself
 *
 * What one site does with its own quorums is an instant here: an operation of an epoch has its
 * place before F have fenced the next one, see replica_change.pml. An operation may be of the
 * fenced document or the newest. Documents in between need no look: what they change is seen by
 * nobody else before it is fenced, so the edit behind can as well come later. What is told is heard
 * as late as one likes. All that a step waits for stays true once it is, but that two sets are the
 * same: so what a newcomer has heard of that is kept.
 * On its way from one site to another is one mark, copy or comparison at a time: taken at one
 * moment, applied at another, also when its source has burnt meanwhile. Marks bring what was added
 * at their source, the others all that it has.
 *
 * Left out: lives (site_life.pml), streams and their cursors (site_mark.pml), a leaver or newcomer
 * that burns, and who leaves so that fewer than NEED sites are left. */

#ifndef NS
#define NS 3
#endif

#define NONE    0
#define JOINING 1
#define COUNTED 2
#define LEAVING 3
#define GONE    4

#ifndef NEW
#define NEW 0
#endif
#ifndef CHECKS
#define CHECKS 15
#endif
#ifndef LEAVER
#define LEAVER 99
#endif
#ifndef BURNT
#define BURNT 99
#endif

#define IS_NEW(i) ((NEW >> (i)) & 1)

byte doc[NS * NS]; /* the set in the newest document of each site */
byte fen[NS * NS]; /* ... and in the last one that F of each group have fenced */
#define D(i, j) doc[(i) * NS + (j)]
#define F(i, j) fen[(i) * NS + (j)]
#define LIVE(s) ((s) != NONE && (s) != GONE)

bool dirty[NS]; /* the newest document is not fenced */
bool takes[NS]; /* what the newest one says */
bool absent[NS];
bool settled[NS];
bool fenced_takes[NS]; /* ... and the fenced one */
bool fenced_absent[NS];
bool fenced_settled[NS];
bool off[NS];

#ifdef RETURNS
bool knew[NS]; /* has fenced the removal, ever */
bool returned;
bool unheard; /* it can't know yet: nothing is promised */
bool heard;   /* ... it has heard of somebody who knew; its next fence ends that */
#endif

bool own[NS]; /* the key was added there */
bool has[NS]; /* ... or has come */

/* Masks of other sites. */
byte agree[NS];    /* they have told a newcomer the very set that it has */
byte cursor[NS];   /* copied: what they add from here on comes by marks */
byte compared[NS]; /* ... since both had fenced the removal */
byte marked[NS];   /* a mark of them since they count this newcomer */
byte last[NS];     /* ... since they have fenced LEAVING of the leaver */
bool done[NS];   /* with the leaver */
bool left;       /* somebody has it GONE */
#define BIT(m, j) (((m) >> (j)) & 1)

/* What is on its way from j to i: 0 is nothing; the rest says what it is, and what it serves when
 * it is applied. */
byte flight[NS * NS];
#define FL(i, j) flight[(i) * NS + (j)]
#define ACTIVE  1
#define WITH    2 /* the key is in it */
#define WHOLE   4 /* a copy or comparison; else a mark */
#define P_MARK  8
#define P_LAST  16
#define P_CHECK 32
#define P_ADD   64
#define P_PAIR  128

/* The add, and the check. */
byte add_at = NS;
bool written;
bool acknowledged;
byte add_need;
byte add_have;

byte check_at = NS;
bool check_newest = true; /* its document is */
bool check_valid = true;
bool asking;
byte check_need;
byte check_have;

hidden byte x;
hidden byte y;
hidden byte changed;

/* Of all sites k, seen from i, which has heard of j. */
#if NS == 2
#define ALL(what, i, j) (what(i, j, 0) && what(i, j, 1))
#define ANY(what, i, j) (what(i, j, 0) || what(i, j, 1))
#define SUM(what, i, j) (what(i, j, 0) + what(i, j, 1))
#elif NS == 3
#define ALL(what, i, j) (what(i, j, 0) && what(i, j, 1) && what(i, j, 2))
#define ANY(what, i, j) (what(i, j, 0) || what(i, j, 1) || what(i, j, 2))
#define SUM(what, i, j) (what(i, j, 0) + what(i, j, 1) + what(i, j, 2))
#else
#define ALL(what, i, j) (what(i, j, 0) && what(i, j, 1) && what(i, j, 2) && what(i, j, 3))
#define ANY(what, i, j) (what(i, j, 0) || what(i, j, 1) || what(i, j, 2) || what(i, j, 3))
#define SUM(what, i, j) (what(i, j, 0) + what(i, j, 1) + what(i, j, 2) + what(i, j, 3))
#endif

/* ---- documents ---- */

#ifdef RETURNS
#define UNHEARD(i) (i == BURNT && unheard)
#define HEARS_OF(i, j) (UNHEARD(i) && knew[j])
#else
#define UNHEARD(i) false
#define HEARS_OF(i, j) false
#endif
#ifdef FORGOTTEN
#define RETURNED(j) (j == BURNT && returned)
#else
#define RETURNED(j) false
#endif

inline edited(i) {
    dirty[i] = true;
    check_newest = check_newest && check_at != i
}

inline unsettle(i) {
    settled[i] = false;
    compared[i] = 0;
    for (y : 0 .. NS - 1) {
        FL(i, y) = FL(i, y) & ~P_PAIR
    }
}

inline gone(i, g) {
    if
    :: D(i, g) != NONE && (g != LEAVER || !done[i]) -> unsettle(i)
    :: else
    fi;
    left = left || g == LEAVER;
    D(i, g) = GONE
}

inline fence(i) {
    dirty[i] = false;
    for (x : 0 .. NS - 1) {
        F(i, x) = D(i, x);
        FL(i, x) = (D(i, x) == GONE -> 0 : FL(i, x))
    }
#ifdef RETURNS
    knew[i] = knew[i] || D(i, BURNT) == GONE;
    unheard = unheard && !(UNHEARD(i) && heard);
#endif
    fenced_takes[i] = takes[i];
    fenced_absent[i] = absent[i];
    fenced_settled[i] = settled[i];
    check_valid = check_valid && (check_at != i || check_newest)
}

/* ---- what sites tell each other ---- */

#define NEWER(i, j, k) (F(j, k) > D(i, k))
#ifdef SAME_IDS
#define SAME(i, j, k) ((F(j, k) == NONE) == (D(i, k) == NONE))
#else
#define SAME(i, j, k) (F(j, k) == D(i, k))
#endif
#define WAITS(i) (D(i, i) == JOINING && !takes[i])
#define HEARS(i, j) \
    (i != j && !off[i] && !off[j] && \
     (D(i, j) != NONE || (WAITS(i) && F(j, j) == COUNTED) || RETURNED(j)) && \
     (ANY(NEWER, i, j) || (WAITS(i) && ALL(SAME, i, j) && !BIT(agree[i], j)) || HEARS_OF(i, j)))

inline hear(i, j) {
    changed = 0;
    for (x : 0 .. NS - 1) {
        if
        :: F(j, x) > D(i, x) ->
#ifdef SAME_IDS
            changed = changed + (D(i, x) == NONE);
#else
            changed = 1;
#endif
            if
            :: F(j, x) == GONE -> gone(i, x)
            :: else -> D(i, x) = F(j, x)
            fi;
            edited(i)
        :: else
        fi
    }
    if
    :: changed > 0 -> agree[i] = 0
    :: else
    fi;
    if
    :: D(i, i) >= LEAVING -> takes[i] = false; absent[i] = false
    :: else
    fi;
#ifdef RETURNS
    heard = heard || HEARS_OF(i, j);
    unheard = unheard && (!heard || dirty[BURNT]);
#endif
    if
    :: WAITS(i) && ALL(SAME, i, j) -> agree[i] = agree[i] | (1 << j)
    :: else
    fi
}

/* ---- the steps of a set ---- */

/* A newcomer takes its first add. */
#define AGREES(i, j, k) (k == i || !LIVE(D(i, k)) || BIT(agree[i], k))
#define NAMES(i, j, k)  (k != i && LIVE(D(i, k)) && F(k, i) != NONE)
#define NAMED(i, j, k)  (k == i || !LIVE(D(i, k)) || F(k, i) != NONE)
#if defined(ADDS_EARLY)
#define MAY_OPEN(i, j) (ANY(NAMES, i, j))
#elif defined(MISSED)
#define MAY_OPEN(i, j) (ANY(NAMES, i, j) && ALL(NAMED, i, j))
#else
#define MAY_OPEN(i, j) (!dirty[i] && agree[i] != 0 && ALL(AGREES, i, j))
#endif

#define COPIED(i, j, k) (k == i || !LIVE(D(i, k)) || BIT(cursor[i], k))

/* It says "absent". */
#ifdef UNMARKED
#define IS_MARKED(k) true
#else
#define IS_MARKED(k) BIT(marked[i], k)
#endif
#define COUNTS_ME(i, j, k) (!LIVE(D(i, k)) || (F(k, i) == COUNTED && (k == i || IS_MARKED(k))))
#ifdef JOINS_UNSETTLED
#define JOIN_SETTLED(i) true
#else
#define JOIN_SETTLED(i) settled[i]
#endif

#ifdef LAST_OF_LEAVER
#define HAS_LAST(i, j, k) (k != LEAVER || BIT(last[i], k))
#else
#define HAS_LAST(i, j, k) (k == i || !LIVE(D(i, k)) || BIT(last[i], k))
#endif
#ifdef LEAVES_UNSETTLED
#define LEAVE_SETTLED(i) true
#else
#define LEAVE_SETTLED(i) settled[i]
#endif
#ifdef LEAVE_UNTAKEN
#define IS_DONE(i, j, k) (k == LEAVER || !LIVE(D(i, k)) || F(k, LEAVER) >= LEAVING)
#else
#define IS_DONE(i, j, k) (k == LEAVER || !LIVE(D(i, k)) || (done[k] && F(k, LEAVER) >= LEAVING))
#endif

#define IS_COMPARED(i, j, k) (k == i || !LIVE(D(i, k)) || BIT(compared[i], k))

/* ---- keys between sites ---- */

#define KNOW(i, j) (F(j, i) != GONE && D(j, i) != NONE && F(i, j) != GONE && D(i, j) != NONE)
#define FENCED_HERE(i, j, k) (D(i, k) != GONE || F(i, k) == GONE)
#define FENCED_BOTH(i, j, k) (D(i, k) != GONE || (F(i, k) == GONE && F(j, k) == GONE))
#ifdef COMPARED_EARLY
#define BOTH(i, j) ALL(FENCED_HERE, i, j)
#else
#define BOTH(i, j) ALL(FENCED_BOTH, i, j)
#endif

/* Who waits for it. */
#define W_MARK(i, j) \
    (IS_NEW(i) && D(i, i) == COUNTED && !absent[i] && !BIT(marked[i], j) && F(j, i) == COUNTED)
#define LEAVES(i) (LEAVER < NS && i != LEAVER && !off[i] && D(i, LEAVER) == LEAVING)
#define W_LAST(i, j) (LEAVES(i) && !BIT(last[i], j) && F(j, LEAVER) >= LEAVING)
#define W_CHECK(i, j) (asking && check_at == i && BIT(check_need, j) && !BIT(check_have, j))
#define W_ADD(i, j) \
    (written && !acknowledged && add_at == j && BIT(add_need, i) && !BIT(add_have, i))
#define W_PAIR(i, j) (!settled[i] && !BIT(compared[i], j) && BOTH(i, j))

#define CAN_TAKE(i, j) (i != j && !off[i] && !off[j] && FL(i, j) == 0 && KNOW(i, j))
#define TAKES_WHOLE(i, j) (CAN_TAKE(i, j) && ((!BIT(cursor[i], j) && takes[i]) || W_PAIR(i, j)))
#define TAKES_MARK(i, j) \
    (CAN_TAKE(i, j) && BIT(cursor[i], j) && \
     (W_MARK(i, j) || W_LAST(i, j) || W_CHECK(i, j) || W_ADD(i, j) || (own[j] && !has[i])))

inline take_whole(i, j) {
    FL(i, j) = ACTIVE | WHOLE | (has[j] -> WITH : 0) | (W_PAIR(i, j) -> P_PAIR : 0)
}

inline take_mark(i, j) {
    FL(i, j) = ACTIVE | (own[j] -> WITH : 0) | (W_MARK(i, j) -> P_MARK : 0) |
               (W_LAST(i, j) -> P_LAST : 0) | (W_CHECK(i, j) -> P_CHECK : 0) |
               (W_ADD(i, j) -> P_ADD : 0)
}

#define GIVES(i, j, p) ((FL(i, j) & p) != 0)
#define CAN_APPLY(i, j) (!off[i] && FL(i, j) != 0 && F(i, j) != GONE)

inline apply(i, j) {
    has[i] = has[i] || GIVES(i, j, WITH);
    cursor[i] = cursor[i] | (GIVES(i, j, WHOLE) -> 1 << j : 0);
    marked[i] = marked[i] | (GIVES(i, j, P_MARK) -> 1 << j : 0);
    last[i] = last[i] | (GIVES(i, j, P_LAST) -> 1 << j : 0);
    compared[i] = compared[i] | (GIVES(i, j, P_PAIR) -> 1 << j : 0);
    check_have = check_have | (GIVES(i, j, P_CHECK) && asking -> 1 << j : 0);
    add_have = add_have | (GIVES(i, j, P_ADD) -> 1 << i : 0);
    FL(i, j) = 0
}

#define WITH_SITE(j) \
    :: d_step { HEARS(i, j) -> hear(i, j) } \
    :: d_step { TAKES_WHOLE(i, j) -> take_whole(i, j) } \
    :: d_step { TAKES_MARK(i, j) -> take_mark(i, j) } \
    :: d_step { CAN_APPLY(i, j) -> apply(i, j) } \
    :: d_step { \
        IS_NEW(j) && !off[i] && D(i, i) == COUNTED && D(i, j) == NONE -> \
        D(i, j) = JOINING; \
        edited(i) \
    } \
    :: d_step { off[j] && i != j && !off[i] && LIVE(D(i, j)) -> gone(i, j); edited(i) }

#ifdef OUTSIDE
#define IN_EPOCH(valid) true
#else
#define IN_EPOCH(valid) valid
#endif

#define KNEW(i, j, k) knew[k]

/* Once nothing that is watched can go wrong any more, the rest need not be looked at. */
#define OVER (check_at < NS && (has[check_at] || off[check_at] || !IN_EPOCH(check_valid)))

proctype Site(byte i) provided (!OVER) {
end:
    do
    WITH_SITE(0)
    WITH_SITE(1)
#if NS > 2
    WITH_SITE(2)
#endif
#if NS > 3
    WITH_SITE(3)
#endif
    :: d_step { dirty[i] && !off[i] -> fence(i) }
    :: d_step {
        WAITS(i) && !off[i] && MAY_OPEN(i, i) ->
        takes[i] = true;
        agree[i] = 0;
        edited(i)
    }
    :: d_step {
        D(i, i) == JOINING && takes[i] && !off[i] && ALL(COPIED, i, j) ->
        D(i, i) = COUNTED;
        edited(i)
    }
    :: d_step {
        IS_NEW(i) && D(i, i) == COUNTED && !absent[i] && !off[i] && ALL(COUNTS_ME, i, j) &&
            JOIN_SETTLED(i) ->
        absent[i] = true;
        edited(i)
    }
    :: d_step {
        i == LEAVER && D(i, i) == COUNTED && !off[i] ->
        D(i, i) = LEAVING;
        takes[i] = false;
        absent[i] = false;
        edited(i)
    }
    :: d_step { LEAVES(i) && !done[i] && ALL(HAS_LAST, i, j) && LEAVE_SETTLED(i) -> done[i] = true }
    :: d_step { LEAVES(i) && ALL(IS_DONE, i, j) -> gone(i, LEAVER); edited(i) }
    :: d_step {
        !settled[i] && !off[i] && ALL(IS_COMPARED, i, j) ->
        settled[i] = true;
        edited(i)
    }
#ifdef RETURNS
    :: d_step { i == BURNT && !off[i] && !returned -> off[i] = true }
    :: d_step {
        i == BURNT && off[i] && ANY(KNEW, i, i) ->
        off[i] = false;
        returned = true;
        unheard = true
    }
#else
    :: d_step { i == BURNT && !off[i] -> off[i] = true; has[i] = false; own[i] = false }
#endif
#ifdef FORGOTTEN
    :: d_step {
        i != BURNT && !off[i] && F(i, BURNT) == GONE && settled[i] ->
        D(i, BURNT) = NONE;
        edited(i)
    }
#endif
    od
}

/* ---- users ---- */

#ifndef NEED
#define NEED 1
#endif

#ifdef COUNT_LEAVING
#define COUNTS_FOR(set, s, k) \
    (k != s && (set(s, k) == COUNTED || set(s, k) == LEAVING) -> 1 << k : 0)
#else
#define COUNTS_FOR(set, s, k) (k != s && set(s, k) == COUNTED -> 1 << k : 0)
#endif

inline write(s) {
    add_at = s;
    own[s] = true;
    has[s] = true;
    written = true
}

#define NEEDS(set, s) for (x : 0 .. NS - 1) { add_need = add_need | COUNTS_FOR(set, s, x) }
#ifdef OUTSIDE
#define ADD_AT(s) \
    :: d_step { takes[s] && !off[s] -> NEEDS(D, s) }; d_step { !off[s] -> write(s) }
#else
#define ADD_AT(s) \
    :: d_step { takes[s] && !off[s] -> NEEDS(D, s); write(s) } \
    :: d_step { dirty[s] && fenced_takes[s] && !off[s] -> NEEDS(F, s); write(s) }
#endif

#ifdef EACH
#define ENOUGH (add_have == add_need)
#else
#define ONE(i, j, k) BIT(add_have, k)
#define ENOUGH (SUM(ONE, i, j) + 1 >= NEED)
#endif

#ifndef LATE
active proctype Adder() {
end:
    if
    ADD_AT(0)
    ADD_AT(1)
#if NS > 2
    ADD_AT(2)
#endif
#if NS > 3
    ADD_AT(3)
#endif
    fi;
    d_step { ENOUGH && !off[add_at] -> acknowledged = true }
}
#endif

#define HOLDS(i, j, k) (has[k] && !off[k])

#ifdef FRESH
#ifdef JOINING_OUT
#define ASKED(set, s, k) \
    (k != s && (set(s, k) == COUNTED || set(s, k) == LEAVING) -> 1 << k : 0)
#else
#define ASKED(set, s, k) (k != s && LIVE(set(s, k)) -> 1 << k : 0)
#endif
#define IS_ASKED(s) ((CHECKS >> (s)) & 1)
#define ASKS(set, s) \
    check_at = s; \
    asking = acknowledged; \
    for (x : 0 .. NS - 1) { check_need = check_need | ASKED(set, s, x) }
#ifdef OUTSIDE
#define CHECK_AT(s) \
    :: d_step { IS_ASKED(s) && absent[s] && settled[s] && !off[s] -> ASKS(D, s) }
#else
#define CHECK_AT(s) \
    :: d_step { \
        acknowledged && IS_ASKED(s) && absent[s] && settled[s] && !off[s] -> ASKS(D, s) \
    } \
    :: d_step { \
        acknowledged && IS_ASKED(s) && dirty[s] && fenced_absent[s] && fenced_settled[s] && \
            !off[s] -> \
        ASKS(F, s); \
        check_newest = false \
    }
#endif
#define SURVIVES(i, j, k) (HOLDS(i, j, k) && (k != LEAVER || k == add_at || !left))

/* Who asks before the acknowledgement is promised nothing. */
active proctype Checker() {
end:
    if
    CHECK_AT(0)
    CHECK_AT(1)
#if NS > 2
    CHECK_AT(2)
#endif
#if NS > 3
    CHECK_AT(3)
#endif
    fi;
#ifdef OUTSIDE
    d_step { acknowledged -> asking = true };
#endif
    d_step {
        check_have == check_need && IN_EPOCH(check_valid) && !off[check_at] && !has[check_at] ->
        assert(!ANY(SURVIVES, i, j));
        asking = false
    }
}
#endif

#ifdef EACH
#define WRONG(i, j, k) (!off[k] && !UNHEARD(k) && !has[k] && (absent[k] || fenced_absent[k]))
active proctype Monitor() {
end:
    d_step { acknowledged && ANY(WRONG, i, j) -> assert(false) }
}
#endif

#ifdef KEPT
#define KEEPS(i, j, k) (HOLDS(i, j, k) && (k != LEAVER || !left))
#define IS_OFF(i, j, k) off[k]
active proctype Monitor() {
end:
    d_step { acknowledged && SUM(KEEPS, i, j) + SUM(IS_OFF, i, j) < NEED -> assert(false) }
}
#endif

init {
    d_step {
        for (y : 0 .. NS - 1) {
            for (x : 0 .. NS - 1) {
                D(y, x) = (IS_NEW(y) -> (x == y -> JOINING : NONE) : (IS_NEW(x) -> NONE : COUNTED));
                F(y, x) = D(y, x);
                cursor[y] = cursor[y] | (IS_NEW(y) && !IS_NEW(x) -> 0 : 1 << x)
            }
            takes[y] = !IS_NEW(y);
            absent[y] = takes[y];
            fenced_takes[y] = takes[y];
            fenced_absent[y] = takes[y];
            settled[y] = true;
            fenced_settled[y] = true
        }
#ifdef LATE
        add_at = BURNT;
        written = true;
        acknowledged = true;
        off[BURNT] = true;
        FL(LATE, BURNT) = ACTIVE | WITH
#endif
    }
    atomic {
        run Site(0);
        run Site(1);
#if NS > 2
        run Site(2);
#endif
#if NS > 3
        run Site(3);
#endif
    }
}
