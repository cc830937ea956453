/* Sites that were put back join anew, as it is built: what heals one is no key of its own.
 *
 * Three sites have one filter. One of them, or several, or one twice, become again what they were:
 * store and folders, as they were copied at one moment. What a site gets from others is relayed: it
 * goes no further by its streams. So whoever was put back
 *   - is found out: another site has a place of its log (lives, boot, offset), and each folder knows
 *     its former boots and where they ended; that is judged before anything is sent. Or another one
 *     has fenced a later life of it, or that it counts where it joins;
 *   - draws a new life and joins: in it nobody has a place of its log, and it has none of theirs;
 *   - takes adds once all have fenced that, and know the same lives;
 *   - copies all others, and all of them again when it hears of another new life, each after that
 *     one has fenced the present lives of all;
 *   - sends nothing before it counts, unless to one that joins anew as well;
 *   - counts; then all others copy all that it has, as their places are void;
 *   - says "absent" after a mark of each that has fenced that it counts.
 * With LEAVES a site leaves in order: the others are done with it when each has a mark of it, and of
 * all others, begun after it was known, by sites that go on with its own log as it is: so who knows
 * that it was put back has said so. None is done while it joins anew; who was put back does not
 * leave before it counts again; and who was put back to before others were done with a leaver that is
 * gone is compared with those that are left.
 *
 * Properties, where all sites know each other's nodes as they are, and one has all of the others'
 * logs (so much a bounded check takes, and that nobody was put back who does not know it yet):
 *   own      who says "absent" has what it ever acknowledged, but for what nobody has
 *   each     ... and what was acknowledged in every site
 *   equal    once all say "absent", and nothing is on its way, all have the same keys
 *
 * Wrong variants; each breaks one of them:
 *   SENDS_EARLY     it sends before it counts
 *   COUNTS_EARLY    it counts when it has copied one of the others
 *   LIVES_UNKNOWN   a copy counts that began before another one's new life was known
 *   DEAF            what tells that a site was put back is ignored while another one joins anew
 *   LAST_BOOT_ONLY  a folder knows no boots but its own: a place of another one is copied from
 *   HEALER_LEAVES   a site leaves while it joins anew
 *   DONE_UNKNOWN    a site is done with a leaver that knows it was put back, and has not said so
 * Nobody promises what a site was put back behind when all that had it have left; nor is it noticed
 * when it happens between the order to compare sites, which takes no places, and that: two put-backs
 * beside one that leaves.
 *
 * One step here: what a quorum of a site does, a copy, and a judgement with what is sent then. A
 * life's counter is above all that ever were (site_life.pml has tags). A link forgets what it has
 * proved when its nodes were put back. A leaver adds nothing once it was put back: what it
 * acknowledges when the others are done with it goes with it. Left out: frames that are late,
 * newcomers, and folders that are put back without their store, or to another moment than that. */

#define N 3
#ifndef KEYS
#define KEYS 3 /* as bits: key s is added at site s */
#endif
#ifndef PUT_BACKS
#define PUT_BACKS 2
#endif

#ifndef FALLS
#define FALLS 7 /* as bits: sites that may be put back */
#endif

#define BOOTS  (2 + PUT_BACKS)
#define BIT(n) (1 << (n))
#define ALL    (BIT(N) - 1)
#define AT(p, s) ((p) * N + (s)) /* of s at p */

#define JOINING 1
#define COUNTED 2
#define LEAVING 3

/* Each site. */
byte life[N] = 1;
byte state[N] = COUNTED;
bool takes[N] = true;
bool absent[N] = true;
byte has[N];    /* keys */
bool logged[N]; /* its own one, as its own */
byte boot[N] = 1;
byte ended[N * BOOTS]; /* by boots: where it ended, + 1; 0: it is not known */
bool noted[N];  /* a place has told that it was put back, in this life */
byte copied[N]; /* sites, as bits, that it has copied since it takes adds */
byte marked[N]; /* ... of which a mark came since they fenced that it counts */

/* What p has fenced of s. */
byte fenced[N * N] = 1;
byte fenced_state[N * N] = COUNTED;

/* The place of s's log at p: of both lives; 0: none. */
byte place_life[N * N] = 1;
byte place_own[N * N] = 1;
byte place_boot[N * N] = 1;
byte place_end[N * N];

