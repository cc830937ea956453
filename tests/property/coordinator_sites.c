/* Sites that join, leave, burn and are removed at random, each of them with its coordinator: no add
 * that all have acknowledged is absent at any, and once nothing happens any more all are through.
 *
 * As in tests/models/site_set.pml, with more sites and keys: quorums are an instant, what is told
 * is as old as it likes, and marks and comparisons are begun at one time and applied at another.
 *
 * Then the same with sites that come back after they are GONE: with what they had, or, burnt, with
 * nothing.
 *
 * And with sites that are put back to an older copy of themselves, as in site_life.pml:
 * nothing is expected of one before every other site has looked at how far it knows its log, and
 * has given it a mark since. */
#include "coordinator/plan/sites.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

enum { SITES = 5, OLD = 2, KEYS = 40, SEEDS = 1200, STEPS = 1500, QUIET_ROUNDS = 60 };

struct flight {
    bool active;
    bool whole;
    bool judged; /* the source had looked at the receiver's log since that was put back */
    uint64_t keys;
    uint64_t own; /* those that the source's log has */
    struct site_set there;
    struct site_set here;
};

/* What one site has of another. */
struct known {
    struct site_set told;
    struct site_life done[SITES]; /* the life of each leaver that it is done with; 0: it is not */
    struct site_set marked;
    struct site_set compared;
    struct site_set compared_here;
    bool copied;
    uint64_t logged; /* of its log, of its life and this one's */
    struct site_life theirs;
    struct site_life ours;
    struct flight flight;
};

struct site {
    bool off;
    bool unaware; /* it was removed while it was off, and is back, but has not fenced that */
    struct site_set document;
    struct site_set fenced;
    uint64_t own;
    uint64_t has;
    struct known known[SITES];
    uint32_t judged;         /* by whom, since it was put back, as bits */
    uint32_t unanswered;     /* who has not given a mark since */
    struct site_life behind; /* in it others have more of its log */
};

static struct site copies[SITES];
static bool put_backs;
static bool comes_back;
static uint32_t came_back;
static uint32_t noticed;
static uint64_t lost; /* keys that nobody has any more */

struct add {
    uint32_t at;
    uint32_t need;
    uint32_t have;
};

static struct site sites[SITES];
static struct add adds[KEYS];
static uint32_t nadds;
static uint64_t acknowledged;
static uint64_t seed;
static uint64_t state;

static struct site_id id_of(uint32_t i)
{
    return (struct site_id){.low = i + 1};
}

static void put(struct site_set *set, uint32_t i, enum site_state in)
{
    struct site_entry entry = {.id = id_of(i), .life = {.number = 1}, .state = in};

    (void)snprintf(entry.name, sizeof entry.name, "site-%u", i);
    cr_assert_eq(site_set_add(set, &entry), STATUS_OK);
}

/* 0: not in it. */
static int state_of(const struct site_set *set, uint32_t i)
{
    struct site_id id = id_of(i);
    const struct site_entry *entry = site_set_find(set, &id);

    return entry != NULL ? (int)entry->state : 0;
}

static bool lives(const struct site_set *set, uint32_t i)
{
    return state_of(set, i) != 0 && state_of(set, i) != SITE_GONE;
}

static void become(struct site_set *set, uint32_t i, enum site_state to)
{
    struct site_id id = id_of(i);

    set->entries[site_set_find(set, &id) - set->entries].state = to;
}

static void begin(void)
{
    memset(sites, 0, sizeof sites);
    memset(copies, 0, sizeof copies);
    nadds = 0;
    acknowledged = lost = 0;
    for (uint32_t i = 0; i < SITES; i++) {
        struct site *site = &sites[i];

        put(&site->document, i, i < OLD ? SITE_COUNTED : SITE_JOINING);
        for (uint32_t k = 0; k < SITES; k++) {
            if (i < OLD && k < OLD && k != i) {
                put(&site->document, k, SITE_COUNTED);
            }
            site->known[k].copied = i < OLD;
            site->known[k].theirs.number = site->known[k].ours.number = 1;
        }
        site->document.takes_adds = site->document.says_absent = i < OLD;
        site->document.settled = i < OLD;
        site->fenced = site->document;
    }
}

