/* The examples dedup and blacklist against a real cluster, and what all examples do without one.
 * They do what their first comments promise; without a cluster they err on the promised side. */
#include "tests/support/example.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 20000 };

static struct example run;

/* ---- dedup ---- */

static void expect_deduplicated(const char *input, const char *expected)
{
    command_run(&run.command, span_text(input), EXAMPLE_DEDUP, "urls", NULL);
    example_expect_exit(&run, 0);
    cr_assert(strcmp(run.command.output, expected) == 0, "%zu bytes of output, %zu expected",
              run.command.output_size, strlen(expected));
    command_forget(&run.command);
}

/* At 2 % of the capacity a false positive is out of the question. */
Test(dedup, prints_each_line_once_in_order_over_all_runs, .timeout = EXAMPLE_LIMIT_S)
{
    char *first = example_lines("url-", 0, LINES, 1);
    char *more = example_lines("url-", LINES / 2, LINES * 3 / 2, 1);
    char *added = example_lines("url-", LINES, LINES * 3 / 2, 1);
    char *twice = malloc(2 * strlen(first) + 1);

    cr_assert_not_null(twice);
    (void)stpcpy(stpcpy(twice, first), first);
    example_start(&run, "urls", "1M", "0.01%");
    expect_deduplicated(twice, first);
    expect_deduplicated(more, added);
    expect_deduplicated("a\nb\na\n\x01\xff\r\nc\nb", "a\nb\n\x01\xff\r\nc\n");
    expect_deduplicated("", "");
    example_stop(&run);
    free(first);
    free(more);
    free(added);
    free(twice);
}

Test(dedup, reports_lines_that_are_no_keys_and_goes_on, .timeout = EXAMPLE_LIMIT_S)
{
    enum { LONG = 65536 };
    char *input = malloc(2 * LONG + 64);
    char *end;

    cr_assert_not_null(input);
    end = stpcpy(input, "before\n\n");
    (void)memset(end, 'x', LONG + 1);
    end = stpcpy(end + LONG + 1, "\nbetween\n");
    (void)memset(end, 'y', LONG);
    (void)stpcpy(end + LONG, "\nafter\n");
    example_start(&run, "urls", "1M", "0.01%");
    command_run(&run.command, span_text(input), EXAMPLE_DEDUP, "urls", NULL);
    example_expect_exit(&run, 1);
    cr_assert_eq(command_count_lines(run.command.errors,
                                     "dedup: a line is left out: a key has 1 to 65,536 bytes"),
                 2, "%s", run.command.errors);
    cr_assert_eq(strncmp(run.command.output, "before\nbetween\nyyy", 18), 0);
    cr_assert_eq(run.command.output_size, strlen("before\nbetween\n") + LONG + strlen("\nafter\n"));
    command_forget(&run.command);
    example_stop(&run);
    free(input);
}

Test(dedup, prints_what_is_not_acknowledged, .timeout = EXAMPLE_LIMIT_S)
{
    char *input = example_lines("url-", 0, 3000, 1);

    example_start(&run, "urls", "1M", "0.01%");
    expect_deduplicated("url-7\nother\n", "url-7\nother\n");
    example_pause_nodes(&run);
    command_run(&run.command, span_text(input), EXAMPLE_DEDUP, "urls", NULL);
    example_expect_exit(&run, 1);
    example_expect_error(&run, "dedup: printed all the same: ");
    cr_assert(strcmp(run.command.output, input) == 0, "%zu bytes of output of %zu",
              run.command.output_size, strlen(input));
    command_forget(&run.command);
    example_continue_nodes(&run);
    expect_deduplicated("fresh\nfresh\nother\n", "fresh\n");
    example_stop(&run);
    free(input);
}

/* ---- blacklist ---- */

static void blacklist(const char *action, const char *input)
{
    example_write_input(&run, input);
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "bad", action, run.input, NULL);
}

Test(blacklist, checks_and_exports_exactly_what_is_listed, .timeout = EXAMPLE_LIMIT_S)
{
    char *listed = example_lines("host-", 0, LINES, 2);
    char *all = example_lines("host-", 0, LINES, 1);
    char line[32];

    example_start(&run, "bad", "1M", "0.01%");
    blacklist("add", listed);
    example_expect_exit(&run, 0);
    cr_assert_eq(run.command.output_size, 0);
    command_forget(&run.command);
    blacklist("export", all);
    example_expect_exit(&run, 0);
    cr_assert(strcmp(run.command.output, listed) == 0, "%zu bytes of %zu", run.command.output_size,
              strlen(listed));
    command_forget(&run.command);
    blacklist("check", "host-1\nhost-2\n\nhost-3");
    example_expect_exit(&run, 1);
    example_expect_error(&run, "a line is left out");
    cr_assert_str_eq(run.command.output, "clear host-1\nlisted host-2\nclear host-3\n");
    command_forget(&run.command);
    (void)snprintf(line, sizeof line, "host-%d", LINES - 2);
    blacklist("check", all);
    example_expect_exit(&run, 0);
    cr_assert_eq(strncmp(run.command.output, "listed host-0\nclear host-1\nlisted host-2\n", 40),
                 0);
    cr_assert_not_null(strstr(run.command.output, line));
    command_forget(&run.command);
    example_stop(&run);
    free(listed);
    free(all);
}

