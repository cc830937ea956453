/* How old may be what a check at one site knows of the others? Nobody's clock is compared with another's.
 *
 * A filter is kept at this site and at SOURCES others. LINKS links here take over what the others have
 * acknowledged, and one router answers checks. Of interest is one key, acknowledged at one of the others at any time.
 *
 *   mark      a link notes its own clock (b0) and then asks another site for the ends of its logs. What that had
 *             acknowledged by then is below those ends. Once the link knows that all of it is applied here, the mark
 *             counts; the link remembers the newest one that does.
 *   question  a router notes its own clock (r0) and asks a link, which may hold the question for a while. It tells
 *             the age of its newest mark, now - b0, by a clock read after the question came, and whether that mark
 *             was begun after the question came. The router takes r0 - age for the mark's beginning.
 *   check     may say "absent" within a bound of BOUND ticks if, of every other site, it knows a mark that was begun
 *             less than BOUND before it was asked. A fresh one needs, of every other site, a mark that was begun
 *             after a question that was sent after the check came; no clock has a part in that. Nodes are asked only
 *             then. A site that is being filled never says it.
 *
 * Messages may take any time, overtake each other and never arrive. A link may be started again, on another machine,
 * too. Clocks run at one rate, and begin anywhere. With FILLS this site is one that is being filled: what was
 * acknowledged before it was looked at is copied, the rest comes by the stream, and marks are about the stream.
 * With STOPS the clock of a link, or of the router, may stand still, as in a virtual machine that is resumed from a
 * snapshot. Then bounded checks lose the key, and fresh ones do not. With BOOTS=t the router's machine was started,
 * and its clock begins, at tick t. With FRESH the check is a fresh one, else a bounded one.
 *
 * Property: an "absent" misses no key acknowledged at another site BOUND or more before the check came; if it is
 * fresh, none acknowledged before it came.
 *
 * Wrong variants; each misses one:
 *   AGE_EARLY       a link tells the age by a clock read before the question came, as one that tells what it worked
 *                   out when the mark counted, or reads its clock once in each turn of a loop
 *   R0_AT_ANSWER    the router subtracts from its clock when the answer came
 *   AGE_KEPT        the router keeps the age, not the beginning
 *   PUSHED          links tell ages unasked
 *   WALL_CLOCK      a link tells b0, the router compares it with its own clock
 *   SHARED_B0       b0 is stored, and other links tell it, too
 *   KEPT_B0         b0 is stored, and the link tells it when it has been started again
 *   NUMBERS_AGAIN   a link that was started again numbers its marks from the beginning: ends told to the one before
 *                   are taken for those of its own mark
 *   B0_LATE         b0 is noted when the ends are told
 *   ENDS_BEFORE     the other site tells ends that it had gathered before it was asked
 *   NOT_APPLIED     a mark counts once the ends are known
 *   ASKED_EARLY     when a check came is taken from a clock read before
 *   NODES_FIRST     the votes are of before the mark was known
 *   ANY_QUESTION    a fresh check goes by a question that was sent before the check came
 *   ONE_SITE        SOURCES=2: of one of the others it is known
 *   FILLING_SAYS    FILLS: a site says "absent" while it is being filled
 *   FRESH_BY_CLOCK  STOPS: a fresh check, too, goes by the beginning that the router has worked out (without STOPS
 *                   it holds)
 *   CLIPPED         BOOTS: what began before the router's clock began at 0
 *
 * What is one step: the ends are those of one moment (what is gathered later covers more; how they are gathered, and
 * when they are applied here, is another question). Nodes are asked in one moment, as early as is allowed: later ones
 * find more. What is applied here stays, so sites that are put back are left out; so is the set of sites, which is
 * fenced like everything else of an epoch. All clocks go on at one moment; where they do not, an age is rounded up.
 * The search ends where the check can't miss the key any more: it is applied before nodes are asked, or too late to
 * matter. */

#ifndef SOURCES
#define SOURCES 1
#endif
#ifndef LINKS
#define LINKS 1
#endif
#ifndef MARKS
#define MARKS 2 /* that are begun, in all */
#endif
#ifndef QUESTIONS
#ifdef FRESH
#define QUESTIONS 2
#else
#define QUESTIONS 1
#endif
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef BOOTS
#define BOOTS 0
#endif
#ifndef BOUND
#define BOUND 2
#endif
#ifndef END
#ifdef FRESH
#define END 0 /* no clock has a part in it */
#else
#define END (BOUND + 1)
#endif
#endif
#define NEVER 255
#define EARLIEST -100

