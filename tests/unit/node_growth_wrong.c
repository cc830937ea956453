/* A node that can't build what is wanted, or finds it wrong, or has to take its time: what is there
 * serves meanwhile. */
#include "tests/unit/node_growth.h"

#include <string.h>

/* ---- no room ---- */

Test(node_growth_wrong, without_room_it_does_not_begin_and_tries_again)
{
    open_stage();
    add(6000);
    growth.stage.node->config.memory_limit_bytes = 1 << 20;
    growth_stage_want(&growth, 2, 4096, 400000, true);
    (void)settle_and_look();
    expect_served_from(1);
    growth.stage.node->config.memory_limit_bytes = 1 << 30;
    node_stage_settle_long(&growth.stage);
    growth.stage.now_us += growth.stage.config.sync_interval_us;
    growth.stage.actor.time(growth.stage.actor.self, growth.stage.now_us);
    (void)settle_and_look();
    expect_served_from(2);
    close_stage();
}

Test(node_growth_wrong, a_generation_for_fewer_keys_than_there_are_is_not_built)
{
    open_stage();
    add(6000);
    growth_stage_want(&growth, 2, 64, 2000, true);
    (void)settle_and_look();
    expect_served_from(1);
    close_stage();
}

/* ---- what is wrong ---- */

Test(node_growth_wrong, an_array_that_lacks_a_key_is_built_again)
{
    struct replica_set *set;

    open_stage();
    add(20000);
    growth_stage_want(&growth, 2, BIGGER, 400000, true);
    cr_assert(growth_stage_until(&growth, GROWTH_CHECK_RUNS));
    set = growth_stage_set(&growth);
    memset(set->layers[1]->shards[growth.stage.node->growth.first], 0, 4096);
    (void)settle_and_look();
    cr_assert_eq(node_stage_counter(&growth.stage, "growth_verify_failures_total"), 1);
    expect_served_from(2);
    growth_stage_expect_log(&growth);
    close_stage();
}

Test(node_growth_wrong, an_array_with_more_bits_than_keys_is_built_again)
{
    struct replica_set *set;

    open_stage();
    add(6000);
    growth_stage_want(&growth, 2, BIGGER, 400000, true);
    cr_assert(growth_stage_until(&growth, GROWTH_CHECK_LOG));
    set = growth_stage_set(&growth);
    memset(set->layers[1]->shards[growth.stage.node->growth.first], 0xff, 4096);
    (void)settle_and_look();
    cr_assert_eq(node_stage_counter(&growth.stage, "growth_verify_failures_total"), 1);
    expect_served_from(2);
    growth_stage_expect_log(&growth);
    close_stage();
}

Test(node_growth_wrong, what_comes_out_wrong_again_and_again_is_given_up)
{
    open_stage();
    add(6000);
    growth_stage_want(&growth, 2, BIGGER, 400000, true);
    while (growth_stage_until(&growth, GROWTH_CHECK_LOG)) {
        struct replica_set *set = growth_stage_set(&growth);

        memset(set->layers[1]->shards[growth.stage.node->growth.first], 0xff, 4096);
        (void)growth_stage_until(&growth, GROWTH_STANDING);
    }
    expect_all();
    cr_assert_eq(node_stage_counter(&growth.stage, "growth_verify_failures_total"), 3);
    cr_assert_eq(growth_stage_report(&growth).generation, 1);
    growth_stage_hand(&growth);
    (void)settle_and_look();
    expect_served_from(2);
    close_stage();
}

/* The keys of a damaged run are lost to this node: it is another incarnation that goes on, and its
 * new arrays are what its log has. */
Test(node_growth_wrong, a_run_that_is_damaged_in_the_middle)
{
    char name[DISK_NAME_BYTES];

    open_stage();
    add(MANY);
    node_stage_settle_long(&growth.stage);
    growth_stage_want(&growth, 2, BIGGER, 400000, true);
    cr_assert(growth_stage_until(&growth, GROWTH_CHECK_RUNS));
    cr_assert(node_stage_file(&growth.stage, "run-", 0, name));
    memory_disk_flip(growth.stage.disk, name, 8 * 5000);
    node_stage_settle(&growth.stage);
    cr_assert_eq(node_stage_counter(&growth.stage, "amnesia_total"), 1);
    cr_assert_geq(node_stage_counter(&growth.stage, "growth_restarts_total"), 1);
    expect_served_from(2);
    cr_assert_eq(replica_set_state(growth_stage_set(&growth), 0), REPLICA_JOINING,
                 "it counts for nothing until others have given it what it lacks");
    close_stage();
}

/* ---- throttle ---- */

/* A client's request. */
static void ask(void)
{
    struct segment segment = node_stage_segment(&growth.document, OPERATION_CHECK, BATCH);
    struct node_answer answer;

    node_stage_ask(&growth.stage, &segment, 1, keys, &answer);
    cr_assert_eq(answer.segment.status, STATUS_OK);
}

/* How long it takes to grow 20,000 keys at `rate` a second, each looked at twice, while clients ask
 * for nothing, or for much. */
static uint64_t grow_throttled(uint64_t rate, bool asked)
{
    uint64_t began;

    open_stage();
    add(20000);
    growth.stage.node->config.growth_rate = rate;
    began = growth.stage.now_us;
    growth_stage_want(&growth, 2, BIGGER, 400000, true);
    for (int i = 0; growth_stage_set(&growth)->growth != NULL || i == 0; i++) {
        uint64_t next_us;

        cr_assert_lt(i, 100000);
        if (asked) {
            ask();
        }
        while (growth_stage_step(&growth)) {
        }
        next_us = growth.stage.node->growth.due ? node_growth_next_us(growth.stage.node)
                                                : ACTOR_NEVER;
        if (next_us != ACTOR_NEVER) {
            cr_assert_eq(growth.stage.actor.next_us(growth.stage.actor.self) <= next_us, true);
            growth.stage.now_us = next_us;
        }
    }
    expect_served_from(2);
    began = growth.stage.now_us - began;
    close_stage();
    return began;
}

Test(node_growth_wrong, so_many_keys_a_second_and_no_more)
{
    uint64_t took_us = grow_throttled(10000, false);

    cr_assert_geq(took_us, 3900000, "40,000 looked at");
    cr_assert_leq(took_us, 5000000, "and hardly less");
}

Test(node_growth_wrong, what_requests_take_is_not_for_growth)
{
    uint64_t alone_us = grow_throttled(200000, false);

    cr_assert_geq(grow_throttled(200000, true), 2 * alone_us);
}

/* ---- memory ---- */

Test(node_growth_wrong, an_allocation_that_fails_anywhere_is_tried_again)
{
    open_stage();
    add(6000);
    node_stage_settle_long(&growth.stage);
    for (unsigned n = 0; n < 40; n++) {
        growth_stage_want(&growth, 2 + n, n % 2 == 0 ? BIGGER : 128, 400000, true);
        for (unsigned i = 0; i < 12; i++) {
            heap_fault_after(n % 10);
            (void)growth_stage_step(&growth);
            heap_fault_clear();
            expect_all();
        }
        growth.stage.now_us += 2000000;
        growth.stage.actor.time(growth.stage.actor.self, growth.stage.now_us);
        (void)settle_and_look();
        expect_served_from(2 + n);
    }
    growth_stage_expect_log(&growth);
    close_stage();
}
