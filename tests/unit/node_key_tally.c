/* How many keys are in pages that were copied while keys were added. */
#include "base/heap.h"
#include "node/store/key_tally.h"

#include <criterion/criterion.h>

enum { PAGES = 100 };

static struct key_tally tally;

static void open_tally(uint64_t count)
{
    cr_assert_eq(key_tally_init(&tally, 2), STATUS_OK);
    for (uint32_t group = 0; group < 2; group++) {
        key_tally_note(&tally, group, count);
        key_tally_expect(&tally, group, PAGES);
    }
}

static void copy(uint32_t group, uint32_t pages)
{
    for (uint32_t i = 0; i < pages; i++) {
        key_tally_copied(&tally, group);
    }
}

static void expect(uint32_t group, uint64_t keys)
{
    cr_assert_eq(tally.groups[group].keys, keys, "%lu", (unsigned long)tally.groups[group].keys);
}

static void close_tally(void)
{
    key_tally_fini(&tally);
    cr_assert_eq(heap_live(), 0);
}

Test(node_key_tally, at_rest_it_is_the_count)
{
    open_tally(1234);
    for (uint32_t i = 0; i < PAGES; i++) {
        key_tally_note(&tally, 0, 1234);
        copy(0, 1);
    }
    expect(0, 1234);
    close_tally();
}

Test(node_key_tally, what_comes_into_pages_not_copied_yet_counts)
{
    open_tally(1000);
    copy(0, 25);
    key_tally_note(&tally, 0, 1100); /* three quarters of a hundred */
    copy(0, 50);
    key_tally_note(&tally, 0, 1200); /* one quarter of the next */
    copy(0, 25);
    key_tally_note(&tally, 0, 1300); /* and none of the last */
    expect(0, 1100);
    close_tally();
}

Test(node_key_tally, each_group_by_its_own_pages)
{
    open_tally(1000);
    copy(0, PAGES);
    for (uint32_t group = 0; group < 2; group++) {
        key_tally_note(&tally, group, 2000);
    }
    expect(0, 1000);
    expect(1, 2000);
    close_tally();
}

Test(node_key_tally, a_count_that_falls_takes_nothing_away)
{
    open_tally(1000);
    copy(0, 50);
    key_tally_note(&tally, 0, 900);
    key_tally_note(&tally, 0, 1000);
    expect(0, 1050);
    close_tally();
}