/* A copy of its store and folders, made at one moment. */
bool kept[N];
byte kept_life[N];
byte kept_state[N];
bool kept_takes[N];
bool kept_absent[N];
byte kept_has[N];
bool kept_logged[N];
byte kept_boot[N];
byte kept_ended[N * BOOTS];
byte kept_fenced[N * N];
byte kept_fenced_state[N * N];
byte kept_place_life[N * N];
byte kept_place_own[N * N];
byte kept_place_boot[N * N];
byte kept_place_end[N * N];

byte put_backs_left = PUT_BACKS;
byte boots = 1;
byte lives = 1;
byte acknowledged;
byte everywhere;
byte gone; /* keys that nobody has any more */
#ifdef LEAVES
byte done[N]; /* sites, as bits, whose mark has come that was begun after they knew who leaves */
bool left;
bool kept_left[N];
bool compared[N] = true; /* with those that are left, if it was not done with who is gone */
#define IS_SETTLED(s) compared[s]
#else
#define IS_SETTLED(s) true
#endif

hidden byte i;

/* ---- what is known ---- */

#define LEAVER 2
#ifdef LEAVES
#define HERE(s) ((s) != LEAVER || !left)
#else
#define HERE(s) true
#endif
#ifdef HEALER_LEAVES
#define MAY_LEAVE(s) (state[s] <= COUNTED)
#else
#define MAY_LEAVE(s) (state[s] == COUNTED && !noted[s] && !IS_ACCUSED(s))
#endif
/* What a leaver adds that is put back, when the others are done with it, goes with it. */
#ifdef LEAVES
#define MAY_ADD(s) ((s) != LEAVER || boot[s] == 1)
#else
#define MAY_ADD(s) true
#endif
#define KNOWS_LEAVING(a, b) (fenced_state[AT(a, b)] == LEAVING)

#define KNOW_EACH_OTHER(p, s) (fenced[AT(p, s)] == life[s] && fenced[AT(s, p)] == life[p])
#define HAS_PLACE(p, s) (place_life[AT(p, s)] == life[s] && place_own[AT(p, s)] == life[p])
#define IS_BEFORE(p, s) (place_end[AT(p, s)] < ended[s * BOOTS + place_boot[AT(p, s)]])
#define IS_PRESENT(p, s) (place_boot[AT(p, s)] == boot[s] && place_end[AT(p, s)] <= logged[s])
#ifdef LAST_BOOT_ONLY
#define IS_TRUE(p, s) (place_boot[AT(p, s)] != boot[s] || place_end[AT(p, s)] <= logged[s])
#else
#define IS_TRUE(p, s) (IS_PRESENT(p, s) || IS_BEFORE(p, s))
#endif
#define HAS_ALL(p, s) (HAS_PLACE(p, s) && IS_PRESENT(p, s) && place_end[AT(p, s)] == logged[s])

/* Do a and b know all sites in the same lives? */
#define SAME_LIVES(a, b)                                                                   \
    (fenced[AT(a, 0)] == fenced[AT(b, 0)] && fenced[AT(a, 1)] == fenced[AT(b, 1)] &&       \
     fenced[AT(a, 2)] == fenced[AT(b, 2)])
#ifdef LIVES_UNKNOWN
#define PROVES(p, s) true
#else
#define PROVES(p, s) SAME_LIVES(p, s)
#endif

#ifdef SENDS_EARLY
#define MAY_TELL(s, p) true
#else
#define MAY_TELL(s, p) (state[s] != JOINING || state[p] == JOINING)
#endif
#define SENDS(s, p)                                                                        \
    (HERE(s) && HERE(p) && !noted[s] && KNOW_EACH_OTHER(p, s) && MAY_TELL(s, p) &&       \
     (state[p] != JOINING || takes[p]))

#define OTHERS(s) (ALL & ~BIT(s) & ~(HERE(LEAVER) -> 0 : BIT(LEAVER)))
#define NEXT(s)   (((s) + 1) % N)
#define LAST(s)   (((s) + 2) % N)
#define OF_BOTH(what, s)                                                                   \
    ((!HERE(NEXT(s)) || what(NEXT(s), s)) && (!HERE(LAST(s)) || what(LAST(s), s)))

