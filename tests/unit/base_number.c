/* Numbers as people type them: what is accepted is exact, all else is refused. */
#include "base/number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

struct count_case {
    const char *text;
    uint64_t value;
};

Test(number, counts_are_exact)
{
    static const struct count_case cases[] = {
        {"0", 0},
        {"7", 7},
        {"007", 7},
        {"10M", 10000000},
        {"1k", 1000},
        {"1K", 1000},
        {"3kB", 3000},
        {"2G", 2000000000},
        {"1T", 1000000000000},
        {"64KiB", 65536},
        {"64Ki", 65536},
        {"8GiB", 8589934592},
        {"1TiB", 1099511627776},
        {"100B", 100},
        {"1e6", 1000000},
        {"1E6", 1000000},
        {"1e18", 1000000000000000000},
        {"2.5M", 2500000},
        {"0.5k", 500},
        {"1.5KiB", 1536},
        {"4294967296", 4294967296},
        {"9007199254740993", 9007199254740993}, /* 2^53 + 1: no double holds it */
        {"18446744073709551615", UINT64_MAX},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t value = 42;

        cr_assert_eq(number_parse_count(cases[i].text, &value), STATUS_OK, "%s", cases[i].text);
        cr_assert_eq(value, cases[i].value, "%s gave %llu", cases[i].text,
                     (unsigned long long)value);
    }
}

/* Whatever fraction is typed, a whole result is accepted and exact. */
Test(number, decimal_fractions_of_a_suffix_are_exact)
{
    for (uint64_t milli = 0; milli < 100000; milli++) {
        uint64_t value = 0;
        char text[32];

        (void)snprintf(text, sizeof text, "%llu.%03lluM", (unsigned long long)(milli / 1000),
                       (unsigned long long)(milli % 1000));
        cr_assert_eq(number_parse_count(text, &value), STATUS_OK, "%s", text);
        cr_assert_eq(value, milli * 1000, "%s gave %llu", text, (unsigned long long)value);
    }
}

Test(number, bad_counts_are_refused_and_leave_the_output)
{
    static const char *const bad[] = {
        "",
        " ",
        "10Q",
        "10m",
        "-1",
        "+1",
        "- 1",
        " 1",
        "1 ",
        "1 M",
        "M",
        ".5M",
        "0x10",
        "0X10",
        "00x10",
        "inf",
        "nan",
        "INF",
        "1.5",
        "0.0001k",
        "1e-3",
        "1e",
        "1e+",
        "1e19",
        "1e400",
        "10MM",
        "10Mi B",
        "10kiB",
        "10GIB",
        "1,000",
        "1_000",
        "10M\n",
        "1..5M",
        "1.2.3",
        "1e6.5",
        "10%",
        "5s",
        "0b1",
        "1p3",
        "\xd9\xa1",
        "18446744073709551616",
        "99999999999999999999",
        "20000000T",
        "16777216TiB",
        "9223372036854775808B",
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        uint64_t value = 42;

        cr_assert_eq(number_parse_count(bad[i], &value), STATUS_INVALID, "'%s'", bad[i]);
        cr_assert_eq(value, 42, "'%s'", bad[i]);
    }
}

struct rate_case {
    const char *text;
    double rate;
};

Test(number, rates_are_percent_or_fraction)
{
    static const struct rate_case cases[] = {
        {"1%", 0.01}, {"1 %", 0.01},     {"0.01", 0.01}, {"0.1%", 0.001}, {"1e-6", 1e-6},
        {"0", 0},     {"0.0001%", 1e-6}, {"100%", 1},    {"2", 2},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double rate = -1;

        cr_assert_eq(number_parse_rate(cases[i].text, &rate), STATUS_OK, "%s", cases[i].text);
        cr_assert_leq(fabs(rate - cases[i].rate), cases[i].rate * 1e-12, "%s gave %g",
                      cases[i].text, rate);
    }
}

Test(number, bad_rates_are_refused_and_leave_the_output)
{
    static const char *const bad[] = {
        "",    "%",   "-1%",   "+1%", ".01", " 1%",  "1  %", "1%%", "1% ", "inf",
        "nan", "0x1", "1e400", "1pc", "10M", "1,5%", "1e",   "1%1", "one",
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        double rate = 42;

        cr_assert_eq(number_parse_rate(bad[i], &rate), STATUS_INVALID, "'%s'", bad[i]);
        cr_assert(rate > 41 && rate < 43, "'%s'", bad[i]);
    }
}

Test(number, durations_become_microseconds)
{
    static const struct count_case cases[] = {
        {"250us", 250},    {"20ms", 20000},    {"5s", 5000000},
        {"2m", 120000000}, {"1h", 3600000000}, {"7d", 604800000000},
        {"0s", 0},         {"1.5s", 1500000},  {"0.25ms", 250},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t value = 42;

        cr_assert_eq(number_parse_duration(cases[i].text, &value), STATUS_OK, "%s", cases[i].text);
        cr_assert_eq(value, cases[i].value, "%s gave %llu", cases[i].text,
                     (unsigned long long)value);
    }
}

/* The unit is mandatory: a bare number would be read as someone else's unit. */
Test(number, bad_durations_are_refused_and_leave_the_output)
{
    static const char *const bad[] = {
        "",    "5",  "0",  "s",      "-5s", "+5s", "5 s",  "5S",          "5sec", "0x5s",
        "inf", "5w", "1e", "1e400s", "5ss", " 5s", "nans", "1000000000d", "5M",   "5%",
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        uint64_t value = 42;

        cr_assert_eq(number_parse_duration(bad[i], &value), STATUS_INVALID, "'%s'", bad[i]);
        cr_assert_eq(value, 42, "'%s'", bad[i]);
    }
}

Test(number, bytes_are_shown_in_binary_units)
{
    char text[NUMBER_TEXT_BYTES];

    cr_assert_str_eq(number_show_bytes(0, text), "0 B");
    cr_assert_str_eq(number_show_bytes(1023, text), "1023 B");
    cr_assert_str_eq(number_show_bytes(1024, text), "1.0 KiB");
    cr_assert_str_eq(number_show_bytes(13107200, text), "12.5 MiB");
    cr_assert_str_eq(number_show_bytes(UINT64_MAX, text), "16.0 EiB");
}

Test(number, counts_are_shown_in_groups_of_three)
{
    char text[NUMBER_TEXT_BYTES];

    cr_assert_str_eq(number_show_count(0, text), "0");
    cr_assert_str_eq(number_show_count(999, text), "999");
    cr_assert_str_eq(number_show_count(1000, text), "1,000");
    cr_assert_str_eq(number_show_count(59231, text), "59,231");
    cr_assert_str_eq(number_show_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

Test(number, rates_are_shown_in_percent)
{
    char text[NUMBER_TEXT_BYTES];

    cr_assert_str_eq(number_show_rate(0.001, text), "0.1 %");
    cr_assert_str_eq(number_show_rate(1, text), "100 %");
    cr_assert_str_eq(number_show_rate(0, text), "0 %");
}
