/* A node whose filter is to have another generation builds that from its own log while it serves,
 * whatever comes in between: nothing that was accepted is absent at any moment, and in the end the
 * arrays are what the log makes of them. */
#include "tests/unit/node_expansion.h"

/* ---- from one to the next ---- */

Test(node_expansion, a_filter_grows_while_it_serves)
{
    struct replica_report report;
    uint64_t before;

    open_stage();
    add(20000);
    before = expansion.stage.node->memory_used_bytes;
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_SERVING));
    report = expansion_stage_report(&expansion);
    cr_assert_eq(report.state, REPLICA_FULL);
    cr_assert_eq(report.phase, PHASE_GROWING);
    cr_assert_eq(report.generation, 1);
    cr_assert_eq(report.shards_grown, 0);
    cr_assert_leq(expansion.stage.node->memory_used_bytes, before + BIGGER * LINE_BYTES,
                  "no more than one shard");
    (void)settle_and_look();
    expect_served_from(2);
    report = expansion_stage_report(&expansion);
    cr_assert_eq(report.phase, PHASE_NONE);
    cr_assert_eq(report.shards_grown, EXPANSION_STAGE_SHARDS);
    cr_assert_eq(expansion.stage.node->memory_used_bytes,
                 UINT64_C(1) * BIGGER * LINE_BYTES * EXPANSION_STAGE_SHARDS);
    cr_assert_eq(expansion_stage_set(&expansion)->bytes, expansion.stage.node->memory_used_bytes);
    cr_assert_eq(node_stage_counter(&expansion.stage, "growth_shards_total"),
                 EXPANSION_STAGE_SHARDS);
    cr_assert_geq(node_stage_counter(&expansion.stage, "growth_keys_total"), 2 * 20000);
    cr_assert_eq(node_stage_counter(&expansion.stage, "growth_verify_failures_total"), 0);
    expansion_stage_expect_log(&expansion);
    expect_all();
    close_stage();
}

Test(node_expansion, a_filter_shrinks_too_and_takes_another_rate)
{
    open_stage();
    add(20000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    (void)settle_and_look();
    expansion_stage_want(&expansion, 3, 128, 50000, true);
    (void)settle_and_look();
    expect_served_from(3);
    cr_assert_eq(expansion_stage_set(&expansion)->groups[0].keys_capacity, 50000);
    expansion_stage_expect_log(&expansion);
    expect_all();
    close_stage();
}

Test(node_expansion, small_arrays_take_over_together)
{
    open_stage();
    expansion.stage.node->steps.most[STEP_SPAN_LINES] = EXPANSION_STAGE_SHARDS / 2 * BIGGER;
    add(20000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_SERVING));
    cr_assert_eq(expansion.stage.node->expansion.end, EXPANSION_STAGE_SHARDS / 2);
    (void)settle_and_look();
    expect_served_from(2);
    cr_assert_eq(expansion.stage.node->steps.again[STEP_SPAN_LINES], 1, "two spans");
    close_stage();
}

/* Into shards that share pages, from those into others of the kind, and out again. */
Test(node_expansion, shards_of_a_few_lines_grow_one_by_one)
{
    static const uint64_t lines[] = {13, 29, 60, 128};

    open_stage();
    add(2000);
    for (uint32_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expansion_stage_want(&expansion, 2 + i, lines[i], 5000, true);
        (void)settle_and_look();
        expect_served_from(2 + i);
        expansion_stage_expect_log(&expansion);
        cr_assert_eq(expansion.stage.node->memory_used_bytes,
                     lines[i] * LINE_BYTES * EXPANSION_STAGE_SHARDS);
    }
    expect_all();
    close_stage();
}

Test(node_expansion, without_a_turn_nothing_is_built)
{
    open_stage();
    add(2000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, false);
    (void)settle_and_look();
    expect_served_from(1);
    cr_assert_eq(expansion_stage_report(&expansion).shards_grown, 0);
    expansion.document.turns[0] = 1;
    expansion_stage_hand(&expansion);
    (void)settle_and_look();
    expect_served_from(2);
    close_stage();
}

Test(node_expansion, a_coordinator_hears_of_a_group_that_is_done)
{
    open_stage();
    add(2000);
    node_stage_settle_long(&expansion.stage);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    expansion.stage.node->next_sync_us = ACTOR_NEVER;
    (void)settle_and_look();
    cr_assert_leq(expansion.stage.node->next_sync_us, expansion.stage.now_us);
    close_stage();
}

/* ---- adds in between ---- */