#define IS_NEWS(p, s)                                                                      \
    (fenced[AT(p, s)] < life[s] ||                                                         \
     (fenced[AT(p, s)] == life[s] && fenced_state[AT(p, s)] < state[s]))
/* Does another site know a later life of it, or that it counts? */
#define ACCUSES(p, s)                                                                      \
    (fenced[AT(p, s)] > life[s] || (fenced[AT(p, s)] == life[s] && fenced_state[AT(p, s)] > state[s]))
#define IS_ACCUSED(s) ((HERE(NEXT(s)) && ACCUSES(NEXT(s), s)) || (HERE(LAST(s)) && ACCUSES(LAST(s), s)))

#define NAMES(p, s)  (fenced[AT(p, s)] == life[s] && SAME_LIVES(p, s))
#define COUNTS(p, s) (fenced[AT(p, s)] == life[s] && fenced_state[AT(p, s)] == COUNTED)
#ifdef DONE_UNKNOWN
#define IS_KNOWN_BY(s, p) true
#else
#define IS_KNOWN_BY(s, p) VOUCHES(s, p)
#endif
/* Of who counts here. */
#define CONFIRMS(p, s) (fenced_state[AT(s, p)] != COUNTED || HAS_ALL(p, s))

#ifdef COUNTS_EARLY
#define HAS_COPIED(s) (copied[s] != 0)
#else
#define HAS_COPIED(s) (copied[s] == OTHERS(s))
#endif
#define MAY_FALL(s) (FALLS & BIT(s))

/* ---- what has to hold ---- */

/* p goes on with the logs of s as they are; and with all of them. */
#define VOUCHES(p, s) (HAS_PLACE(p, s) && place_boot[AT(p, s)] == boot[s])
#define IS_FRESH(p, s) (VOUCHES(p, s) && HAS_ALL(s, p))
#define IS_KNOWN(s)    (!HERE(s) || (!noted[s] && !IS_ACCUSED(s) && OF_BOTH(VOUCHES, s)))
#define IS_BOUNDED(s)                                                                      \
    (absent[s] && IS_SETTLED(s) && OF_BOTH(IS_FRESH, s) && IS_KNOWN(0) && IS_KNOWN(1) && IS_KNOWN(2))
#define HOLDS(s)                                                                           \
    (!HERE(s) || !IS_BOUNDED(s) ||                                                         \
     !(((acknowledged & BIT(s)) | everywhere) & ~gone & ~has[s]))
#define IS_EVEN(p, s)  (HAS_ALL(p, s) && COUNTS(p, s))
#define IS_QUIET(s)    (!HERE(s) || (absent[s] && IS_SETTLED(s) && !noted[s] && OF_BOTH(IS_EVEN, s)))

inline forget_places(s) { /* which it has of others */
    i = 0;
    do
    :: i < N ->
        place_life[AT(s, i)] = 0;
        place_own[AT(s, i)] = 0;
        place_boot[AT(s, i)] = 0;
        place_end[AT(s, i)] = 0;
        i++
    :: else -> break
    od;
    i = 0
}

inline set_place(p, s) {
    place_life[AT(p, s)] = life[s];
    place_own[AT(p, s)] = life[p];
    place_boot[AT(p, s)] = boot[s];
    place_end[AT(p, s)] = logged[s]
}

inline copy_whole(p, s) {
    has[p] = has[p] | has[s];
    set_place(p, s);
    copied[p] = (state[p] == JOINING && PROVES(p, s) -> copied[p] | BIT(s) : copied[p])
}

inline copy_site(s) {
#ifdef LEAVES
    kept_left[s] = left;
#endif
    kept[s] = true;
    kept_life[s] = life[s];
    kept_state[s] = state[s];
    kept_takes[s] = takes[s];
    kept_absent[s] = absent[s];
    kept_has[s] = has[s];
    kept_logged[s] = logged[s];
    kept_boot[s] = boot[s];
    i = 0;
    do
    :: i < BOOTS -> kept_ended[s * BOOTS + i] = ended[s * BOOTS + i]; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < N ->
        kept_fenced[AT(s, i)] = fenced[AT(s, i)];
        kept_fenced_state[AT(s, i)] = fenced_state[AT(s, i)];
        kept_place_life[AT(s, i)] = place_life[AT(s, i)];
        kept_place_own[AT(s, i)] = place_own[AT(s, i)];
        kept_place_boot[AT(s, i)] = place_boot[AT(s, i)];
        kept_place_end[AT(s, i)] = place_end[AT(s, i)];
        i++
    :: else -> break
    od;
    i = 0
}

