/* Time windows: which there may be, what an array of one is for, and when the next slice may
 * begin. */
#include "base/heap.h"
#include "map/history/window.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { NODES = 6, SLICES = 3 };

#define SECOND_US UINT64_C(1000000)
#define SLICE_US  (60 * SECOND_US)

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

static struct filter_document document;
static struct window_count counts[NODES];

static void setup(void)
{
    sample_document(1, "urls", &rule, 3, &document);
    document.nslices = SLICES;
    document.window_us = SLICES * SLICE_US;
    document.content.newest_slice = 1;
    for (uint32_t i = 0; i < NODES; i++) {
        counts[i] = (struct window_count){.node = i + 1};
    }
}

static void teardown(void)
{
    document_fini(&document);
}

TestSuite(window, .init = setup, .fini = teardown);

static uint64_t left(void)
{
    return window_remaining_us(&document, counts, NODES);
}

Test(window, which_there_may_be)
{
    cr_assert_null(window_fault(0, 0));
    cr_assert_null(window_fault(SECOND_US, 1));
    cr_assert_null(window_fault(64 * SECOND_US, 64));
    cr_assert_null(window_fault(WINDOW_MAX_US, 7));
    cr_assert_not_null(window_fault(0, 1));
    cr_assert_not_null(window_fault(SECOND_US, 0));
    cr_assert_not_null(window_fault(SECOND_US - 1, 1));
    cr_assert_not_null(window_fault(64 * SECOND_US - 1, 64));
    cr_assert_not_null(window_fault(100 * SECOND_US, 65));
    cr_assert_not_null(window_fault(WINDOW_MAX_US + 1, 7));
    cr_assert_not_null(window_fault(UINT64_MAX, UINT64_MAX));
}

Test(window, an_array_is_for_a_slice)
{
    cr_assert_eq(window_set_capacity(0, 100), 100, "without a window");
    cr_assert_eq(window_set_rate(0, 0.01), 0.01);
    cr_assert_eq(window_sets(0), 1);
    cr_assert_eq(window_capacity(0, 100), 100);
    cr_assert_eq(window_set_capacity(7, 100), 15, "rounded up");
    cr_assert_eq(window_set_capacity(7, 105), 15);
    cr_assert_eq(window_capacity(7, 15), 105);
    cr_assert_eq(window_set_capacity(64, UINT64_MAX), UINT64_MAX / 64 + 1);
    cr_assert_eq(window_set_rate(7, 0.08), 0.01, "a check looks into eight");
    cr_assert_eq(window_sets(7), 9, "and one stands ready");
}

Test(window, the_next_slice_begins_when_f_of_three_have_counted_one)
{
    cr_assert_eq(left(), WINDOW_UNKNOWN, "nobody counts");
    counts[0].counted_us = SLICE_US;
    cr_assert_eq(left(), WINDOW_UNKNOWN, "two of three it takes");
    counts[2].counted_us = 20 * SECOND_US;
    cr_assert_eq(left(), 40 * SECOND_US);
    counts[1].counted_us = 50 * SECOND_US;
    cr_assert_eq(left(), 10 * SECOND_US, "the second most");
    counts[1].counted_us = SLICE_US - 1;
    cr_assert_eq(left(), 1);
    counts[1].counted_us = SLICE_US;
    cr_assert_eq(left(), 0);
}

Test(window, a_clock_that_runs_ahead_alone_moves_nothing)
{
    counts[0].counted_us = UINT64_MAX;
    cr_assert_eq(left(), WINDOW_UNKNOWN);
    counts[1].counted_us = SECOND_US;
    counts[2].counted_us = 2 * SECOND_US;
    cr_assert_eq(left(), SLICE_US - 2 * SECOND_US);
}

Test(window, each_slot_group_needs_f_of_its_own)
{
    struct slot_group *groups = heap_realloc(document.content.groups, 2, sizeof *groups);

    cr_assert_not_null(groups);
    document.content.groups = groups;
    document.content.ngroups = 2;
    groups[1] = groups[0];
    for (uint32_t i = 0; i < 3; i++) {
        groups[1].slots[i].current.node = 4 + i;
        counts[i].counted_us = SLICE_US;
    }
    cr_assert_eq(left(), WINDOW_UNKNOWN, "the first group alone");
    counts[3].counted_us = 7 * SECOND_US;
    counts[4].counted_us = 5 * SECOND_US;
    cr_assert_eq(left(), SLICE_US - 5 * SECOND_US);
}

Test(window, nobody_else_counts)
{
    for (uint32_t i = 3; i < NODES; i++) {
        counts[i].counted_us = SLICE_US;
    }
    cr_assert_eq(left(), WINDOW_UNKNOWN);
    cr_assert_eq(window_remaining_us(&document, NULL, 0), WINDOW_UNKNOWN);
}

Test(window, a_rotation_is_another_epoch)
{
    uint64_t epoch = document.epoch;
    uint64_t revision = document.revision;

    window_rotate(&document);
    cr_assert_eq(document.content.newest_slice, 2);
    cr_assert_eq(document.epoch, epoch + 1);
    cr_assert_eq(document.revision, revision + 1);
}
