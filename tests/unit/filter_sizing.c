/* How large an array must be: by the textbook, by what was measured, and at its bounds. */
#include "filter/lines.h"
#include "filter/sizing.h"

#include <criterion/criterion.h>
#include <math.h>

static struct sizing_plan plan_for(uint64_t capacity, double rate, uint64_t max_capacity)
{
    struct sizing_request request = {capacity, rate, max_capacity};
    struct sizing_plan plan = {0};

    cr_assert_eq(sizing_plan_make(&request, &plan), STATUS_OK, "%lu keys at %g", capacity, rate);
    return plan;
}

static void assert_near(double value, double wanted, double tolerance)
{
    cr_assert(fabs(value - wanted) <= tolerance * wanted, "%.10g instead of %.10g", value, wanted);
}

/* The textbook values that `orbloom plan` promises to reproduce. */
Test(sizing, the_classic_formulas_give_the_textbook_values)
{
    struct sizing_classic classic = {0};

    cr_assert_eq(sizing_classic_make(1000000, 0.01, &classic), STATUS_OK);
    cr_assert_eq(classic.bits, 9585059);
    cr_assert_eq(classic.hashes, 7);
    assert_near(classic.rate, 0.010039, 1e-4);
    assert_near(classic.bits_per_key, 9.585059, 1e-9);
    cr_assert_eq(sizing_classic_make(1000000, 0.001, &classic), STATUS_OK);
    cr_assert_eq(classic.bits, 14377588);
    cr_assert_eq(classic.hashes, 10);
    cr_assert_eq(sizing_classic_make(100000000, 0.01, &classic), STATUS_OK);
    cr_assert_eq(classic.bits, 958505838);
    cr_assert_eq(sizing_classic_make(100000000, 0.001, &classic), STATUS_OK);
    cr_assert_eq(classic.bits, 1437758757);

    assert_near(sizing_classic_rate(10, 3), 0.0174, 1e-3);
    assert_near(sizing_classic_rate(10, 7), 0.00819, 1e-3);
    assert_near(sizing_classic_rate(16, 8), 0.000574, 1e-3);
    assert_near(sizing_classic_rate(32, 8), 5.73e-6, 1e-3);
}

/* Bits a key at exactly the rate: prototype figures, measured with 4e7 to 1e9 absent keys. */
Test(sizing, the_model_gives_the_measured_bits_a_key)
{
    const uint64_t lines = UINT64_C(1) << 20;

    assert_near(sizing_rate((uint64_t)((double)(lines * 512) / 10.10), lines, 1), 1e-2, 0.02);
    assert_near(sizing_rate((uint64_t)((double)(lines * 512) / 15.72), lines, 1), 1e-3, 0.02);
    assert_near(sizing_rate((uint64_t)((double)(lines * 512) / 20.20), lines, 2), 1e-4, 0.02);
    assert_near(sizing_rate((uint64_t)((double)(lines * 512) / 31.45), lines, 2), 1e-6, 0.02);
}

/* By hand: with e^-lambda near 1 only lines with one key count, and each passes 2^-48. */
Test(sizing, the_model_is_exact_where_it_can_be_done_by_hand)
{
    cr_assert_eq(sizing_rate(0, 64, 1), 0.0);
    cr_assert_eq(sizing_rate(0, 64, 2), 0.0);
    assert_near(sizing_rate(1, UINT64_C(1) << 40, 1), ldexp(1, -88), 1e-6);
    assert_near(sizing_rate(1, UINT64_C(1) << 40, 2), ldexp(1, -174), 1e-6);
    assert_near(sizing_rate(UINT64_C(1) << 40, 64, 1), 1.0, 1e-9);
}

/* Both sides of the switch to the approximation for crammed filters. */
Test(sizing, the_rate_rises_steadily_with_keys)
{
    for (uint32_t z = 1; z <= 2; z++) {
        double last = 0.0;

        for (uint64_t keys = 64; keys < 64 * 2000; keys += 64) {
            double rate = sizing_rate(keys, 64, z);

            cr_assert(rate > last - 1e-6 && rate <= 1.0, "%lu keys: %.9f after %.9f", keys, rate,
                      last);
            last = rate;
        }
    }
}