static struct site_life life_of(const struct site_set *set, uint32_t i)
{
    struct site_id id = id_of(i);
    const struct site_entry *entry = site_set_find(set, &id);

    return entry != NULL ? entry->life : (struct site_life){0};
}

static bool is_life(const struct site_life *life, const struct site_set *set, uint32_t i)
{
    const struct site_life in_set = life_of(set, i);

    return site_life_compare(life, &in_set) == 0;
}

/* What i has of k is of other lives: it has nothing. */
static void forget_lives(uint32_t i, uint32_t k)
{
    struct known *known = &sites[i].known[k];
    const struct site_set *document = &sites[i].document;

    if (is_life(&known->theirs, document, k) && is_life(&known->ours, document, i)) {
        return;
    }
    known->theirs = life_of(document, k);
    known->ours = life_of(document, i);
    known->copied = known->flight.active = false;
    known->logged = 0;
    known->marked.count = known->compared.count = known->compared_here.count = 0;
}

static const struct site_set *if_any(const struct site_set *set)
{
    return set->count > 0 ? set : NULL;
}

static struct sites_view view_of(uint32_t i, struct sites_peer peers[SITES])
{
    for (uint32_t k = 0; k < SITES; k++) {
        struct known *known = &sites[i].known[k];

        forget_lives(i, k);
        peers[k] = (struct sites_peer){.id = id_of(k),
                                       .fenced = if_any(&known->told),
                                       .marked = if_any(&known->marked),
                                       .compared = if_any(&known->compared),
                                       .compared_here = if_any(&known->compared_here)};
        for (uint32_t leaver = 0; leaver < SITES; leaver++) {
            if (known->done[leaver].number != 0 &&
                is_life(&known->done[leaver], &sites[i].document, leaver)) {
                peers[k].done[peers[k].ndone++] = id_of(leaver);
            }
        }
    }
    return (struct sites_view){.document = &sites[i].document,
                               .fenced = &sites[i].fenced,
                               .peers = peers,
                               .npeers = SITES,
                               .put_back = is_life(&sites[i].behind, &sites[i].document, i),
                               .tag = random_next(&state)};
}

static void decide(uint32_t i)
{
    struct sites_peer peers[SITES];
    struct sites_view view = view_of(i, peers);
    struct sites_decision decision;

    sites_decide(&view, &decision);
    if (decision.action == SITES_WRITE) {
        cr_assert_null(sites_fault(&decision.next), "seed %" PRIu64, seed);
        cr_assert(site_set_covers(&decision.next, &sites[i].document), "seed %" PRIu64, seed);
        sites[i].document = decision.next;
        noticed += decision.step == SITES_JOIN_ANEW;
        came_back += decision.step == SITES_COME_BACK;
        if (decision.step == SITES_SAY_ABSENT) {
            sites[i].unanswered = 0;
        }
    }
}

/* It has nothing of the filter, and is told of it by one that counts. */
static void make(uint32_t i, const struct site_set *told)
{
    struct site_set *document = &sites[i].document;

    if (!lives(told, i) || site_set_own(told)->state != SITE_COUNTED) {
        return;
    }
    *document = *told;
    while (!site_id_equal(&document->entries[document->own].id, &(struct site_id){.low = i + 1})) {
        document->own = (document->own + 1) % document->count;
    }
    document->entries[document->own].state = SITE_JOINING;
    document->entries[document->own].life = (struct site_life){
        site_life_next(life_of(told, i).number), random_next(&state)};
    document->takes_adds = document->says_absent = document->settled = false;
    document->joins_anew = true;
    sites[i].fenced = *document;
    came_back++;
}