byte now; /* ticks of true time */
byte stops;
bool restarted;
bool ready; /* clocks are set */
bool idle;  /* whatever the check is told is right: as it came too early, or will find the key */
bool nodes_asked;

/* The key */
byte site;                 /* the source where it is added */
byte acknowledged = NEVER; /* then */
bool applied;              /* with W replicas here, or more */

/* Filling */
#ifdef FILLS
bool filling = true;
bool looked;  /* where the stream begins */
bool to_copy; /* the key was there before */
#else
#define filling false
#define looked  true
#define to_copy false
#endif

/* Links. What a clock shows is the time and what it is ahead. */
short ahead[LINKS];
#define CLOCK(l) (now + ahead[l])
short clock_read[LINKS];                      /* AGE_EARLY: what it showed then */
bool counts[LINKS * SOURCES];           /* a mark does ... */
short newest_b0[LINKS * SOURCES];       /* ... begun then */
byte newest[LINKS * SOURCES];           /* ... number */
bool shared;                            /* SHARED_B0 */
short shared_b0;
bool had[SOURCES];                      /* ENDS_BEFORE: the key is below the ends */

/* Marks, by number; each is of one link and one source. */
mtype = {none, sent, told, known, over, held, answered};
mtype mark[MARKS] = none;
byte mark_link[MARKS];
byte mark_source[MARKS];
short mark_b0[MARKS];
bool mark_has[MARKS];  /* the key is below its ends */
bool mark_void[MARKS]; /* of a link that was started again */
byte begun;

/* The router */
short router_ahead;
#define ROUTER_CLOCK (now + router_ahead)
mtype question[QUESTIONS] = none;
byte asked_link[QUESTIONS];
short r0[QUESTIONS];
byte since[QUESTIONS]; /* marks had been begun when it came to the link */
bool tells[QUESTIONS * SOURCES];
short age[QUESTIONS * SOURCES];
bool after[QUESTIONS * SOURCES];
byte questions;
short beginning[SOURCES] = EARLIEST;
short age_kept[SOURCES] = 100;
byte fresh_of[SOURCES]; /* the newest question, counted from 1, that a mark was begun after */
short router_read;      /* ASKED_EARLY */

#define AT(a, s) ((a) * SOURCES + (s))

/* ---- time, and what happens at the other sites ---- */

/* A check may still come so long after the key. */
#ifdef FRESH
#define IN_TIME true
#else
#define IN_TIME (now + BOUND <= END)
#endif

inline tick() {
    now++;
    idle = idle || (acknowledged == NEVER && !IN_TIME);
#if STOPS > 0
    if
    :: stops < STOPS -> stops++;
        if
        :: ahead[0]--
        :: ahead[LINKS - 1]--
        :: router_ahead--
        fi
    :: true
    fi
#endif
}

inline apply() {
    applied = true;
    idle = idle || !nodes_asked
}

active proctype World() {
    atomic {
        select(site : 0 .. SOURCES - 1);
        ahead[0] = 2;
        router_ahead = (BOOTS > 0 -> -BOOTS : 1);
#if defined(AGE_EARLY) || defined(ASKED_EARLY)
        clock_read[0] = CLOCK(0);
        router_read = ROUTER_CLOCK;
#endif
        ready = true
    };
    do
    :: idle -> break
    :: atomic { now < END -> tick() }
    :: atomic { acknowledged == NEVER && IN_TIME -> acknowledged = now }
    :: atomic { acknowledged != NEVER && !applied && looked && !to_copy -> apply() }
#ifdef ENDS_BEFORE
    :: atomic { acknowledged != NEVER && !had[site] -> had[site] = true }
#endif
#ifdef FILLS
    :: atomic { !looked -> looked = true; to_copy = (acknowledged != NEVER) }
    :: atomic {
        looked && filling ->
        filling = false;
        if
        :: to_copy -> apply()
        :: else
        fi
    }
#endif
    od
}

/* ---- marks ---- */

inline begin(l, s) {
    mark[begun] = sent;
    mark_link[begun] = l;
    mark_source[begun] = s;
    mark_b0[begun] = CLOCK(l);
    begun++
}

#ifdef ENDS_BEFORE
#define BELOW_ENDS(s) had[s]
#else
#define BELOW_ENDS(s) (acknowledged != NEVER && site == (s))
#endif

inline gather(m) {
    mark[m] = told;
    mark_has[m] = BELOW_ENDS(mark_source[m])
}

inline forget(m) {
    mark[m] = over;
    mark_b0[m] = 0;
    mark_has[m] = false;
    mark_void[m] = false;
    mark_link[m] = 0;
    mark_source[m] = 0
}

