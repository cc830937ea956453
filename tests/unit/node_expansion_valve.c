/* A replica that is full before its bigger arrays are ready lets new keys into those alone and
 * looks into both: none is absent, and the sum of both rates stays within the bound. */
#include "base/heap.h"
#include "filter/sizing.h"
#include "tests/support/expansion_stage.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <math.h>

enum { BATCH = 1000, CAPACITY = 100000, POOL = 400000, PROBES = 400000 };

#define RATE 0.01

static struct expansion_stage expansion;
static uint64_t keys[POOL];
static uint64_t accepted[POOL];
static uint32_t naccepted;
static uint32_t asked;
static bool slow_pages;

static void open_stage(void)
{
    expansion_stage_init_planned(&expansion, CAPACITY, RATE);
    expansion.stage.node->effects.slow_pages = slow_pages;
    sample_fingerprints(&expansion.document, 0, 1, POOL, keys);
    asked = naccepted = 0;
}

static void close_stage(void)
{
    expansion_stage_fini(&expansion);
    cr_assert_eq(heap_live(), 0);
}

/* False: some of them were refused. */
static bool add_batch(void)
{
    static struct node_answer answer;
    struct subrequest subrequest = node_stage_subrequest(&expansion.document, OPERATION_ADD, BATCH);
    const uint64_t *batch = keys + asked;

    cr_assert_leq(asked + BATCH, POOL);
    subrequest.batch.number = ++expansion.stage.batches;
    subrequest.op.sequence = expansion.stage.batches;
    cr_assert(node_stage_ask_disk(&expansion.stage, &subrequest, batch, &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    for (uint32_t i = 0; i < BATCH; i++) {
        if (((answer.present[i / 64] | answer.absent[i / 64]) >> (i % 64) & 1) != 0) {
            accepted[naccepted++] = batch[i];
        }
    }
    asked += BATCH;
    return !answer.subrequest.at_capacity;
}

static void add_up_to(uint32_t count)
{
    while (naccepted < count) {
        cr_assert(add_batch(), "at %u", naccepted);
    }
}

static void add_until_full(void)
{
    while (add_batch()) {
    }
}

static void expect_all(void)
{
    cr_assert_eq(expansion_stage_lacks(&expansion, accepted, naccepted), 0);
}

/* Nothing is filled from the log until it is let go on. */
static void hold(bool held)
{
    expansion.stage.node->config.growth_rate = held ? 1 : 0;
    expansion.stage.node->expansion.resume_us = 0;
    expansion.stage.node->expansion.throttle.free_us = held ? UINT64_MAX / 2 : 0;
    expansion.stage.node->expansion.due = true;
}

/* Of keys that nobody added, at most so many may be present that the bound holds: chance does no
 * more than this once in a thousand tests. */
static void expect_rate(const char *phase)
{
    const struct arrays *set = expansion_stage_set(&expansion);
    double bound = PROBES * RATE;
    uint64_t state = 99;
    uint32_t present = 0;

    for (uint32_t i = 0; i < PROBES; i++) {
        present += arrays_has(set, random_next(&state));
    }
    cr_log_info("%s: %.3f %% of absent keys are present", phase, 100.0 * present / PROBES);
    cr_assert_leq(present, bound + 3.1 * sqrt(bound), "%s: %u of %u", phase, present, PROBES);
}

/* Full, with the valve open. */
static void open_valve(void)
{
    open_stage();
    add_up_to(CAPACITY * 9 / 10);
    expansion_stage_want_planned(&expansion, 2, 4 * CAPACITY, false);
    node_stage_settle(&expansion.stage);
    cr_assert_null(expansion_stage_set(&expansion)->expansion, "nothing presses");
    hold(true);
    add_up_to(CAPACITY + 20000);
    cr_assert_eq(expansion_stage_set(&expansion)->expansion->nopen, EXPANSION_STAGE_SHARDS);
}

Test(node_expansion_valve, keys_beyond_the_old_capacity_are_in_and_stay_in)
{
    struct replica_report report;

    open_valve();
    expect_all();
    report = expansion_stage_report(&expansion);
    cr_assert_eq(report.generation, 1);
    cr_assert_gt(report.overflow_keys, 15000);
    cr_assert_eq(report.phase, PHASE_GROWING);
    cr_assert_eq(report.bytes, expansion_stage_set(&expansion)->bytes, "both arrays of all");
    hold(false);
    while (expansion_stage_step(&expansion)) {
    }
    expect_all();
    report = expansion_stage_report(&expansion);
    cr_assert_eq(report.generation, 2);
    cr_assert_eq(report.overflow_keys, 0);
    cr_assert_eq(report.shards_grown, EXPANSION_STAGE_SHARDS);
    expansion_stage_expect_log(&expansion);
    expect_all();
    close_stage();
}

Test(node_expansion_valve, arrays_whose_pages_come_slowly_stand_in_time)
{
    slow_pages = true;
    open_valve();
    expect_all();
    hold(false);
    node_stage_settle(&expansion.stage);
    expect_all();
    cr_assert_eq(expansion_stage_report(&expansion).generation, 2);
    expansion_stage_expect_log(&expansion);
    close_stage();
}

/* Which is another incarnation only if something was lost. */
Test(node_expansion_valve, a_restart_with_an_open_valve_refills_the_wanted_generation)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (unsigned i = 0; i < 3; i++) {
        open_valve();
        expansion_stage_restart(&expansion, ends[i]);
        cr_assert_eq(expansion_stage_report(&expansion).generation, 2);
        expect_all();
        close_stage();
    }
}

Test(node_expansion_valve, where_arrays_do_not_stand_adds_are_refused)
{
    open_stage();
    add_up_to(CAPACITY * 9 / 10);
    expansion.stage.node->config.memory_limit_bytes = expansion_stage_set(&expansion)->bytes;
    expansion_stage_want_planned(&expansion, 2, 4 * CAPACITY, true);
    add_until_full();
    cr_assert_leq(naccepted, CAPACITY * 102 / 100, "and those present by chance");
    cr_assert_null(expansion_stage_set(&expansion)->expansion);
    expect_all();
    close_stage();
}

/* An open valve first ends what it has begun. */
Test(node_expansion_valve, the_old_one_is_wanted_again_with_an_open_valve)
{
    open_valve();
    expansion_stage_want(&expansion, 1, 0, 0, true);
    hold(false);
    while (expansion_stage_step(&expansion)) {
    }
    expect_all();
    cr_assert_eq(expansion_stage_set(&expansion)->expansion, NULL);
    cr_assert_eq(expansion_stage_report(&expansion).generation, 2,
                 "the old one does not hold so many");
    expansion_stage_want_planned(&expansion, 3, 2 * CAPACITY, true);
    while (expansion_stage_step(&expansion)) {
    }
    expect_all();
    cr_assert_eq(expansion_stage_report(&expansion).generation, 3);
    expansion_stage_expect_log(&expansion);
    close_stage();
}

Test(node_expansion_valve, an_array_behind_an_open_valve_is_never_emptied)
{
    struct arrays *set;

    open_valve();
    hold(false);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_CHECK_LOG));
    set = expansion_stage_set(&expansion);
    set->layers[1]->shards[expansion.stage.node->expansion.first][5] = 0xff;
    set->layers[1]->keys[expansion.stage.node->expansion.first] = 1; /* which can't be */
    while (expansion_stage_step(&expansion)) {
        if (expansion.stage.node->expansion.phase == EXPANSION_STANDING) {
            expect_all();
        }
    }
    cr_assert_eq(node_stage_counter(&expansion.stage, "growth_verify_failures_total"), 3);
    expect_all();
    close_stage();
}

