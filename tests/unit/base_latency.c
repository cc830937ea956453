/* Quantiles of latencies: near what was measured, and fading with time. */
#include "base/telemetry/latency.h"

#include <criterion/criterion.h>

static struct latency latency; /* Each test is a process of its own. */

Test(latency, knows_nothing_at_first)
{
    cr_assert_eq(latency_quantile_us(&latency, 0.99), 0);
    latency_add(&latency, 0);
    cr_assert_eq(latency_quantile_us(&latency, 0.99), 0);
    latency_add(&latency, UINT64_MAX);
    cr_assert_gt(latency_quantile_us(&latency, 0.99), UINT64_C(4000000000));
}

/* The quantile is the upper end of its bucket. */
Test(latency, a_quantile_is_never_too_short_and_hardly_too_long)
{
    for (uint64_t us = 0; us < UINT64_C(4000000000); us = us + us / 7 + 1) {
        struct latency one = {0};

        latency_add(&one, us);
        cr_assert_geq(latency_quantile_us(&one, 0.5), us);
        cr_assert_leq((double)latency_quantile_us(&one, 0.5), (double)us * 1.04);
    }
}

Test(latency, quantiles_of_many)
{
    for (uint64_t us = 1; us <= 100; us++) {
        latency_add(&latency, us * 10);
    }
    cr_assert_float_eq((double)latency_quantile_us(&latency, 0.5), 500, 20);
    cr_assert_float_eq((double)latency_quantile_us(&latency, 0.99), 990, 40);
    cr_assert_float_eq((double)latency_quantile_us(&latency, 1), 1000, 40);
}

Test(latency, tells_the_tail_from_the_rest)
{
    for (int i = 0; i < 1000; i++) {
        latency_add(&latency, i % 50 == 0 ? 80000 : 100);
    }
    cr_assert_lt(latency_quantile_us(&latency, 0.9), 105);
    cr_assert_geq(latency_quantile_us(&latency, 0.99), 80000);
}

/* A tail of many buckets with a time in each is still the tail when all has faded for a while. */
Test(latency, fading_keeps_the_share_of_a_thin_tail)
{
    for (int round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < 1000; i++) {
            latency_add(&latency, i % 50 == 0 ? 10000 + 997 * (i + (uint64_t)round) : 100);
        }
        latency_fade(&latency);
    }
    cr_assert_lt(latency_quantile_us(&latency, 0.975), 105);
    cr_assert_geq(latency_quantile_us(&latency, 0.985), 10000);
}

Test(latency, what_is_old_fades)
{
    for (int i = 0; i < 1000; i++) {
        latency_add(&latency, 80000);
    }
    latency_fade(&latency);
    cr_assert_eq(latency.total, 500);
    for (int i = 0; i < 20; i++) {
        latency_fade(&latency);
    }
    cr_assert_eq(latency.total, 0);
    cr_assert_eq(latency_quantile_us(&latency, 0.99), 0);
}