/* What k is now is told to i. */
static void tell(uint32_t i, uint32_t k)
{
    struct sites_peer peers[SITES];
    struct sites_view view;
    struct known *known = &sites[i].known[k];

    if (sites[k].document.count == 0) {
        return;
    }
    if (sites[i].document.count == 0) {
        make(i, &sites[k].fenced);
        return;
    }
    view = view_of(k, peers);
    known->told = sites[k].fenced;
    for (uint32_t leaver = 0; leaver < SITES; leaver++) {
        struct site_id id = id_of(leaver);

        known->done[leaver] = sites_done(&view, &id) ? life_of(&sites[k].document, leaver)
                                                     : (struct site_life){0};
    }
}

static void fence(uint32_t i)
{
    sites[i].fenced = sites[i].document;
    sites[i].unaware &= sites[i].fenced.says_absent;
}

/* By how far i knows it, may k send its log? In the lives that both know; not if it was put back,
 * which shows. */
static bool may_send(uint32_t i, uint32_t k)
{
    struct known *known = &sites[i].known[k];

    forget_lives(i, k);
    if (!is_life(&known->theirs, &sites[k].document, k) ||
        !is_life(&known->ours, &sites[k].document, i)) {
        return false;
    }
    if ((known->logged & ~sites[k].own) != 0) {
        sites[k].behind = life_of(&sites[k].document, k);
    }
    sites[k].judged |= 1u << i;
    return !is_life(&sites[k].behind, &sites[k].document, k) &&
           (!site_set_heals(&sites[k].document) || sites[k].known[i].told.joins_anew);
}

static void take(uint32_t i, uint32_t k, bool whole)
{
    struct flight *flight = &sites[i].known[k].flight;

    if (!lives(&sites[k].document, i) || !lives(&sites[i].document, k) || !may_send(i, k) ||
        flight->active || (!whole && !sites[i].known[k].copied) ||
        (whole && state_of(&sites[i].fenced, i) == SITE_JOINING && !sites[i].fenced.takes_adds)) {
        return;
    }
    *flight = (struct flight){.active = true,
                              .whole = whole,
                              .judged = (sites[i].judged >> k & 1) != 0,
                              .keys = whole ? sites[k].has : sites[k].own,
                              .own = sites[k].own,
                              .there = sites[k].fenced,
                              .here = sites[i].fenced};
}

static void apply(uint32_t i, uint32_t k)
{
    struct known *known = &sites[i].known[k];

    forget_lives(i, k);
    if (!known->flight.active) {
        return;
    }
    known->flight.active = false;
    if (state_of(&sites[i].fenced, k) == SITE_GONE) {
        return;
    }
    sites[i].has |= known->flight.keys;
    known->logged |= known->flight.own;
    if (known->flight.judged) {
        sites[i].unanswered &= ~(1u << k);
    }
    if (known->flight.whole) {
        known->copied = true;
        known->compared = known->flight.there;
        known->compared_here = known->flight.here;
        return;
    }
    known->marked = known->flight.there;
    for (uint32_t n = 0; n < nadds; n++) {
        if (adds[n].at == k && (known->flight.keys >> n & 1) != 0) {
            adds[n].have |= 1u << i;
        }
    }
}

/* Under what is fenced, or under the newest. */
static void add(uint32_t i, const struct site_set *set)
{
    if (nadds == KEYS || !set->takes_adds) {
        return;
    }
    adds[nadds] = (struct add){.at = i};
    for (uint32_t k = 0; k < SITES; k++) {
        adds[nadds].need |= k != i && state_of(set, k) == SITE_COUNTED ? 1u << k : 0;
    }
    sites[i].own |= 1ull << nadds;
    sites[i].has |= 1ull << nadds;
    nadds++;
}

static void acknowledge(void)
{
    for (uint32_t n = 0; n < nadds; n++) {
        if (!sites[adds[n].at].off && (adds[n].need & ~adds[n].have) == 0) {
            acknowledged |= 1ull << n;
        }
    }
    acknowledged &= ~lost;
}

static uint32_t count_counted(const struct site_set *set)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < SITES; k++) {
        count += state_of(set, k) == SITE_COUNTED;
    }
    return count;
}

