/* Drains and replacements that can't be: refused when asked, with what lacks where. */
#include "tests/unit/coordinator_moves.h"

/* Of what node n may use for filters, from now on. */
static void limit_memory(uint32_t n, uint64_t limit_bytes)
{
    struct sync_request request = coordinator_stage_node(n);

    request.memory_limit_bytes = limit_bytes;
    cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
}

static struct coordinator_told drain(const char *node)
{
    return command(&stage, ADMIN_NODE_DRAIN, node, "", false);
}

/* Silent for long: node 2. */
static void lose_leaver(void)
{
    coordinator_stage_pass(&stage, SILENCE_US);
    keep_alive(&stage, 1, 1);
    keep_alive(&stage, 3, 3);
}

static void expect_nothing_changed(void)
{
    cr_assert_not(node_record_leaves(record_at(&stage, LEAVER)));
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
}

Test(coordinator_places, with_too_few_nodes_a_drain_is_refused)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    told = drain("node-2");
    expect(&told, STATUS_INVALID, "1 of the 1 replicas of slot groups on node-2, ");
    expect(&told, STATUS_INVALID, "filter urls: no other node can take group 0 from node-2");
    expect(&told, STATUS_INVALID, "start one more node");
    expect_nothing_changed();
    keep_alive(&stage, 4, 4);
    told = drain("node-2");
    expect(&told, STATUS_OK, "draining");
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    close_stage();
}

Test(coordinator_places, a_silent_node_is_no_place)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    coordinator_stage_pass(&stage, SILENCE_US);
    keep_alive(&stage, 1, 3);
    told = drain("node-2");
    expect(&told, STATUS_INVALID, "no other node can take group 0");
    close_stage();
}

Test(coordinator_places, without_memory_a_drain_is_refused_and_says_how_much_lacks)
{
    uint64_t held;
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    held = usage_bytes(stage.coordinator, LEAVER);
    cr_assert_gt(held, 4096);
    limit_memory(SPARE, held - 4096);
    told = drain("node-2");
    expect(&told, STATUS_NO_SPACE,
           "no node has room for group 0 from node-2: node-4 lacks 4.0 KiB");
    expect(&told, STATUS_NO_SPACE, "raise its memory_limit or start one more node");
    expect_nothing_changed();
    limit_memory(SPARE, held);
    told = drain("node-2");
    expect(&told, STATUS_OK, "draining");
    close_stage();
}

/* Each could go there, but not both. */
Test(coordinator_places, filters_share_what_room_there_is)
{
    struct admin_request request = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    request.name = "other";
    request.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(&stage, 5, &request);
    coordinator_stage_report(&stage, 3, FILTER + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    keep_alive(&stage, 1, 4);
    limit_memory(SPARE, usage_bytes(stage.coordinator, LEAVER) - 1);
    told = drain("node-2");
    expect(&told, STATUS_NO_SPACE, "1 of the 2 replicas of slot groups");
    expect(&told, STATUS_NO_SPACE, "filter other: no node has room");
    close_stage();
}

Test(coordinator_places, what_is_kept_in_memory_can_not_be_drained)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_MEMORY);
    keep_alive(&stage, 1, 4);
    told = drain("node-2");
    expect(&told, STATUS_INVALID, "kept in memory only");
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
    close_stage();
}

/* Hosts are a preference, not a condition; that one is shared is said. */
Test(coordinator_places, a_host_that_will_be_shared_is_warned_of)
{
    struct coordinator_told told;
    struct sync_request spare;

    open_stage(2, 2, DURABILITY_SYNC);
    spare = coordinator_stage_node(SPARE);
    spare.host = "host-1";
    cr_assert_eq(coordinator_stage_sync(&stage, SPARE, &spare).status, STATUS_OK);
    told = drain("node-2");
    expect(&told, STATUS_OK, "share a host");
    close_stage();
}

Test(coordinator_places, a_node_that_holds_nothing_is_drained_whatever_others_lack)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    told = drain("node-4");
    expect(&told, STATUS_OK, "draining: 0 replicas");
    told = drain("node-2");
    expect(&told, STATUS_INVALID, "no other node can take group 0 from node-2");
    close_stage();
}

Test(coordinator_places, two_nodes_that_leave_need_a_place_each)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    told = drain("node-2");
    expect(&told, STATUS_OK, "draining");
    told = drain("node-3");
    expect(&told, STATUS_INVALID, "no other node can take group 0 from node-3");
    close_stage();
}

/* Slices have arrays of their own. */
Test(coordinator_places, a_window_takes_memory_for_each_slice)
{
    struct admin_request request = coordinator_stage_create();
    struct coordinator_told told;
    uint64_t one;

    open_stage(2, 2, DURABILITY_SYNC);
    request.name = "other";
    request.create.durability = DURABILITY_SYNC;
    request.create.window_us = UINT64_C(3600) * SECOND_US;
    request.create.nslices = 4;
    coordinator_stage_command(&stage, 5, &request);
    coordinator_stage_report(&stage, 3, FILTER + 1, 1, REPLICA_FULL);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    one = usage_peak_bytes(stage.coordinator, LEAVER);
    cr_assert_eq(usage_bytes(stage.coordinator, LEAVER), one);
    keep_alive(&stage, 1, 4);
    limit_memory(SPARE, one - 1);
    told = drain("node-2");
    expect(&told, STATUS_NO_SPACE, "node-4 lacks 1 ");
    close_stage();
}

Test(coordinator_places, a_successor_without_memory_is_refused)
{
    struct coordinator_told told;
    uint64_t held;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    held = usage_bytes(stage.coordinator, LEAVER);
    lose_leaver();
    limit_memory(SPARE, held - 4096);
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", false);
    expect(&told, STATUS_NO_SPACE, "4.0 KiB are missing; raise its memory_limit");
    expect_nothing_changed();
    limit_memory(SPARE, held);
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", false);
    expect(&told, STATUS_OK, "1 replicas of slot groups move to node-4");
    close_stage();
}
