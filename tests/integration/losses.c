/* Nodes that lose their data for good, more of them than quorums allow: nothing is served until an
 * operator accepts the loss, and then what is left counts, and nothing that was given up. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 120, SILENCE_MS = 1500, LINE_BYTES = 192 };

static const char keys[] = "a\nb\nc\nd\ne\nf\ng\nh\n";

static struct playground playground;
static struct command command;

static void run_shell(const char *line)
{
    cr_assert_eq(system(line), 0, "%s", line);
}

static void remove_data(const char *node)
{
    char line[LINE_BYTES];

    (void)snprintf(line, sizeof line, "rm -rf %s/%s/data", playground.dir, node);
    run_shell(line);
}

/* "cp -r" or "mv" from one folder of the node to another. */
static void carry(const char *how, const char *node, const char *from, const char *to)
{
    char line[LINE_BYTES];

    (void)snprintf(line, sizeof line, "%s %s/%s/%s %s/%s/%s", how, playground.dir, node, from,
                   playground.dir, node, to);
    run_shell(line);
}

static void notice_silence_soon(void)
{
    char line[LINE_BYTES];

    (void)snprintf(line, sizeof line, "echo 'node_timeout = \"1s\";' >> %s/coordinator/conf",
                   playground.dir);
    run_shell(line);
    playground_kill(&playground, "coordinator");
    playground_restart(&playground, "coordinator");
}

/* A node is silent after a second, and a filter holds the keys. */
static void open_cluster(void)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    notice_silence_soon();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.01%");
    PLAYGROUND_DO(keys, "add", "seen");
    (void)poll(NULL, 0, SILENCE_MS);
}

static void wipe(const char *node)
{
    playground_kill(&playground, node);
    remove_data(node);
}

/* With the words "shard accept-loss seen all" and two more. */
static void expect_refused(const char *more, const char *more_still, const char *text)
{
    command_run(&command, span_text(""), "orbloom", "shard", "accept-loss", "seen", "all", more,
                more_still, NULL);
    cr_assert_neq(command.exit_status, 0);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
}

static void expect_answers(const char *input, const char *answer, size_t count)
{
    command_run(&command, span_text(input), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_eq(command_count_lines(command.output, answer), count, "%s", command.output);
    command_forget(&command);
}

static void expect_not_served(void)
{
    command_run(&command, span_text("never\n"), "orbloom", "check", "seen", "--timeout", "1s",
                NULL);
    cr_assert_eq(command.exit_status, 1, "%s", command.output);
    command_forget(&command);
}

static void expect_adds_work(void)
{
    PLAYGROUND_DO("new-1\nnew-2\n", "add", "seen");
    expect_answers("new-1\nnew-2\n", "present", 2);
    expect_answers("never\n", "absent", 1);
}

Test(losses, what_the_last_replica_has_is_served_again, .timeout = LIMIT_S)
{
    open_cluster();
    expect_refused("--yes", NULL, "it is not needed: of slot group 0 3 FULL replicas are left");
    playground_kill(&playground, "node-1");
    carry("cp -r", "node-1", "data", "copy");
    wipe("node-2");
    remove_data("node-1");
    playground_restart(&playground, "node-1");
    playground_restart(&playground, "node-2");
    playground_wait_status("`orbloom shard accept-loss seen all` tells what would be lost");
    expect_not_served();
    expect_refused(NULL, NULL, "shards 0-15 (1 of 1 groups");
    expect_not_served();
    PLAYGROUND_DO("", "shard", "accept-loss", "seen", "7", "--yes");
    playground_wait_status("All shards have all their replicas FULL");
    expect_answers(keys, "present", 8);
    expect_adds_work();
    playground_wait_status("a loss was accepted in epoch");
    cr_assert_eq(playground_counter(&playground, "coordinator", "losses_accepted_total"), 1);
    cr_assert_eq(playground_counter(&playground, "node-3", "losses_accepted_total"), 1);

    /* What was given up comes back: as a new life, with nothing to say. */
    playground_kill(&playground, "node-1");
    remove_data("node-1");
    carry("mv", "node-1", "copy", "data");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "node-1", "amnesia_total", 1);
    playground_wait_status("All shards have all their replicas FULL");
    expect_answers(keys, "present", 8);
    playground_stop(&playground);
}

Test(losses, a_filter_that_is_lost_with_all_nodes_begins_empty, .timeout = LIMIT_S)
{
    open_cluster();
    wipe("node-1");
    wipe("node-2");
    wipe("node-3");
    (void)poll(NULL, 0, SILENCE_MS);
    expect_refused("--yes", NULL, "is silent and could come back with its data");
    playground_restart(&playground, "node-1");
    playground_restart(&playground, "node-2");
    playground_restart(&playground, "node-3");
    playground_wait_status("0 of the 2 FULL replicas that it takes are left");
    expect_not_served();
    PLAYGROUND_DO("", "shard", "accept-loss", "seen", "all", "--yes");
    playground_wait_status("All shards have all their replicas FULL");
    expect_answers(keys, "absent", 8);
    expect_adds_work();
    playground_stop(&playground);
}

Test(losses, a_node_that_was_given_up_serves_nothing_when_it_is_back, .timeout = LIMIT_S)
{
    open_cluster();
    wipe("node-1");
    wipe("node-3");
    playground_kill(&playground, "node-2");
    playground_restart(&playground, "node-1");
    playground_restart(&playground, "node-3");
    (void)poll(NULL, 0, SILENCE_MS);
    expect_refused("--yes", NULL, "node node-2 is silent and could come back with its data");
    expect_refused("--yes", "--confirmed-off=node-1", "node node-1 is alive");
    PLAYGROUND_DO("", "shard", "accept-loss", "seen", "all", "--yes", "--confirmed-off", "node-2");
    playground_wait_status("at least 2: node-2 was given up there");
    expect_answers(keys, "absent", 8);
    expect_adds_work();

    playground_restart(&playground, "node-2");
    playground_wait_status("what node-2 held was given up");
    expect_answers(keys, "absent", 8);
    wipe("node-2");
    playground_restart(&playground, "node-2");
    playground_wait_status("All shards have all their replicas FULL");
    expect_answers("new-1\nnew-2\n", "present", 2);
    playground_stop(&playground);
}
