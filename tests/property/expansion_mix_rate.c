/* The error rate while replicas are in different generations and one of three is down: a check has
 * two answers then, one from the old array, one from the new, and "present" of either decides. What
 * is asked for is decided as a coordinator does, arrays are filled as nodes do, and checks decided
 * as routers do. */
#include "base/heap.h"
#include "filter/sizing.h"
#include "map/quorum.h"
#include "node/array/expansion_layers.h"
#include "tests/support/expansion_cluster.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { BATCH = 4096, SHARDS = 1 << SAMPLE_SHARD_BITS, MIN_PROBES = 10000000 };

/* A filter, and what becomes of it. */
struct step {
    uint64_t capacity;
    double rate;
    double filled; /* of the capacity, when it is asked to change */
    struct expansion_wish wish;
};

static struct expansion_cluster cluster;
static struct arrays *sets[2]; /* of those that live; the third replica is down */
static uint64_t state;         /* of the keys, in one order for both */

/* ---- replicas ---- */

static struct arrays *make_set(uint32_t node)
{
    const struct filter_document *document = &cluster.document;
    struct arrays *set = NULL;

    cr_assert_eq(arrays_create(document, document_generation(document), node,
                               SAMPLE_INCARNATION + node, UINT64_MAX, &set),
                 STATUS_OK);
    set->loaded = true;
    while (arrays_build(set, document, UINT64_MAX)) {
    }
    return set;
}

static void open_filter(const struct step *step)
{
    const struct sizing_request request = {.capacity = step->capacity, .rate = step->rate};
    struct generation *generation;
    struct sizing_plan plan;

    expansion_cluster_init(&cluster, 3);
    cr_assert_eq(sizing_plan_generation(&request, SAMPLE_SHARD_BITS, &plan), STATUS_OK);
    cluster.document.capacity = step->capacity;
    cluster.document.max_capacity = 64 * step->capacity;
    cluster.document.rate = step->rate;
    generation = &cluster.document.generations[0];
    generation->geometry.lines = plan.lines;
    generation->geometry.z = plan.z;
    generation->capacity = step->capacity;
    sets[0] = make_set(1);
    sets[1] = make_set(2);
    state = 1;
}

static void close_filter(void)
{
    arrays_destroy(&sets[0]);
    arrays_destroy(&sets[1]);
    expansion_cluster_fini(&cluster);
}

static void fingerprints(uint64_t *from, uint64_t *out)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        out[i] = random_next(from);
    }
}

/* As many as that, or until neither takes all of a batch. Returns how many the fuller one has. */
static uint64_t add(uint64_t most)
{
    static uint64_t keys[BATCH];
    uint64_t present[BATCH / 64];
    uint64_t accepted[BATCH / 64];
    bool full = false;

    while (!full && sets[0]->groups[0].keys < most && sets[1]->groups[0].keys < most) {
        full = true;
        fingerprints(&state, keys);
        for (unsigned i = 0; i < 2; i++) {
            full = arrays_add(sets[i], 0, keys, BATCH, present, accepted) && full;
        }
    }
    return sets[0]->groups[0].keys > sets[1]->groups[0].keys ? sets[0]->groups[0].keys
                                                             : sets[1]->groups[0].keys;
}

static void ask_for(const struct expansion_wish *wish)
{
    struct expansion_answer answer;

    for (size_t i = 0; i < cluster.view.nreports; i++) {
        cluster.reports[i].keys = sets[0]->groups[0].keys;
    }
    answer = expansion_request(&cluster.view, wish, 4711);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN, "%d", (int)answer.verdict);
    expansion_begin(&cluster.document, &answer);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(arrays_follow(sets[i], &cluster.document, i + 1, SAMPLE_INCARNATION + i + 1));
    }
}

/* The second replica serves shards up to `end` from the new arrays. */
static void grow(uint32_t first, uint32_t end)
{
    static uint64_t keys[BATCH];
    struct arrays *set = sets[1];
    uint64_t again = 1;

    if (set->expansion == NULL) {
        cr_assert_eq(
            expansion_layers_begin(set, &cluster.document, document_generation(&cluster.document)),
            STATUS_OK);
    }
    for (uint32_t shard = first; shard < end; shard++) {
        expansion_layers_reserve(set, shard);
        cr_assert(expansion_layers_touch(set, UINT64_MAX));
    }
    while (again != state) { /* Those that were refused are not in the log. */
        uint32_t count = 0;

        fingerprints(&again, keys);
        for (uint32_t i = 0; i < BATCH; i++) {
            keys[count] = keys[i];
            count += arrays_has(set, keys[i]);
        }
        expansion_bits_backfill(set, keys, count);
    }
    for (uint32_t shard = first; shard < end; shard++) {
        (void)expansion_layers_serve(set, &cluster.document, shard);
    }
    if (end == SHARDS) {
        expansion_layers_finish(set);
    }
}