/* The ends come. What a link before had asked for is of no use. */
inline hear_ends(m) {
    if
    :: !mark_void[m] ->
        mark[m] = known;
#ifdef B0_LATE
        mark_b0[m] = CLOCK(mark_link[m])
#endif
    :: mark_void[m] ->
#ifdef NUMBERS_AGAIN
        for (i : m + 1 .. MARKS - 1) {
            if
            :: mark[i] != none && mark[i] != over && mark_link[i] == mark_link[m] &&
                    mark_source[i] == mark_source[m] && !mark_void[i] ->
                mark[i] = known;
                mark_has[i] = mark_has[m]
            :: else
            fi
        };
        i = 0;
#endif
        forget(m)
    fi
}

#ifdef NOT_APPLIED
#define IS_APPLIED(m) true
#else
#define IS_APPLIED(m) (!mark_has[m] || applied || to_copy) /* what is to be copied is not in the stream */
#endif

inline count(m) {
    a = AT(mark_link[m], mark_source[m]);
    if
    :: !counts[a] || m >= newest[a] ->
        counts[a] = true;
        newest[a] = m;
        newest_b0[a] = mark_b0[m];
#ifdef SHARED_B0
        shared = true;
        shared_b0 = mark_b0[m];
#endif
    :: else
    fi;
    a = 0;
    forget(m)
}

inline restart(l) {
    restarted = true;
    for (i : 0 .. MARKS - 1) {
        if
        :: mark_link[i] == l && (mark[i] == sent || mark[i] == told) -> mark_void[i] = true
        :: mark_link[i] == l && mark[i] == known -> forget(i)
        :: else
        fi
    };
    for (i : 0 .. QUESTIONS - 1) {
        if
        :: asked_link[i] == l && question[i] == held -> question[i] = over
        :: else
        fi
    };
#ifndef KEPT_B0
    for (i : 0 .. SOURCES - 1) {
        counts[AT(l, i)] = false;
        newest[AT(l, i)] = 0;
        newest_b0[AT(l, i)] = 0
    };
#endif
    i = 0;
    ahead[l] = 2 - ahead[l]
}

/* ---- questions ---- */

/* Was the mark begun after the question came? Only a fresh check wants to know. */
#ifdef FRESH
#define MARKS_BEGUN    begun
#define IS_AFTER(a, q) (newest[a] >= since[q])
#else
#define MARKS_BEGUN    0
#define IS_AFTER(a, q) false
#endif

#ifdef AGE_EARLY
#define AGE_CLOCK(l) clock_read[l]
#else
#define AGE_CLOCK(l) CLOCK(l)
#endif

inline tell(q, l) {
    question[q] = answered;
    for (i : 0 .. SOURCES - 1) {
        a = AT(l, i);
        tells[AT(q, i)] = counts[a];
        if
        :: counts[a] ->
#ifdef WALL_CLOCK
            age[AT(q, i)] = newest_b0[a];
#else
            age[AT(q, i)] = AGE_CLOCK(l) - newest_b0[a];
#endif
            after[AT(q, i)] = IS_AFTER(a, q)
        :: else
        fi;
#ifdef SHARED_B0
        if
        :: shared ->
            tells[AT(q, i)] = true;
            age[AT(q, i)] = CLOCK(l) - shared_b0
        :: else
        fi;
#endif
#if defined(SHARED_B0) || defined(KEPT_B0) || defined(AGE_EARLY)
        age[AT(q, i)] = (age[AT(q, i)] < 0 -> 0 : age[AT(q, i)])
#endif
    };
    i = 0;
    a = 0;
    since[q] = 0;
    asked_link[q] = 0
}

active[LINKS] proctype Link() {
    byte m;
    byte q;
    byte i;
    byte a;
#define SELF (_pid - 1)

    ready;
    do
    :: idle -> break
    :: atomic {
        begun < MARKS && looked ->
        select(i : 0 .. SOURCES - 1);
        begin(SELF, i);
        i = 0
    }
    :: atomic {
        begun > 0 ->
        select(m : 0 .. begun - 1);
        if
        :: mark_link[m] == SELF && mark[m] == sent -> gather(m)
        :: mark_link[m] == SELF && mark[m] == told -> hear_ends(m)
        :: mark_link[m] == SELF && mark[m] == known && IS_APPLIED(m) -> count(m)
        :: else
        fi;
        m = 0
    }
    :: atomic {
        questions > 0 ->
        select(q : 0 .. questions - 1);
        if
        :: asked_link[q] == SELF && question[q] == sent ->
            question[q] = held;
            since[q] = MARKS_BEGUN
        :: asked_link[q] == SELF && question[q] == held -> tell(q, SELF)
        :: else
        fi;
        q = 0
    }
#ifdef PUSHED
    :: atomic { questions < QUESTIONS -> questions++; since[questions - 1] = NEVER; tell(questions - 1, SELF) }
#endif
#ifdef AGE_EARLY
    :: atomic { clock_read[SELF] != CLOCK(SELF) -> clock_read[SELF] = CLOCK(SELF) }
#endif
#ifdef RESTART
    :: atomic { !restarted && begun > 0 -> restart(SELF) }
#endif
    od
}

