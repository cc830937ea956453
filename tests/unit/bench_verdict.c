/* The figures to reach: met, not met, not measured; and that tables show them. */
#include "bench/tables.h"
#include "bench/verdict.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A cell of three rounds, of which only the keys a second are known. */
static struct cell cell_of(struct cell_key key, double keys_per_s)
{
    struct spread rate = {keys_per_s, keys_per_s / 2, keys_per_s * 2, 3};
    struct spread none = {NAN, NAN, NAN, 0};

    return (struct cell){.key = key,
                         .keys_per_s = rate,
                         .requests_per_s = none,
                         .p50_us = none,
                         .p99_us = none,
                         .cpu_service_ns = none,
                         .cpu_client_ns = none,
                         .beyond_bytes = none,
                         .not_run = ""};
}

static struct verdict find(const struct cells *cells, const char *claim, const char *reference)
{
    for (size_t i = 0; i < verdict_count(); i++) {
        struct verdict verdict = verdict_of(i, cells);

        if (strstr(verdict.claim, claim) != NULL && strstr(verdict.reference, reference) != NULL) {
            return verdict;
        }
    }
    cr_assert(false, "no figure is called %s", claim);
    return (struct verdict){0};
}

Test(bench_verdict, a_figure_beside_a_peer)
{
    struct cell items[] = {
        cell_of((struct cell_key){"orbloom", "", "check", 1000, 64, 5000000, 0}, 7e6),
        cell_of((struct cell_key){"redis", "set", "check", 1000, 64, 5000000, 0}, 1e6),
        cell_of((struct cell_key){"redis", "bits", "check", 1000, 64, 5000000, 0}, 0.4e6)};
    struct cells cells = {.items = items, .count = 3};
    struct verdict verdict = find(&cells, "check, batch 1,000", "SMISMEMBER");

    cr_assert_eq(verdict.outcome, VERDICT_MET);
    cr_assert_float_eq(verdict.ratio, 7, 1e-9);
    cr_assert_str_eq(verdict.measured, "7.00 M");
    cr_assert_str_eq(verdict.reference, "SMISMEMBER: 1.00 M");
    cr_assert_eq(find(&cells, "check, batch 1,000", "GETBIT").outcome, VERDICT_NOT_MET);
    items[0].keys_per_s.median = 6.99e6;
    cr_assert_eq(find(&cells, "check, batch 1,000", "SMISMEMBER").outcome, VERDICT_NOT_MET);
    cr_assert_eq(find(&cells, "add, batch 1,000", "SADD").outcome, VERDICT_NOT_MEASURED);
}

Test(bench_verdict, a_figure_that_must_stay_below)
{
    struct cell items[] = {
        cell_of((struct cell_key){"orbloom", "", "check", 1000, 64, 5000000, 0}, 7e6)};
    struct cells cells = {.items = items, .count = 1};

    items[0].cpu_service_ns = (struct spread){170, 160, 180, 3};
    cr_assert_eq(find(&cells, "CPU a key", "170 ns").outcome, VERDICT_MET);
    items[0].cpu_service_ns.median = 171;
    cr_assert_eq(find(&cells, "CPU a key", "170 ns").outcome, VERDICT_NOT_MET);
}

/* The worst round of the worst row, not a median. */
Test(bench_verdict, memory_is_judged_by_its_worst)
{
    struct cell items[] = {cell_of((struct cell_key){"orbloom", "", "check", 1, 1, 5000000, 0}, 1),
                           cell_of((struct cell_key){"orbloom", "", "add", 16, 16, 100000, 0}, 1)};
    struct cells cells = {.items = items, .count = 2};

    cr_assert_eq(find(&cells, "node memory", "64.0 MiB").outcome, VERDICT_NOT_MEASURED);
    items[0].beyond_bytes = (struct spread){1 << 20, 1 << 20, 2 << 20, 3};
    cr_assert_eq(find(&cells, "node memory", "64.0 MiB").outcome, VERDICT_MET);
    items[1].beyond_bytes = (struct spread){1 << 20, 1 << 20, 65 << 20, 3};
    cr_assert_eq(find(&cells, "node memory", "64.0 MiB").outcome, VERDICT_NOT_MET);
}

Test(bench_verdict, nothing_measured_meets_nothing)
{
    struct cells cells = {0};

    cr_assert_geq(verdict_count(), 10);
    for (size_t i = 0; i < verdict_count(); i++) {
        cr_assert_eq(verdict_of(i, &cells).outcome, VERDICT_NOT_MEASURED);
    }
}

Test(bench_tables, a_grid_names_what_was_not_run_and_what_was)
{
    struct cell items[] = {
        cell_of((struct cell_key){"orbloom", "", "check", 1000, 64, 5000000, 0}, 7e6),
        cell_of((struct cell_key){"orbloom", "", "check", 1000, 64, 100000000, 0}, 5e6),
        cell_of((struct cell_key){"redis", "set", "check", 1000, 64, 5000000, 0}, 1e6),
        cell_of((struct cell_key){"redis", "set", "check", 1000, 64, 100000000, 0}, NAN)};
    struct cells cells = {.items = items, .count = 4};
    char text[4000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    items[3].keys_per_s.count = 0;
    items[3].not_run = "10 GB";
    tables_grid(&cells, "check", out);
    tables_sizes(&cells, "check", out);
    cr_assert_eq(fclose(out), 0);
    cr_assert(strstr(text, "| batch | in flight | orbloom | SMISMEMBER | x SMISMEMBER |\n"
                           "|---:|---:|---:|---:|---:|\n"
                           "| 1000 | 64 | 7.00 M (3.50 M..14.0 M) | 1.00 M (500 k..2.00 M) | "
                           "7.00 x |\n"),
              "%s", text);
    cr_assert(strstr(text, "| 5,000,000 | 7.00 M (3.50 M..14.0 M) | 1.00 M (500 k..2.00 M) | "
                           "7.00 x |\n"
                           "| 100,000,000 | 5.00 M (2.50 M..10.0 M) | not run: 10 GB | - |\n"),
              "%s", text);
}

Test(bench_tables, the_best_in_flight_is_named_for_everybody)
{
    struct cell items[] = {
        cell_of((struct cell_key){"orbloom", "", "check", 1000, 16, 5000000, 0}, 6e6),
        cell_of((struct cell_key){"orbloom", "", "check", 1000, 64, 5000000, 0}, 7e6),
        cell_of((struct cell_key){"redis", "set", "check", 1000, 16, 5000000, 0}, 2e6),
        cell_of((struct cell_key){"redis", "set", "check", 1000, 64, 5000000, 0}, 1e6)};
    struct cells cells = {.items = items, .count = 4};
    char text[1000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    tables_best(&cells, "check", out);
    tables_best(&cells, "add", out);
    cr_assert_eq(fclose(out), 0);
    cr_assert_str_eq(text, "\nFastest at batch 1,000: orbloom 7.00 M with 64 in flight, "
                           "SMISMEMBER 2.00 M with 16 in flight.\n");
}
