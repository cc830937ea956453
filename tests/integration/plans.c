/* `orbloom plan` as people call it: one plan, a list of plans, the classic table, and what is
 * refused. No cluster is needed. */
#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 64 };

static struct command command;

static void plan(const char *capacities, const char *rates, const char *flag, const char *value)
{
    command_run(&command, span_text(""), "orbloom", "plan", "--capacity", capacities, "--fpr",
                rates, flag, value, NULL);
}

static void expect_usage(const char *text)
{
    cr_assert_eq(command.exit_status, 2, "exit %d: %s%s", command.exit_status, command.output,
                 command.errors);
    cr_assert_not_null(strstr(command.errors, text), "\"%s\" is not in: %s", text, command.errors);
    cr_assert_eq(command.output_size, 0, "nothing on stdout: %s", command.output);
    command_forget(&command);
}

static size_t count_of(const char *what)
{
    size_t count = 0;

    for (const char *at = strstr(command.output, what); at != NULL; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

static void expect_count(const char *what, size_t expected)
{
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_eq(count_of(what), expected, "%zu times %s:\n%s", count_of(what), what,
                 command.output);
}

/* ---- what is shown ---- */

Test(plans, one_plan_is_told_at_length)
{
    static const char expected[] =
        "1,000,000 keys, at most 1 % false positives\n\n"
        "                              orbloom      classic optimum\n"
        "bits                       10,485,760            9,585,059\n"
        "hashes (k)                          8                    7\n"
        "bits a key                     10.486                9.585\n"
        "expected rate                0.8325 %              1.004 %\n"
        "one copy                      1.2 MiB              1.1 MiB\n\n"
        "one shard                    80.0 KiB   (16 shards)\n"
        "a node                        1.2 MiB   (3 nodes, the fullest)\n"
        "the cluster                   3.8 MiB   (3 replicas)\n";

    plan("1M", "1%", NULL, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, expected);
    command_forget(&command);
    plan("1M", "1%", "--json", NULL);
    expect_count("\"capacity\": 1000000,", 1);
    cr_assert_eq(command.output[0], '{');
    command_forget(&command);
}

Test(plans, every_capacity_is_planned_at_every_rate)
{
    plan("100k,1M,5M,100M", "1%,0.1%", NULL, NULL);
    expect_count("\n", 2 + 8);
    expect_count("\n        5,000,000       1 %  ", 1);
    expect_count("\n        5,000,000     0.1 %  ", 1);
    cr_assert_lt(strstr(command.output, " 100,000 "), strstr(command.output, " 100,000,000 "),
                 "in the order given");
    command_forget(&command);
    plan("100k,1M", "1%", "--json", NULL);
    cr_assert_eq(command.output[0], '[');
    expect_count("\"capacity\": ", 2);
    expect_count("\"classic\": {", 2);
    command_forget(&command);
    plan("1M,1M", "1%", NULL, NULL);
    expect_count(" 1,000,000 ", 2);
    command_forget(&command);
}

Test(plans, the_classic_table)
{
    command_run(&command, span_text(""), "orbloom", "plan", "--table", NULL);
    expect_count("\n", 3 + 31);
    expect_count("\n  10    6.93    0.0952    0.0329    0.0174 ", 1);
    expect_count("  5.73e-06\n", 1);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "plan", "--table", "--json", NULL);
    expect_count("\"rates\": [", 31);
    cr_assert_eq(command.output[0], '[');
    command_forget(&command);
}

/* ---- what is refused ---- */

static void repeat(size_t count, char text[3 * LIST_MAX])
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        (void)strcat(text, i == 0 ? "7" : ",7");
    }
}

Test(plans, lists_are_checked_item_by_item)
{
    plan("", "1%", NULL, NULL);
    expect_usage("--capacity cannot be \"\"; give 1 to 1T");
    plan("1M,", "1%", NULL, NULL);
    expect_usage("--capacity cannot have \"\" as item 2; give 1 to 1T");
    plan("1M,10Q,5M", "1%", NULL, NULL);
    expect_usage("--capacity cannot have \"10Q\" as item 2; give 1 to 1T");
    plan("1M", "1%,60%", NULL, NULL);
    expect_usage("--fpr cannot have \"60%\" as item 2; give 1e-9 to 50%");
    plan("1M,5M", "1%", "--max-capacity", "2M");
    expect_usage("--max-capacity is less than a --capacity of 5,000,000");
}

Test(plans, lists_are_bounded)
{
    char longest[3 * LIST_MAX];
    char longer[3 * LIST_MAX];

    repeat(LIST_MAX, longest);
    repeat(LIST_MAX + 1, longer);
    plan(longest, "1%", NULL, NULL);
    expect_count("\n", 2 + LIST_MAX);
    command_forget(&command);
    plan(longer, "1%", NULL, NULL);
    expect_usage("--capacity takes at most 64 items");
}

Test(plans, the_table_takes_no_plan_and_a_plan_is_complete)
{
    plan("1M", "1%", "--table", NULL);
    expect_usage("--table and --capacity do not go together");
    command_run(&command, span_text(""), "orbloom", "plan", "--table", "--fpr", "1%", NULL);
    expect_usage("--table and --fpr do not go together");
    command_run(&command, span_text(""), "orbloom", "plan", "--fpr", "1%", NULL);
    expect_usage("--capacity is missing");
    command_run(&command, span_text(""), "orbloom", "plan", "--capacity", "1M", NULL);
    expect_usage("--fpr is missing");
}
