/* Is what a site says of another one true after it, or part of it, was put back from an older copy?
 *
 * Three sites have one filter: A, B and C, or A and B alone. A's store, the folders of its nodes, or
 * both become again what they were; they were copied at different moments, while all ran. Its nodes
 * restart without harm, or part of them is lost for good and the operator accepts it. Its link and
 * its routers outlive all that, with what they remember. B and C never fail. A message from A may be
 * late (LATE of them) or lost: a piece of its log, a comparison, a confirmation.
 *
 * A site has a life: a counter and a tag that was drawn. Whoever was put back draws a new life, its
 * peers fence that, it is compared with each of them, counted, marked by each, and through. A cursor
 * for A's log names life, boot and offset; each boot's folder knows where the earlier ones ended.
 *
 * The rule, and who judges by it:
 *   a peer   answers "put back" and neither gives nor confirms a mark when it has fenced a later life,
 *            or an equal counter with another tag, knows a later loss, has in its set whom A has not, or
 *            remembers more of a boot than A's folders do. Whatever it has applied it remembers: the
 *            note, from which boot and up to where, is part of being applied. It drops what is of a life
 *            other than the one that it has fenced.
 *   A's link believes its memory, marks that it has applied among it, for the boots of its own nodes
 *            under which it came about; else it begins anew from the cursors in their logs.
 *   A's adds that wait for every site are confirmed by a mark of the very boots that acknowledged them,
 *            and only if the nodes, asked once more when all have confirmed, still have these boots.
 *   healed   what a comparison brings to A, since its own cursors are void or missing, is A's own.
 *
 * Properties:
 *   mark     when a mark is applied, its receiver has every key that was acknowledged at the other site
 *            before it began; A confirms nothing that it has not
 *   each     no site that says "absent" lacks a key that was acknowledged in every site
 *   healed   once A is through it has what it ever acknowledged, unless nobody had that any more when
 *            A was put back, or the loss accepted
 *   quiet    a site that has only restarted is not taken for one that was put back
 * A can't know that it was put back before it has heard a mark of each peer; until then nothing is
 * expected of its "absent", nor, for keys from before, of the marks that it gives.
 *
 * Wrong variants; each breaks one of them:
 *   BARE_CURSOR          a cursor is an offset without a boot
 *   CURSOR_IN_STORE      A's cursors are in its store, and outlive the folders
 *   MEMORY_OUTLIVES      its link goes on from memory when its nodes were put back
 *   NOTED_LATER          a peer notes what it has applied some time after, and its link is killed
 *   GIVES_EARLY          A gives marks before it is through
 *   CONFIRMS_EARLY       A confirms what its last life had applied
 *   UNASKED              A's nodes are not asked once more
 *   ADDS_OF_OTHER_BOOTS  a mark confirms what earlier boots acknowledged
 *   OLD_SET              A joins anew with the set of its copy
 *   SET_UNNAMED          marks do not name A's set: B confirms, and only C knows that A has forgotten it
 *   RELAYS_HEALED        what heals A is not shipped on
 *   MEMBER_RELAYS        ... not when A is through, but its folders were put back to an earlier life
 *   LOSS_KEEPS_CURSORS   an accepted loss keeps the cursors of what was lost
 * With STRICT nothing is exempt of marks that A gives, and one to C is wrong that came before B was
 * heard. With WAITS it holds: A gives marks when each peer has given one to its nodes' present boots.
 * With NOTICED every put back is noticed by the site itself, which draws a life at once and hears of
 * nobody's; then it holds without boots, by lives alone, but not with
 *   OLD_LIFE             a batch of an old life is applied, and confirmed
 *   NO_TAG               a life is a counter only
 *
 * One step here: what a quorum of a site does, fences among it, and a comparison (site_mark.pml and
 * replica_change.pml part them); drawing a life and fencing it at home, since A takes no adds
 * between; a mark from a peer to A, since a mark that begins earlier promises less, and boots are
 * asked of after it was applied. A peer's cursor is its note: a lower one only repeats. B's log never
 * goes back, so that a set of keys is an offset in it. Left out: how C joins (site_set.pml), revisions
 * and hashes of a site's documents (they accuse more, and nobody else), what a store or a node notices
 * by itself, two sites that are put back at once, an add that is tried again. */

