/* Does a set stay in its one form when numbers are taken out of it? */
#include "base/heap.h"
#include "map/id_set.h"

#include <criterion/criterion.h>
#include <string.h>

static struct id_set set;

static void setup(void)
{
    set = (struct id_set){0};
    cr_assert_eq(id_set_add_interval(&set, (struct id_interval){3, 7}), STATUS_OK);
    cr_assert_eq(id_set_add(&set, 10), STATUS_OK);
}

static void teardown(void)
{
    id_set_fini(&set);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(id_set, .init = setup, .fini = teardown);

static void expect(const struct id_interval *intervals, size_t count)
{
    cr_assert(id_set_valid(&set));
    cr_assert_eq(set.count, count);
    cr_assert_eq(memcmp(set.intervals, intervals, count * sizeof *intervals), 0);
}

Test(id_set, what_is_not_in_it_leaves_it_as_it_is)
{
    static const uint64_t absent[] = {1, 2, 8, 9, 11, UINT64_MAX};

    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        cr_assert_eq(id_set_remove(&set, absent[i]), STATUS_OK);
    }
    expect((const struct id_interval[]){{3, 7}, {10, 10}}, 2);
}

Test(id_set, an_interval_loses_its_ends)
{
    cr_assert_eq(id_set_remove(&set, 3), STATUS_OK);
    expect((const struct id_interval[]){{4, 7}, {10, 10}}, 2);
    cr_assert_eq(id_set_remove(&set, 7), STATUS_OK);
    expect((const struct id_interval[]){{4, 6}, {10, 10}}, 2);
}

Test(id_set, an_interval_falls_in_two)
{
    cr_assert_eq(id_set_remove(&set, 5), STATUS_OK);
    expect((const struct id_interval[]){{3, 4}, {6, 7}, {10, 10}}, 3);
}

Test(id_set, the_last_number_takes_its_interval_along)
{
    cr_assert_eq(id_set_remove(&set, 10), STATUS_OK);
    expect((const struct id_interval[]){{3, 7}}, 1);
    for (uint64_t id = 3; id <= 7; id++) {
        cr_assert_eq(id_set_remove(&set, id), STATUS_OK);
    }
    cr_assert_eq(set.count, 0);
    cr_assert_eq(id_set_remove(&set, 5), STATUS_OK);
}

Test(id_set, without_memory_nothing_changes)
{
    enum status status = STATUS_NOMEM;

    while (set.count < set.capacity) { /* Else there is room for one more. */
        cr_assert_eq(id_set_add(&set, id_set_highest(&set) + 5), STATUS_OK);
    }
    heap_fault_after(0);
    status = id_set_remove(&set, 5);
    heap_fault_clear();
    cr_assert_eq(status, STATUS_NOMEM);
    cr_assert(id_set_has(&set, 5));
    cr_assert_eq(id_set_remove(&set, 5), STATUS_OK);
    cr_assert_not(id_set_has(&set, 5));
    cr_assert(id_set_valid(&set));
}