Test(blacklist, fails_closed_when_the_cluster_is_not_sure, .timeout = EXAMPLE_LIMIT_S)
{
    example_start(&run, "bad", "1M", "0.01%");
    blacklist("add", "worse\nworst\n");
    example_expect_exit(&run, 0);
    command_forget(&run.command);
    example_pause_nodes(&run);
    blacklist("export", "good\nworse\nfine\nworst\n");
    example_expect_exit(&run, 1);
    example_expect_error(&run, "blacklist: export: ");
    cr_assert_str_eq(run.command.output, "good\nworse\nfine\nworst\n");
    command_forget(&run.command);
    blacklist("check", "good\nworse\n");
    example_expect_exit(&run, 1);
    cr_assert_str_eq(run.command.output, "unsure good\nlisted worse\n");
    command_forget(&run.command);
    blacklist("add", "new\n");
    example_expect_exit(&run, 1);
    example_expect_error(&run, "blacklist: add: ");
    command_forget(&run.command);
    example_continue_nodes(&run);
    example_stop(&run);
}

/* ---- all of them ---- */

static void expect_failure(int status, const char *text)
{
    example_expect_exit(&run, status);
    example_expect_error(&run, text);
    cr_assert_eq(run.command.output_size, 0, "%s", run.command.output);
    command_forget(&run.command);
}

Test(examples, are_used_wrongly)
{
    command_run(&run.command, span_text("a\n"), EXAMPLE_DEDUP, NULL);
    expect_failure(2, "usage: dedup FILTER");
    command_run(&run.command, span_text("a\n"), EXAMPLE_DEDUP, "urls", "more", NULL);
    expect_failure(2, "usage: dedup FILTER");
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "bad", "add", NULL);
    expect_failure(2, "usage: blacklist NAME add|check|export FILE");
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "bad", "drop", "/dev/null", NULL);
    expect_failure(2, "usage: blacklist NAME add|check|export FILE");
    command_run(&run.command, span_text(""), EXAMPLE_CACHE_GUARD, "users", "db", NULL);
    expect_failure(2, "usage: cache_guard FILTER DATABASE IDS");
    command_run(&run.command, span_text(""), EXAMPLE_CACHE_GUARD, "users", "db", "/nonexistent",
                NULL);
    expect_failure(2, "usage: cache_guard FILTER DATABASE IDS");
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "bad", "add", "/nonexistent", NULL);
    expect_failure(1, "blacklist: /nonexistent: No such file");
}

Test(examples, have_no_cluster, .timeout = EXAMPLE_LIMIT_S)
{
    cr_assert_eq(setenv("ORBLOOM_ROUTER", "tcp://127.0.0.1:1", 1), 0);
    command_run(&run.command, span_text("a\n"), EXAMPLE_DEDUP, "urls", NULL);
    expect_failure(1, "dedup: DEADLINE: ");
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "bad", "check", "/dev/null", NULL);
    expect_failure(1, "blacklist: bad: DEADLINE: ");
    command_run(&run.command, span_text(""), EXAMPLE_CACHE_GUARD, "users", ":memory:", "/dev/null",
                NULL);
    expect_failure(1, "cache_guard: DEADLINE: ");
}

/* A folder can be opened, and not read. */
Test(examples, have_an_unreadable_input, .timeout = EXAMPLE_LIMIT_S)
{
    example_start(&run, "urls", "1k", "1%");
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "urls", "add", run.folder, NULL);
    expect_failure(1, "cannot be read");
    example_stop(&run);
}

Test(examples, have_no_filter, .timeout = EXAMPLE_LIMIT_S)
{
    example_start(&run, "other", "1k", "1%");
    command_run(&run.command, span_text("a\n"), EXAMPLE_DEDUP, "urls", NULL);
    expect_failure(1, "dedup: NOT_FOUND: ");
    command_run(&run.command, span_text(""), EXAMPLE_BLACKLIST, "bad", "export", "/dev/null", NULL);
    expect_failure(1, "blacklist: bad: NOT_FOUND: ");
    command_run(&run.command, span_text(""), EXAMPLE_CACHE_GUARD, "users", ":memory:", "/dev/null",
                NULL);
    expect_failure(1, "cache_guard: NOT_FOUND: ");
    example_stop(&run);
}
