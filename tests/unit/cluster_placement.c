/* Where replicas go: apart, evenly, in few groups, or not at all with the reason. */
#include "base/heap.h"
#include "coordinator/plan/placement.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NODES = 32, SHARD_BITS = 6, NSHARDS = 1 << SHARD_BITS, SHARD_BYTES = 1 << 20 };

static struct placement_node nodes[MAX_NODES];
static char hosts[MAX_NODES][16];
static char zones[MAX_NODES][16];
static struct placement result;

/* `count` nodes of 1 GiB, dealt round robin to hosts and those to zones. */
static void prepare(uint32_t count, uint32_t nhosts, uint32_t nzones)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(hosts[i], sizeof hosts[i], "h%u", i % nhosts);
        (void)snprintf(zones[i], sizeof zones[i], "z%u", i % nhosts % nzones);
        nodes[i] = (struct placement_node){
            .id = i + 1,
            .incarnation = 100 + i,
            .host = hosts[i],
            .zone = zones[i],
            .limit_bytes = UINT64_C(1) << 30,
        };
    }
}

static const struct placement_node *node_of(const struct slot *slot)
{
    const struct placement_node *node = &nodes[slot->current.node - 1];

    cr_assert_eq(slot->current.incarnation, node->incarnation);
    cr_assert_eq(slot->incoming.node, 0);
    return node;
}

