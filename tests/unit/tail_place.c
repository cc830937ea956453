/* From which places of which boots does a log go on? */
#include "node/tail/tail_place.h"

#include <criterion/criterion.h>

enum { END = 1000, LIFE = 7 };

/* This is boot 30; 10 ended at 400 and 20 at 600. */
static const struct record_identity identity = {
    .incarnation = LIFE, .boot = 30, .nbefore = 2, .before = {10, 20}, .ends = {400, 600}};

static bool tells_put_back(uint64_t incarnation, uint64_t boot, uint64_t offset)
{
    const struct record_identity older = {.incarnation = LIFE,
                                          .boot = 30,
                                          .nbefore = 1,
                                          .nformer = 1,
                                          .before = {20, 10},
                                          .ends = {600, 400}};
    const struct tail_place place = {incarnation, boot, offset};

    return tail_place_tells_put_back(&place, &older, END);
}

Test(tail_place, more_than_the_log_ever_had_tells_an_older_copy)
{
    cr_assert_not(tells_put_back(LIFE, 30, END));
    cr_assert(tells_put_back(LIFE, 30, END + 1));
    cr_assert_not(tells_put_back(LIFE, 20, 600));
    cr_assert(tells_put_back(LIFE, 20, 601));
    cr_assert_not(tells_put_back(LIFE, 10, 400), "confirmed boots are remembered as well");
    cr_assert(tells_put_back(LIFE, 10, 401));
    cr_assert(tells_put_back(LIFE, 5, 0));
    cr_assert_not(tells_put_back(LIFE + 1, 5, 10000), "of another log this one says nothing");
}

static bool goes_on(uint64_t incarnation, uint64_t boot, uint64_t offset)
{
    const struct tail_place place = {incarnation, boot, offset};

    return tail_place_why_not(&place, &identity, END) == NULL;
}

Test(tail_place, the_present_boot_goes_on_up_to_the_end)
{
    cr_assert(goes_on(LIFE, 30, 0));
    cr_assert(goes_on(LIFE, 30, 700));
    cr_assert(goes_on(LIFE, 30, END));
    cr_assert_not(goes_on(LIFE, 30, END + 1));
    cr_assert_not(goes_on(LIFE, 30, UINT64_MAX));
}

Test(tail_place, the_boot_before_goes_on_up_to_where_it_ended)
{
    cr_assert(goes_on(LIFE, 20, 0));
    cr_assert(goes_on(LIFE, 20, 600));
    cr_assert_not(goes_on(LIFE, 20, 601));
    cr_assert_not(goes_on(LIFE, 20, UINT64_MAX));
}

Test(tail_place, older_and_unknown_boots_do_not)
{
    cr_assert_not(goes_on(LIFE, 10, 400), "what came between may have caught up");
    cr_assert_not(goes_on(LIFE, 10, 0));
    cr_assert_not(goes_on(LIFE, 0, 0));
    cr_assert_not(goes_on(LIFE, 31, 0));
    cr_assert_not(goes_on(LIFE, UINT64_MAX, UINT64_MAX));
}

Test(tail_place, another_incarnation_does_not)
{
    cr_assert_not(goes_on(LIFE + 1, 30, 0));
    cr_assert_not(goes_on(0, 30, 0));
}

Test(tail_place, the_first_boot_of_all_has_none_before)
{
    const struct record_identity first = {.incarnation = LIFE, .boot = 30};
    const struct tail_place none = {LIFE, 0, 0};
    const struct tail_place own = {LIFE, 30, 5};

    cr_assert_not_null(tail_place_why_not(&none, &first, END));
    cr_assert_null(tail_place_why_not(&own, &first, END));
}
