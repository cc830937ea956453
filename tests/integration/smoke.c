/* One cluster, the commands that everybody uses, in the order in which they are used. Also run
 * against daemons that are built with ThreadSanitizer. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 5000 };

static struct playground playground;
static struct command command;

static void expect_added_and_checked(void)
{
    char *known = numbered_keys_lines("key", 0, KEYS);
    char *more = numbered_keys_lines("key", KEYS - 100, 200);

    command_run(&command, span_text(known), "orbloom", "add", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_eq(command.output_size, 0, "add is silent");
    command_forget(&command);
    command_run(&command, span_text(known), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_eq(command_count_lines(command.output, "present"), KEYS);
    command_forget(&command);
    command_run(&command, span_text(more), "orbloom", "check", "seen", NULL);
    cr_assert_geq(command_count_lines(command.output, "present"), 100);
    cr_assert_geq(command_count_lines(command.output, "absent"), 90);
    cr_assert_eq(strncmp(command.output, "present\n", 8), 0, "in input order");
    command_forget(&command);
    command_run(&command, span_text(more), "orbloom", "check", "seen", "--only", "absent", NULL);
    cr_assert_geq(command_count_lines(command.output, "key-5050"), 1);
    cr_assert_eq(command_count_lines(command.output, "key-4950"), 0);
    command_forget(&command);
    free(known);
    free(more);
}

static void expect_deduplicated(void)
{
    command_run(&command, span_text("a\nb\na\nc\nb\na"), "orbloom", "dedup", "urls", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "a\nb\nc\n");
    command_forget(&command);
    command_run(&command, span_text("c\nd\n"), "orbloom", "dedup", "urls", NULL);
    cr_assert_str_eq(command.output, "d\n");
    command_forget(&command);
}

static void expect_said(const char *text, const char *first, const char *second)
{
    command_run(&command, span_text(""), "orbloom", first, second, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, text), "%s does not say %s:\n%s", first, text,
                       command.output);
    command_forget(&command);
}

Test(smoke, what_everybody_does_first, .timeout = 120)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "1%");
    PLAYGROUND_DO("", "create", "urls", "--capacity", "1M", "--fpr", "0.01%");
    expect_added_and_checked();
    expect_deduplicated();
    expect_said("3 FULL", "info", "seen");
    expect_said("\"name\": \"urls\"", "info", "--json");
    expect_said("node-3", "status", NULL);
    expect_said("\"replicas_full\"", "status", "--json");
    PLAYGROUND_DO("", "plan", "--capacity", "1G", "--fpr", "0.1%", "--nodes", "12");
    PLAYGROUND_DO("", "drop", "urls");
    command_run(&command, span_text("a\n"), "orbloom", "check", "urls", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_not_null(strstr(command.errors, "NOT_FOUND"), "%s", command.errors);
    command_forget(&command);
    PLAYGROUND_DO("", "create", "urls", "--capacity", "2M", "--fpr", "1%");
    command_run(&command, span_text("a\n"), "orbloom", "check", "urls", NULL);
    cr_assert_str_eq(command.output, "absent\n", "the new filter of that name is empty");
    command_forget(&command);
    playground_stop(&playground);
}
