/* Rebalancing: one flag in the node list, moves from the documents alone, an end by itself. */
#include "tests/unit/coordinator_moves.h"

static struct coordinator_told rebalance(struct coordinator_stage *at, bool dry_run, bool stop)
{
    const struct admin_request request = {
        .action = ADMIN_REBALANCE, .name = "", .successor = "", .dry_run = dry_run, .undo = stop};

    coordinator_stage_command(at, 9, &request);
    return coordinator_stage_told(at);
}

/* Of its limit node 2 uses most, from now on. */
static void make_leaver_small(void)
{
    struct node_list *nodes = &stage.coordinator->documents.nodes;

    for (uint32_t i = 0; i < nodes->count; i++) {
        if (nodes->nodes[i].id == LEAVER) {
            nodes->nodes[i].memory_limit_bytes = 1 << 20;
        }
    }
}

static bool is_rebalancing(void)
{
    return stage.coordinator->documents.nodes.rebalancing;
}

/* One group on three nodes: a fourth one that is as large gains nothing; small ones make room. */
Test(coordinator_rebalance, rebalancing_moves_step_by_step_and_ends_by_itself)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    told = rebalance(&stage, false, false);
    expect(&told, STATUS_OK, "nothing to move: ");
    cr_assert_not(is_rebalancing());
    make_leaver_small();
    told = rebalance(&stage, true, false);
    expect(&told, STATUS_OK, "1 replica of slot groups");
    cr_assert_not_null(strstr(told.message, "urls group 0 from node-2 to node-4"), "%s",
                       told.message);
    cr_assert_not(is_rebalancing());
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
    told = rebalance(&stage, false, false);
    cr_assert(is_rebalancing());
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    confirm(&stage, 1);
    confirm(&stage, 3);
    complete(&stage, 2);
    confirm(&stage, 1);
    confirm(&stage, 3);
    expect_slot(&stage, 4, SLOT_SINGLE, SPARE, 0);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_not(is_rebalancing(), "nothing is left to gain");
    close_stage();
}

Test(coordinator_rebalance, a_node_that_joins_gets_something_by_itself_only_with_auto)
{
    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    make_leaver_small();
    coordinator_stage_pass(&stage, 3 * SECOND_US);
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
    (void)strcpy(stage.coordinator->config.rebalance, "auto");
    keep_alive(&stage, 1, 1);
    coordinator_stage_pass(&stage, 3 * SECOND_US);
    coordinator_stage_pass(&stage, 3 * SECOND_US);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    close_stage();
}

Test(coordinator_rebalance, what_is_to_leave_comes_before_rebalancing)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    told = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    expect(&told, STATUS_OK, "draining");
    told = rebalance(&stage, false, false);
    expect(&told, STATUS_UNAVAILABLE, "comes first");
    close_stage();
}
