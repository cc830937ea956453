/* orbloom check --replicas all: every key through every set of R replicas and every router. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

enum { LIMIT_S = 120, SETS = 3, ROUTERS = 2 };

static struct playground playground;
static struct command command;

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){.routers = ROUTERS});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.01%");
    PLAYGROUND_DO("a\nb\nc\n", "add", "seen");
}

static void audit(const char *keys, const char *sets, const char *timeout)
{
    command_run(&command, span_text(keys), "orbloom", "check", "seen", "--replicas", sets,
                "--timeout", timeout, NULL);
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;

    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) {
        found++;
    }
    return found;
}

Test(check_sets, acknowledged_keys_are_found_by_all, .timeout = LIMIT_S)
{
    start();
    audit("a\nb\nc\n", "all", "5s");
    cr_assert_eq(command.exit_status, 0, "%s%s", command.output, command.errors);
    cr_assert_str_eq(command.output, "");
    cr_assert_not_null(strstr(command.errors, "3 read, each through 3 sets of slots and 2 routers: "
                                              "18 present, 0 absent, 0 maybe, 0 unknown"),
                       "%s", command.errors);
    command_forget(&command);
    playground_stop(&playground);
}

Test(check_sets, an_absent_key_is_told_with_every_set_and_router, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    start();
    audit("a\nnever\nb\n", "all", "5s");
    cr_assert_eq(command.exit_status, 1);
    cr_assert_eq(count(command.output, "never\tabsent\t"), SETS * ROUTERS, "%s", command.output);
    cr_assert_eq(count(command.output, "\n"), SETS * ROUTERS, "%s", command.output);
    cr_assert_eq(count(command.output, "\t0,2\t"), ROUTERS);
    playground_endpoint(&playground, "router-2", endpoint);
    cr_assert_eq(count(command.output, endpoint), SETS);
    command_forget(&command);
    audit("never\n", "0,1/1,2", "5s");
    cr_assert_eq(count(command.output, "never\tabsent\t"), 2 * ROUTERS, "%s", command.output);
    command_forget(&command);
    playground_stop(&playground);
}

/* A set with a silent replica is not sure, and that is no "absent". */
Test(check_sets, what_a_stopped_replica_leaves_open_is_counted, .timeout = LIMIT_S)
{
    start();
    playground_signal(&playground, "node-2", SIGSTOP);
    audit("never\n", "all", "700ms");
    cr_assert_eq(command.exit_status, 1);
    cr_assert_eq(count(command.output, "never\tabsent\t"), ROUTERS, "%s", command.output);
    cr_assert_not_null(strstr(command.errors, "2 absent, 0 maybe, 4 unknown; 1 keys absent"), "%s",
                       command.errors);
    command_forget(&command);
    playground_signal(&playground, "node-2", SIGCONT);
    playground_stop(&playground);
}

Test(check_sets, wrong_usage_is_told, .timeout = LIMIT_S)
{
    audit("", "0,9", "1s");
    cr_assert_eq(command.exit_status, 2);
    cr_assert_not_null(strstr(command.errors, "--replicas \"0,9\" is not a list of replica slots"));
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "check", "seen", "--replicas", "all", "--only",
                "absent", NULL);
    cr_assert_eq(command.exit_status, 2);
    command_forget(&command);
}