#ifndef KEYS_A
#define KEYS_A 0
#endif
#ifndef KEYS_B
#define KEYS_B 0
#endif
#ifndef PEERS
#define PEERS 2
#endif
#ifndef PUT_BACKS
#define PUT_BACKS 1
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef LATE
#define LATE 1
#endif
#ifndef LOSSES
#define LOSSES 0
#endif

#define B 0
#define C (PEERS - 1) /* B, where there are but two sites */

#define KEYS   3                                  /* as bits */
#define BOOTS  (2 + PUT_BACKS + RESTARTS + LOSSES) /* numbered from 1 */
#define WHOLE  15 /* not a piece of the log, but a whole comparison */
#define BIT(n) (1 << (n))

/* The phases of A's life. */
#define FENCING 1 /* its peers fence the new life; no adds */
#define FILLING 2 /* it is compared with all of them */
#define COUNTED 3 /* all count it, and it awaits a mark of each */
#define MEMBER  4 /* it says "absent", gives marks and confirms them */
#define HEALING 5 /* a loss was accepted */

/* A life: counter and tag. */
#define LIFE(counter, tag) ((counter) * 8 + (tag))
#define COUNTER(life)      ((life) / 8)
#define FIRST              LIFE(1, 0)
#ifdef NO_TAG
#define SAME(x, y) (COUNTER(x) == COUNTER(y))
#else
#define SAME(x, y) ((x) == (y))
#endif

/* The store of A. */
byte life = FIRST;
byte phase = MEMBER;
byte losses; /* accepted */
#ifdef THIRD_JOINS
bool joined;  /* C, and B knows it */
bool knows_c; /* so does A */
#else
#define joined  (PEERS == 2)
#define knows_c (PEERS == 2)
#endif

/* The folders of its nodes, as one log. */
byte has;                        /* keys, own and others' */
byte record[KEYS];               /* own records */
byte tail;                       /* how many */
byte boot = 1;
byte ended[BOOTS];               /* where each earlier boot ended, + 1 */
byte cursor_life[PEERS] = FIRST; /* of a cursor for the log of each peer */
byte cursor_loss[PEERS];
byte cursor[PEERS];              /* own keys of the peer that are here */

/* A copy of the folders. */
bool copied;
byte copy_has;
byte copy_record[KEYS];
byte copy_tail;
byte copy_boot = 1;
byte copy_ended[BOOTS];
byte copy_cursor[PEERS]; /* of the first life */

/* The link of A, as the receiver. It may outlive what its nodes hold. */
byte link_life = FIRST;
byte link_boot = 1;
byte link_loss;
bool link_knows[PEERS] = true;
byte link_has[PEERS];
byte marked; /* peers, as bits, of which a mark was applied while COUNTED */

/* The mark that adds at A wait for. */
byte mark_life; /* 0: none */
byte mark_loss;
byte mark_boot;
byte mark_end;
bool mark_c;    /* C is in the set */
byte mark_keys; /* acknowledged at A before it began */
byte mark_adds; /* those that it confirms */
byte confirmed; /* peers, as bits */
bool mark_holds;
byte add_boot[KEYS];

/* The peers: what they have fenced, hold, and know of A's log. */
byte fenced[PEERS] = FIRST;
bool counts[PEERS] = true;     /* A is COUNTED */
byte peer_has[PEERS];
bool peer_knows[PEERS] = true; /* there is a cursor, for this life */
byte peer_boot[PEERS] = 1;
byte peer_end[PEERS];
byte peer_loss[PEERS];
byte peer_confirmed[PEERS];    /* own keys that A has confirmed */
#ifdef NOTED_LATER
bool note_knows[PEERS] = true; /* as far as it is in the logs */
byte note_boot[PEERS] = 1;
byte note_end[PEERS];
#endif

