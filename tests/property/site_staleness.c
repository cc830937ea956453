/* Marks and what routers make of them, against an observer who sees true time: whatever is allowed
 * to be "absent" misses no key that it must not.
 *
 * Two other sites of three nodes, W = R = 2; two links here, one router. Clocks begin anywhere, and
 * go on at other moments within a microsecond; messages come late, twice, in any order or never;
 * links start again on other machines, nodes there restart, and this site is put back to less than
 * it had, as another life. Time is in tenths of a microsecond. */
#include "base/heap.h"
#include "site/freshness.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>

enum {
    SITES = 2,
    LINKS = 2,
    GROUPS = 2,
    NODES = 3,
    QUORUM = 2,
    KEYS = 64,
    MESSAGES = 12,
    CHECKS = 4,
    HELD = 4,
    SEEDS = 2000,
    STEPS = 4000,
    TENTHS = 10,
    OWN = 9,
    KEYSET = 1,
};

static const uint64_t bounds_us[] = {0, 3, 50, 1000};
enum { NBOUNDS = sizeof bounds_us / sizeof bounds_us[0] };

struct key {
    uint32_t site;
    uint32_t group;
    uint64_t place[NODES]; /* in that node's log, counted from 1; 0: it is not there */
    uint64_t time;         /* when it was acknowledged */
    uint64_t step;
};

enum kind { NOTHING, MARK_QUESTION, MARK_ANSWER, AGE_QUESTION, AGE_ANSWER };

struct message {
    enum kind kind;
    uint32_t link;
    uint32_t site;
    struct mark_id id;
    struct mark_log ends[GROUPS * NODES];
    size_t nends;
    uint64_t number;
    struct freshness_told told[SITES];
    struct site_life own_life;
};

struct held {
    bool used;
    uint64_t number;
    uint64_t begun[SITES];
};

struct link {
    uint64_t ahead;
    struct site_life own_life;
    struct marks marks[SITES];
    struct held held[HELD];
};

struct check {
    bool used;
    uint64_t bound_us;
    uint64_t time;
    uint64_t step;
    struct freshness_moment came;
};

static struct world {
    uint64_t random;
    uint64_t time;
    uint64_t step;
    uint64_t ends[SITES][GROUPS][NODES];
    uint64_t applied[SITES][GROUPS][NODES];
    uint64_t boots[SITES][NODES];
    struct key keys[KEYS];
    uint64_t nkeys; /* in all; the last KEYS of them are kept */
    struct message messages[MESSAGES];
    struct link links[LINKS];
    struct site_life life; /* of this site */
    uint64_t router_behind;
    struct site_set set; /* as the router knows it */
    struct freshness freshness;
    struct check checks[CHECKS];
} world;

static uint64_t allowed[NBOUNDS];
static uint64_t lacking[NBOUNDS]; /* ... while keys were not here, rightly */

static uint64_t below(uint64_t bound)
{
    return random_below(&world.random, bound);
}

static uint64_t link_clock(const struct link *link)
{
    return (world.time + link->ahead) / TENTHS;
}

/* It was started not long ago. */
static uint64_t router_clock(void)
{
    return (world.time - world.router_behind) / TENTHS;
}

/* ---- the other sites ---- */

static void acknowledge(void)
{
    struct key *key = &world.keys[world.nkeys % KEYS];
    uint64_t without = below(NODES + 1); /* NODES: all have it */

    *key = (struct key){.site = (uint32_t)below(SITES),
                        .group = (uint32_t)below(GROUPS),
                        .time = world.time,
                        .step = world.step};
    for (uint32_t node = 0; node < NODES; node++) {
        if (node != without) {
            key->place[node] = ++world.ends[key->site][key->group][node];
        }
    }
    world.nkeys++;
}

static bool is_here(const struct key *key)
{
    for (uint32_t node = 0; node < NODES; node++) {
        if (key->place[node] != 0 &&
            key->place[node] <= world.applied[key->site][key->group][node]) {
            return true;
        }
    }
    return false;
}

/* ---- messages ---- */

/* Where there is no room, or by chance, it is lost. */
static struct message *post(enum kind kind, uint32_t link)
{
    struct message *message = &world.messages[below(MESSAGES)];

    *message = (struct message){.kind = kind, .link = link};
    return message;
}

static struct mark_log log_of(uint32_t site, uint32_t group, uint32_t node, uint64_t offset)
{
    return (struct mark_log){group, node + 1, 100 + node, world.boots[site][node], offset};
}

