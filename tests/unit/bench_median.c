/* Spreads over rounds, and figures as people read them. */
#include "bench/median.h"
#include "bench/report/show.h"

#include <criterion/criterion.h>
#include <math.h>

Test(bench_median, the_middle_of_an_odd_count_is_one_of_the_values)
{
    double values[] = {5, 1, 9, 7, 3};
    struct spread spread = spread_of(values, 5);

    cr_assert_eq(spread.median, 5);
    cr_assert_eq(spread.min, 1);
    cr_assert_eq(spread.max, 9);
    cr_assert_eq(spread.count, 5);
}

Test(bench_median, an_even_count_gives_the_mean_of_the_middle_two)
{
    double values[] = {8, 2, 4, 100};

    cr_assert_eq(spread_of(values, 4).median, 6);
}

Test(bench_median, what_is_no_number_is_left_out)
{
    double values[] = {NAN, 3, NAN, 1, 2};
    struct spread spread = spread_of(values, 5);

    cr_assert_eq(spread.median, 2);
    cr_assert_eq(spread.count, 3);
}

Test(bench_median, no_values_give_no_number)
{
    double values[] = {NAN};

    cr_assert_eq(spread_of(values, 1).count, 0);
    cr_assert(isnan(spread_of(values, 1).median));
    cr_assert(isnan(spread_of(values, 0).max));
}

Test(bench_show, three_figures_and_a_unit)
{
    char text[SHOW_BYTES];

    cr_assert_str_eq(show_rate(9434712, text), "9.43 M");
    cr_assert_str_eq(show_rate(999499, text), "999 k");
    cr_assert_str_eq(show_rate(999501, text), "1.00 M");
    cr_assert_str_eq(show_rate(94100, text), "94.1 k");
    cr_assert_str_eq(show_rate(512, text), "512");
    cr_assert_str_eq(show_time(391, text), "391 us");
    cr_assert_str_eq(show_time(22015, text), "22.0 ms");
    cr_assert_str_eq(show_cpu(118.4, text), "118 ns");
    cr_assert_str_eq(show_cpu(12700, text), "12.7 us");
    cr_assert_str_eq(show_bytes(32.4 * 1048576, text), "32.4 MiB");
    cr_assert_str_eq(show_ratio(0.614, text), "0.61 x");
    cr_assert_str_eq(show_ratio(NAN, text), "-");
}
