/* Who takes over what a node is to leave: never two slots of a group on one node, room, hosts and
 * zones apart, one step at a time. */
#include "base/heap.h"
#include "coordinator/plan/change.h"
#include "coordinator/plan/move_plan.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MOST_NODES = 8, SHARD_BYTES = 4096, GROUP_SHARDS = 16 };

static struct filter_document document;
static struct node_list list;
static struct move_node nodes[MOST_NODES];
static struct move_plan plan;

static void make(uint32_t replicas, uint32_t write, uint32_t members, uint32_t nnodes)
{
    const struct quorum_rule rule = {
        .replicas = replicas, .write = write, .read = replicas - write + 1};

    sample_document(7, "urls", &rule, members, &document);
    document.durability = DURABILITY_SYNC;
    list = (struct node_list){.revision = 1, .count = nnodes};
    list.nodes = heap_zalloc(nnodes, sizeof *list.nodes);
    cr_assert_not_null(list.nodes);
    for (uint32_t i = 0; i < nnodes; i++) {
        struct node_record *record = &list.nodes[i];

        record->id = i + 1;
        record->incarnation = SAMPLE_INCARNATION + i + 1;
        record->durable = true;
        record->memory_limit_bytes = 1 << 20;
        (void)snprintf(record->name, sizeof record->name, "node-%u", i + 1);
        (void)snprintf(record->host, sizeof record->host, "host-%u", i + 1);
        (void)snprintf(record->zone, sizeof record->zone, "zone-%u", i + 1);
        nodes[i] = (struct move_node){.record = record, .alive = true};
    }
}

static void teardown(void)
{
    move_plan_fini(&plan);
    document_fini(&document);
    node_list_fini(&list);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(move_plan, .fini = teardown);

static void drain(uint32_t node)
{
    list.nodes[node - 1].draining = true;
    nodes[node - 1].leaves = true;
}

static void decide(uint32_t budget)
{
    move_plan_fini(&plan);
    cr_assert_eq(move_plan_make(&document, nodes, list.count, budget, 0, &plan), STATUS_OK);
}

static void expect_lack(enum move_lack lack, uint32_t waiting)
{
    cr_assert_eq(plan.lack, lack, "lack %d", plan.lack);
    cr_assert_eq(plan.waiting, waiting, "waiting %u", plan.waiting);
}

Test(move_plan, nobody_leaves)
{
    make(3, 2, 3, 4);
    decide(8);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 0);
    expect_lack(MOVE_LACK_NONE, 0);
    cr_assert_eq(move_plan_target(NULL, 0, 0), 0);
    cr_assert_not(move_plan_lacks(NULL, 0, 0));
}

Test(move_plan, the_only_other_node_takes_it)
{
    make(3, 2, 3, 4);
    drain(2);
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 1), 4);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 0);
    expect_lack(MOVE_LACK_NONE, 0);
    cr_assert_eq(nodes[3].used_bytes, GROUP_SHARDS * SHARD_BYTES, "what is planned takes room");
}

Test(move_plan, who_holds_as_many_groups_as_it_may_takes_none)
{
    make(3, 2, 3, 4);
    drain(2);
    nodes[3].most_groups = 9;
    nodes[3].groups = 9;
    decide(1);
    expect_lack(MOVE_LACK_GROUPS, 1);
    cr_assert_eq(plan.candidate, 4);
    cr_assert_eq(plan.missing_bytes, 0);
    nodes[3].groups = 8;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 1), 4);
    cr_assert_eq(nodes[3].groups, 9, "what is planned counts");
}

Test(move_plan, a_last_replica_has_nowhere_to_go)
{
    make(3, 2, 3, 3);
    drain(2);
    decide(1);
    expect_lack(MOVE_LACK_NODE, 1);
    cr_assert_eq(plan.leaver, 2);
    cr_assert(move_plan_lacks(&plan, 0, 1));
    cr_assert_not(move_plan_lacks(&plan, 0, 0));
}

Test(move_plan, who_is_silent_leaves_or_has_no_disk_takes_nothing)
{
    make(3, 2, 3, 6);
    drain(2);
    drain(4);
    nodes[4].alive = false;
    list.nodes[5].durable = false;
    decide(1);
    expect_lack(MOVE_LACK_NODE, 1);
    list.nodes[5].durable = true;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 1), 6);
}

/* What moved to it would count for nothing, and nobody would wait for it. */
Test(move_plan, a_life_that_was_given_up_takes_nothing_of_that_group)
{
    make(3, 2, 3, 4);
    drain(2);
    document.content.groups[0].lost[0] = (struct member){4, list.nodes[3].incarnation};
    decide(1);
    expect_lack(MOVE_LACK_NODE, 1);
    list.nodes[3].incarnation++;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 1), 4, "its next life");
}