/* The last one that counts is not removed. */
static void remove_site(uint32_t i, uint32_t k)
{
    if (sites[k].off && lives(&sites[i].document, k) &&
        (state_of(&sites[i].document, k) != SITE_COUNTED ||
         count_counted(&sites[i].document) > 1)) {
        become(&sites[i].document, k, SITE_GONE);
        sites[i].document.settled = false;
    }
}

/* The last one that counts does not leave, as far as it knows; one that stands and counts has all,
 * so that all may leave at once and nothing is lost. */
static void leave(uint32_t i)
{
    struct site_set *document = &sites[i].document;
    bool stands = false;

    for (uint32_t k = 0; k < SITES; k++) {
        stands = stands || (k != i && !sites[k].off && sites[k].document.says_absent);
    }
    if (document->says_absent && count_counted(document) > 1 && (i != 0 || stands) &&
        !is_life(&sites[i].behind, document, i)) {
        become(document, i, SITE_LEAVING);
        document->says_absent = document->takes_adds = false;
    }
}

/* While the first site stays, all others may burn. */
static void burn(uint32_t i)
{
    if (i != 0 && site_set_own(&sites[0].document)->state == SITE_COUNTED &&
        random_chance(&state, 200)) {
        sites[i].off = true;
    }
}

/* What was not acknowledged by then never is. */
static void end_routers(uint32_t i)
{
    for (uint32_t n = 0; n < nadds; n++) {
        adds[n].need = adds[n].at == i ? UINT32_MAX : adds[n].need;
    }
}

/* One that is off has been removed, and is found again, or made anew with nothing. */
static void bring_back(uint32_t i, uint32_t k)
{
    struct site_set *document = &sites[i].document;
    struct site_id id = id_of(k);
    struct site_entry *entry = &document->entries[site_set_find(document, &id) - document->entries];

    if (sites[k].off) {
        end_routers(k);
    }
    if (sites[k].off && random_chance(&state, 500)) {
        sites[k] = (struct site){0};
    }
    sites[k].unaware |= sites[k].off && sites[k].document.count > 0;
    sites[k].off = false;
    entry->state = SITE_JOINING;
    entry->life = (struct site_life){site_life_first_of_next_return(entry->life.number),
                                     random_next(&state)};
}

static void operate(uint32_t i, uint32_t k)
{
    struct site_set *document = &sites[i].document;

    uint64_t what = random_below(&state, 8);

    /* Nobody burns where sites are put back: for good is only what is known. */
    switch (put_backs && what > 0 ? 7 : what) {
    case 0:
        leave(i);
        break;
    case 1:
        burn(i);
        break;
    case 2:
    case 3:
        remove_site(i, k);
        break;
    default:
        if (site_set_own(document)->state == SITE_COUNTED && state_of(document, k) == 0) {
            put(document, k, SITE_JOINING);
        } else if (comes_back && site_set_own(document)->state == SITE_COUNTED &&
                   state_of(document, k) == SITE_GONE) {
            bring_back(i, k);
        }
        break;
    }
}

/* ---- older copies ---- */

static bool is_gone(uint32_t k)
{
    bool gone = sites[k].off;

    for (uint32_t i = 0; i < SITES; i++) {
        gone |= state_of(&sites[i].document, k) == SITE_GONE;
    }
    return gone;
}

static void put_back(uint32_t i)
{
    uint64_t held = 0;

    if (copies[i].document.count == 0) {
        return;
    }
    end_routers(i);
    sites[i] = copies[i];
    sites[i].judged = 0;
    sites[i].unanswered = UINT32_MAX;
    sites[i].behind = (struct site_life){0};
    for (uint32_t k = 0; k < SITES; k++) {
        struct known *known = &sites[i].known[k];

        known->flight.active = false;
        known->marked.count = known->compared.count = known->compared_here.count = 0;
        held |= is_gone(k) ? 0 : sites[k].has;
    }
    lost |= ~held & ((1ull << nadds) - 1); /* Nobody has them any more who is asked. */
}

