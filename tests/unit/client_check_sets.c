/* Sets of replica slots as people write them. */
#include "cli/commands/check_sets.h"

#include <criterion/criterion.h>

static struct check_sets sets;

Test(client_check_sets, one_set)
{
    cr_assert_eq(check_sets_parse("0,2", &sets), STATUS_OK);
    cr_assert_eq(sets.count, 1);
    cr_assert_eq(sets.masks[0], 5);
    cr_assert_not(sets.all);
}

Test(client_check_sets, several_sets_stay_in_order)
{
    cr_assert_eq(check_sets_parse("1,2/0/6,0", &sets), STATUS_OK);
    cr_assert_eq(sets.count, 3);
    cr_assert_eq(sets.masks[0], 6);
    cr_assert_eq(sets.masks[1], 1);
    cr_assert_eq(sets.masks[2], 65);
}

Test(client_check_sets, all_is_known_later)
{
    cr_assert_eq(check_sets_parse("all", &sets), STATUS_OK);
    cr_assert(sets.all);
    cr_assert_eq(sets.count, 0);
}

Test(client_check_sets, what_is_no_list_is_refused_and_changes_nothing)
{
    static const char *const wrong[] = {"",   ",",   "0,", ",0",   "7",    "0,7",
                                        "01", "0/",  "/0", "0//1", "0;1",  "all/0",
                                        "a",  "ALL", " 0", "0 ",   "0,,1", "-1"};

    sets = (struct check_sets){.count = 9};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(check_sets_parse(wrong[i], &sets), STATUS_INVALID, "\"%s\"", wrong[i]);
        cr_assert_eq(sets.count, 9);
    }
}

Test(client_check_sets, too_many_sets_are_refused)
{
    char text[2 * (CHECK_MAX_SETS + 1) + 1] = "0";

    for (size_t i = 1; i < CHECK_MAX_SETS; i++) {
        text[2 * i - 1] = '/';
        text[2 * i] = '0';
    }
    cr_assert_eq(check_sets_parse(text, &sets), STATUS_OK);
    cr_assert_eq(sets.count, CHECK_MAX_SETS);
    text[2 * CHECK_MAX_SETS - 1] = '/';
    text[2 * CHECK_MAX_SETS] = '0';
    cr_assert_eq(check_sets_parse(text, &sets), STATUS_INVALID);
}

/* Every pair of slots is in some set of 2 of 3; and no set is missing or twice. */
Test(client_check_sets, all_sets_of_a_size)
{
    check_sets_fill(&sets, 3, 2);
    cr_assert_eq(sets.count, 3);
    cr_assert_eq(sets.masks[0], 3);
    cr_assert_eq(sets.masks[1], 5);
    cr_assert_eq(sets.masks[2], 6);
    check_sets_fill(&sets, 7, 4);
    cr_assert_eq(sets.count, 35);
    check_sets_fill(&sets, 1, 1);
    cr_assert_eq(sets.count, 1);
}

Test(client_check_sets, a_set_is_shown_as_it_is_typed)
{
    char text[CHECK_SET_BYTES];

    cr_assert_str_eq(check_set_show(5, text), "0,2");
    cr_assert_str_eq(check_set_show(127, text), "0,1,2,3,4,5,6");
}
