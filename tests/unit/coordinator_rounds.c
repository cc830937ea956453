/* Does a filter whose replicas are to move get its turn as soon as there is one? What makes room
 * for it is news of another filter; the clock would look at it a second later. */
#include "coordinator/private.h"
#include "tests/unit/coordinator_moves.h"

enum { SECOND = 2 /* the other filter's id */ };

static void open_two(void)
{
    struct admin_request request = coordinator_stage_create();

    open_stage(2, 2, DURABILITY_SYNC);
    request.name = "other";
    request.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(&stage, 2, &request);
    coordinator_stage_report(&stage, 3, SECOND, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    keep_alive(&stage, 1, 4);
}

static const struct filter_document *document_of(uint64_t filter_id)
{
    return &document_cache_find(&stage.coordinator->documents, filter_id)->document;
}

Test(coordinator_rounds, the_end_of_one_move_is_the_turn_of_another_filter)
{
    open_two();
    stage.coordinator->config.moves_at_once = 1;
    (void)command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    confirm(&stage, 1);
    confirm(&stage, 3);
    complete(&stage, 2);
    confirm(&stage, 1);
    cr_assert_eq(document_of(SECOND)->epoch, 1, "one at a time");
    confirm(&stage, 3);
    expect_slot(&stage, 4, SLOT_SINGLE, SPARE, 0);
    coordinator_stage_turn(&stage);
    cr_assert_eq(document_of(SECOND)->epoch, 2);
    close_stage();
}

/* It is the first filter that has a move to make, and the second one of which there is news. */
Test(coordinator_rounds, while_rebalancing_news_of_one_filter_are_of_all)
{
    struct node_list *nodes;
    struct admin_request request = {.action = ADMIN_REBALANCE, .name = "", .successor = ""};

    open_two();
    stage.coordinator->config.moves_at_once = 0;
    nodes = &stage.coordinator->documents.nodes;
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (nodes->nodes[i].id == LEAVER) {
            nodes->nodes[i].memory_limit_bytes = 1 << 20; /* Of it the node uses most. */
        }
    }
    coordinator_stage_command(&stage, 9, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    coordinator_stage_turn(&stage);
    cr_assert(stage.coordinator->documents.nodes.rebalancing);
    stage.coordinator->config.moves_at_once = 2;
    coordinator_stage_turn(&stage);
    cr_assert_eq(document_of(FILTER)->epoch, 1, "there are no news, and it is no second later");
    request = coordinator_stage_drop();
    request.name = "other";
    coordinator_stage_command(&stage, 10, &request);
    coordinator_stage_turn(&stage);
    cr_assert_eq(document_of(FILTER)->epoch, 2);
    close_stage();
}