static bool awaits_answers(uint32_t i)
{
    if (is_life(&sites[i].behind, &sites[i].fenced, i)) {
        return true; /* It is known, and about to be acted upon. */
    }
    for (uint32_t k = 0; k < SITES; k++) {
        if (k != i && (lives(&sites[i].document, k) || lives(&sites[k].document, i)) &&
            (sites[i].unanswered >> k & 1) != 0) {
            return true;
        }
    }
    return false;
}

static void copy_or_put_back(uint32_t i)
{
    if (random_chance(&state, 300)) {
        put_back(i);
    } else if (random_chance(&state, 300)) {
        copies[i] = sites[i];
    }
}

static void check(void)
{
    for (uint32_t i = 0; i < SITES; i++) {
        bool absent = sites[i].document.says_absent || sites[i].fenced.says_absent;

        cr_assert(sites[i].off || sites[i].unaware || !absent || awaits_answers(i) ||
                      (acknowledged & ~sites[i].has) == 0,
                  "seed %" PRIu64 ": site %" PRIu32 " lacks a key", seed, i);
    }
}

static void step(void)
{
    uint32_t i = (uint32_t)random_below(&state, SITES);
    uint32_t k = (uint32_t)random_below(&state, SITES);

    if (sites[i].off || i == k) {
        return;
    }
    if (sites[i].document.count == 0) {
        tell(i, k);
        return;
    }
    switch (random_below(&state, 10)) {
    case 0:
        fence(i);
        break;
    case 1:
    case 2:
        decide(i);
        break;
    case 3:
        if (!comes_back || random_chance(&state, 200)) { /* so that some come late */
            add(i, random_chance(&state, 500) ? &sites[i].document : &sites[i].fenced);
        }
        break;
    case 4:
        apply(i, k);
        break;
    case 5:
        if (put_backs && random_chance(&state, 200)) {
            copy_or_put_back(i);
        } else if (random_chance(&state, comes_back ? 600 : 150)) {
            operate(i, k);
        }
        break;
    default:
        if (sites[k].off) {
            break;
        }
        if (random_chance(&state, 500)) {
            tell(i, k);
        } else {
            take(i, k, random_chance(&state, 300));
        }
        break;
    }
    acknowledge();
    check();
}

/* As its links know, or another site, which has it in a newer life. */
static bool was_put_back(uint32_t i)
{
    struct site_life own = life_of(&sites[i].document, i);
    bool newer = is_life(&sites[i].behind, &sites[i].document, i);

    for (uint32_t k = 0; k < SITES; k++) {
        struct site_life there = life_of(&sites[k].document, i);

        newer |= site_life_compare(&there, &own) > 0;
    }
    return newer;
}

/* Who leaves and was put back is waited for until it is removed; nobody else may have what it has.
 */
static void end_leavers(void)
{
    uint64_t held = 0;

    for (uint32_t i = 0; i < SITES; i++) {
        sites[i].off |= state_of(&sites[i].document, i) == SITE_LEAVING && was_put_back(i);
        held |= is_gone(i) ? 0 : sites[i].has;
    }
    lost |= ~held & ((1ull << nadds) - 1);
}

/* Nothing happens any more, everything arrives, and who is off is removed. */
static void round_of_all(void)
{
    for (uint32_t i = 0; i < SITES; i++) {
        for (uint32_t k = 0; k < SITES && !sites[i].off; k++) {
            apply(i, k);
            if (i == k || sites[k].off) {
                remove_site(i, k);
                continue;
            }
            tell(i, k);
            if (sites[i].document.count == 0) {
                continue;
            }
            take(i, k, random_chance(&state, 500));
            apply(i, k);
            decide(i);
            fence(i);
            acknowledge();
            check();
        }
        if (!sites[i].off && sites[i].document.count > 0) { /* perhaps it is alone */
            decide(i);
            fence(i);
        }
    }
}

/* One that is there, and counts; SITES: all have left. */
static uint32_t who_stays(void)
{
    for (uint32_t i = 0; i < SITES; i++) {
        if (!sites[i].off && state_of(&sites[i].document, i) == SITE_COUNTED) {
            return i;
        }
    }
    return SITES;
}

