/* Bounds of checks: their coding, range and words. */
#include "map/staleness.h"

#include <criterion/criterion.h>

Test(staleness, none_and_fresh_are_two)
{
    cr_assert_eq(staleness_of(0), 1);
    cr_assert_eq(staleness_of(STALENESS_MAX_US), UINT64_C(2592000000001));
    cr_assert_eq(staleness_bound(staleness_of(0)), 0);
    cr_assert_eq(staleness_bound(0), UINT64_MAX);
}

Test(staleness, the_longest_is_thirty_days)
{
    cr_assert(staleness_valid(0));
    cr_assert(staleness_valid(staleness_of(STALENESS_MAX_US)));
    cr_assert_not(staleness_valid(staleness_of(STALENESS_MAX_US) + 1));
    cr_assert_not(staleness_valid(UINT64_MAX));
}

Test(staleness, in_words)
{
    char text[NUMBER_TEXT_BYTES];

    cr_assert_str_eq(staleness_show(0, text), "none");
    cr_assert_str_eq(staleness_show(staleness_of(0), text), "0");
    cr_assert_str_eq(staleness_show(staleness_of(1), text), "1us");
    cr_assert_str_eq(staleness_show(staleness_of(5000000), text), "5s");
    cr_assert_str_eq(staleness_show(staleness_of(STALENESS_MAX_US), text), "30d");
}
