/* The figures to reach: met, not met, not measured; and that tables show them. */
#include "bench/report/tables.h"
#include "bench/report/verdict.h"

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
                         .value = none,
                         .unit = "",
                         .note = "",
                         .not_run = ""};
}

static struct cell value_cell(const char *name, double value, const char *unit, const char *note)
{
    struct cell cell = cell_of((struct cell_key){"figure", "", name, 0, 0, 0, 0}, NAN);

    cell.keys_per_s.count = 0;
    cell.value = (struct spread){value, value / 2, value * 2, 3};
    cell.unit = unit;
    cell.note = note;
    return cell;
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

Test(bench_verdict, a_value_is_judged_in_its_unit)
{
    struct cell items[] = {value_cell("restart until FULL", 4.25, "s", "5 keys")};
    struct cells cells = {.items = items, .count = 1};
    struct verdict verdict = find(&cells, "restart", "10.0 s");

    cr_assert_eq(verdict.outcome, VERDICT_MET);
    cr_assert_str_eq(verdict.measured, "4.25 s");
    cr_assert_str_eq(verdict.note, "5 keys");
    items[0].value.median = 10.1;
    cr_assert_eq(find(&cells, "restart", "10.0 s").outcome, VERDICT_NOT_MET);
}

/* Microseconds of one row against those of another. */
Test(bench_verdict, a_small_add_is_judged_beside_the_disk)
{
    struct cell items[] = {
        value_cell("one add: sync less in memory", 700, "us", ""),
        cell_of((struct cell_key){"disk", "sync", "write", 1, 3, 4096, 0}, 3000)};
    struct cells cells = {.items = items, .count = 2};

    cr_assert_eq(find(&cells, "one small add", "-").outcome, VERDICT_NOT_MEASURED);
    items[1].p50_us = (struct spread){250, 200, 300, 3};
    cr_assert_eq(find(&cells, "one small add", "a sync of 4 KiB: 250 us").outcome, VERDICT_MET);
    items[0].value.median = 751;
    cr_assert_eq(find(&cells, "one small add", "250 us").outcome, VERDICT_NOT_MET);
}

Test(bench_verdict, durable_adds_are_judged_beside_memory_and_a_log)
{
    struct cell items[] = {
        cell_of((struct cell_key){"durable", "sync", "add", 1000, 64, 1000000, 0}, 6e6),
        cell_of((struct cell_key){"durable", "memory", "add", 1000, 64, 1000000, 0}, 10e6),
        cell_of((struct cell_key){"aof", "set", "add", 1000, 64, 1000000, 0}, 1.3e6)};
    struct cells cells = {.items = items, .count = 3};

    cr_assert_eq(find(&cells, "durable adds (sync)", "in memory: 10.0 M").outcome, VERDICT_MET);
    cr_assert_eq(find(&cells, "durable adds (sync)", "SADD").outcome, VERDICT_NOT_MET);
    items[0].keys_per_s.median = 5.9e6;
    cr_assert_eq(find(&cells, "durable adds (sync)", "in memory: 10.0 M").outcome, VERDICT_NOT_MET);
    cr_assert_eq(find(&cells, "durable adds (os)", "in memory").outcome, VERDICT_NOT_MEASURED);
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

/* A part that was not asked for is not in the table; what could not run says why. */
Test(bench_tables, figures_of_parts_that_ran_are_shown)
{
    struct cell items[] = {value_cell("restart until FULL", 4, "s", "5 keys"),
                           value_cell("repair: round trips", NAN, "", "")};
    struct cells cells = {.items = items, .count = 2};
    char text[4000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    items[1].value.count = 0;
    items[1].not_run = "no digests";
    tables_verdicts(&cells, out);
    cr_assert_eq(fclose(out), 0);
    cr_assert(strstr(text,
                     "| restart after kill -9 until FULL: 5 keys | 10.0 s | 4.00 s | 0.40 x | "
                     "at most 1 x | met |\n"),
              "%s", text);
    cr_assert(strstr(text, "| - | - | at most 1 x | not run: no digests |\n"), "%s", text);
    cr_assert(strstr(text, "| at most 1 x | not measured |\n"), "%s", text);
    cr_assert_null(strstr(text, "SMISMEMBER"), "%s", text);
}

Test(bench_tables, what_is_on_disk_is_shown_as_loads_and_as_values)
{
    struct cell items[] = {
        value_cell("restart until FULL", 4, "s", "5 keys"),
        value_cell("copy of a whole replica", 117e6, "B/s", "6 keys"),
        value_cell("log not merged at the end (sync)", 32 << 20, "bytes", ""),
        cell_of((struct cell_key){"disk", "sync", "write", 1, 3, 4096, 0}, 3000),
        cell_of((struct cell_key){"durable", "sync", "add", 1000, 64, 1000000, 0}, 6e6),
        cell_of((struct cell_key){"durable", "os", "add", 1000, 64, 2000000, 0}, 6e6),
        cell_of((struct cell_key){"orbloom", "", "add", 1000, 64, 1000000, 0}, 7e6)};
    struct cells cells = {.items = items, .count = 7};
    char text[4000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");

    tables_durable(&cells, out);
    tables_sizes(&cells, "add", out);
    cr_assert_eq(fclose(out), 0);
    cr_assert(strstr(text, "| on disk, `sync` | 1000 | 64 | 6.00 M (3.00 M..12.0 M) | - | - | - |\n"
                           "| 4 KiB written and synced | 1 | 3 | 3.00 k (1.50 k..6.00 k) |"),
              "%s", text);
    cr_assert(strstr(text,
                     "| restart until FULL | 4.00 s (2.00 s..8.00 s) | 5 keys |\n"
                     "| copy of a whole replica | 117 MB/s (58.5 MB/s..234 MB/s) | 6 keys |\n"
                     "| log not merged at the end (sync) | 32.0 MiB (16.0 MiB..64.0 MiB) |  |\n"),
              "%s", text);
    cr_assert(strstr(text, "| 1,000,000 | 7.00 M"), "%s", text);
    cr_assert_null(strstr(text, "| 2,000,000 |"), "%s", text);
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
