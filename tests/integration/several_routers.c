/* A client of two routers: what must keep its order does, the rest is shared. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 120, BATCH = 1000, STEPS = 200, DISTINCT = BATCH / 2 * (STEPS + 1) };
enum { LINE_BYTES = 16 };

static struct playground playground;

static void start(void)
{
    char first[PLAYGROUND_ENDPOINT_BYTES];
    char second[PLAYGROUND_ENDPOINT_BYTES];
    char both[2 * PLAYGROUND_ENDPOINT_BYTES];

    playground_start(&playground, &(struct playground_plan){.routers = 2});
    playground_endpoint(&playground, "router", first);
    playground_endpoint(&playground, "router-2", second);
    (void)snprintf(both, sizeof both, "%s,%s", first, second);
    cr_assert_eq(setenv("ORBLOOM_ROUTER", both, 1), 0);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "20M", "--fpr", "0.01%");
}

/* Lines first to last - 1 behind what is there; returns the end. */
static char *append(char *end, int first, int last)
{
    for (int i = first; i < last; i++) {
        end += sprintf(end, "line-%d\n", i);
    }
    return end;
}

/* Each batch repeats half of the one before, while that is still in flight: were they to overtake
 * each other through two routers, lines would come twice. */
Test(several_routers, dedup_keeps_the_order_of_its_input, .timeout = LIMIT_S)
{
    char *input = malloc((size_t)STEPS * BATCH * LINE_BYTES);
    char *expected = malloc((size_t)DISTINCT * LINE_BYTES);
    struct command dedup;
    char *end = input;

    cr_assert(input != NULL && expected != NULL);
    for (int step = 0; step < STEPS; step++) {
        end = append(end, step * BATCH / 2, step * BATCH / 2 + BATCH);
    }
    (void)append(expected, 0, DISTINCT);
    start();
    command_run(&dedup, span_text(input), "orbloom", "dedup", "seen", NULL);
    cr_assert_eq(dedup.exit_status, 0, "%s", dedup.errors);
    cr_assert(strcmp(dedup.output, expected) == 0, "%zu lines, %d expected: %s",
              dedup.output_size / LINE_BYTES, DISTINCT, dedup.errors);
    command_forget(&dedup);
    playground_stop(&playground);
    free(input);
    free(expected);
}

Test(several_routers, checks_are_shared, .timeout = LIMIT_S)
{
    char *input = malloc((size_t)STEPS * BATCH * LINE_BYTES);

    cr_assert_not_null(input);
    (void)append(input, 0, STEPS * BATCH);
    start();
    PLAYGROUND_DO(input, "add", "seen");
    PLAYGROUND_DO(input, "check", "seen", "--batch", "100");
    cr_assert_gt(playground_counter(&playground, "router", "keys_checked_total"), 0);
    cr_assert_gt(playground_counter(&playground, "router-2", "keys_checked_total"), 0);
    playground_stop(&playground);
    free(input);
}