#ifdef WAITS
byte judged = 3; /* peers, as bits, that have given a mark to A's present boot */
#define BOOTS_ANEW judged = 0
#define JUDGED(p)  judged = judged | BIT(p)
#else
#define BOOTS_ANEW skip
#define JUDGED(p)  skip
#endif

/* On the way from A to each. */
byte late_life[PEERS]; /* 0: nothing */
byte late_boot[PEERS];
byte late_loss[PEERS];
byte late_from[PEERS];
byte late_to[PEERS];
byte late_keys[PEERS];

/* What happens, and what is true. */
byte boots = 1;
byte draws;
byte put_backs_left = PUT_BACKS;
byte restarts_left = RESTARTS;
byte losses_left = LOSSES;
byte late_left = LATE;
byte acknowledged; /* keys, somewhere */
byte everywhere;   /* in every site */
bool unanswered;   /* A was put back, and no mark of every peer has come since */
byte answered;     /* peers, as bits */
byte risk;         /* what A had acknowledged before */
byte gone;         /* ... and nobody has any more */

hidden byte k;
hidden byte i;
hidden byte q;
hidden byte keys;

#define ACTIVE(p) ((p) == B || joined)
#define IN_SET(p) ((p) == B || knows_c)
#define OWN_A     (acknowledged & KEYS_A)
#define OWN(p)    ((p) == B -> acknowledged & KEYS_B : 0)
#define ALL_OF(c) ((c) -> 3 : 1)
#define ALL(what) (what(B) && (!knows_c || what(C)))

/* Who may say "absent" has what was acknowledged in every site. */
#define EACH_IS_TRUE                                                                               \
    (!(everywhere & ~peer_has[B]) && !(joined && (everywhere & ~peer_has[C])) &&                    \
     !(phase == MEMBER && !unanswered && (everywhere & ~has)))
#define NOTHING_IS_MISSING !(OWN_A & ~gone & ~has)

/* ---- what a peer judges by when it hears of A ---- */

#if defined(NOTICED)
#define SAME_BOOT(x, y) true
#define CONTINUES(p)    true
#elif defined(BARE_CURSOR)
#define SAME_BOOT(x, y) true
#define CONTINUES(p)    (!KNOWS(p) || peer_end[p] <= tail)
#else
#define SAME_BOOT(x, y) ((x) == (y))
#define CONTINUES(p)                                                                               \
    (!KNOWS(p) || (peer_boot[p] == boot && peer_end[p] <= tail) || peer_end[p] < ended[peer_boot[p]])
#endif
#define KNOWS(p) (peer_knows[p] && peer_loss[p] == losses)
#if defined(OLD_SET) || defined(SET_UNNAMED)
#define SET_IS_WHOLE(c) true
#else
#define SET_IS_WHOLE(c) (!joined || (c))
#endif
/* C has heard of every document of A since it joined; B need not have. */
#if defined(OLD_SET)
#define SET_IS_OLD(p) false
#elif defined(SET_UNNAMED)
#define SET_IS_OLD(p) ((p) == C && !knows_c)
#else
#define SET_IS_OLD(p) (!knows_c)
#endif
#define TRUSTS(p) (SAME(fenced[p], life) && !ACCUSES(p) && SET_IS_WHOLE(knows_c))
#define ACCUSES(p)                                                                                 \
    (COUNTER(fenced[p]) > COUNTER(life) ||                                                         \
     (COUNTER(fenced[p]) == COUNTER(life) && !SAME(fenced[p], life)) ||                             \
     (SAME(fenced[p], life) &&                                                                     \
      (!CONTINUES(p) || (peer_knows[p] && peer_loss[p] > losses) || (joined && SET_IS_OLD(p)))))

/* ---- A ---- */

