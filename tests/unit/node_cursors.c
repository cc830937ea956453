/* Cursors of SYNCs and deltas, each for its own purpose. */
#include "node/sync/cursors.h"

#include <criterion/criterion.h>

static struct node_cursors cursors;
static const struct pull_scope scope = {.filter_id = 5, .epoch = 3, .keyset = 1, .group = 2};
static const struct member source = {.node = 7, .incarnation = 77};

static void teardown(void)
{
    node_cursors_fini(&cursors);
}

TestSuite(node_cursors, .fini = teardown);

static struct record_cursor cursor(uint64_t offset, uint64_t epoch)
{
    return (struct record_cursor){.filter_id = 5,
                                  .group = 2,
                                  .keyset = 1,
                                  .source = 7,
                                  .source_incarnation = 77,
                                  .offset = offset,
                                  .epoch = epoch};
}

static void put(uint64_t offset, uint64_t epoch)
{
    const struct record_cursor one = cursor(offset, epoch);

    cr_assert_eq(node_cursors_put(&cursors, &one), STATUS_OK);
}

Test(node_cursors, a_sync_counts_under_its_epoch_alone)
{
    struct pull_scope other = scope;

    put(100, 0);
    cr_assert_null(node_cursors_sync(&cursors, &scope, &source));
    put(200, 2);
    cr_assert_null(node_cursors_sync(&cursors, &scope, &source));
    put(300, 3);
    cr_assert_eq(node_cursors_sync(&cursors, &scope, &source)->offset, 300);
    other.epoch = 4;
    cr_assert_null(node_cursors_sync(&cursors, &other, &source));
    cr_assert_eq(cursors.count, 2, "one of a kind");
}

Test(node_cursors, a_delta_goes_on_from_the_highest)
{
    put(100, 0);
    put(300, 3);
    cr_assert_eq(node_cursors_delta(&cursors, &scope, &source)->offset, 300);
    put(400, 0);
    cr_assert_eq(node_cursors_delta(&cursors, &scope, &source)->offset, 400);
}

Test(node_cursors, other_places_are_other_cursors)
{
    struct pull_scope there = scope;
    struct member other = source;

    put(100, 0);
    there.group++;
    cr_assert_null(node_cursors_delta(&cursors, &there, &source));
    there = scope;
    there.keyset++;
    cr_assert_null(node_cursors_delta(&cursors, &there, &source));
    there = scope;
    there.slice++;
    cr_assert_null(node_cursors_delta(&cursors, &there, &source));
    other.incarnation++;
    cr_assert_null(node_cursors_delta(&cursors, &scope, &other));
}

static bool keep_none(const void *context, const struct record_cursor *one)
{
    return context == NULL && one->offset == 0;
}

Test(node_cursors, pruning_is_for_one_filter)
{
    struct record_cursor foreign = cursor(9, 0);

    foreign.filter_id = 6;
    put(100, 0);
    cr_assert_eq(node_cursors_put(&cursors, &foreign), STATUS_OK);
    put(200, 3);
    node_cursors_prune(&cursors, 5, keep_none, NULL);
    cr_assert_eq(cursors.count, 1);
    cr_assert_eq(cursors.items[0].cursor.filter_id, 6);
}

/* Of many filters whose chains are shared, in any order; what goes takes nothing else along. */
Test(node_cursors, many_are_found_again)
{
    enum { MANY = 300 };

    for (uint64_t id = 1; id <= MANY; id++) {
        struct record_cursor one = cursor(id, 0);

        one.filter_id = id * 7;
        cr_assert_eq(node_cursors_put(&cursors, &one), STATUS_OK);
    }
    for (uint64_t id = 2; id <= MANY; id += 2) {
        node_cursors_prune(&cursors, id * 7, keep_none, NULL);
    }
    cr_assert_eq(cursors.count, MANY / 2);
    for (uint64_t id = 1; id <= MANY; id++) {
        struct pull_scope there = scope;
        const struct record_cursor *found;

        there.filter_id = id * 7;
        found = node_cursors_delta(&cursors, &there, &source);
        cr_assert_eq(found != NULL, id % 2 == 1);
        cr_assert(found == NULL || found->offset == id);
    }
    cr_assert_eq(node_cursors_highest(&cursors, &source), MANY, "it was there once");
}
