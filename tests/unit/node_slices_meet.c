/* Nodes of a filter with a window take over from each other each slice that is kept, and no other.
 */
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, SLICES = 2, NPARTS = 6 };

static uint64_t keys[NPARTS][BATCH];
static uint64_t batches;

static void open_circle(void)
{
    make_circle(3);
    document.window_us = SECOND;
    document.nslices = SLICES;
    document.content.newest_slice = 1;
    circle_hand(circle, &document, 0);
    make_keys(keys[0], NPARTS, BATCH);
    batches = 0;
}

/* To nodes 1 and 2, into the slice of that number. */
static void add(uint32_t part)
{
    batches++;
    add_to(N1 | N2, batches, keys[part], BATCH);
}

static void rotate(void)
{
    document.content.newest_slice++;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
}

static int held(uint32_t id, uint32_t part)
{
    int count = circle_count(circle, id, &document, keys[part], BATCH);

    cr_assert_geq(count, 0, "node %u does not answer", id);
    return count;
}

Test(node_slices_meet, what_a_node_missed_comes_from_the_others_for_each_slice)
{
    open_circle();
    for (uint32_t part = 1; part <= 4; part++) {
        add(part);
        if (part < 4) {
            rotate();
        }
    }
    circle_run(circle, 30 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_lt(held(id, 1), BATCH / 2, "it has expired");
        cr_assert_eq(held(id, 2), BATCH);
        cr_assert_eq(held(id, 3), BATCH);
        cr_assert_eq(held(id, 4), BATCH);
    }
    rotate();
    cr_assert_lt(held(3, 2), BATCH / 2, "each slice has bits of its own");
    cr_assert_eq(held(3, 3), BATCH);
    close_circle();
}

/* It was down for several slices, and its log has what has expired. */
Test(node_slices_meet, a_node_that_returns_brings_nothing_back)
{
    open_circle();
    cr_assert_eq(circle_add(circle, 3, &document, 77, keys[5], BATCH), STATUS_OK);
    circle_run(circle, SECOND);
    circle_stop(circle, 3);
    for (uint32_t part = 2; part <= 4; part++) {
        rotate();
        add(part);
    }
    circle_start(circle, 3);
    circle_run(circle, SECOND);
    circle_hand(circle, &document, 3);
    circle_run(circle, 60 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_lt(held(id, 5), BATCH / 2, "node %u", id);
        cr_assert_eq(held(id, 2), BATCH, "node %u", id);
        cr_assert_eq(held(id, 4), BATCH, "node %u", id);
    }
    close_circle();
}
