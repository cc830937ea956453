/* Killed, stopped and restarted processes: what was acknowledged stays, what can't be known is
 * not called absent, and what can be served is served. */
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

enum { BATCHES = 200, LIMIT_S = 120 };

static struct playground playground;
static struct flood flood;
static struct command command;

static void start_plan(const struct playground_plan *plan)
{
    playground_start(&playground, plan);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.1%");
    flood_open(&flood, "seen");
}

static void start(uint32_t nodes, uint32_t routers)
{
    start_plan(&(struct playground_plan){.nodes = nodes, .routers = routers});
}

static void stop(void)
{
    flood_close(&flood);
    playground_stop(&playground);
}

static void expect_nothing_failed(void)
{
    cr_assert_eq(flood.nfailed, 0, "%u batches failed, first: %s", flood.nfailed,
                 flood.first_error);
    cr_assert_eq(flood.nacked, flood.next, "%u of %u keys acknowledged", flood.nacked, flood.next);
    flood_expect_present(&flood);
}

static void kill_node_2(void)
{
    playground_kill(&playground, "node-2");
}

/* kill -9 of one replica of three while adds are in flight: nobody notices. */
Test(faults, one_node_of_three_is_killed_while_adding, .timeout = LIMIT_S)
{
    start(3, 1);
    flood_add(&flood, BATCHES, kill_node_2);
    expect_nothing_failed();
    PLAYGROUND_DO("new-1\nnew-2\n", "add", "seen");
    command_run(&command, span_text("new-1\nflood-1\nnever\n"), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "present\npresent\nabsent\n");
    command_forget(&command);
    stop();
}

/* The same with many slot groups, of which the killed node is in some. */
Test(faults, one_node_of_six_is_killed_while_adding, .timeout = LIMIT_S)
{
    start(6, 1);
    flood_add(&flood, BATCHES, kill_node_2);
    expect_nothing_failed();
    stop();
}

/* Checks in flight at the moment of the kill are all answered, too. */
Test(faults, checks_go_on_when_a_node_is_killed, .timeout = LIMIT_S)
{
    start(3, 1);
    flood_add(&flood, BATCHES, NULL);
    playground_signal(&playground, "node-3", SIGKILL);
    for (int round = 0; round < 3; round++) {
        expect_nothing_failed();
    }
    stop();
}

static void expect_withheld(void)
{
    command_run(&command, span_text("fresh\n"), "orbloom", "add", "seen", "--timeout", "2s", NULL);
    cr_assert_eq(command.exit_status, 1, "an add with one replica of two needed");
    cr_assert_not_null(strstr(command.errors, "node-"), "who is missing is named: %s",
                       command.errors);
    command_forget(&command);
    command_run(&command, span_text("flood-1\nnever\nflood-2\n"), "orbloom", "check", "seen",
                "--timeout", "2s", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_str_eq(command.output, "present\nunknown\npresent\n");
    cr_assert_not_null(strstr(command.errors, "UNAVAILABLE: \"absent\" takes 2 of 3 replicas: "),
                       "%s", command.errors);
    command_forget(&command);
}

static void expect_full_service(void)
{
    PLAYGROUND_DO("again\n", "add", "seen");
    command_run(&command, span_text("again\nnever\n"), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "present\nabsent\n");
    command_forget(&command);
    flood_expect_present(&flood);
}

/* Too few replicas: "absent" and acknowledgements are withheld, "present" is not. */
Test(faults, two_nodes_of_three_are_stopped_and_go_on, .timeout = LIMIT_S)
{
    start(3, 1);
    flood_add(&flood, 10, NULL);
    playground_signal(&playground, "node-1", SIGSTOP);
    playground_signal(&playground, "node-2", SIGSTOP);
    expect_withheld();
    playground_signal(&playground, "node-1", SIGCONT);
    playground_signal(&playground, "node-2", SIGCONT);
    expect_full_service();
    stop();
}

static void kill_router(void)
{
    playground_kill(&playground, "router");
}

Test(faults, a_router_is_killed_and_clients_go_to_the_other, .timeout = LIMIT_S)
{
    start(3, 2);
    flood_add(&flood, BATCHES, kill_router);
    expect_nothing_failed();
    PLAYGROUND_DO("after\n", "add", "seen");
    command_run(&command, span_text("after\nnever\n"), "orbloom", "check", "seen", NULL);
    cr_assert_str_eq(command.output, "present\nabsent\n");
    command_forget(&command);
    stop();
}

/* A router that is stopped and not dead takes the time of one attempt. */
Test(faults, a_router_is_stopped_and_clients_go_to_the_other, .timeout = LIMIT_S)
{
    start(3, 2);
    flood_add(&flood, 10, NULL);
    playground_signal(&playground, "router", SIGSTOP);
    flood_add(&flood, 10, NULL);
    expect_nothing_failed();
    stop();
}

static void kill_coordinator(void)
{
    playground_kill(&playground, "coordinator");
}

/* No coordinator is on the data path; what needs one says so in time. */
Test(faults, the_coordinator_is_killed_and_the_data_path_goes_on, .timeout = LIMIT_S)
{
    start(3, 1);
    flood_add(&flood, BATCHES, kill_coordinator);
    expect_nothing_failed();
    expect_full_service();
    command_run(&command, span_text(""), "orbloom", "create", "other", "--capacity", "1k", "--fpr",
                "1%", "--timeout", "1500ms", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_leq(command.took_ms, 4000, "%d ms", (int)command.took_ms);
    cr_assert_not_null(strstr(command.errors, "orbloom: DEADLINE"), "%s", command.errors);
    cr_assert_not_null(strstr(command.errors, "coordinator"), "%s", command.errors);
    command_forget(&command);
    playground_restart(&playground, "coordinator");
    PLAYGROUND_DO("", "create", "other", "--capacity", "1k", "--fpr", "1%", "--timeout", "15s");
    PLAYGROUND_DO("x\n", "add", "other");
    stop();
}

/* Its memory is gone: it takes writes, and counts for nothing until it is replaced. */
Test(faults, a_node_that_lost_its_memory_is_joining_and_counts_for_nothing, .timeout = LIMIT_S)
{
    uint64_t before;

    start_plan(&(struct playground_plan){.in_memory = true});
    flood_add(&flood, 10, NULL);
    playground_kill(&playground, "node-1");
    playground_restart(&playground, "node-1");
    playground_wait_status("2 FULL 1 JOINING 0 BUILDING");
    expect_full_service();
    flood_add(&flood, 10, NULL);
    expect_nothing_failed();
    before = playground_counter(&playground, "node-1", "keys_added_total");
    PLAYGROUND_DO("one\ntwo\n", "add", "seen");
    playground_wait_counter(&playground, "node-1", "keys_added_total", before + 2);
    cr_assert_eq(playground_counter(&playground, "node-1", "keys_checked_total"), 0);
    playground_signal(&playground, "node-2", SIGSTOP);
    expect_withheld();
    cr_assert_gt(playground_counter(&playground, "router", "votes_void_total"), 0);
    playground_signal(&playground, "node-2", SIGCONT);
    expect_full_service();
    stop();
}
