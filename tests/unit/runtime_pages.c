/* What the kernel tells of a process, and whether it moves. */
#include "base/telemetry/health.h"
#include "runtime/http/own_usage.h"
#include "runtime/http/pages.h"
#include "runtime/movement.h"

#include <criterion/criterion.h>

/* ---- what the kernel tells of this process ---- */

static const struct own_usage_units units = {
    .ticks_per_s = 100, .page_bytes = 4096, .booted_us = 5};

Test(runtime_pages, a_line_of_stat_is_understood_whatever_the_name)
{
    struct own_usage usage = {0};

    cr_assert(own_usage_parse("12 (a) S (b) R) S 1 2 3 4 5 6 7 8 9 10 150 50 1 2 20 0 7 0 1000 "
                              "8192 3 18446744073709551615 1 1",
                              &units, &usage));
    cr_expect_eq(usage.cpu_us, 2000000);
    cr_expect_eq(usage.threads, 7);
    cr_expect_eq(usage.started_us, 10000005);
    cr_expect_eq(usage.virtual_bytes, 8192);
    cr_expect_eq(usage.resident_bytes, 3 * 4096);
}

Test(runtime_pages, another_line_changes_nothing)
{
    static const char *const lines[] = {"", "12", "12 (a", "12 (a)", "12 (a) S 1 2 3 4 5 6 x"};
    struct own_usage usage = {.threads = 9};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_expect_not(own_usage_parse(lines[i], &units, &usage), "%s", lines[i]);
    }
    cr_expect_eq(usage.threads, 9);
    cr_expect_eq(usage.cpu_us, 0);
}

Test(runtime_pages, this_process_is_there)
{
    const uint64_t year_2020_us = UINT64_C(1577836800) * 1000000;
    struct own_usage usage;

    own_usage_read(&usage);
    cr_expect_gt(usage.resident_bytes, 1 << 16);
    cr_expect_gt(usage.virtual_bytes, usage.resident_bytes);
    cr_expect_geq(usage.threads, 1);
    cr_expect_geq(usage.descriptors, 3);
    cr_expect_leq(usage.descriptors, usage.max_descriptors);
    cr_expect_gt(usage.started_us, year_2020_us);
}

/* ---- does it move? ---- */

Test(runtime_pages, what_stands_for_ten_seconds_hangs)
{
    static const struct {
        uint64_t silent_us;
        uint64_t commit_us;
        size_t reasons;
    } cases[] = {
        {0, 0, 0},
        {MOVEMENT_STILL_US - 1, MOVEMENT_STILL_US - 1, 0},
        {MOVEMENT_STILL_US, 0, 1},
        {0, MOVEMENT_STILL_US, 1},
        {MOVEMENT_STILL_US, MOVEMENT_STILL_US, 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct health health = {0};

        movement_judge(cases[i].silent_us, cases[i].commit_us, &health);
        cr_expect_eq(health.count, cases[i].reasons, "case %zu", i);
    }
}