static bool shares(uint32_t replicas, bool zone)
{
    for (uint32_t g = 0; g < result.ngroups; g++) {
        for (uint32_t i = 0; i < replicas; i++) {
            for (uint32_t k = 0; k < i; k++) {
                const struct placement_node *a = node_of(&result.groups[g].slots[i]);
                const struct placement_node *b = node_of(&result.groups[g].slots[k]);

                if (strcmp(zone ? a->zone : a->host, zone ? b->zone : b->host) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void make(uint32_t count, uint32_t replicas)
{
    cr_assert_eq(placement_make(nodes, count, replicas, SHARD_BITS, SHARD_BYTES, &result),
                 STATUS_OK);
}

Test(placement, three_nodes_for_three_replicas_are_one_group)
{
    prepare(3, 3, 1);
    make(3, 3);
    cr_assert_eq(result.ngroups, 1);
    cr_assert_not(result.shares_host);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(nodes[i].used_bytes, (uint64_t)NSHARDS * SHARD_BYTES);
    }
    placement_fini(&result);
    cr_assert_eq(heap_live(), 0);
}

/* Few groups: never more than nodes, and enough of them to share the load. */
Test(placement, six_nodes_for_three_replicas_are_few_groups_that_use_all)
{
    uint64_t total = 0;

    prepare(6, 6, 1);
    make(6, 3);
    cr_assert(result.ngroups >= 2 && result.ngroups <= 6, "%u groups", result.ngroups);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_gt(nodes[i].used_bytes, 0, "node %u holds nothing", i + 1);
        total += nodes[i].used_bytes;
    }
    cr_assert_eq(total, UINT64_C(3) * NSHARDS * SHARD_BYTES);
    placement_fini(&result);
}

Test(placement, hosts_are_kept_apart_when_they_suffice)
{
    prepare(12, 4, 1);
    make(12, 3);
    cr_assert_not(shares(3, false));
    cr_assert_not(result.shares_host);
    placement_fini(&result);
}

Test(placement, too_few_hosts_are_shared_and_said)
{
    prepare(6, 2, 1);
    make(6, 3);
    cr_assert(shares(3, false));
    cr_assert(result.shares_host);
    placement_fini(&result);
}

Test(placement, zones_are_kept_apart_when_they_suffice)
{
    prepare(12, 6, 3);
    make(12, 3);
    cr_assert_not(shares(3, true));
    placement_fini(&result);
}

/* Nodes of one size carry the same, but for one deal of shards. */
Test(placement, bytes_are_balanced)
{
    uint32_t sizes[] = {4, 5, 6, 7, 9, 12, 16, 30};

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;
        uint64_t deal = (uint64_t)(NSHARDS / sizes[s] + 1) * SHARD_BYTES;

        prepare(sizes[s], sizes[s], 1);
        make(sizes[s], 3);
        for (uint32_t i = 0; i < sizes[s]; i++) {
            least = nodes[i].used_bytes < least ? nodes[i].used_bytes : least;
            most = nodes[i].used_bytes > most ? nodes[i].used_bytes : most;
        }
        cr_assert_leq(most - least, deal, "%u nodes: %d to %d MiB", sizes[s], (int)(least >> 20),
                      (int)(most >> 20));
        placement_fini(&result);
    }
}

/* A node with twice the memory takes about twice as much, one that is full takes nothing. */
Test(placement, larger_nodes_take_more_and_full_ones_nothing)
{
    prepare(8, 8, 1);
    nodes[0].limit_bytes *= 2;
    nodes[1].used_bytes = nodes[1].limit_bytes;
    make(8, 3);
    cr_assert_gt(nodes[0].used_bytes, nodes[4].used_bytes);
    cr_assert_eq(nodes[1].used_bytes, nodes[1].limit_bytes, "nothing was placed on a full node");
    placement_fini(&result);
}

Test(placement, too_few_nodes_are_unavailable)
{
    prepare(2, 2, 1);
    cr_assert_eq(placement_make(nodes, 2, 3, SHARD_BITS, SHARD_BYTES, &result), STATUS_UNAVAILABLE);
    cr_assert_eq(placement_make(nodes, 0, 1, SHARD_BITS, SHARD_BYTES, &result), STATUS_UNAVAILABLE);
    cr_assert_null(result.groups);
    cr_assert_eq(heap_live(), 0);
}

/* What is missing is named, on the node with the most room among those that could be next. */
Test(placement, too_little_memory_is_refused_with_what_is_missing)
{
    uint64_t needed = (uint64_t)NSHARDS * SHARD_BYTES;

    prepare(3, 3, 1);
    nodes[0].limit_bytes = needed;
    nodes[1].limit_bytes = needed - 1000;
    nodes[2].limit_bytes = needed - 5000;
    nodes[2].used_bytes = 7000;
    cr_assert_eq(placement_make(nodes, 3, 3, SHARD_BITS, SHARD_BYTES, &result), STATUS_NO_SPACE);
    cr_assert_eq(result.node, 2, "node %u", result.node);
    cr_assert_eq(result.missing_bytes, 1000);
    cr_assert_null(result.groups);
    cr_assert_null(result.group_of_shard);
    cr_assert_eq(heap_live(), 0);
}

Test(placement, a_node_over_its_limit_has_no_room_and_does_not_wrap)
{
    prepare(3, 3, 1);
    nodes[2].used_bytes = nodes[2].limit_bytes + 12345;
    cr_assert_eq(placement_make(nodes, 3, 3, SHARD_BITS, SHARD_BYTES, &result), STATUS_NO_SPACE);
    cr_assert_eq(result.node, 3);
    cr_assert_eq(result.missing_bytes, (uint64_t)NSHARDS * SHARD_BYTES);
}

Test(placement, one_node_and_one_replica)
{
    prepare(1, 1, 1);
    make(1, 1);
    cr_assert_eq(result.ngroups, 1);
    placement_fini(&result);
}

Test(placement, the_same_nodes_give_the_same_placement)
{
    struct placement first;

    prepare(9, 5, 2);
    make(9, 3);
    first = result;
    prepare(9, 5, 2);
    make(9, 3);
    cr_assert_eq(first.ngroups, result.ngroups);
    for (uint32_t g = 0; g < result.ngroups; g++) {
        for (uint32_t i = 0; i < 3; i++) {
            cr_assert_eq(first.groups[g].slots[i].current.node,
                         result.groups[g].slots[i].current.node);
        }
    }
    cr_assert_eq(memcmp(first.group_of_shard, result.group_of_shard,
                        NSHARDS * sizeof *result.group_of_shard),
                 0);
    placement_fini(&first);
    placement_fini(&result);
}

/* So many groups a node can tell of in time. */
Test(placement, a_node_takes_no_more_groups_than_it_may_hold)
{
    prepare(4, 4, 1);
    for (uint32_t i = 0; i < 4; i++) {
        nodes[i].most_groups = 5;
        nodes[i].groups = 1;
    }
    nodes[1].groups = 5;
    make(4, 3);
    for (uint32_t g = 0; g < result.ngroups; g++) {
        for (uint32_t i = 0; i < 3; i++) {
            cr_assert_neq(result.groups[g].slots[i].current.node, 2);
        }
    }
    cr_assert_eq(nodes[0].groups, 5, "%lu", nodes[0].groups);
    placement_fini(&result);
    cr_assert_eq(placement_make(nodes, 4, 3, SHARD_BITS, SHARD_BYTES, &result), STATUS_NO_SPACE);
    cr_assert_eq(result.missing_bytes, 0);
}

Test(placement, survives_the_failure_of_every_allocation)
{
    enum status status = STATUS_NOMEM;

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        prepare(6, 6, 1);
        heap_fault_after(n);
        status = placement_make(nodes, 6, 3, SHARD_BITS, SHARD_BYTES, &result);
        heap_fault_clear();
        if (status == STATUS_NOMEM) {
            cr_assert_null(result.groups);
            cr_assert_eq(heap_live(), 0);
        }
    }
    cr_assert_eq(status, STATUS_OK);
    placement_fini(&result);
}
