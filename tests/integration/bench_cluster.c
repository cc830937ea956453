/* `orbloom bench` on a cluster: the row that programs read, and filters that stay. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 120 };

static struct playground playground;
static struct command command;

#define BENCH(...) command_run(&command, span_text(""), "orbloom", "bench", __VA_ARGS__, NULL)

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    cr_assert_eq(setenv("ORBLOOM_DIR", playground.dir, 1), 0);
}

static void stop(void)
{
    command_forget(&command);
    playground_stop(&playground);
}

/* NULL: it is not in the object, behind `after`. */
static const char *member_at(const char *after, const char *name)
{
    char quoted[64];
    const char *at = strstr(command.output, after);

    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    at = at != NULL ? strstr(at, quoted) : NULL;
    return at != NULL ? at + strlen(quoted) : NULL;
}

static double number_of(const char *name)
{
    const char *at = member_at("", name);

    cr_assert_not_null(at, "no %s in %s", name, command.output);
    return strtod(at, NULL);
}

static void expect_row(const char *op, double keys)
{
    char member[64];

    cr_assert_eq(command.exit_status, 0, "exit %d: %s", command.exit_status, command.errors);
    cr_assert_eq(strchr(command.output, '\n'), command.output + command.output_size - 1,
                 "one line: %s", command.output);
    cr_assert_not_null(strstr(command.output, "{\"target\": \"orbloom\", \"method\": \"\""), "%s",
                       command.output);
    (void)snprintf(member, sizeof member, "\"op\": \"%s\"", op);
    cr_assert_not_null(strstr(command.output, member), "%s", command.output);
    cr_assert_float_eq(number_of("keys"), keys, 0.1);
    cr_assert_float_eq(number_of("lost"), 0, 0.1);
    cr_assert_float_eq(number_of("unanswered"), 0, 0.1);
}

static void expect_member(const char *map, const char *process)
{
    const char *at = member_at(map, process);

    cr_assert_not_null(at, "no %s in %s of %s", process, map, command.output);
    cr_assert_gt(strtod(at, NULL), 0);
}

Test(bench_cluster, a_row_has_every_process, .timeout = LIMIT_S)
{
    start();
    BENCH("--keys", "100k", "--batch", "500", "--in-flight", "7", "--json");
    expect_row("check", 100000);
    cr_assert_float_eq(number_of("batch"), 500, 0.1);
    cr_assert_float_eq(number_of("in_flight"), 7, 0.1);
    cr_assert_float_eq(number_of("size"), 50000, 0.1);
    cr_assert_float_eq(number_of("absent_checked"), 50000, 0.1);
    cr_assert_float_eq(number_of("keys_per_s"), 500 * number_of("requests_per_s"),
                       1e-4 * number_of("keys_per_s"));
    expect_member("\"cpu_ns_per_key\"", "router");
    expect_member("\"cpu_ns_per_key\"", "node-3");
    expect_member("\"cpu_ns_per_key\"", "client");
    expect_member("\"resident_bytes\"", "router");
    expect_member("\"resident_bytes\"", "client");
    expect_member("\"arrays_bytes\"", "node-1");
    expect_member("\"arrays_bytes\"", "node-3");
    cr_assert_null(member_at("\"arrays_bytes\"", "router"), "%s", command.output);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "info", "--json", NULL);
    cr_assert_null(strstr(command.output, "bench-"), "its filter is dropped: %s", command.output);
    stop();
}

Test(bench_cluster, adds_and_mixtures_lose_nothing, .timeout = LIMIT_S)
{
    start();
    BENCH("--op", "add", "--keys", "100001", "--batch", "3333", "--json");
    expect_row("add", 100001);
    command_forget(&command);
    BENCH("--op", "mix", "--keys", "20k", "--batch", "1", "--in-flight", "64", "--json");
    expect_row("mix", 20000);
    cr_assert_float_eq(number_of("batch"), 1, 0.1);
    command_forget(&command);
    BENCH("--op", "check", "--keys", "200k", "--batch", "65536", "--json");
    expect_row("check", 200000);
    stop();
}