/* ---- a replica that joins ---- */

/* As one that has taken over all that there is. */
static uint64_t told_complete(void)
{
    struct replica_group *group = &expansion_stage_set(&expansion)->groups[0];

    group->full = false;
    group->complete = expansion.document.epoch;
    return expansion_stage_report(&expansion).complete;
}

/* What others have, by a valve or in larger arrays, comes as a whole and whatever the capacity. */
Test(node_expansion_valve, a_replica_that_joins_is_complete_once_its_arrays_are_for_what_it_has)
{
    struct arrays *set;

    open_stage();
    add_up_to(CAPACITY * 9 / 10);
    cr_assert_eq(told_complete(), expansion.document.epoch);
    expansion_stage_want_planned(&expansion, 2, 4 * CAPACITY, false);
    set = expansion_stage_set(&expansion);
    cr_assert_eq(told_complete(), expansion.document.epoch, "nothing is beyond the capacity");
    hold(true);
    arrays_fill(set, &expansion.document, keys, POOL * 3 / 4);
    cr_assert_eq(told_complete(), 0, "before arrays are built");
    expansion.stage.node->expansion.due = true;
    while (expansion_stage_step(&expansion)) {
    }
    cr_assert_not_null(set->expansion);
    cr_assert_eq(told_complete(), 0, "while they are built");
    hold(false);
    while (expansion_stage_step(&expansion)) {
    }
    cr_assert_eq(expansion_stage_report(&expansion).generation, 2);
    cr_assert_eq(told_complete(), expansion.document.epoch);
    close_stage();
}

/* ---- the error rate ---- */

Test(node_expansion_valve, the_rate_holds_in_every_phase)
{
    open_stage();
    add_until_full();
    expect_rate("full");
    expansion_stage_want_planned(&expansion, 2, 4 * CAPACITY, true);
    do {
        cr_assert(expansion_stage_step(&expansion));
    } while (expansion_stage_set(&expansion)->expansion == NULL ||
             expansion_stage_set(&expansion)->expansion->ngrown < EXPANSION_STAGE_SHARDS / 2);
    expect_rate("half of the shards grown");
    hold(true);
    while (expansion_stage_step(&expansion)) {
    }
    add_until_full();
    cr_assert_gt(expansion_stage_set(&expansion)->expansion->nopen, 0);
    hold(false);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_WEIGHING));
    cr_assert_gt(naccepted, CAPACITY * 11 / 10);
    expect_rate("valves open, at their limit");
    expect_all();
    while (expansion_stage_step(&expansion)) {
    }
    expect_rate("grown");
    while (asked < POOL && naccepted < 4 * CAPACITY - 2 * BATCH) {
        (void)add_batch();
    }
    expect_rate("grown and nearly full");
    close_stage();
}

/* All shards behind open valves, filled as far as they go: both arrays are read everywhere. */
Test(node_expansion_valve, the_rate_holds_with_all_valves_open)
{
    static const uint64_t sizes[] = {2 * CAPACITY, 4 * CAPACITY};

    for (unsigned i = 0; i < 2; i++) {
        struct arrays *set;

        open_stage();
        add_up_to(CAPACITY * 9 / 10);
        expansion_stage_want_planned(&expansion, 2, sizes[i], false);
        hold(true);
        add_until_full();
        set = expansion_stage_set(&expansion);
        cr_assert_not_null(set->expansion);
        /* As bad as it gets: everything is filled, and no shard serves yet. */
        expansion_bits_backfill(set, accepted, naccepted);
        expect_rate("all valves open");
        expect_all();
        close_stage();
    }
}