static void expect_through(uint32_t stays)
{
    for (uint32_t i = 0; i < SITES; i++) {
        const struct site_set *set = &sites[i].document;

        if (sites[i].off || !lives(&sites[stays].document, i)) {
            continue;
        }
        cr_assert(site_set_agrees(set, &sites[stays].document), "seed %" PRIu64, seed);
        cr_assert_eq(site_set_own(set)->state, SITE_COUNTED, "seed %" PRIu64, seed);
        cr_assert(set->takes_adds && set->says_absent && set->settled, "seed %" PRIu64, seed);
    }
}

/* Nobody answers "absent", and all keys are with those that leave or join. */
static void expect_kept(void)
{
    uint64_t kept = 0;

    for (uint32_t i = 0; i < SITES; i++) {
        if (!sites[i].off && lives(&sites[i].document, i)) {
            kept |= sites[i].has;
        }
    }
    cr_assert_eq(acknowledged & ~kept, 0, "seed %" PRIu64 ": nobody has a key any more", seed);
}

Test(sites_law, no_key_is_lost_and_all_get_through)
{
    uint32_t joined = 0;
    uint32_t gone = 0;
    uint32_t left = 0; /* times that all have left at once */

    for (seed = 1; seed <= SEEDS; seed++) {
        state = seed;
        begin();
        for (int n = 0; n < STEPS; n++) {
            step();
        }
        for (int n = 0; n < QUIET_ROUNDS; n++) {
            round_of_all();
        }
        if (who_stays() == SITES) {
            expect_kept();
            left++;
            continue;
        }
        expect_through(who_stays());
        for (uint32_t i = 0; i < SITES; i++) {
            joined += i >= OLD && state_of(&sites[who_stays()].document, i) == SITE_COUNTED;
            gone += state_of(&sites[who_stays()].document, i) == SITE_GONE;
        }
    }
    cr_assert(joined > SEEDS / 2 && gone > SEEDS / 4 && left > 0,
              "%" PRIu32 " joined, %" PRIu32 " are gone, %" PRIu32 " times all left", joined, gone,
              left);
}

Test(sites_law, who_comes_back_is_one_of_them_again)
{
    comes_back = true;
    for (seed = 1; seed <= SEEDS; seed++) {
        state = seed * 104729;
        begin();
        for (int n = 0; n < 2 * STEPS; n++) {
            step();
        }
        for (int n = 0; n < QUIET_ROUNDS; n++) {
            round_of_all();
        }
        if (who_stays() == SITES) {
            expect_kept();
            continue;
        }
        expect_through(who_stays());
    }
    cr_assert_gt(came_back, SEEDS / 4, "%" PRIu32 " came back", came_back);
}

/* Then nobody may be left who knows that it has all: who joins anew does not, where one is gone
 * that its copy has as one that counts. */
static bool some_left(void)
{
    bool left = false;

    for (uint32_t i = 0; i < SITES; i++) {
        left |= is_gone(i) || state_of(&sites[i].document, i) == SITE_LEAVING;
    }
    return left;
}

/* In the end all have all that anybody has. */
Test(sites_law, who_was_put_back_has_all_again)
{
    put_backs = true;
    for (seed = 1; seed <= SEEDS; seed++) {
        state = seed * 7919;
        begin();
        for (int n = 0; n < STEPS; n++) {
            step();
        }
        for (int n = 0; n < QUIET_ROUNDS; n++) {
            round_of_all();
            end_leavers();
        }
        if (who_stays() == SITES && some_left()) {
            continue; /* Nobody says "absent" any more. */
        }
        cr_assert_neq(who_stays(), SITES, "seed %" PRIu64 ": nobody counts", seed);
        expect_through(who_stays());
        for (uint32_t i = 0; i < SITES; i++) {
            cr_assert(!lives(&sites[who_stays()].document, i) ||
                          (acknowledged & ~sites[i].has) == 0,
                      "seed %" PRIu64 ": site %" PRIu32 " lacks a key", seed, i);
        }
    }
    cr_assert_gt(noticed, SEEDS / 2, "%" PRIu32 " were noticed", noticed);
}
