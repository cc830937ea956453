/* A number that was met is never called new; what can't be known counts as met. */
#include "node/replay_window.h"

#include <criterion/criterion.h>

static struct replay_window table; /* Each test is a process of its own: fresh and zeroed. */

static const struct replay_window_key series_a = {1, 2, 3, 4};
static const struct replay_window_key series_b = {1, 2, 3, 5};

Test(replay_window, notices_a_repeat)
{
    cr_assert_not(replay_window_met(&table, &series_a, 1));
    cr_assert(replay_window_met(&table, &series_a, 1));
    cr_assert(replay_window_met(&table, &series_a, 1));
}

Test(replay_window, series_do_not_mix)
{
    cr_assert_not(replay_window_met(&table, &series_a, 7));
    cr_assert_not(replay_window_met(&table, &series_b, 7));
    cr_assert(replay_window_met(&table, &series_b, 7));
}

/* None of what names a series stands for another part of it, however large. */
Test(replay_window, series_that_differ_in_one_number_do_not_mix)
{
    static const struct replay_window_key keys[] = {
        {1, 1, 1, 0},          {2, 1, 1, 0},          {1, 1 + (UINT64_C(1) << 32), 1, 0},
        {1, 2, 1, 0},          {1, 1, 1 + 65536, 0},  {1, 2, 1 + 65536, 0},
        {1, 1, UINT64_MAX, 0}, {1, UINT64_MAX, 1, 0}, {1, 1, 1, 4095},
        {1, 1, 2, 65536},      {1, 0, 65536, 0},      {1, 1, 0, 0},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        cr_assert_not(replay_window_met(&table, &keys[i], 1), "series %zu", i);
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        cr_assert(replay_window_met(&table, &keys[i], 1), "series %zu", i);
    }
}

/* Numbers may come in any order within the window. */
Test(replay_window, order_within_the_window_does_not_matter)
{
    cr_assert_not(replay_window_met(&table, &series_a, REPLAY_WINDOW_NUMBERS));
    for (uint64_t n = REPLAY_WINDOW_NUMBERS - 1; n >= 1; n--) {
        cr_assert_not(replay_window_met(&table, &series_a, n), "%d", (int)n);
    }
    for (uint64_t n = 1; n <= REPLAY_WINDOW_NUMBERS; n++) {
        cr_assert(replay_window_met(&table, &series_a, n), "%d", (int)n);
    }
}

Test(replay_window, what_is_older_than_the_window_counts_as_met)
{
    cr_assert_not(replay_window_met(&table, &series_a, 5));
    cr_assert_not(replay_window_met(&table, &series_a, 5 + REPLAY_WINDOW_NUMBERS));
    cr_assert(replay_window_met(&table, &series_a, 5), "it was met, and is out of the window");
    cr_assert(replay_window_met(&table, &series_a, 3), "never met, but nobody can know");
    cr_assert_not(replay_window_met(&table, &series_a, 6), "the oldest number of the window");
}

/* Sliding on clears the places of the numbers that fell out, and only those. */
Test(replay_window, sliding_forgets_what_falls_out_and_keeps_the_rest)
{
    for (uint64_t n = 1; n <= 100; n++) {
        cr_assert_not(replay_window_met(&table, &series_a, n));
    }
    cr_assert_not(replay_window_met(&table, &series_a, 50 + REPLAY_WINDOW_NUMBERS));
    for (uint64_t n = 51; n <= 100; n++) {
        cr_assert(replay_window_met(&table, &series_a, n), "%d was forgotten", (int)n);
    }
    for (uint64_t n = 101; n < 50 + REPLAY_WINDOW_NUMBERS; n++) {
        cr_assert_not(replay_window_met(&table, &series_a, n), "%d was never met", (int)n);
    }
    cr_assert_not(replay_window_met(&table, &series_a, 10 * REPLAY_WINDOW_NUMBERS),
                  "a jump past the window");
    cr_assert_not(replay_window_met(&table, &series_a, 10 * REPLAY_WINDOW_NUMBERS - 1));
}

/* The last number that there is must not run in circles: a peer chooses it. */
Test(replay_window, the_largest_number_is_a_number_like_any_other, .timeout = 10)
{
    cr_assert_not(replay_window_met(&table, &series_a, UINT64_MAX - 3));
    cr_assert_not(replay_window_met(&table, &series_a, UINT64_MAX));
    cr_assert(replay_window_met(&table, &series_a, UINT64_MAX));
    cr_assert_not(replay_window_met(&table, &series_a, UINT64_MAX - 1));
    cr_assert(replay_window_met(&table, &series_a, 0));
}

/* A table that has forgotten a series can't say "new" of any series that it does not hold. */
Test(replay_window, after_an_eviction_an_unknown_series_counts_as_met)
{
    for (uint64_t s = 0; s < REPLAY_WINDOW_SERIES; s++) {
        const struct replay_window_key key = {.producer_id = s, .epoch = 9};

        cr_assert_not(replay_window_met(&table, &key, 1), "series %d has a place", (int)s);
    }
    cr_assert(replay_window_met(
                  &table,
                  &(struct replay_window_key){.producer_id = REPLAY_WINDOW_SERIES, .epoch = 9}, 1),
              "one too many");
    cr_assert(
        replay_window_met(&table, &(struct replay_window_key){.producer_id = 0, .epoch = 9}, 1),
        "the one that made room");
    cr_assert(
        replay_window_met(&table, &(struct replay_window_key){.producer_id = 77777, .epoch = 9}, 1),
        "never met, nobody can know");
}

/* Also the numbers below the one that brought a forgotten series back. */
Test(replay_window, a_series_that_comes_back_has_met_everything_before)
{
    const struct replay_window_key back = {.producer_id = 0, .epoch = 9};

    (void)replay_window_met(&table, &back, 5);
    for (uint64_t s = 1; s <= REPLAY_WINDOW_SERIES; s++) {
        (void)replay_window_met(&table, &(struct replay_window_key){.producer_id = s, .epoch = 9},
                                1);
    }
    cr_assert(replay_window_met(&table, &back, 6));
    cr_assert(replay_window_met(&table, &back, 5), "met before it was forgotten");
    cr_assert_not(replay_window_met(&table, &back, 7));
}

/* The series used longest ago goes first. */
Test(replay_window, what_is_in_use_is_not_evicted)
{
    const struct replay_window_key busy = {.producer_id = 0, .epoch = 9};

    for (uint64_t s = 0; s < REPLAY_WINDOW_SERIES; s++) {
        (void)replay_window_met(&table, &(struct replay_window_key){.producer_id = s, .epoch = 9},
                                1);
    }
    (void)replay_window_met(&table, &busy, 2);
    for (uint64_t s = 1; s < REPLAY_WINDOW_SERIES; s++) {
        (void)replay_window_met(&table, &(struct replay_window_key){.producer_id = s, .epoch = 10},
                                1);
        cr_assert_not(replay_window_met(&table, &busy, s + 2), "evicted after %d others", (int)s);
    }
}