/* Of each group any R replicas, or all. */
static void gather(const struct message *question)
{
    struct message *answer = post(MARK_ANSWER, question->link);
    uint32_t site = question->site;

    answer->site = site;
    answer->id = question->id;
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint64_t without = below(NODES + 1);

        for (uint32_t node = 0; node < NODES; node++) {
            if (node != without) {
                answer->ends[answer->nends++] = log_of(site, group, node,
                                                       world.ends[site][group][node]);
            }
        }
    }
}

static void hold(struct link *link, const struct message *question)
{
    struct held *held = &link->held[below(HELD)];

    *held = (struct held){.used = true, .number = question->number};
    for (uint32_t site = 0; site < SITES; site++) {
        held->begun[site] = marks_begun(&link->marks[site]);
    }
}

static void deliver(void)
{
    struct message *at = &world.messages[below(MESSAGES)];
    struct message message = *at;

    if (below(4) > 0) { /* else it comes again */
        at->kind = NOTHING;
    }
    if (message.kind == MARK_QUESTION) {
        gather(&message);
    } else if (message.kind == MARK_ANSWER) {
        (void)!marks_answered(&world.links[message.link].marks[message.site], &message.id, GROUPS,
                              QUORUM, message.ends, message.nends);
    } else if (message.kind == AGE_QUESTION) {
        hold(&world.links[message.link], &message);
    } else if (message.kind == AGE_ANSWER) {
        const struct freshness_answer answer = {message.own_life, KEYSET, message.told, SITES};

        (void)!freshness_answered(&world.freshness, message.number, &answer);
    }
}

/* ---- links ---- */

static void enter(struct link *link)
{
    for (uint32_t site = 0; site < SITES; site++) {
        marks_enter(&link->marks[site], &(struct mark_scope){link->own_life, {1, site}, 0, KEYSET});
    }
}

static void start(struct link *link)
{
    *link = (struct link){.ahead = below(100000), .own_life = world.life};
    for (uint32_t site = 0; site < SITES; site++) {
        marks_init(&link->marks[site], random_next(&world.random) | 1);
    }
    enter(link);
}

static void stop(struct link *link)
{
    for (uint32_t site = 0; site < SITES; site++) {
        marks_fini(&link->marks[site]);
    }
}

static void begin(uint32_t at)
{
    struct link *link = &world.links[at];
    uint32_t site = (uint32_t)below(SITES);
    struct mark_id id;

    if (marks_begin(&link->marks[site], link_clock(link), &id) == STATUS_OK) {
        struct message *question = post(MARK_QUESTION, at);

        question->site = site;
        question->id = id;
    }
}

/* A link of an older life hears of nothing any more. */
static void hear_of_applied(struct link *link)
{
    uint32_t site = (uint32_t)below(SITES);

    if (site_life_compare(&link->own_life, &world.life) != 0) {
        return;
    }
    for (uint32_t i = 0; i < GROUPS * NODES; i++) {
        uint32_t group = i / NODES;
        uint32_t node = i % NODES;
        struct mark_log log = log_of(site, group, node, world.applied[site][group][node]);

        if (below(8) > 0) {
            cr_assert_eq(marks_applied(&link->marks[site], &log), STATUS_OK);
        }
    }
}

static void answer_question(uint32_t at)
{
    struct link *link = &world.links[at];
    struct held *held = &link->held[below(HELD)];

    if (held->used) {
        struct message *answer = post(AGE_ANSWER, at);

        answer->number = held->number;
        answer->own_life = link->own_life;
        for (uint32_t site = 0; site < SITES; site++) {
            answer->told[site] = (struct freshness_told){
                {.low = site + 1},
                {1, site},
                marks_tell(&link->marks[site], held->begun[site], link_clock(link))};
        }
        held->used = false;
    }
}

/* ---- the router ---- */

static void put(uint64_t id, struct site_life life)
{
    const struct site_entry entry = {
        .id = {.low = id}, .name = {(char)('a' + id)}, .life = life, .state = SITE_COUNTED};

    cr_assert_eq(site_set_add(&world.set, &entry), STATUS_OK);
}

static void take_document(void)
{
    world.set = (struct site_set){0};
    put(OWN, world.life);
    put(1, (struct site_life){1, 0});
    put(2, (struct site_life){1, 1});
    world.set.says_absent = true;
    world.set.settled = true;
    freshness_enter(&world.freshness, &world.set, KEYSET);
}

static void ask(void)
{
    uint64_t number;

    if (freshness_ask(&world.freshness, router_clock(), &number) == STATUS_OK) {
        post(AGE_QUESTION, (uint32_t)below(LINKS))->number = number;
    }
}

