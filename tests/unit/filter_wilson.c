/* Wilson's interval against published values, and at its ends. */
#include "filter/wilson.h"

#include <criterion/criterion.h>

static void expect(uint64_t hits, uint64_t trials, double z, double low, double high)
{
    struct wilson interval = wilson_interval(hits, trials, z);

    cr_expect_float_eq(interval.low, low, 0.00005, "%.6f", interval.low);
    cr_expect_float_eq(interval.high, high, 0.00005, "%.6f", interval.high);
}

/* Newcombe, "Two-Sided Confidence Intervals for the Single Proportion", Statistics in Medicine 17
 * (1998), table I, method 3, at 95 %. */
Test(filter_wilson, is_as_published)
{
    const double z = 1.959963984540054;

    expect(81, 263, z, 0.2553, 0.3662);
    expect(15, 148, z, 0.0624, 0.1605);
    expect(0, 20, z, 0.0000, 0.1611);
    expect(1, 29, z, 0.0061, 0.1718);
}

/* Its definition: at both ends the share seen is `z` standard deviations away. */
Test(filter_wilson, ends_are_z_standard_deviations_from_what_was_seen)
{
    static const uint64_t hits[] = {1, 10, 500, 99999};
    const double n = 100000;
    const double z = WILSON_TWO_SIDED_999;

    for (unsigned i = 0; i < sizeof hits / sizeof hits[0]; i++) {
        struct wilson interval = wilson_interval(hits[i], 100000, z);
        double share = (double)hits[i] / n;
        double below = share - interval.low;
        double above = interval.high - share;

        cr_expect_float_eq(below * below * n / (z * z * interval.low * (1 - interval.low)), 1,
                           1e-6);
        cr_expect_float_eq(above * above * n / (z * z * interval.high * (1 - interval.high)), 1,
                           1e-6);
    }
}

Test(filter_wilson, nothing_seen_says_nothing_and_ends_stay_probabilities)
{
    struct wilson none = wilson_interval(0, 0, WILSON_TWO_SIDED_999);
    struct wilson all = wilson_interval(7, 7, WILSON_TWO_SIDED_999);

    cr_expect_eq(none.low, 0);
    cr_expect_eq(none.high, 1);
    cr_expect_eq(wilson_interval(0, 1000000, WILSON_TWO_SIDED_999).low, 0);
    cr_expect_eq(all.high, 1);
    cr_expect_lt(all.low, 1);
}
