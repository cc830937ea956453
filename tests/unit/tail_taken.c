/* How far the slowest site is, as far as links have told. */
#include "node/tail/tail_taken.h"

#include <criterion/criterion.h>

enum { LIFE = 7, END = 1000 };

static void note(struct tail_taken *self, uint64_t site, uint64_t offset)
{
    const struct site_taken one = {site, 1, offset};

    tail_taken_note(self, LIFE, END, &one, 1);
}

Test(tail_taken, without_a_word_nothing_is_kept)
{
    struct tail_taken self = {0};

    cr_assert_eq(tail_taken_lowest(&self), UINT64_MAX);
    tail_taken_note(&self, LIFE, END, NULL, 0);
    cr_assert_eq(tail_taken_lowest(&self), UINT64_MAX);
}

Test(tail_taken, the_slowest_counts)
{
    struct tail_taken self = {0};

    note(&self, 1, 500);
    note(&self, 2, 300);
    note(&self, 3, END);
    cr_assert_eq(tail_taken_lowest(&self), 300);
    note(&self, 2, 900);
    cr_assert_eq(tail_taken_lowest(&self), 500);
    tail_taken_note(&self, LIFE, END, NULL, 0);
    cr_assert_eq(tail_taken_lowest(&self), 500, "who says nothing is where it was");
}

/* Of two links one has heard less. */
Test(tail_taken, a_site_never_goes_back)
{
    struct tail_taken self = {0};

    note(&self, 1, 500);
    note(&self, 1, 400);
    cr_assert_eq(tail_taken_lowest(&self), 500);
}

Test(tail_taken, a_site_that_has_left_needs_nothing)
{
    struct tail_taken self = {0};

    note(&self, 1, 500);
    note(&self, 2, 300);
    note(&self, 2, UINT64_MAX);
    cr_assert_eq(tail_taken_lowest(&self), 500);
    note(&self, 2, 300);
    cr_assert_eq(tail_taken_lowest(&self), 500);
}

Test(tail_taken, offsets_beyond_the_log_say_nothing)
{
    struct tail_taken self = {0};

    note(&self, 1, END + 1);
    cr_assert_eq(tail_taken_lowest(&self), UINT64_MAX);
    note(&self, 1, 10);
    note(&self, 1, UINT64_MAX - 1);
    cr_assert_eq(tail_taken_lowest(&self), 10);
}

Test(tail_taken, another_incarnation_begins_anew)
{
    struct tail_taken self = {0};
    const struct site_taken one = {1, 1, 20};

    note(&self, 2, 10);
    tail_taken_note(&self, LIFE + 1, END, &one, 1);
    cr_assert_eq(tail_taken_lowest(&self), 20);
}

Test(tail_taken, with_too_many_the_farthest_is_forgotten)
{
    struct tail_taken self = {0};

    for (uint64_t i = 0; i < SITE_TAIL_MAX_SITES; i++) {
        note(&self, i, 100 + i);
    }
    note(&self, 99, 50);
    cr_assert_eq(self.count, SITE_TAIL_MAX_SITES);
    cr_assert_eq(tail_taken_lowest(&self), 50);
    note(&self, 99, END);
    cr_assert_eq(tail_taken_lowest(&self), 100, "the slow ones are still known");
}

/* Both halves of an id count. */
Test(tail_taken, sites_are_told_apart_by_their_whole_ids)
{
    struct tail_taken self = {0};
    const struct site_taken two[] = {{1, 1, 20}, {1, 2, 10}};

    tail_taken_note(&self, LIFE, END, two, 2);
    cr_assert_eq(self.count, 2);
    cr_assert_eq(tail_taken_lowest(&self), 10);
}