/* What is "present" by chance in the old array must be in the new one as well: one in forty is. */
Test(node_expansion, keys_that_come_in_any_phase_are_in_the_new_arrays)
{
    for (uint32_t phase = EXPANSION_STANDING; phase < EXPANSION_NPHASES; phase++) {
        open_stage();
        add(60000);
        expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
        cr_assert(expansion_stage_until(&expansion, (enum expansion_phase)phase), "phase %u",
                  phase);
        send_adds(4000);
        expect_all();
        node_stage_settle(&expansion.stage);
        expect_served_from(2);
        expect_all();
        close_stage();
    }
}

/* Adds that were accepted just before, and are in no file yet, are part of what is below. */
Test(node_expansion, adds_on_their_way_to_the_log_are_waited_for)
{
    open_stage();
    add(2000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    while (expansion.stage.node->expansion.phase != EXPANSION_STANDING) {
        (void)expansion.stage.actor.work(expansion.stage.actor.self, expansion.stage.now_us);
    }
    send_adds(4000); /* Some are in old arrays only: the new ones do not stand yet. */
    for (int i = 0; expansion.stage.node->expansion.phase != EXPANSION_AWAITING; i++) {
        cr_assert_lt(i, 1000);
        (void)expansion.stage.actor.work(expansion.stage.actor.self, expansion.stage.now_us);
    }
    cr_assert_lt(storage_written(expansion.stage.node->storage),
                 expansion.stage.node->expansion.cut);
    (void)settle_and_look();
    expect_served_from(2);
    expansion_stage_expect_log(&expansion);
    close_stage();
}

/* Merged or not, and while files go: a pass that finds something gone begins again. */
Test(node_expansion, runs_are_merged_while_they_are_read)
{
    open_stage();
    add(20000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    for (int i = 0; added < MANY; i++) {
        add(BATCH);
        for (int k = 0; k < 3 + i % 5; k++) {
            (void)expansion_stage_step(&expansion);
        }
        expansion.stage.now_us += 200000;
        expect_all();
    }
    node_stage_settle_long(&expansion.stage);
    expect_served_from(2);
    cr_assert_gt(node_stage_counter(&expansion.stage, "run_keys"), 0);
    expansion_stage_expect_log(&expansion);
    expect_all();
    close_stage();
}

/* ---- ends ---- */

Test(node_expansion, a_restart_in_any_phase_ends_it_with_the_wanted_generation)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (uint32_t phase = EXPANSION_STANDING; phase < EXPANSION_NPHASES; phase++) {
        open_stage();
        add(6000);
        expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
        cr_assert(expansion_stage_until(&expansion, (enum expansion_phase)phase));
        add(BATCH);
        expansion_stage_restart(&expansion, ends[phase % 3]);
        expect_served_from(2);
        expect_all();
        close_stage();
    }
}

Test(node_expansion, a_drop_in_any_phase_frees_all)
{
    for (uint32_t phase = EXPANSION_STANDING; phase < EXPANSION_NPHASES; phase++) {
        open_stage();
        add(6000);
        expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
        cr_assert(expansion_stage_until(&expansion, (enum expansion_phase)phase));
        expansion.document.content.state = FILTER_DROPPING;
        document_epoch_advance(&expansion.document);
        expansion_stage_hand(&expansion);
        node_stage_settle(&expansion.stage);
        cr_assert_eq(expansion.stage.node->memory_used_bytes, 0);
        cr_assert_eq(expansion.stage.node->expansion.phase, EXPANSION_REST);
        close_stage();
    }
}

/* ---- another one is wanted meanwhile ---- */

/* In any phase of the first shard, and with half of the shards grown. */
static void want_meanwhile(uint32_t id, uint64_t lines, uint64_t capacity)
{
    for (uint32_t i = 0; i < 2 * EXPANSION_NPHASES; i++) {
        uint32_t phase = EXPANSION_STANDING + i % (EXPANSION_NPHASES - 1);

        open_stage();
        add(6000);
        expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
        for (uint32_t k = 0; i >= EXPANSION_NPHASES && k < 8; k++) {
            cr_assert(expansion_stage_until(&expansion, EXPANSION_SERVING));
            cr_assert(expansion_stage_until(&expansion, EXPANSION_STANDING));
        }
        cr_assert(expansion_stage_until(&expansion, (enum expansion_phase)phase));
        send_adds(BATCH);
        expansion_stage_want(&expansion, id, lines, capacity, true);
        (void)settle_and_look();
        send_adds(BATCH);
        (void)settle_and_look();
        expect_served_from(id);
        cr_assert_eq(expansion_stage_set(&expansion)->bytes,
                     expansion.stage.node->memory_used_bytes);
        expansion_stage_expect_log(&expansion);
        expect_all();
        close_stage();
    }
}

Test(node_expansion, the_old_one_may_be_wanted_again)
{
    want_meanwhile(1, EXPANSION_STAGE_LINES, EXPANSION_STAGE_CAPACITY);
}

Test(node_expansion, a_third_one_may_be_wanted)
{
    want_meanwhile(3, 256, 200000);
}
