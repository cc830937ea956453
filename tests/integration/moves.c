/* Replicas that move from node to node without any fault: nobody who uses the filter notices. */
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <string.h>

enum { LIMIT_S = 120, BATCHES = 50, MORE = 20, ROUNDS = 200 };

static struct playground playground;
static struct flood flood;

static bool status_says(const char *text)
{
    struct command command;
    bool says;

    command_run(&command, span_text(""), "orbloom", "status", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    says = strstr(command.output, text) != NULL;
    command_forget(&command);
    return says;
}

/* It has something to hand over. */
static void drain(const char *node)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "node", "drain", node, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, "draining: "), "%s", command.output);
    cr_assert_null(strstr(command.output, "draining: 0 "), "%s", command.output);
    command_forget(&command);
}

/* Adds and checks until the node has handed over all that it held. */
static void use_until_drained(void)
{
    int rounds = 0;

    do {
        cr_assert_lt(rounds++, ROUNDS, "it never ends");
        flood_add(&flood, MORE, NULL);
        flood_expect_present(&flood);
    } while (!status_says("nothing is left on it"));
}

static void expect_counter(const char *name, uint64_t expected)
{
    cr_assert_eq(playground_counter(&playground, "router", name), expected, "%s", name);
}

Test(moves, a_drain_is_not_noticed_by_those_who_add_and_check, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 4});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1M", "--fpr", "1%");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, NULL);
    drain("node-2");
    use_until_drained();
    flood_add(&flood, MORE, NULL);
    flood_expect_present(&flood);
    cr_assert_eq(flood.nfailed, 0, "%u batches failed, first: %s", flood.nfailed,
                 flood.first_error);
    cr_assert_eq(flood.nacked, flood.next);
    cr_assert_eq(flood.most_attempts, 1, "a client had to ask again");
    expect_counter("keys_undecided_total", 0);
    expect_counter("deadlines_total", 0);
    flood_close(&flood);
    playground_stop(&playground);
}