/* ---- the router ---- */

inline ask(l) {
    question[questions] = sent;
    asked_link[questions] = l;
    r0[questions] = ROUTER_CLOCK;
    questions++
}

#if defined(R0_AT_ANSWER) || defined(PUSHED)
#define ASKED_AT(q) ROUTER_CLOCK
#else
#define ASKED_AT(q) r0[q]
#endif
#if defined(WALL_CLOCK)
#define BEGINNING(q, i) age[AT(q, i)]
#elif defined(CLIPPED)
#define BEGINNING(q, i) (ASKED_AT(q) > age[AT(q, i)] -> ASKED_AT(q) - age[AT(q, i)] : 0)
#else
#define BEGINNING(q, i) (ASKED_AT(q) - age[AT(q, i)])
#endif

inline hear_age(q) {
    question[q] = over;
    for (i : 0 .. SOURCES - 1) {
        if
        :: tells[AT(q, i)] ->
            if
            :: BEGINNING(q, i) > beginning[i] -> beginning[i] = BEGINNING(q, i)
            :: else
            fi;
            if
            :: after[AT(q, i)] && q + 1 > fresh_of[i] -> fresh_of[i] = q + 1
            :: else
            fi;
#ifdef AGE_KEPT
            age_kept[i] = age[AT(q, i)];
#endif
        :: else
        fi;
        tells[AT(q, i)] = false;
        age[AT(q, i)] = 0;
        after[AT(q, i)] = false
    };
    i = 0;
    r0[q] = 0
}

active proctype Router() {
    byte q;
    byte i;

    ready;
    do
    :: idle -> break
    :: atomic {
        questions < QUESTIONS && now >= BOOTS ->
        select(i : 0 .. LINKS - 1);
        ask(i);
        i = 0
    }
    :: atomic {
        questions > 0 ->
        select(q : 0 .. questions - 1);
        if
        :: question[q] == answered -> hear_age(q)
        :: else
        fi;
        q = 0
    }
#ifdef ASKED_EARLY
    :: atomic { router_read != ROUTER_CLOCK -> router_read = ROUTER_CLOCK }
#endif
    od
}

#ifdef ASKED_EARLY
#define CHECK_CLOCK router_read
#else
#define CHECK_CLOCK ROUTER_CLOCK
#endif
#ifdef ANY_QUESTION
#define SENT_BEFORE 0
#else
#define SENT_BEFORE sent_before
#endif
#ifdef FRESH_BY_CLOCK
#define IS_FRESH(i) (beginning[i] > came)
#else
#define IS_FRESH(i) (fresh_of[i] > SENT_BEFORE)
#endif
#ifdef AGE_KEPT
#define IS_BOUNDED(i) (age_kept[i] < BOUND)
#else
#define IS_BOUNDED(i) (came - beginning[i] < BOUND)
#endif
#ifdef FRESH
#define KNOWS(i) IS_FRESH(i)
#else
#define KNOWS(i) IS_BOUNDED(i)
#endif
#if SOURCES == 1
#define KNOWS_ALL KNOWS(0)
#elif defined(ONE_SITE)
#define KNOWS_ALL (KNOWS(0) || KNOWS(1))
#else
#define KNOWS_ALL (KNOWS(0) && KNOWS(1))
#endif
#ifdef FILLING_SAYS
#define MAY_SAY KNOWS_ALL
#else
#define MAY_SAY (KNOWS_ALL && !filling)
#endif

#ifdef FRESH
#define MATTERS true
#else
#define MATTERS (acknowledged + BOUND <= now)
#endif

/* One check, that comes at any time. */
active proctype Check() {
    bool found;
    short came;
    byte sent_before;

    atomic {
        ready && now >= BOOTS;
        came = CHECK_CLOCK;
        sent_before = questions;
        idle = !(acknowledged != NEVER && MATTERS)
    };
    !idle;
#ifdef NODES_FIRST
    atomic { nodes_asked = true; found = applied };
    atomic { MAY_SAY -> assert(found) }
#else
    atomic { MAY_SAY -> assert(applied) }
#endif
}
