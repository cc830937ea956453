/* By which connection a batch goes, and when one that is missing is lost. */
#include "link/spread.h"

#include <criterion/criterion.h>
#include <string.h>

static struct spread_load loads[SITE_MAX_CONNECTIONS];

static void open_some(uint32_t count, uint64_t bytes)
{
    memset(loads, 0, sizeof loads);
    for (uint32_t i = 0; i < count; i++) {
        loads[i] = (struct spread_load){.open = true, .bytes = bytes};
    }
}

Test(link_spread, a_little_goes_by_the_first_one)
{
    open_some(4, 0);
    cr_assert_eq(spread_choose(loads), 0);
}

Test(link_spread, a_batch_goes_where_the_least_is_under_way)
{
    open_some(4, 1000);
    loads[2].bytes = 999;
    cr_assert_eq(spread_choose(loads), 2);
    loads[3].bytes = 0;
    cr_assert_eq(spread_choose(loads), 3);
}

/* One that stalls gets no more, however long that takes. */
Test(link_spread, all_take_as_much_but_the_first_and_one_that_stalls)
{
    open_some(4, 0);
    loads[3].bytes = 1 << 20;
    for (int i = 0; i < 500; i++) {
        loads[spread_choose(loads)].bytes += 1000;
    }
    cr_assert_eq(loads[0].bytes, 100000);
    cr_assert_eq(loads[1].bytes, 200000);
    cr_assert_eq(loads[2].bytes, 200000);
    cr_assert_eq(loads[3].bytes, 1 << 20);
}

Test(link_spread, only_what_is_open_is_chosen)
{
    open_some(0, 0);
    cr_assert_eq(spread_choose(loads), SITE_MAX_CONNECTIONS);
    loads[SITE_MAX_CONNECTIONS - 1] = (struct spread_load){.open = true, .bytes = UINT64_MAX};
    cr_assert_eq(spread_choose(loads), SITE_MAX_CONNECTIONS - 1);
}

Test(link_spread, a_batch_is_lost_once_all_connections_have_told_of_later_ones)
{
    uint64_t told[SITE_MAX_CONNECTIONS] = {7, 5, 0, 9};

    cr_assert(spread_has_passed(told, 1, 7));
    cr_assert_not(spread_has_passed(told, 1, 8));
    cr_assert(spread_has_passed(told, 1 | 2 | 8, 5));
    cr_assert_not(spread_has_passed(told, 1 | 2 | 8, 6), "the second one may bring it");
    cr_assert_not(spread_has_passed(told, 1 | 4, 1), "the third one may");
}