Test(bench_cluster, a_filter_is_filled_once_and_used_again, .timeout = LIMIT_S)
{
    start();
    BENCH("--op", "fill", "--filter", "kept", "--size", "50k", "--keys", "60k", "--json");
    expect_row("fill", 50000);
    expect_member("\"arrays_bytes\"", "node-2");
    command_forget(&command);
    for (int run = 0; run < 2; run++) {
        char fresh[16];

        BENCH("--filter", "kept", "--size", "50k", "--filled", "--keys", "20k", "--fresh", "1M",
              "--json");
        expect_row("check", 20000);
        cr_assert_lt(number_of("false_positives"), 200);
        command_forget(&command);
        (void)snprintf(fresh, sizeof fresh, "%d", 50000 + run * 10000);
        BENCH("--op", "add", "--filter", "kept", "--size", "50k", "--filled", "--keys", "20k",
              "--fresh", fresh, "--json");
        expect_row("add", 20000);
        command_forget(&command);
    }
    /* The fresh keys of both runs are in it. */
    BENCH("--filter", "kept", "--size", "70k", "--filled", "--keys", "140k", "--json");
    expect_row("check", 140000);
    stop();
}

/* What it took would be missing to the processes that it measures. */
Test(bench_cluster, waiting_for_the_pace_takes_no_processor_time, .timeout = LIMIT_S)
{
    start();
    BENCH("--op", "fill", "--filter", "kept", "--size", "10k", "--json");
    command_forget(&command);
    BENCH("--filter", "kept", "--size", "10k", "--filled", "--batch", "10", "--pace", "50",
          "--keys", "100k", "--for", "2s", "--json");
    cr_assert_eq(command.exit_status, 0, "exit %d: %s", command.exit_status, command.errors);
    cr_assert_leq(number_of("keys"), 120);
    cr_assert_lt(strtod(member_at("\"cpu_ns_per_key\"", "client"), NULL) * number_of("keys"), 3e8,
                 "of 2e9: %s", command.output);
    stop();
}

Test(bench_cluster, the_filter_that_it_makes_hashes_as_asked, .timeout = LIMIT_S)
{
    start();
    BENCH("--op", "fill", "--filter", "fast", "--size", "10k", "--hash", "xxh3");
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "info", "fast", NULL);
    cr_assert_not_null(strstr(command.output, "xxh3"), "%s", command.output);
    stop();
}

/* More keys than any machine sends in that time. */
Test(bench_cluster, a_load_ends_when_its_time_is_up, .timeout = LIMIT_S)
{
    start();
    BENCH("--op", "add", "--keys", "100M", "--size", "10k", "--for", "100ms", "--json");
    cr_assert_eq(command.exit_status, 0, "exit %d: %s", command.exit_status, command.errors);
    cr_assert_gt(number_of("keys"), 0);
    cr_assert_lt(number_of("keys"), 100e6);
    cr_assert_float_eq(number_of("lost"), 0, 0.1);
    cr_assert_float_eq(number_of("unanswered"), 0, 0.1);
    stop();
}

/* The judge sees what is missing. */
Test(bench_cluster, a_filter_that_holds_less_than_it_should_is_an_error, .timeout = LIMIT_S)
{
    start();
    BENCH("--op", "fill", "--filter", "half", "--size", "10k");
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    BENCH("--filter", "half", "--size", "20k", "--filled", "--keys", "40k");
    cr_assert_eq(command.exit_status, 1);
    cr_assert_not_null(
        strstr(command.errors, "added keys were answered absent, or never added: does the filter"),
        "%s", command.errors);
    stop();
}

Test(bench_cluster, no_cluster_is_a_deadline, .timeout = LIMIT_S)
{
    BENCH("--router", "tcp://127.0.0.1:1", "--coordinator", "tcp://127.0.0.1:1", "--timeout", "1s",
          "--json");
    cr_assert_eq(command.exit_status, 1);
    cr_assert_not_null(strstr(command.errors, "DEADLINE"), "%s", command.errors);
    cr_assert_eq(command.output_size, 0, "%s", command.output);
    command_forget(&command);
}
