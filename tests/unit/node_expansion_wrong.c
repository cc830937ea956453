/* A node that can't build what is wanted, or finds it wrong, or has to take its time: what is there
 * serves meanwhile. */
#include "tests/unit/node_expansion.h"

#include <string.h>

/* ---- no room ---- */

Test(node_expansion_wrong, without_room_it_does_not_begin_and_tries_again)
{
    open_stage();
    add(6000);
    expansion.stage.node->config.memory_limit_bytes = 1 << 20;
    expansion_stage_want(&expansion, 2, 4096, 400000, true);
    (void)settle_and_look();
    expect_served_from(1);
    expansion.stage.node->config.memory_limit_bytes = 1 << 30;
    node_stage_settle_long(&expansion.stage);
    expansion.stage.now_us += expansion.stage.config.sync_interval_us;
    expansion.stage.actor.time(expansion.stage.actor.self, expansion.stage.now_us);
    (void)settle_and_look();
    expect_served_from(2);
    close_stage();
}

Test(node_expansion_wrong, a_generation_for_fewer_keys_than_there_are_is_not_built)
{
    open_stage();
    add(6000);
    expansion_stage_want(&expansion, 2, 64, 2000, true);
    (void)settle_and_look();
    expect_served_from(1);
    close_stage();
}

/* ---- what is wrong ---- */

Test(node_expansion_wrong, an_array_that_lacks_a_key_is_built_again)
{
    struct arrays *set;

    open_stage();
    add(20000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_CHECK_RUNS));
    set = expansion_stage_set(&expansion);
    memset(set->layers[1]->shards[expansion.stage.node->expansion.first], 0, 4096);
    (void)settle_and_look();
    cr_assert_eq(node_stage_counter(&expansion.stage, "growth_verify_failures_total"), 1);
    expect_served_from(2);
    expansion_stage_expect_log(&expansion);
    close_stage();
}

Test(node_expansion_wrong, an_array_with_more_bits_than_keys_is_built_again)
{
    struct arrays *set;

    open_stage();
    add(6000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_CHECK_LOG));
    set = expansion_stage_set(&expansion);
    memset(set->layers[1]->shards[expansion.stage.node->expansion.first], 0xff, 4096);
    (void)settle_and_look();
    cr_assert_eq(node_stage_counter(&expansion.stage, "growth_verify_failures_total"), 1);
    expect_served_from(2);
    expansion_stage_expect_log(&expansion);
    close_stage();
}

Test(node_expansion_wrong, what_comes_out_wrong_again_and_again_is_given_up)
{
    open_stage();
    add(6000);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    while (expansion_stage_until(&expansion, EXPANSION_CHECK_LOG)) {
        struct arrays *set = expansion_stage_set(&expansion);

        memset(set->layers[1]->shards[expansion.stage.node->expansion.first], 0xff, 4096);
        (void)expansion_stage_until(&expansion, EXPANSION_STANDING);
    }
    expect_all();
    cr_assert_eq(node_stage_counter(&expansion.stage, "growth_verify_failures_total"), 3);
    cr_assert_eq(expansion_stage_report(&expansion).generation, 1);
    expansion_stage_hand(&expansion);
    (void)settle_and_look();
    expect_served_from(2);
    close_stage();
}

/* The keys of a damaged run are lost to this node: it is another incarnation that goes on, and its
 * new arrays are what its log has. */
Test(node_expansion_wrong, a_run_that_is_damaged_in_the_middle)
{
    char name[DISK_NAME_BYTES];

    open_stage();
    add(MANY);
    node_stage_settle_long(&expansion.stage);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    cr_assert(expansion_stage_until(&expansion, EXPANSION_CHECK_RUNS));
    cr_assert(node_stage_file(&expansion.stage, "run-", 0, name));
    memory_disk_flip(expansion.stage.disk, name, 8 * 5000);
    node_stage_settle(&expansion.stage);
    cr_assert_eq(node_stage_counter(&expansion.stage, "amnesia_total"), 1);
    cr_assert_geq(node_stage_counter(&expansion.stage, "growth_restarts_total"), 1);
    expect_served_from(2);
    cr_assert_eq(arrays_state(expansion_stage_set(&expansion), 0), REPLICA_JOINING,
                 "it counts for nothing until others have given it what it lacks");
    close_stage();
}

/* ---- throttle ---- */

/* A client's request. */
static void ask(void)
{
    struct subrequest subrequest = node_stage_subrequest(&expansion.document, OPERATION_CHECK,
                                                         BATCH);
    struct node_answer answer;

    node_stage_ask(&expansion.stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
}

/* How long it takes to grow 20,000 keys at `rate` a second, each looked at twice, while clients ask
 * for nothing, or for much. */
static uint64_t grow_throttled(uint64_t rate, bool asked)
{
    uint64_t began;

    open_stage();
    add(20000);
    expansion.stage.node->config.growth_rate = rate;
    began = expansion.stage.now_us;
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    for (int i = 0; expansion_stage_set(&expansion)->expansion != NULL || i == 0; i++) {
        uint64_t next_us;

        cr_assert_lt(i, 100000);
        if (asked) {
            ask();
        }
        while (expansion_stage_step(&expansion)) {
        }
        next_us = expansion.stage.node->expansion.due ? node_expansion_next_us(expansion.stage.node)
                                                      : ACTOR_NEVER;
        if (next_us != ACTOR_NEVER) {
            cr_assert_eq(expansion.stage.actor.next_us(expansion.stage.actor.self) <= next_us,
                         true);
            expansion.stage.now_us = next_us;
        }
    }
    expect_served_from(2);
    began = expansion.stage.now_us - began;
    close_stage();
    return began;
}

Test(node_expansion_wrong, so_many_keys_a_second_and_no_more)
{
    uint64_t took_us = grow_throttled(10000, false);

    cr_assert_geq(took_us, 3900000, "40,000 looked at");
    cr_assert_leq(took_us, 5000000, "and hardly less");
}

Test(node_expansion_wrong, what_requests_take_is_not_for_expansion)
{
    uint64_t alone_us = grow_throttled(200000, false);

    cr_assert_geq(grow_throttled(200000, true), 2 * alone_us);
}

/* ---- memory ---- */

Test(node_expansion_wrong, an_allocation_that_fails_anywhere_is_tried_again)
{
    open_stage();
    add(6000);
    node_stage_settle_long(&expansion.stage);
    for (unsigned n = 0; n < 40; n++) {
        expansion_stage_want(&expansion, 2 + n, n % 2 == 0 ? BIGGER : 128, 400000, true);
        for (unsigned i = 0; i < 12; i++) {
            heap_fault_after(n % 10);
            (void)expansion_stage_step(&expansion);
            heap_fault_clear();
            expect_all();
        }
        expansion.stage.now_us += 2000000;
        expansion.stage.actor.time(expansion.stage.actor.self, expansion.stage.now_us);
        (void)settle_and_look();
        expect_served_from(2 + n);
    }
    expansion_stage_expect_log(&expansion);
    close_stage();
}