static void come(void)
{
    struct check *check = &world.checks[below(CHECKS)];

    if (!check->used) {
        *check = (struct check){.used = true,
                                .bound_us = bounds_us[below(NBOUNDS)],
                                .time = world.time,
                                .step = world.step,
                                .came = freshness_came(&world.freshness, router_clock())};
    }
}

static bool must_be_found(const struct key *key, const struct check *check)
{
    return check->bound_us == 0 ? key->step < check->step
                                : key->time + check->bound_us * TENTHS <= check->time;
}

static uint32_t bound_of(const struct check *check)
{
    uint32_t at = 0;

    while (bounds_us[at] != check->bound_us) {
        at++;
    }
    return at;
}

/* Nodes answer under the present life alone: an older epoch is fenced. */
static void judge(uint64_t seed)
{
    struct check *check = &world.checks[below(CHECKS)];
    uint64_t kept = world.nkeys < KEYS ? world.nkeys : KEYS;
    bool lacks = false;

    if (!check->used || site_life_compare(&world.freshness.own_life, &world.life) != 0 ||
        freshness_allows(&world.freshness, check->bound_us, &check->came).verdict !=
            FRESHNESS_MAY_SAY) {
        return;
    }
    for (uint64_t i = 0; i < kept; i++) {
        const struct key *key = &world.keys[i];

        cr_assert(is_here(key) || !must_be_found(key, check), "seed %lu, step %lu: bound %lu",
                  (unsigned long)seed, (unsigned long)world.step, (unsigned long)check->bound_us);
        lacks |= !is_here(key);
    }
    allowed[bound_of(check)]++;
    lacking[bound_of(check)] += lacks;
    check->used = false;
}

/* ---- what happens ---- */

static void apply(void)
{
    uint32_t site = (uint32_t)below(SITES);
    uint32_t group = (uint32_t)below(GROUPS);
    uint32_t node = (uint32_t)below(NODES);
    uint64_t *applied = &world.applied[site][group][node];

    *applied += below(2) == 0 ? world.ends[site][group][node] - *applied
                              : below(world.ends[site][group][node] - *applied + 1);
}

/* Less is here than was, and all of it begins anew. */
static void put_back(void)
{
    uint32_t site = (uint32_t)below(SITES);

    for (uint32_t group = 0; group < GROUPS; group++) {
        for (uint32_t node = 0; node < NODES; node++) {
            world.applied[site][group][node] = below(world.applied[site][group][node] + 1);
        }
    }
    world.life.number++;
}

static void happen_seldom(void)
{
    struct link *link = &world.links[below(LINKS)];
    uint64_t what = below(16);

    if (what == 0) {
        stop(link);
        start(link);
    } else if (what == 1) {
        world.boots[below(SITES)][below(NODES)]++;
    } else if (what == 2) {
        put_back();
    } else if (what == 3) {
        world.time += below(20000);
    } else if (what < 10) {
        link->own_life = world.life;
        enter(link);
    } else {
        take_document();
    }
}

static void happen(uint64_t seed)
{
    uint64_t what = below(64);

    world.time += below(3) == 0 ? below(30) : 0;
    world.step++;
    if (what < 1) {
        acknowledge();
    } else if (what < 5) {
        apply();
    } else if (what < 18) {
        begin((uint32_t)below(LINKS));
    } else if (what < 28) {
        hear_of_applied(&world.links[below(LINKS)]);
    } else if (what < 32) {
        ask();
    } else if (what < 37) {
        answer_question((uint32_t)below(LINKS));
    } else if (what < 40) {
        come();
    } else if (what < 46) {
        judge(seed);
    } else if (what < 63) {
        deliver();
    } else {
        happen_seldom();
    }
}

Test(site_staleness, nothing_is_missed_that_must_not_be, .timeout = 300)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world = (struct world){.random = seed, .life = {1, 5}};
        world.time = 100000 + below(TENTHS);
        world.router_behind = 100000 - below(TENTHS);
        for (uint32_t i = 0; i < LINKS; i++) {
            start(&world.links[i]);
        }
        freshness_init(&world.freshness, random_next(&world.random));
        take_document();
        for (int step = 0; step < STEPS; step++) {
            happen(seed);
        }
        for (uint32_t i = 0; i < LINKS; i++) {
            stop(&world.links[i]);
        }
        cr_assert_eq(heap_live(), 0);
    }
    for (uint32_t i = 0; i < NBOUNDS; i++) {
        cr_log_info("bound %lu us: %lu allowed, %lu of them while keys were lacking",
                    (unsigned long)bounds_us[i], (unsigned long)allowed[i],
                    (unsigned long)lacking[i]);
        cr_assert_gt(lacking[i], 50, "bound %lu us: too little was tried",
                     (unsigned long)bounds_us[i]);
    }
}