#if defined(MEMORY_OUTLIVES) || defined(NOTICED)
#define SAME_NODES(b) true
#else
#define SAME_NODES(b) ((b) == boot)
#endif
#define LINK_GOES_ON (SAME(link_life, life) && link_loss == losses && SAME_NODES(link_boot))
#if defined(UNASKED) || defined(NOTICED)
#define MARK_GOES_ON true
#else
#define MARK_GOES_ON (mark_boot == boot)
#endif
#if defined(ADDS_OF_OTHER_BOOTS)
#define ADDED_HERE(k) true
#else
#define ADDED_HERE(k) (add_boot[k] == boot)
#endif
#if defined(LOSS_KEEPS_CURSORS)
#define OF_THIS_LOSS(p) true
#else
#define OF_THIS_LOSS(p) (cursor_loss[p] == losses)
#endif
#if defined(RELAYS_HEALED)
#define HEALED_IS_OWN false
#elif defined(MEMBER_RELAYS)
#define HEALED_IS_OWN (phase != MEMBER)
#else
#define HEALED_IS_OWN true
#endif
#if defined(STRICT) || defined(WAITS)
#define EXEMPT 0
#else
#define EXEMPT (phase == MEMBER -> risk : 0)
#endif
#if defined(WAITS)
#define GIVES_MARKS (phase == MEMBER && (judged & ALL_OF(knows_c)) == ALL_OF(knows_c))
#elif defined(GIVES_EARLY)
#define GIVES_MARKS (phase >= FILLING)
#else
#define GIVES_MARKS (phase == MEMBER)
#endif

#define FILLED(p)    (LINK_GOES_ON && link_knows[p])
#define KNOW_LIFE(p) SAME(fenced[p], life)
#define COUNT_IT(p)  (SAME(fenced[p], life) && counts[p])

inline log_own() { /* k */
    record[tail] = k;
    tail++
}

inline forget_mark() {
    mark_life = 0;
    mark_loss = 0;
    mark_boot = 0;
    mark_end = 0;
    mark_c = false;
    mark_keys = 0;
    mark_adds = 0;
    confirmed = 0;
    mark_holds = false
}

inline forget_late(p) {
    late_life[p] = 0;
    late_boot[p] = 0;
    late_loss[p] = 0;
    late_from[p] = 0;
    late_to[p] = 0;
    late_keys[p] = 0
}

inline write_cursor(p) {
    cursor_life[p] = life;
    cursor_loss[p] = losses;
    cursor[p] = link_has[p]
}

inline read_cursors() {
    link_life = life;
    link_boot = boot;
    link_loss = losses;
    marked = 0;
    q = 0;
    do
    :: q < PEERS ->
        link_knows[q] = SAME(cursor_life[q], life) && OF_THIS_LOSS(q);
        link_has[q] = (link_knows[q] -> cursor[q] : 0);
        q++
    :: else -> break
    od;
    i = 0
}

inline copy_folders() {
    copied = true;
    copy_has = has;
    copy_tail = tail;
    copy_boot = boot;
    i = 0;
    do
    :: i < KEYS -> copy_record[i] = record[i]; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < BOOTS -> copy_ended[i] = ended[i]; i++
    :: else -> break
    od;
    q = 0;
    do
    :: q < PEERS -> copy_cursor[q] = cursor[q]; q++
    :: else -> break
    od;
    i = 0
}

inline restore_cursors() {
    q = 0;
    do
    :: q < PEERS ->
        cursor_life[q] = FIRST;
        cursor_loss[q] = 0;
        cursor[q] = copy_cursor[q];
        q++
    :: else -> break
    od;
    i = 0
}

inline restore_folders() {
    has = copy_has;
    tail = copy_tail;
    i = 0;
    do
    :: i < KEYS -> record[i] = copy_record[i]; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < BOOTS -> ended[i] = copy_ended[i]; i++
    :: else -> break
    od;
    ended[copy_boot] = copy_tail + 1;
    boots++;
    boot = boots;
    BOOTS_ANEW;
#ifndef CURSOR_IN_STORE
    restore_cursors()
#endif
}

