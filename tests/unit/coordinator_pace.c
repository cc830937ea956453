/* How fast a filter fills is told of a minute or more, and when it is full of that. */
#include "coordinator/web/pace.h"

#include <criterion/criterion.h>

#define SECOND UINT64_C(1000000)

static struct pace pace;

static uint64_t after(uint64_t s)
{
    return 5 * SECOND + s * SECOND;
}

static void setup(void)
{
    pace = (struct pace){0};
}

TestSuite(coordinator_pace, .init = setup);

/* From `s` until `end`, seen each 10 s, by so many keys a second from `keys` on; returns how many
 * there are then. */
static uint64_t fill(uint64_t s, uint64_t end, uint64_t keys, uint64_t per_s)
{
    for (; s < end; s += 10, keys += 10 * per_s) {
        pace_note(&pace, after(s), keys);
    }
    return keys;
}

Test(coordinator_pace, nothing_is_told_of_what_was_not_seen_for_a_minute)
{
    cr_assert_eq(pace_keys_per_s(&pace, after(0), 10), 0, "it was never seen");
    cr_assert_eq(fill(0, 110, 0, 10), 1100);
    cr_assert_eq(pace_keys_per_s(&pace, after(110), 1100), 0);
    cr_assert_eq(pace_full_in_s(&pace, after(110), 1100, 10000), PACE_UNKNOWN);
    cr_assert_float_eq(pace_keys_per_s(&pace, after(160), 1600), 10, 1e-9);
    cr_assert_eq(pace_full_in_s(&pace, after(160), 1600, 2600), 100);
}

/* Whoever makes a filter fills it at once with what there is. */
Test(coordinator_pace, what_comes_in_the_first_minute_does_not_count)
{
    uint64_t keys = fill(0, 50, 0, 1000000);

    keys = fill(50, 400, keys, 2);
    cr_assert_float_eq(pace_keys_per_s(&pace, after(400), keys), 2, 1e-9);
}

Test(coordinator_pace, what_does_not_fill_is_never_full)
{
    uint64_t keys = fill(0, 200, 0, 10);

    cr_assert_neq(pace_full_in_s(&pace, after(200), keys, keys + 1), PACE_UNKNOWN);
    cr_assert_eq(pace_full_in_s(&pace, after(200), keys, keys), PACE_UNKNOWN, "it is full");
    cr_assert_eq(pace_full_in_s(&pace, after(200), keys, UINT64_MAX), PACE_UNKNOWN, "in an age");
    keys = fill(200, 400, keys, 0);
    cr_assert_neq(pace_full_in_s(&pace, after(400), keys, keys + 1), PACE_UNKNOWN);
    keys = fill(400, 600, keys, 0);
    cr_assert_eq(pace_full_in_s(&pace, after(600), keys, keys + 1), PACE_UNKNOWN, "it is quiet");
    cr_assert_neq(pace_full_in_s(&pace, after(600), keys + 1, keys + 2), PACE_UNKNOWN,
                  "it grows again");
}

/* A filter that stood still for days and fills now is told to fill now. */
Test(coordinator_pace, what_was_long_ago_counts_no_more)
{
    uint64_t keys = fill(0, 100000, 1000, 0);

    keys = fill(100000, 107200, keys, 5);
    cr_assert_float_eq(pace_keys_per_s(&pace, after(107200), keys), 5, 0.01);
}

Test(coordinator_pace, one_that_loses_keys_begins_anew)
{
    (void)fill(0, 1000, 100000, 1);
    cr_assert_eq(fill(1000, 1110, 0, 10), 1100);
    cr_assert_eq(pace_keys_per_s(&pace, after(1110), 1100), 0);
    cr_assert_float_eq(pace_keys_per_s(&pace, after(1160), 1600), 10, 1e-9);
}
