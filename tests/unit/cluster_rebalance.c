/* Moves that make the fullest nodes less full, and an end to them. */
#include "base/heap.h"
#include "coordinator/plan/rebalance.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MOST_NODES = 8, MOST_MOVES = 64, GROUP_BYTES = 4 * 4096, LIMIT = 1 << 20 };

static struct filter_document document;
static struct node_record records[MOST_NODES];
static struct move_node nodes[MOST_NODES];
static uint32_t nnodes;
static struct rebalance_move moves[MOST_MOVES];

static void count_bytes(void)
{
    for (uint32_t i = 0; i < nnodes; i++) {
        nodes[i].used_bytes = move_bytes_held(&document, i + 1);
    }
}

/* Four groups in a ring on nodes 1 to 4; the others are empty. */
static void make(uint32_t count)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

    sample_document(7, "urls", &rule, 4, &document);
    document.durability = DURABILITY_SYNC;
    nnodes = count;
    for (uint32_t i = 0; i < count; i++) {
        records[i] = (struct node_record){
            .id = i + 1, .incarnation = i + 1, .durable = true, .memory_limit_bytes = LIMIT};
        (void)snprintf(records[i].host, sizeof records[i].host, "host-%u", i + 1);
        (void)snprintf(records[i].zone, sizeof records[i].zone, "zone-%u", i + 1);
        nodes[i] = (struct move_node){.record = &records[i], .alive = true};
    }
    count_bytes();
}

static void teardown(void)
{
    document_fini(&document);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(rebalance, .fini = teardown);

static bool next(size_t ndone)
{
    const struct filter_document *documents[] = {&document};

    return rebalance_next(documents, 1, nodes, nnodes, moves, ndone, &moves[ndone]);
}

static size_t all(void)
{
    size_t count = 0;

    while (next(count)) {
        count++;
        cr_assert_lt(count, MOST_MOVES, "there is no end");
    }
    return count;
}

Test(rebalance, even_nodes_stay_as_they_are)
{
    make(4);
    cr_assert_eq(all(), 0);
}

Test(rebalance, a_new_node_gets_no_more_groups_than_it_may_hold)
{
    make(5);
    nodes[4].groups = 7;
    nodes[4].most_groups = 8;
    cr_assert_eq(all(), 1);
    nodes[4].groups = 8;
    cr_assert_eq(all(), 0);
}

/* 12 slots on 5 nodes: 3 3 2 2 2. */
Test(rebalance, a_new_node_gets_its_share)
{
    make(5);
    cr_assert_eq(all(), 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(moves[i].to, 5);
        cr_assert_eq(moves[i].bytes, GROUP_BYTES);
    }
    cr_assert_neq(moves[0].from, moves[1].from);
    cr_assert_neq(moves[0].group, moves[1].group, "never two slots of a group");
}

Test(rebalance, a_life_that_was_given_up_gets_none_of_that_group)
{
    make(5);
    for (uint32_t group = 1; group < 4; group++) {
        document.content.groups[group].lost[0] = (struct member){5, records[4].incarnation};
    }
    cr_assert_eq(all(), 1);
    cr_assert_eq(moves[0].group, 0);
}

/* What the list of moves says is what comes of making them one by one. */
Test(rebalance, moves_made_are_moves_planned)
{
    size_t planned;

    make(6);
    planned = all();
    for (size_t i = 0; i < planned; i++) {
        cr_assert(next(0));
        document.content.groups[moves[0].group].slots[moves[0].slot].current = (struct member){
            .node = moves[0].to, .incarnation = moves[0].to};
        count_bytes();
    }
    cr_assert_not(next(0));
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(move_slots_held(&document, i + 1), 2);
    }
}

Test(rebalance, what_is_under_way_counts_where_it_goes)
{
    make(5);
    cr_assert(next(0));
    document.content.groups[moves[0].group].slots[moves[0].slot].incoming = (struct member){
        .node = 5, .incarnation = 5};
    count_bytes();
    cr_assert_eq(all(), 1, "one more, not two");
}

Test(rebalance, who_is_silent_leaves_or_has_no_disk_gets_nothing)
{
    make(7);
    nodes[4].alive = false;
    nodes[5].leaves = true;
    records[6].durable = false;
    cr_assert_eq(all(), 0);
}

Test(rebalance, a_small_node_gets_what_its_limit_takes)
{
    make(5);
    records[4].memory_limit_bytes = GROUP_BYTES - 1;
    cr_assert_eq(all(), 0, "no room");
    records[4].memory_limit_bytes = LIMIT / 3;
    cr_assert_eq(all(), 0, "one group fills it as much as three fill the others");
}

Test(rebalance, hosts_and_zones_that_are_apart_stay_apart)
{
    make(5);
    (void)snprintf(records[4].host, sizeof records[4].host, "host-1");
    for (size_t i = 0, count = all(); i < count; i++) {
        const struct slot *slots = document.content.groups[moves[i].group].slots;

        for (uint32_t k = 0; k < 3; k++) {
            cr_assert(k == moves[i].slot || slots[k].current.node != 1);
        }
    }
    document.durability = DURABILITY_MEMORY;
    cr_assert_eq(all(), 0, "there is no log to copy");
}
