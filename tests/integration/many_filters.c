/* More slot groups on a node than one report tells of, and than are placed on it: all are known to
 * coordinators, page by page; the last filter grows; one too many is refused.
 *
 * By default that is beyond 4,096 and 65,536 slot groups, which take minutes to make: the bounds
 * are lower here. */
#include "tests/support/playground.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 120, FILTERS = 100, CONNECTIONS = 10, PATH_BYTES = 128 };

#define PAGE        "7"
#define NODE_GROUPS "100"

static struct playground playground;
static char path[PATH_BYTES];

static const char *const nodes[] = {"node-1", "node-2", "node-3"};

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    (void)snprintf(path, sizeof path, "%s/router/resp.sock", playground.dir);
    playground_configure(&playground, "coordinator", "node_groups = \"" NODE_GROUPS "\";\n");
    for (size_t i = 0; i < 3; i++) {
        playground_configure(&playground, nodes[i], "report_groups = \"" PAGE "\";\n");
    }
    PLAYGROUND_DO("", "create", "filter-0", "--capacity", "1000", "--fpr", "1%", "--timeout",
                  "20s");
}

/* Some at a time, as each waits for its nodes. */
static void make_filters(void)
{
    int fds[CONNECTIONS];
    char line[64];

    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = resp_peer_dial(path, 0);
        for (int number = i == 0 ? CONNECTIONS : i; number < FILTERS; number += CONNECTIONS) {
            (void)snprintf(line, sizeof line, "BF.RESERVE filter-%d 0.01 1000\r\n", number);
            resp_peer_send(fds[i], span_text(line));
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        for (int number = i == 0 ? CONNECTIONS : i; number < FILTERS; number += CONNECTIONS) {
            resp_peer_expect(fds[i], "", "+OK\r\n");
        }
        (void)close(fds[i]);
    }
}

static void expect_one_too_many_refused(void)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "create", "beyond", "--capacity", "1000",
                "--fpr", "1%", NULL);
    command_expect_errors(&command, 1, "NO_SPACE");
    cr_assert_not_null(strstr(command.errors, "node_groups"), "%s", command.errors);
    command_forget(&command);
}

static void expect_key(const char *filter, const char *answer)
{
    struct command command;

    command_run(&command, span_text("key\n"), "orbloom", "check", filter, "-q", NULL);
    cr_assert_str_eq(command.output, answer, "%s: %s", filter, command.errors);
    command_forget(&command);
}

/* Sums instead of a line a replica; JSON is for programs. */
static void expect_brief_status(void)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "status", NULL);
    cr_assert_not_null(strstr(command.output, "None needs attention."), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "All shards have all their replicas FULL."));
    cr_assert_null(strstr(command.output, "filter-"), "%s", command.output);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "status", "--all", NULL);
    cr_assert_not_null(strstr(command.output, "filter-98"), "%s", command.output);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "status", "--json", NULL);
    cr_assert_not_null(strstr(command.output, "\"filter-98\""));
    command_forget(&command);
}

Test(many_filters, all_are_reported_and_the_last_one_grows, .timeout = LIMIT_S)
{
    start();
    make_filters();
    playground_wait_status(NODE_GROUPS " FULL 0 JOINING 0 BUILDING");
    playground_wait_counter(&playground, "node-1", "report_pages_total", 1); /* News came first. */
    expect_brief_status();
    expect_one_too_many_refused();
    PLAYGROUND_DO("key\n", "add", "filter-99");
    PLAYGROUND_DO("", "expand", "filter-99", "--capacity", "4000");
    playground_kill(&playground, "node-3");
    playground_wait_status("The 10 worst are shown here.");
    playground_restart(&playground, "node-3");
    playground_wait_counter(&playground, "node-3", "replicas_full", FILTERS);
    playground_wait_status(NODE_GROUPS " FULL 0 JOINING 0 BUILDING");
    PLAYGROUND_DO("", "expand", "filter-99", "--capacity", "9000");
    expect_key("filter-99", "present\n");
    expect_key("filter-98", "absent\n");
    PLAYGROUND_DO("", "drop", "filter-0");
    PLAYGROUND_DO("", "create", "beyond", "--capacity", "1000", "--fpr", "1%");
    playground_stop(&playground);
}