/* Nobody needs them any more. */
inline forget_copies() {
    i = 0;
    do
    :: i < N ->
        kept[i] = false;
        kept_life[i] = 0;
        kept_state[i] = 0;
        kept_takes[i] = false;
        kept_absent[i] = false;
        kept_has[i] = 0;
        kept_logged[i] = false;
        kept_boot[i] = 0;
        i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < N * BOOTS -> kept_ended[i] = 0; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < N * N ->
        kept_fenced[i] = 0;
        kept_fenced_state[i] = 0;
        kept_place_life[i] = 0;
        kept_place_own[i] = 0;
        kept_place_boot[i] = 0;
        kept_place_end[i] = 0;
        i++
    :: else -> break
    od;
    i = 0
}

inline put_back(s) {
    put_backs_left--;
    life[s] = kept_life[s];
    state[s] = kept_state[s];
    takes[s] = kept_takes[s];
    absent[s] = kept_absent[s];
    has[s] = kept_has[s];
    logged[s] = kept_logged[s];
    i = 0;
    do
    :: i < BOOTS -> ended[s * BOOTS + i] = kept_ended[s * BOOTS + i]; i++
    :: else -> break
    od;
    ended[s * BOOTS + kept_boot[s]] = kept_logged[s] + 1;
    boots++;
    boot[s] = boots;
    i = 0;
    do
    :: i < N ->
        fenced[AT(s, i)] = kept_fenced[AT(s, i)];
        fenced_state[AT(s, i)] = kept_fenced_state[AT(s, i)];
        place_life[AT(s, i)] = kept_place_life[AT(s, i)];
        place_own[AT(s, i)] = kept_place_own[AT(s, i)];
        place_boot[AT(s, i)] = kept_place_boot[AT(s, i)];
        place_end[AT(s, i)] = kept_place_end[AT(s, i)];
        i++
    :: else -> break
    od;
    i = 0;
    noted[s] = false;
    copied[s] = 0;
    marked[s] = 0;
#ifdef LEAVES
    done[s] = 0;
    compared[s] = left == kept_left[s];
#endif
    gone = gone | (acknowledged & ~has[0] & ~has[1] & ~(HERE(LEAVER) -> has[LEAVER] : 0));
    if
    :: put_backs_left == 0 -> forget_copies()
    :: else
    fi
}

inline join_anew(s) {
    lives++;
    life[s] = lives;
    state[s] = JOINING;
    takes[s] = false;
    absent[s] = false;
    noted[s] = false;
    copied[s] = 0;
    marked[s] = 0;
#ifdef LEAVES
    done[s] = 0;
#endif
    fenced[AT(s, s)] = life[s];
    fenced_state[AT(s, s)] = JOINING;
    forget_places(s)
}

/* p hears of s's life, or of what it is in it. */
inline hear(p, s) {
    if
    :: fenced[AT(p, s)] != life[s] ->
#ifndef LIVES_UNKNOWN
        copied[p] = 0;
#endif
        copied[p] = copied[p] & ~BIT(s);
        marked[p] = marked[p] & ~BIT(s);
        place_life[AT(p, s)] = 0;
        place_own[AT(p, s)] = 0;
        place_boot[AT(p, s)] = 0;
        place_end[AT(p, s)] = 0
    :: else
    fi;
    fenced[AT(p, s)] = life[s];
    fenced_state[AT(p, s)] = state[s]
}

/* ---- a site as it hears of another one ---- */

#define PAIRS (N * (N - 1))