/* A's first document. */
inline restore_store() {
    life = FIRST;
    phase = MEMBER;
    losses = 0;
#ifdef THIRD_JOINS
    knows_c = false;
#endif
#ifdef CURSOR_IN_STORE
    restore_cursors()
#endif
}

inline begin_life() { /* k: its counter */
    draws++;
    life = LIFE(k, draws);
    phase = FENCING;
    k = 0
}

inline was_put_back() {
    put_backs_left--;
    unanswered = true;
    answered = 0;
    risk = OWN_A;
    gone = gone | (OWN_A & ~has & ~peer_has[B] & ~(joined -> peer_has[C] : 0));
#ifdef NOTICED
    k = COUNTER(life) + 1;
    begin_life()
#endif
}

inline is_through() {
    phase = MEMBER;
    unanswered = false;
    answered = 0;
    risk = 0;
    assert(NOTHING_IS_MISSING && EACH_IS_TRUE)
}

/* ---- between A and a peer ---- */

#define SENDS(p)                                                                                   \
    (ACTIVE(p) && IN_SET(p) && phase != FENCING && TRUSTS(p) &&                                    \
     !(KNOWS(p) && peer_end[p] == tail && SAME_BOOT(peer_boot[p], boot)))

inline compose(p) { /* keys */
    keys = (KNOWS(p) -> 0 : has);
    i = (KNOWS(p) -> peer_end[p] : tail);
    do
    :: i < tail -> keys = keys | BIT(record[i]); i++
    :: else -> break
    od;
    i = 0
}