Test(move_plan, room_is_counted_with_what_is_under_way)
{
    make(3, 2, 3, 5);
    drain(1);
    list.nodes[3].memory_limit_bytes = GROUP_SHARDS * SHARD_BYTES;
    list.nodes[4].memory_limit_bytes = GROUP_SHARDS * SHARD_BYTES + 1000;
    nodes[3].used_bytes = 100;
    nodes[4].used_bytes = 1010;
    decide(1);
    expect_lack(MOVE_LACK_ROOM, 1);
    cr_assert_eq(plan.candidate, 5, "the one with the lower share of its memory in use");
    cr_assert_eq(plan.missing_bytes, 10);
    nodes[4].used_bytes = 1000;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 5);
}

Test(move_plan, other_hosts_then_zones_then_the_lowest_share_of_memory)
{
    make(3, 2, 3, 6);
    drain(3);
    nodes[5].used_bytes = 5000;
    nodes[4].used_bytes = 4000;
    nodes[3].used_bytes = 3000;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 2), 4);
    (void)snprintf(list.nodes[3].host, sizeof list.nodes[3].host, "host-1");
    (void)snprintf(list.nodes[4].zone, sizeof list.nodes[4].zone, "zone-2");
    nodes[3].used_bytes = 3000;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 2), 6, "apart in host and zone, though fuller");
    nodes[5].alive = false;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 2), 5);
    cr_assert_not(plan.shares_host);
    nodes[4].alive = false;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 2), 4);
    cr_assert(plan.shares_host);
}

/* Its place on the host of the node that leaves is free. */
Test(move_plan, a_spare_on_the_leavers_own_host_shares_none)
{
    make(3, 2, 3, 4);
    drain(3);
    (void)snprintf(list.nodes[3].host, sizeof list.nodes[3].host, "host-3");
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 2), 4);
    cr_assert_not(plan.shares_host);
}

/* Groups of four nodes in a ring: each node is missing in one of them. */
Test(move_plan, a_bounded_number_of_groups_begins)
{
    make(3, 2, 4, 5);
    drain(2);
    decide(2);
    cr_assert_eq(move_plan_target(&plan, 0, 1), 4);
    cr_assert_eq(move_plan_target(&plan, 1, 0), 1);
    expect_lack(MOVE_LACK_TURN, 1);
    decide(0);
    expect_lack(MOVE_LACK_TURN, 3);
    cr_assert_eq(move_groups_under_way(&document), 0);
}

Test(move_plan, two_that_leave_one_group_get_two_successors)
{
    make(3, 2, 3, 5);
    drain(1);
    drain(2);
    decide(1);
    cr_assert_neq(move_plan_target(&plan, 0, 0), 0);
    cr_assert_neq(move_plan_target(&plan, 0, 1), 0);
    cr_assert_neq(move_plan_target(&plan, 0, 0), move_plan_target(&plan, 0, 1));
}

Test(move_plan, a_node_that_is_replaced_has_one_candidate)
{
    make(3, 2, 3, 5);
    list.nodes[0].replaced_by = 5;
    nodes[0].leaves = true;
    nodes[4].used_bytes = 100000;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 5);
    nodes[4].alive = false;
    decide(1);
    expect_lack(MOVE_LACK_NODE, 1);
}

Test(move_plan, what_is_kept_in_memory_stays)
{
    make(3, 2, 3, 4);
    document.durability = DURABILITY_MEMORY;
    drain(1);
    decide(1);
    expect_lack(MOVE_LACK_LOG, 1);
}

static void pair_with(uint32_t index, uint32_t node)
{
    document.content.groups[0].slots[index].incoming = (struct member){
        .node = node, .incarnation = SAMPLE_INCARNATION + node};
}

Test(move_plan, a_pair_goes_on_unless_its_incoming_node_leaves)
{
    make(3, 2, 3, 6);
    drain(1);
    pair_with(0, 5);
    cr_assert_eq(move_groups_under_way(&document), 1);
    decide(0);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 0);
    expect_lack(MOVE_LACK_NONE, 0);
    drain(5);
    decide(0);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 4, "it is under way: its turn has come");
    document.content.groups[0].slots[0].reads_incoming = true;
    decide(1);
    cr_assert_eq(move_plan_target(&plan, 0, 0), 0, "handing over comes to its end first");
}

Test(move_plan, bytes_and_slots_held_count_pairs)
{
    make(3, 2, 4, 5);
    cr_assert_eq(move_slots_held(&document, 2), 3);
    cr_assert_eq(move_slots_held(&document, 5), 0);
    cr_assert_eq(move_bytes_held(&document, 2), 12 * SHARD_BYTES);
    pair_with(0, 5);
    cr_assert_eq(move_slots_held(&document, 5), 1);
    cr_assert_eq(move_bytes_held(&document, 5), 4 * SHARD_BYTES);
}

Test(move_plan, without_memory_nothing_is_planned)
{
    make(3, 2, 3, 4);
    drain(1);
    heap_fault_after(0);
    cr_assert_eq(move_plan_make(&document, nodes, list.count, 1, 0, &plan), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_eq(move_plan_target(&plan, 0, 0), 0);
}
