/* A folder that was copied while its node ran, put back after a kill: nothing in it shows that it
 * is older, so the node catches up with the others before it counts. */
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 500, NBATCHES = 12, MS = 1000 };
static uint64_t keys[NBATCHES][BATCH];

static void setup(void)
{
    make_circle(3);
    make_keys(keys[0], NBATCHES, BATCH);
}

TestSuite(node_rewind, .init = setup, .fini = close_circle);

static void add(uint32_t i, unsigned nodes)
{
    add_to(nodes, i + 1, keys[i], BATCH);
}

/* For so long, a look every 10 ms: node 1 answers for all of them, or not at all. Returns after how
 * many ms it first did; -1: never. */
static int watch(uint64_t us, uint32_t first, uint32_t last)
{
    int answered_ms = -1;

    for (uint64_t at_us = 0; at_us < us; at_us += 10 * MS) {
        for (uint32_t i = first; i < last; i++) {
            int count = circle_count(circle, 1, &document, keys[i], BATCH);

            cr_assert(count == -1 || count == BATCH, "%d keys of batch %u after %d ms", count, i,
                      (int)(at_us / MS));
            if (count == BATCH && answered_ms < 0) {
                answered_ms = (int)(at_us / MS);
            }
        }
        circle_run(circle, 10 * MS);
    }
    return answered_ms;
}

Test(node_rewind, it_counts_only_with_what_it_had_accepted)
{
    struct memory_disk *copy;

    circle_hand(circle, &document, 0);
    for (uint32_t i = 0; i < NBATCHES / 2; i++) {
        add(i, N1 | N2);
    }
    circle_run(circle, 5 * SECOND);
    copy = memory_disk_copy(circle->nodes[0].disk);
    circle->nodes[2].cut = true; /* Node 3 misses the rest: two copies of it there are. */
    for (uint32_t i = NBATCHES / 2; i < NBATCHES; i++) {
        add(i, N1 | N2);
    }
    put_back(1, copy);
    circle->nodes[2].cut = false;
    cr_assert_geq(watch(SECOND / 2, 0, NBATCHES), 0, "and that at once, the others being there");
    cr_assert_eq(circle_counter(circle, 1, NODE_catch_ups_short_total), 0);
}

/* Nothing of the filter is in the copy, not even its document: the store has it. */
Test(node_rewind, a_filter_made_after_the_copy_is_caught_up_with_too)
{
    struct memory_disk *copy = memory_disk_copy(circle->nodes[0].disk);

    circle_hand(circle, &document, 0);
    circle->stored = &document;
    circle->nodes[2].cut = true;
    circle_run(circle, 3 * SECOND);
    add(0, N1 | N2);
    put_back(1, copy);
    circle->nodes[2].cut = false;
    cr_assert_geq(watch(SECOND / 2, 0, 1), 0);
}

/* The others are down, or cut off: two of three must be able to go on some time. */
Test(node_rewind, it_waits_for_silent_ones_only_so_long)
{
    circle_hand(circle, &document, 0);
    add(0, N1 | N2 | N3);
    circle->nodes[1].cut = true;
    circle_stop(circle, 1);
    circle_start(circle, 1);
    circle_run(circle, 1900 * MS);
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), -1);
    circle_run(circle, 300 * MS);
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), BATCH);
    cr_assert_eq(circle_counter(circle, 1, NODE_catch_ups_short_total), 1);
}

Test(node_rewind, all_that_were_killed_help_each_other)
{
    struct memory_disk *copy;

    circle_hand(circle, &document, 0);
    copy = memory_disk_copy(circle->nodes[0].disk);
    add(0, N1 | N2);
    for (uint32_t id = 2; id <= 3; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    put_back(1, copy);
    cr_assert_geq(watch(SECOND / 2, 0, 1), 0);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_eq(circle_counter(circle, id, NODE_catch_ups_short_total), 0);
    }
    cr_assert_eq(circle_count(circle, 3, &document, keys[0], BATCH), BATCH);
}

Test(node_rewind, an_end_in_order_leaves_no_doubt)
{
    struct node *node = circle_node(circle, 1);

    circle_hand(circle, &document, 0);
    add(0, N1 | N2 | N3);
    circle_run(circle, SECOND);
    memset(circle->nodes[0].jobs, 0, sizeof circle->nodes[0].jobs);
    cr_assert_eq(node_finish(node), STATUS_OK);
    circle->nodes[1].cut = true;
    circle->nodes[2].cut = true;
    circle_stop(circle, 1);
    circle_start(circle, 1);
    circle_run(circle, 10 * MS);
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), BATCH);
}

static size_t cursors(void)
{
    return circle_node(circle, 1)->exchange->cursors.count;
}

/* What it lacks from then on may be what it had taken over: no cursor says otherwise, nor does one
 * of before in the log. */
Test(node_rewind, another_incarnation_has_taken_over_nothing)
{
    circle_hand(circle, &document, 0);
    add(0, N2 | N3);
    circle_run(circle, 5 * SECOND);
    cr_assert_gt(cursors(), 0);
    circle->silent = true;
    circle->nodes[1].cut = true;
    circle->nodes[2].cut = true;
    circle_stop(circle, 1);
    circle_start(circle, 1);
    circle_run(circle, SECOND);
    cr_assert_gt(cursors(), 0, "the same one goes on from there");
    node_begin_incarnation(circle_node(circle, 1), circle->now_us, AMNESIA_BOOT);
    cr_assert_eq(cursors(), 0);
    circle_run(circle, SECOND);
    circle_stop(circle, 1);
    circle_start(circle, 1);
    circle_run(circle, SECOND);
    cr_assert_eq(cursors(), 0, "after a restart");
}