active [PEERS] proctype Peer() {
#define p _pid
end:
    do
    /* From A: a piece of its log, or a whole comparison, arrives at once, */
    :: d_step {
        SENDS(p) ->
        compose(p);
        peer_has[p] = peer_has[p] | keys;
        peer_knows[p] = true;
        peer_boot[p] = boot;
        peer_end[p] = tail;
        peer_loss[p] = losses
    }
    /* or is on its way ... */
    :: d_step {
        late_left > 0 && late_life[p] == 0 && SENDS(p) ->
        late_left--;
        late_life[p] = life;
        late_boot[p] = boot;
        late_loss[p] = losses;
        late_from[p] = (KNOWS(p) -> peer_end[p] : WHOLE);
        late_to[p] = tail;
        compose(p);
        late_keys[p] = keys
    }
    /* ... and arrives late, or is lost. */
    :: d_step {
        late_life[p] != 0 ->
        if
        :: SAME(late_life[p], fenced[p]) &&
           (peer_knows[p] && peer_loss[p] == late_loss[p] -> peer_end[p] == late_from[p] : late_from[p] == WHOLE) ->
            peer_has[p] = peer_has[p] | late_keys[p];
            peer_knows[p] = true;
            peer_boot[p] = late_boot[p];
            peer_end[p] = late_to[p];
            peer_loss[p] = late_loss[p]
#ifdef OLD_LIFE
        :: !SAME(late_life[p], fenced[p]) ->
            peer_has[p] = peer_has[p] | late_keys[p];
            confirmed = (mark_life == late_life[p] && mark_boot == late_boot[p] && mark_end <= late_to[p]
                             -> confirmed | BIT(p)
                             : confirmed)
#endif
        :: else
        fi;
        forget_late(p)
    }
    :: d_step { late_life[p] != 0 -> forget_late(p) }
#ifdef NOTED_LATER
    :: d_step { /* what is known is written ... */
        note_end[p] != peer_end[p] || note_boot[p] != peer_boot[p] || note_knows[p] != peer_knows[p] ->
        note_knows[p] = peer_knows[p];
        note_boot[p] = peer_boot[p];
        note_end[p] = peer_end[p]
    }
    :: d_step { /* ... or the link is killed before */
        note_end[p] != peer_end[p] || note_boot[p] != peer_boot[p] || note_knows[p] != peer_knows[p] ->
        peer_knows[p] = note_knows[p];
        peer_boot[p] = note_boot[p];
        peer_end[p] = note_end[p]
    }
#endif
    /* The mark of A was applied. */
    :: d_step {
        mark_life != 0 && !(confirmed & BIT(p)) && ACTIVE(p) && SAME(mark_life, fenced[p]) && peer_knows[p] &&
            peer_loss[p] == mark_loss && SAME_BOOT(peer_boot[p], mark_boot) && peer_end[p] >= mark_end &&
            SET_IS_WHOLE(mark_c) ->
        confirmed = confirmed | BIT(p);
        assert(!(mark_keys & ~peer_has[p]))
    }

    /* To A: a whole comparison, */
    :: d_step {
        IN_SET(p) && phase != FENCING && LINK_GOES_ON && !link_knows[p] && TRUSTS(p) ->
        keys = peer_has[p] & ~has;
        k = 0;
        do
        :: k < KEYS ->
            if
            :: HEALED_IS_OWN && (keys & BIT(k)) -> log_own()
            :: else
            fi;
            k++
        :: else -> break
        od;
        has = has | keys;
        link_knows[p] = true;
        link_has[p] = OWN(p);
        write_cursor(p)
    }
    /* the stream, */
    :: d_step {
        IN_SET(p) && phase != FENCING && FILLED(p) && TRUSTS(p) && (OWN(p) & ~link_has[p]) ->
        has = has | OWN(p);
        link_has[p] = OWN(p)
    }
    /* a record of the cursor in A's logs, */
    :: d_step { FILLED(p) && cursor[p] != link_has[p] -> write_cursor(p) }
    /* a mark: begun, applied and confirmed. */
    :: d_step {
        IN_SET(p) && (phase == COUNTED || phase == MEMBER) && FILLED(p) && TRUSTS(p) && !(OWN(p) & ~link_has[p]) ->
        assert(!(OWN(p) & ~has));
        JUDGED(p);
        if
        :: phase == COUNTED -> marked = marked | BIT(p)
        :: else ->
            peer_confirmed[p] = OWN(p);
            answered = (unanswered -> answered | BIT(p) : 0);
            if
            :: unanswered && answered == ALL_OF(joined) -> is_through()
            :: else
            fi
        fi
    }
#ifdef CONFIRMS_EARLY
    :: d_step {
        IN_SET(p) && (phase == FENCING || phase == FILLING) && link_knows[p] && OWN(p) && !(OWN(p) & ~link_has[p]) ->
        peer_confirmed[p] = OWN(p);
        assert(!(OWN(p) & ~has))
    }
#endif
    /* Its own adds are acknowledged in every site. */
    :: d_step {
        (OWN(p) & ~everywhere) && !(counts[p] && (OWN(p) & ~peer_confirmed[p])) &&
            !(joined && (OWN(p) & ~peer_has[C])) ->
        everywhere = everywhere | OWN(p);
        assert(EACH_IS_TRUE)
    }

    /* A is told that it was put back, and draws a life. */
    :: d_step {
        ACTIVE(p) && ACCUSES(p) ->
        assert(put_backs_left < PUT_BACKS);
        k = (COUNTER(fenced[p]) > COUNTER(life) -> COUNTER(fenced[p]) : COUNTER(life)) + 1;
#if defined(THIRD_JOINS) && !defined(OLD_SET)
        knows_c = joined;
#endif
        begin_life()
    }
    /* The peer fences that, JOINING, and later COUNTED. */
    :: d_step {
        IN_SET(p) && phase == FENCING && COUNTER(life) > COUNTER(fenced[p]) ->
        fenced[p] = life;
        counts[p] = false;
        peer_knows[p] = false;
        peer_boot[p] = 0;
        peer_end[p] = 0;
#ifdef NOTED_LATER
        note_knows[p] = false;
        note_boot[p] = 0;
        note_end[p] = 0;
#endif
        peer_confirmed[p] = 0
    }
    :: d_step {
        IN_SET(p) && phase == FILLING && !counts[p] && SAME(fenced[p], life) && ALL(FILLED) ->
        counts[p] = true
    }
    od
#undef p
}