active [PAIRS] proctype Hears() {
#define p (_pid / 2)
#define s ((_pid / 2 + 1 + _pid % 2) % N)
end:
    do
    /* From s: what is beyond the place, or all that it has. */
    :: d_step {
        SENDS(s, p) && !HAS_ALL(p, s) ->
        if
        :: HAS_PLACE(p, s) && !IS_TRUE(p, s) ->
#ifdef DEAF
            if
            :: state[3 - p - s] == JOINING || state[p] == JOINING -> copy_whole(p, s)
            :: else -> noted[s] = true
            fi
#else
            noted[s] = true
#endif
        :: HAS_PLACE(p, s) && IS_PRESENT(p, s) || HAS_PLACE(p, s) && IS_BEFORE(p, s) ->
            has[p] = has[p] | (logged[s] -> BIT(s) : 0);
            set_place(p, s)
        :: else -> copy_whole(p, s)
        fi
    }
    /* ... once more: another life has become known. */
    :: d_step {
        SENDS(s, p) && state[p] == JOINING && HAS_ALL(p, s) && !(copied[p] & BIT(s)) && PROVES(p, s) ->
        copy_whole(p, s)
    }
    /* A mark. */
    :: d_step {
        SENDS(s, p) && HAS_ALL(p, s) && state[p] == COUNTED && !(marked[p] & BIT(s)) && COUNTS(s, p) ->
        marked[p] = marked[p] | BIT(s)
    }
#ifdef LEAVES
    :: d_step { SENDS(s, p) && !compared[p] -> copy_whole(p, s); compared[p] = true }
    /* ... begun after s knew of the leaving. */
    :: d_step {
        SENDS(s, p) && HAS_ALL(p, s) && p != LEAVER && state[p] != JOINING && !(done[p] & BIT(s)) &&
            KNOWS_LEAVING(p, LEAVER) && KNOWS_LEAVING(s, LEAVER) && IS_KNOWN_BY(s, p) ->
        done[p] = done[p] | BIT(s)
    }
#endif
    /* News. */
    :: d_step { HERE(s) && IS_NEWS(p, s) -> hear(p, s) }
    od
#undef p
#undef s
}

active [N] proctype Site() {
#define p (_pid - PAIRS)
end:
    do
    :: d_step {
        takes[p] && (KEYS & BIT(p) & ~acknowledged) && MAY_ADD(p) ->
        logged[p] = true;
        has[p] = has[p] | BIT(p);
        acknowledged = acknowledged | BIT(p)
    }
    :: d_step {
        logged[p] && !noted[p] && state[p] == COUNTED && !(everywhere & BIT(p)) && OF_BOTH(CONFIRMS, p) ->
        everywhere = everywhere | BIT(p)
    }
    :: d_step { (noted[p] || IS_ACCUSED(p)) && state[p] <= COUNTED -> join_anew(p) }
    :: d_step { state[p] == JOINING && !takes[p] && OF_BOTH(NAMES, p) -> takes[p] = true }
    :: d_step {
        state[p] == JOINING && takes[p] && HAS_COPIED(p) ->
        state[p] = COUNTED;
        fenced_state[AT(p, p)] = COUNTED;
        copied[p] = 0
    }
    :: d_step {
        state[p] == COUNTED && !absent[p] && OF_BOTH(COUNTS, p) && (marked[p] & OTHERS(p)) == OTHERS(p) ->
        absent[p] = true;
        marked[p] = 0
    }
#ifdef LEAVES
    :: d_step {
        p == LEAVER && MAY_LEAVE(p) ->
        state[p] = LEAVING;
        takes[p] = false;
        absent[p] = false;
        fenced_state[AT(p, p)] = LEAVING
    }
    :: d_step {
        p == LEAVER && !left && done[0] == 6 && done[1] == 5 ->
        left = true;
        done[0] = 0;
        done[1] = 0
    }
#endif

    /* What goes wrong. */
    :: d_step { MAY_FALL(p) && !kept[p] && put_backs_left > 0 -> copy_site(p) }
    :: d_step { put_backs_left > 0 && kept[p] && HERE(p) -> put_back(p) }
    od
#undef p
}

active proctype Looks() {
end:
    do
    :: !(HOLDS(0) && HOLDS(1) && HOLDS(2)) -> assert(false)
    :: IS_QUIET(0) && IS_QUIET(1) && IS_QUIET(2) &&
       (has[0] != has[1] || (HERE(2) && has[1] != has[2])) -> assert(false)
    od
}
