/* Filters that grow and nodes that are drained, while processes of each kind are killed: what was
 * acknowledged is found through every set of replicas, and the change comes to its end. */
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LIMIT_S = 180,
    BATCHES = 400,
    MORE = 60,
    LINE_BYTES = 24,
    TRIES = 600,
    LOOKS = 5,
    PAUSE_US = 100000,
    LOOK_US = 1000000
};

static struct playground playground;
static struct flood flood;
static struct command command;
static const char *victim;

static void kill_victim(void)
{
    playground_kill(&playground, victim);
}

/* Some adds are in flight when it dies, others come before it is back. */
static void kill_under_load(const char *daemon)
{
    victim = daemon;
    if (strcmp(daemon, "router") == 0) {
        playground_signal(&playground, daemon, SIGSTOP); /* The only one: so it is back in time. */
        playground_kill(&playground, daemon);
        playground_restart(&playground, daemon);
        flood_add(&flood, MORE, NULL);
        return;
    }
    flood_add(&flood, MORE, kill_victim);
    playground_restart(&playground, daemon);
    if (strncmp(daemon, "node", 4) == 0) {
        playground_wait_counter(&playground, daemon, "incarnation", 1);
    }
    flood_add(&flood, MORE, NULL);
}

/* A replica alone can't say "absent": a key that it lacks is "unknown". Gossip brings what it
 * missed while it was dead. */
static void await_replica_has(const char *slot, const char *text)
{
    size_t present = 0;

    for (int tries = 0; present < flood.nacked; tries++) {
        command_run(&command, span_text(text), "orbloom", "check", "seen", "--replicas", slot,
                    "--timeout", "1s", NULL);
        present = command_count_lines(command.output, "present");
        cr_assert_lt(tries, LOOKS, "slot %s has %zu of %u keys: %s", slot, present, flood.nacked,
                     command.errors);
        command_forget(&command);
        (void)usleep(present < flood.nacked ? LOOK_US : 0);
    }
}

static void expect_all_acknowledged_everywhere(void)
{
    char *text = malloc((size_t)flood.next * LINE_BYTES + 1);
    size_t used = 0;

    cr_assert_not_null(text);
    for (uint32_t i = 0; i < flood.next; i++) {
        used += flood.acked[i] ? (size_t)sprintf(text + used, "flood-%u\n", i) : 0;
    }
    cr_assert_gt(flood.nacked, flood.next / 2, "%s", flood.first_error);
    command_run(&command, span_text(text), "orbloom", "check", "seen", "--replicas", "all", NULL);
    cr_assert_eq(command.exit_status, 0, "%s%s", command.output, command.errors);
    command_forget(&command);
    await_replica_has("0", text);
    await_replica_has("1", text);
    await_replica_has("2", text);
    free(text);
}

/* "--json" of info holds `text`. */
static bool info_says(const char *text)
{
    bool says;

    command_run(&command, span_text(""), "orbloom", "info", "seen", "--json", NULL);
    says = command.exit_status == 0 && strstr(command.output, text) != NULL;
    command_forget(&command);
    return says;
}

static bool status_says(const char *text)
{
    bool says;

    command_run(&command, span_text(""), "orbloom", "status", NULL);
    says = command.exit_status == 0 && strstr(command.output, text) != NULL;
    command_forget(&command);
    return says;
}

static void await(bool (*says)(const char *text), const char *text)
{
    int tries = 0;

    while (!says(text)) {
        cr_assert_lt(tries++, TRIES, "nobody says %s", text);
        (void)usleep(PAUSE_US);
    }
}

/* So slowly that it takes some seconds a node. */
static void slow_down(const char *node)
{
    char path[128];
    FILE *conf;

    (void)snprintf(path, sizeof path, "%s/%s/conf", playground.dir, node);
    conf = fopen(path, "ae");
    cr_assert_not_null(conf);
    (void)fputs("growth_rate = \"25k\";\n", conf);
    cr_assert_eq(fclose(conf), 0);
    playground_kill(&playground, node);
    playground_restart(&playground, node);
}

/* Who builds, by its id; ids are given in the order of the first registration, not of names. */
static const char *builder(void)
{
    static const char *const names[] = {"node-1", "node-2", "node-3"};
    char text[64];

    for (int tries = 0; tries < TRIES; tries++) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            (void)snprintf(text, sizeof text, "%s builds", names[i]);
            if (status_says(text)) {
                return names[i];
            }
        }
        (void)usleep(PAUSE_US);
    }
    cr_assert_fail("nobody builds");
    return "";
}

Test(expansion_faults, a_filter_grows_while_processes_of_each_kind_are_killed, .timeout = LIMIT_S)
{
    const char *busy;

    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    for (int i = 1; i <= 3; i++) {
        char node[32];

        (void)snprintf(node, sizeof node, "node-%d", i);
        slow_down(node);
    }
    PLAYGROUND_DO("", "create", "seen", "--capacity", "150k", "--fpr", "1%");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, NULL);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "600k", "--detach");
    busy = builder();
    kill_under_load("coordinator");
    kill_under_load(strcmp(busy, "node-3") == 0 ? "node-2" : "node-3");
    kill_under_load("router");
    kill_under_load(builder());
    command_run(&command, span_text(""), "orbloom", "expand", "seen", "--capacity", "600k", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    expect_all_acknowledged_everywhere();
    cr_assert(info_says("\"capacity\": 600000"));
    flood_close(&flood);
    playground_stop(&playground);
}

Test(expansion_faults, a_node_is_drained_while_it_and_others_are_killed, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 4});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "150k", "--fpr", "1%");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, NULL);
    PLAYGROUND_DO("", "node", "drain", "node-1");
    kill_under_load("node-1");
    kill_under_load("node-4"); /* Of each other node some group is to go there. */
    kill_under_load("coordinator");
    kill_under_load("node-2");
    await(status_says, "nothing is left on it");
    playground_kill(&playground, "node-1"); /* Nothing needs it any more. */
    expect_all_acknowledged_everywhere();
    playground_restart(&playground, "node-1");
    flood_close(&flood);
    playground_stop(&playground);
}