/* ---- checks ---- */

static uint64_t count_present(const uint64_t *words)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < BATCH / 64; i++) {
        sum += (uint64_t)__builtin_popcountll(words[i]);
    }
    return sum;
}

static uint64_t check_some(const uint64_t *keys)
{
    uint64_t planes[2][2][BATCH / 64];
    uint64_t present[BATCH / 64];
    uint64_t absent[BATCH / 64];
    struct quorum_votes votes = {0};

    for (unsigned i = 0; i < 2; i++) {
        arrays_check(sets[i], keys, BATCH, planes[i][0]);
        for (uint32_t word = 0; word < BATCH / 64; word++) {
            planes[i][1][word] = ~planes[i][0][word];
        }
        votes.present[i] = planes[i][0];
        votes.absent[i] = planes[i][1];
    }
    cr_assert_eq(quorum_check(&cluster.document.content.rule, &votes, BATCH, true, present, absent),
                 0, "some are unknown");
    return count_present(present);
}

/* Of more probes than 5,500 / bound, as the sum comes nearer to the bound than one rate does. The
 * upper 99.9 % limit: that many hits or more would be seen with the bound's rate in one test of
 * a thousand. */
static void expect_rate(double bound, uint64_t held, const char *phase)
{
    static uint64_t keys[BATCH];
    uint64_t absent = UINT64_C(1) << 60;
    uint64_t hits = 0;
    uint64_t probes = 0;
    double upper;

    while (probes < MIN_PROBES || (double)probes < 20000 / bound) {
        fingerprints(&absent, keys);
        hits += check_some(keys);
        probes += BATCH;
    }
    upper = ((double)hits + 4.8 + 3.09 * sqrt((double)hits + 4.8)) / (double)probes;
    fprintf(stderr, "  %s, %lu keys: %.4f %%, upper limit %.3f of the bound\n", phase, held,
            100.0 * (double)hits / (double)probes, upper / bound);
    cr_assert_leq(upper, bound, "%s: %lu of %lu", phase, hits, probes);
}

static void go_through(const struct step *step)
{
    double bound = step->wish.rate > step->rate ? step->wish.rate : step->rate;
    uint64_t held;

    fprintf(stderr, "%lu keys at %g, %.0f %% full, to %lu at %g\n", step->capacity, step->rate,
            100 * step->filled, step->wish.capacity, step->wish.rate);
    open_filter(step);
    held = add((uint64_t)(step->filled * (double)step->capacity));
    ask_for(&step->wish);
    grow(0, SHARDS / 10);
    expect_rate(bound, held, "a tenth of one replica's shards is new");
    held = add(UINT64_MAX);
    expect_rate(bound, held, "... and filled up");
    grow(SHARDS / 10, SHARDS);
    expect_rate(bound, held, "one replica is new");
    held = add(UINT64_MAX);
    expect_rate(bound, held, "... and filled up");
    close_filter();
    cr_assert_eq(heap_live(), 0);
}

/* ---- what is asked for ---- */

#define MIX(name, ...)                                 \
    Test(expansion_mix_rate, name, .timeout = 300)     \
    {                                                  \
        static const struct step step = {__VA_ARGS__}; \
                                                       \
        go_through(&step);                             \
    }

MIX(a_little_more_when_nearly_full, 4000000, 0.01, 0.99, {.capacity = 4400000})
MIX(a_little_more_when_half_full, 4000000, 0.01, 0.5, {.capacity = 4400000})
MIX(twice_as_much, 4000000, 0.01, 0.99, {.capacity = 8000000})
MIX(less, 4000000, 0.01, 0.7, {.capacity = 3000000})
MIX(another_rate, 4000000, 0.01, 0.95, {.rate = 0.005})
MIX(a_higher_rate, 1000000, 0.001, 0.95, {.rate = 0.002})
MIX(two_lines_a_key, 1000000, 0.0005, 0.99, {.capacity = 1200000})
