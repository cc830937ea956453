/* Acknowledgements of several sites: their coding, order and words. */
#include "map/acks.h"

#include <criterion/criterion.h>

Test(acks, so_many_or_each)
{
    for (uint32_t acks = 0; acks < 300; acks++) {
        cr_assert_eq(acks_valid(acks), acks <= 8 || acks == 255, "%u", acks);
    }
    cr_assert_not(acks_valid(UINT32_MAX));
}

Test(acks, one_site_is_this_one_alone)
{
    cr_assert_eq(acks_stored(ACKS_LOCAL), 0);
    cr_assert_eq(acks_stored(0), 0);
    cr_assert_eq(acks_stored(2), 2);
    cr_assert_eq(acks_stored(ACKS_EACH), 255);
}

Test(acks, each_is_more_than_any_number)
{
    static const uint32_t rising[] = {ACKS_LOCAL, 2, 3, 4, 5, 6, 7, 8, ACKS_EACH};
    enum { COUNT = sizeof rising / sizeof rising[0] };

    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            cr_assert_eq(acks_more(rising[i], rising[k]), i > k);
            cr_assert_eq(acks_most(rising[i], rising[k]), acks_stored(rising[i > k ? i : k]));
        }
    }
    cr_assert_not(acks_more(ACKS_LOCAL, 0), "two words for one");
    cr_assert_not(acks_more(0, ACKS_LOCAL));
    cr_assert_eq(acks_most(0, 3), 3, "the filter's own");
    cr_assert_eq(acks_most(0, ACKS_LOCAL), 0);
}

Test(acks, in_words)
{
    static const uint32_t some[] = {ACKS_LOCAL, 2, 8, ACKS_EACH};
    static const char *const words[] = {"local", "2", "8", "each"};
    char text[NUMBER_TEXT_BYTES];
    uint32_t acks = 0;

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        cr_assert_str_eq(acks_show(some[i], text), words[i]);
        cr_assert_eq(acks_parse(words[i], &acks), STATUS_OK);
        cr_assert_eq(acks, some[i]);
    }
    cr_assert_str_eq(acks_show(0, text), "local");
    cr_assert_eq(acks_parse("1", &acks), STATUS_OK);
    cr_assert_eq(acks, ACKS_LOCAL);
}

Test(acks, other_words_are_none)
{
    static const char *const bad[] = {"",      "0",       "9",  "10", "255", "foo",
                                      "Each",  "2 ",      " 2", "02", "-1",  "2x",
                                      "eachs", "locally", "+2", "2,", "2.0", "local "};
    uint32_t acks = 77;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(acks_parse(bad[i], &acks), STATUS_INVALID, "%s", bad[i]);
    }
    cr_assert_eq(acks, 77);
}
