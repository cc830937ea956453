/* Whoever adds more than two generations may hold together is told to wait until the filter has
 * grown, and at no time, not even when that is just over, that it is full. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { LIMIT_S = 120, BEFORE = 297000, AFTER = 314000 };

static struct playground playground;

/* So slowly that those who add have to wait. */
static void slow_down(const char *node)
{
    playground_configure(&playground, node, "growth_rate = \"300k\";\n");
}

static uint64_t refused(void)
{
    return playground_counter(&playground, "node-1", "full_total") +
           playground_counter(&playground, "node-2", "full_total") +
           playground_counter(&playground, "node-3", "full_total");
}

Test(expansion_room, adds_beyond_the_old_capacity_wait_and_are_never_refused, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    slow_down("node-1");
    slow_down("node-2");
    slow_down("node-3");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "300k", "--fpr", "1%", "--when-full",
                  "refuse", "--timeout", "20s");
    numbered_keys_add("seen", "key", 0, BEFORE);
    cr_assert_eq(refused(), 0);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "315k", "--detach");
    numbered_keys_offer("seen", "key", BEFORE, AFTER - BEFORE, "is full until it has grown");
    cr_assert_gt(refused(), 0, "nobody had to wait");
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "315k");
    cr_assert_eq(numbered_keys_present("seen", "key", 0, AFTER), AFTER);
    playground_stop(&playground);
}
