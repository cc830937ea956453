/* A filter keeps the hash that it was created with: keys are found again, absent ones pass at its
 * rate, everybody is told which hash it is, and nobody gets another one under that name. */
#include "client/orbloom.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At 1 % about 180 of so many absent keys pass; 300 are 9 standard deviations more. */
enum { KEYS = 20000, LINE_BYTES = 40, PASS_MAX = 300, LIMIT_S = 120 };

static struct playground playground;
static struct command command;

/* Lines "PREFIX-N"; free() it. */
static char *lines(const char *prefix)
{
    char *text = malloc((size_t)KEYS * LINE_BYTES + 1);
    size_t used = 0;

    cr_assert_not_null(text);
    for (int i = 0; i < KEYS; i++) {
        used += (size_t)snprintf(text + used, LINE_BYTES, "%s-%d\n", prefix, i);
    }
    return text;
}

static size_t count_present(const char *prefix)
{
    char *text = lines(prefix);
    size_t present;

    command_run(&command, span_text(text), "orbloom", "check", "urls", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    present = command_count_lines(command.output, "present");
    cr_assert_eq(present + command_count_lines(command.output, "absent"), KEYS);
    command_forget(&command);
    free(text);
    return present;
}

static void expect_said(const char *text, const char *first, const char *second, const char *third)
{
    command_run(&command, span_text(""), "orbloom", first, second, third, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, text), "%s does not say %s:\n%s", first, text,
                       command.output);
    command_forget(&command);
}

static void expect_refused(const char *text, const char *hash)
{
    command_run(&command, span_text(""), "orbloom", "create", "urls", "--capacity", "20k", "--fpr",
                "1%", "--hash", hash, NULL);
    cr_assert_eq(command.exit_status, 1, "%s%s", command.output, command.errors);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
}

static void expect_everybody_says_xxh3(void)
{
    expect_said("; hash xxh3\n", "info", "urls", NULL);
    expect_said("\"hash\": \"xxh3\"", "info", "urls", "--json");
    expect_said("3/2/2 xxh3 ", "info", NULL, NULL);
    expect_said("3/2/2 xxh3 ", "status", NULL, NULL);
    expect_said("\"hash\": \"xxh3\"", "status", "--json", NULL);
}

Test(hash_kinds, a_filter_with_xxh3_keeps_its_promises, .timeout = LIMIT_S)
{
    char *known = lines("known");

    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "urls", "--capacity", "20k", "--fpr", "1%", "--hash", "xxh3");
    PLAYGROUND_DO(known, "add", "urls");
    cr_assert_eq(count_present("known"), KEYS);
    cr_assert_leq(count_present("other"), PASS_MAX);
    expect_everybody_says_xxh3();
    expect_refused("EXISTS: filter urls exists with other parameters (hash xxh3, not siphash)",
                   "siphash");
    PLAYGROUND_DO("", "create", "urls", "--capacity", "20k", "--fpr", "1%", "--hash", "xxh3");
    playground_stop(&playground);
    free(known);
}

/* The same choice through the C library; both hashes in one cluster. */
Test(hash_kinds, the_library_chooses_and_tells, .timeout = LIMIT_S)
{
    static const enum orbloom_hash asked[] = {0, ORBLOOM_SIPHASH, ORBLOOM_XXH3};
    static const enum orbloom_hash told[] = {ORBLOOM_SIPHASH, ORBLOOM_SIPHASH, ORBLOOM_XXH3};
    static const char *const names[] = {"default", "siphash", "xxh3"};
    struct orbloom *cluster = NULL;

    playground_start(&playground, &(struct playground_plan){0});
    cr_assert_eq(orbloom_connect(NULL, &cluster), ORBLOOM_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct orbloom_filter filter = {
            .name = names[i], .capacity = 1000, .rate = 0.01, .hash = asked[i]};
        struct orbloom_info info = {0};
        enum orbloom_answer answer;

        cr_assert_eq(orbloom_create(cluster, &filter, NULL), ORBLOOM_OK, "%s",
                     orbloom_error(cluster));
        cr_assert_eq(orbloom_info(cluster, names[i], &info), ORBLOOM_OK);
        cr_assert_eq(info.hash, told[i], "%s", names[i]);
        cr_assert_eq(orbloom_add_key(cluster, names[i], "k", 1, &answer), ORBLOOM_OK);
        cr_assert_eq(orbloom_check_key(cluster, names[i], "k", 1, &answer), ORBLOOM_OK);
        cr_assert_eq(answer, ORBLOOM_PRESENT);
    }
    orbloom_close(&cluster);
    playground_stop(&playground);
}