Test(sizing, large_filters_meet_the_target_bits_a_key)
{
    cr_assert_leq(plan_for(1000000000, 0.01, 1000000000).bits_per_key, 10.4);
    cr_assert_leq(plan_for(1000000000, 0.001, 1000000000).bits_per_key, 16.1);
    cr_assert_leq(plan_for(1000000000, 0.0001, 1000000000).bits_per_key, 20.7);
    cr_assert_eq(plan_for(1000000000, 0.01, 0).z, 1);
    cr_assert_eq(plan_for(1000000000, 0.0001, 0).z, 2);
}

/* No plan is larger than it must be: one page a shard less breaks what was promised. */
Test(sizing, a_plan_is_consistent_and_tight)
{
    static const double rates[] = {0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6, 1e-9};
    static const uint64_t capacities[] = {
        1, 100, 1000, 50000, 1000000, 12345678, 10000000, 10000000000, SIZING_CAPACITY_MAX};

    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
            struct sizing_plan plan = plan_for(capacities[c], rates[r], 0);
            uint64_t shards = UINT64_C(1) << plan.shard_bits;

            cr_assert(lines_shape_holds(plan.lines, plan.z));
            cr_assert_eq(plan.shard_bytes, plan.lines * 64);
            cr_assert_eq(plan.total_bytes, plan.shard_bytes * shards);
            assert_near(plan.bits_per_key, 8.0 * (double)plan.total_bytes / (double)capacities[c],
                        1e-12);
            cr_assert_leq(plan.expected_rate, 0.9 * rates[r]);
            assert_near(plan.expected_rate, sizing_rate(capacities[c], plan.lines * shards, plan.z),
                        1e-12);
            if (capacities[c] >= 1000000000) {
                cr_assert_gt(sizing_rate(capacities[c], (plan.lines - 64) * shards, plan.z),
                             0.9 * rates[r]);
            }
        }
    }
}

/* The bound holds for one small filter, not only on the average: room for luck. 6340 keys at
 * 1 % would fit into two pages at 0.9 of the rate. */
Test(sizing, small_filters_keep_more_room)
{
    struct sizing_request request = {6340, 0.01, 0};
    struct sizing_plan plan = {0};

    cr_assert_leq(sizing_rate(6340, 128, 1), 0.009);
    cr_assert_eq(sizing_plan_generation(&request, 0, &plan), STATUS_OK);
    cr_assert_eq(plan.lines, 192);
}

/* What a cluster of many filters counts on; 64 shards, so that each may grow to 1 G. */
Test(sizing, a_thousand_keys_take_a_few_kib)
{
    struct sizing_plan plan = plan_for(1000, 0.01, 1000000000);

    cr_assert_eq(plan.shard_bits, 6);
    cr_assert_eq(plan.lines, 1);
    cr_assert_eq(plan.total_bytes, 4096);
    cr_assert_eq(plan.z, 1);
    cr_assert_leq(plan_for(1000, 0.001, 1000000000).total_bytes, 16384);
    cr_assert_leq(plan_for(1000, 0.0001, 1000000000).total_bytes, 16384);
    cr_assert_eq(plan_for(1, 0.01, 0).total_bytes, 16 * 64);
}

/* More keys never get fewer bytes, on both sides of a page a shard. */
Test(sizing, plans_grow_with_their_keys)
{
    static const double rates[] = {0.1, 0.01, 0.001, 1e-4, 1e-6};

    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        uint64_t last = 0;

        for (uint64_t capacity = 1; capacity < 300000; capacity += 1 + capacity / 16) {
            struct sizing_plan plan = plan_for(capacity, rates[r], 20000000);

            cr_assert_geq(plan.total_bytes, last, "%lu keys at %g", capacity, rates[r]);
            last = plan.total_bytes;
        }
    }
}