active proctype Site() {
end:
    do
    /* Adds at A, and its mark. */
    :: d_step {
        phase != FENCING && (KEYS_A & ~acknowledged) ->
        k = ((KEYS_A & ~acknowledged) & 1 -> 0 : 1);
        log_own();
        has = has | BIT(k);
        acknowledged = acknowledged | BIT(k);
        add_boot[k] = boot
    }
    :: d_step {
        mark_life == 0 && GIVES_MARKS && OWN_A ->
        mark_life = life;
        mark_loss = losses;
        mark_boot = boot;
        mark_end = tail;
        mark_c = knows_c;
        mark_keys = OWN_A & ~gone & ~EXEMPT;
        k = 0;
        do
        :: k < KEYS -> mark_adds = mark_adds | (ADDED_HERE(k) -> OWN_A & BIT(k) : 0); k++
        :: else -> break
        od;
        k = 0
    }
    :: d_step { mark_life != 0 -> forget_mark() }
    :: d_step { !mark_holds && mark_life != 0 && confirmed == ALL_OF(mark_c) && MARK_GOES_ON -> mark_holds = true }
    :: d_step {
        mark_holds ->
        everywhere = everywhere | mark_adds;
        forget_mark();
        assert(EACH_IS_TRUE)
    }
    /* Its link begins anew. */
    :: d_step { !LINK_GOES_ON -> read_cursors() }
    /* Its life. */
    :: d_step { phase == FENCING && ALL(KNOW_LIFE) -> phase = FILLING }
    :: d_step { phase == FILLING && ALL(FILLED) && ALL(COUNT_IT) -> phase = COUNTED; marked = 0 }
    :: d_step { phase == COUNTED && LINK_GOES_ON && marked == ALL_OF(knows_c) -> marked = 0; is_through() }
    :: d_step { phase == HEALING && ALL(FILLED) -> is_through() }

    /* Adds at B. */
    :: d_step {
        KEYS_B & ~acknowledged ->
        peer_has[B] = peer_has[B] | KEYS_B;
        acknowledged = acknowledged | KEYS_B
    }
    :: d_step { joined && (OWN(B) & ~peer_has[C]) -> peer_has[C] = peer_has[C] | OWN(B) }
#ifdef THIRD_JOINS
    :: d_step {
        !joined && phase == MEMBER && !unanswered && fenced[B] == life ->
        joined = true;
        knows_c = true;
        peer_has[C] = has | peer_has[B];
        peer_boot[C] = boot;
        peer_end[C] = tail;
        fenced[C] = life
    }
#endif

    /* What goes wrong. */
    :: d_step {
        !copied && put_backs_left == PUT_BACKS && PUT_BACKS > 0 && life == FIRST && (has || cursor[B]) ->
        copy_folders()
    }
    :: d_step { put_backs_left > 0 -> restore_folders(); was_put_back() }
    :: d_step { put_backs_left > 0 -> restore_store(); was_put_back() }
    :: d_step { put_backs_left > 0 -> restore_folders(); restore_store(); was_put_back() }
    :: d_step {
        restarts_left > 0 ->
        restarts_left--;
        ended[boot] = tail + 1;
        boots++;
        boot = boots;
        BOOTS_ANEW
    }
#if LOSSES > 0
    :: atomic {
        losses_left > 0 && phase == MEMBER ->
        if /* what is left */
        :: has = 0
        :: has = has & KEYS_A
        :: has = has & KEYS_B
        :: true
        fi;
        d_step {
            losses_left--;
            losses++;
            record[0] = 0;
            record[1] = 0;
            record[2] = 0;
            tail = 0;
            boots++;
            boot = boots;
            BOOTS_ANEW;
            phase = HEALING;
            gone = gone | (OWN_A & ~has & ~peer_has[B] & ~(joined -> peer_has[C] : 0))
        }
    }
#endif
    od
}
