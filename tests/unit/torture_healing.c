/* The torture gives a cluster that heals peace, then time, and not for ever. */
#include "tests/torture/healing.h"

#include <criterion/criterion.h>

enum { PATIENCE_MS = 120000 };

static enum healing after(uint64_t took_s)
{
    return healing_after(took_s * 1000, PATIENCE_MS);
}

Test(torture_healing, first_there_are_no_more_faults_then_fewer_adds_then_it_has_failed)
{
    cr_assert_eq(after(0), HEALING_STORM);
    cr_assert_eq(after(8), HEALING_STORM);
    cr_assert_eq(after(9), HEALING_CALM);
    cr_assert_eq(after(25), HEALING_CALM);
    cr_assert_eq(after(26), HEALING_EASED);
    cr_assert_eq(after(120), HEALING_EASED);
    cr_assert_eq(after(121), HEALING_FAILED);
}

/* Where nothing can heal it is not waited for. */
Test(torture_healing, little_patience_ends_before_any_of_that)
{
    cr_assert_eq(healing_after(6000, 6000), HEALING_STORM);
    cr_assert_eq(healing_after(6001, 6000), HEALING_FAILED);
}

Test(torture_healing, a_twentieth_of_the_adds_is_left_when_it_is_eased)
{
    cr_assert_eq(healing_pace(300000, false), 300000);
    cr_assert_eq(healing_pace(300000, true), 15000);
}