Test(sizing, shards_are_about_32_mib_at_the_largest_capacity)
{
    cr_assert_eq(plan_for(1, 0.01, 0).shard_bits, 4);
    cr_assert_eq(plan_for(SIZING_CAPACITY_MAX, 0.01, 0).shard_bits, 12);

    for (uint64_t capacity = 10000000; capacity < 100000000000; capacity *= 3) {
        struct sizing_plan largest = plan_for(capacity, 0.01, capacity);

        cr_assert_leq(largest.shard_bytes, UINT64_C(33) << 20);
        if (largest.shard_bits > 4) {
            cr_assert_geq(largest.shard_bytes, UINT64_C(16) << 20);
        }
        cr_assert_eq(plan_for(capacity / 64, 0.01, capacity).shard_bits, largest.shard_bits);
        cr_assert_eq(plan_for(capacity, 0.01, 0).shard_bits,
                     plan_for(capacity, 0.01, capacity * 64).shard_bits);
    }
}

Test(sizing, a_generation_keeps_the_shards_of_its_filter)
{
    for (uint32_t shard_bits = 0; shard_bits <= 12; shard_bits++) {
        struct sizing_request request = {30000000, 0.001, 7};
        struct sizing_plan plan = {0};

        cr_assert_eq(sizing_plan_generation(&request, shard_bits, &plan), STATUS_OK);
        cr_assert_eq(plan.shard_bits, shard_bits);
        cr_assert_leq(plan.expected_rate, 0.0009);
        cr_assert_eq(plan.total_bytes, plan.shard_bytes << shard_bits);
    }
}

Test(sizing, what_is_out_of_range_is_refused_and_writes_nothing)
{
    static const struct sizing_request bad[] = {
        {0, 0.01, 0},      {SIZING_CAPACITY_MAX + 1, 0.01, 0},
        {1000, 0.51, 0},   {1000, 0.9e-9, 0},
        {1000, 0, 0},      {1000, -0.01, 0},
        {1000, NAN, 0},    {1000, INFINITY, 0},
        {1000, 0.01, 999}, {1000, 0.01, 64 * SIZING_CAPACITY_MAX + 1},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sizing_plan plan = {.lines = 77};
        struct sizing_classic classic = {.bits = 77};

        cr_assert_eq(sizing_plan_make(&bad[i], &plan), STATUS_INVALID, "request %zu", i);
        if (i < 8) {
            cr_assert_eq(sizing_plan_generation(&bad[i], 4, &plan), STATUS_INVALID);
            cr_assert_eq(sizing_classic_make(bad[i].capacity, bad[i].rate, &classic),
                         STATUS_INVALID);
        }
        cr_assert_eq(plan.lines, 77);
        cr_assert_eq(classic.bits, 77);
    }
}

Test(sizing, shard_bits_out_of_range_are_refused)
{
    struct sizing_request request = {1000, 0.01, 0};
    struct sizing_plan plan = {.lines = 77};

    cr_assert_eq(sizing_plan_generation(&request, 13, &plan), STATUS_INVALID);
    cr_assert_eq(plan.lines, 77);
}

/* Forward by the model, back by the estimate. */
Test(sizing, the_estimate_inverts_the_expected_fill)
{
    const uint64_t lines = 1000000;

    for (uint32_t z = 1; z <= 2; z++) {
        for (uint64_t keys = 1000; keys < 200000000; keys *= 3) {
            double fill = -expm1(-(double)(z * keys) / (double)lines / 64.0);
            uint64_t bits_set = (uint64_t)(fill * (double)lines * 512.0 + 0.5);

            assert_near((double)sizing_estimate_keys(bits_set, lines * 512, z), (double)keys, 1e-3);
        }
    }
    cr_assert_eq(sizing_estimate_keys(0, 512, 1), 0);
    cr_assert_gt(sizing_estimate_keys(512, 512, 1), sizing_estimate_keys(511, 512, 1));
}
