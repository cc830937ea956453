/* How fast a filter fills is told of a minute or more, and when it is full of that. */
#include "coordinator/web/pace.h"

#include <criterion/criterion.h>

enum { SECOND = 1000000 };

static const uint64_t start = 5 * SECOND;

static uint64_t after(uint64_t s)
{
    return start + s * SECOND;
}

Test(coordinator_pace, nothing_is_told_of_what_was_not_seen_for_a_minute)
{
    struct pace pace = {0};

    cr_assert_eq(pace_keys_per_s(&pace, start, 10), 0);
    pace_note(&pace, start, 100);
    cr_assert_eq(pace_keys_per_s(&pace, after(59), 5000), 0);
    cr_assert_eq(pace_full_in_s(&pace, after(59), 5000, 10000), PACE_UNKNOWN);
    cr_assert_float_eq(pace_keys_per_s(&pace, after(100), 1100), 10, 1e-9);
    cr_assert_eq(pace_full_in_s(&pace, after(100), 1100, 2100), 100);
}

Test(coordinator_pace, what_does_not_fill_is_never_full)
{
    struct pace pace = {0};

    pace_note(&pace, start, 100);
    cr_assert_eq(pace_full_in_s(&pace, after(1000), 100, 200), PACE_UNKNOWN);
    cr_assert_eq(pace_full_in_s(&pace, after(1000), 50, 200), PACE_UNKNOWN);
    cr_assert_eq(pace_full_in_s(&pace, after(1000), 200, 200), PACE_UNKNOWN, "it is full");
    cr_assert_eq(pace_full_in_s(&pace, after(1000), 101, UINT64_MAX), PACE_UNKNOWN, "in an age");
}

/* A filter that stood still for days and fills now is told to fill now. */
Test(coordinator_pace, what_was_long_ago_counts_no_more)
{
    struct pace pace = {0};
    uint64_t s = 0;

    for (; s < 100000; s += 10) {
        pace_note(&pace, after(s), 1000);
    }
    for (; s < 107200; s += 10) {
        pace_note(&pace, after(s), 1000 + (s - 100000) * 5);
    }
    cr_assert_float_eq(pace_keys_per_s(&pace, after(s), 1000 + 7200 * 5), 5, 0.01);
}

Test(coordinator_pace, one_that_loses_keys_begins_anew)
{
    struct pace pace = {0};

    pace_note(&pace, start, 100000);
    pace_note(&pace, after(1000), 0);
    cr_assert_eq(pace_keys_per_s(&pace, after(1030), 600), 0);
    cr_assert_float_eq(pace_keys_per_s(&pace, after(1060), 600), 10, 1e-9);
}
