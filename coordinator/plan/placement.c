/* Deals shards to groups of nodes, and few different groups at that: equal sets of nodes are one
 * slot group. */
#include "coordinator/plan/placement.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

void placement_fini(struct placement *result)
{
    heap_free(result->groups);
    heap_free(result->group_of_shard);
    *result = (struct placement){0};
}

/* How unwelcome a node is in a group, most important first. */
struct cost {
    bool no_room;
    bool host_taken;
    bool zone_taken;
    double load;
};

static bool cheaper(const struct cost *a, const struct cost *b)
{
    if (a->no_room != b->no_room) {
        return !a->no_room;
    }
    if (a->host_taken != b->host_taken) {
        return !a->host_taken;
    }
    if (a->zone_taken != b->zone_taken) {
        return !a->zone_taken;
    }
    return a->load < b->load;
}

static bool is_full(const struct placement_node *node)
{
    return node->most_groups != 0 && node->groups >= node->most_groups;
}

static uint64_t missing_bytes(const struct placement_node *node, uint64_t wanted)
{
    uint64_t used = node->used_bytes;
    uint64_t room = node->limit_bytes > used ? node->limit_bytes - used : 0;

    return wanted > room ? wanted - room : 0;
}

/* `chosen`: indexes of the nodes already in the group. False when the node is one of them. */
static bool cost_of(const struct placement_node *nodes, uint32_t candidate, const uint32_t *chosen,
                    uint32_t nchosen, uint64_t group_bytes, struct cost *cost)
{
    const struct placement_node *node = &nodes[candidate];

    *cost = (struct cost){.no_room = missing_bytes(node, group_bytes) > 0 || is_full(node)};
    for (uint32_t i = 0; i < nchosen; i++) {
        if (chosen[i] == candidate) {
            return false;
        }
        cost->host_taken |= strcmp(nodes[chosen[i]].host, node->host) == 0;
        cost->zone_taken |= strcmp(nodes[chosen[i]].zone, node->zone) == 0;
    }
    cost->load = node->limit_bytes > 0
                     ? (double)(node->used_bytes + group_bytes) / (double)node->limit_bytes
                     : (double)node->used_bytes;
    return true;
}

static enum status choose_group(struct placement_node *nodes, uint32_t nnodes, uint32_t replicas,
                                uint64_t group_bytes, uint32_t *chosen, struct placement *result)
{
    for (uint32_t i = 0; i < replicas; i++) {
        struct cost best = {0};
        uint32_t pick = nnodes;

        for (uint32_t candidate = 0; candidate < nnodes; candidate++) {
            struct cost cost;

            if (cost_of(nodes, candidate, chosen, i, group_bytes, &cost) &&
                (pick == nnodes || cheaper(&cost, &best))) {
                pick = candidate;
                best = cost;
            }
        }
        assert(pick < nnodes); /* replicas <= nnodes was checked. */
        if (best.no_room) {
            result->node = nodes[pick].id;
            result->missing_bytes = missing_bytes(&nodes[pick], group_bytes);
            return STATUS_NO_SPACE;
        }
        result->shares_host |= best.host_taken;
        chosen[i] = pick;
    }
    for (uint32_t i = 0; i < replicas; i++) {
        nodes[chosen[i]].used_bytes += group_bytes;
        nodes[chosen[i]].groups++;
    }
    return STATUS_OK;
}

static int compare_ids(const struct placement_node *nodes, uint32_t a, uint32_t b)
{
    return nodes[a].id < nodes[b].id ? -1 : nodes[a].id > nodes[b].id;
}

/* Slots in order of node ids, so that equal sets of nodes make equal groups. */
static void fill_group(const struct placement_node *nodes, uint32_t *chosen, uint32_t replicas,
                       struct slot_group *group)
{
    for (uint32_t i = 1; i < replicas; i++) {
        for (uint32_t j = i; j > 0 && compare_ids(nodes, chosen[j - 1], chosen[j]) > 0; j--) {
            uint32_t swap = chosen[j];

            chosen[j] = chosen[j - 1];
            chosen[j - 1] = swap;
        }
    }
    memset(group, 0, sizeof *group);
    for (uint32_t i = 0; i < replicas; i++) {
        /* Field by field: equal groups are found by memcmp, so padding must stay zero. */
        group->slots[i].current.node = nodes[chosen[i]].id;
        group->slots[i].current.incarnation = nodes[chosen[i]].incarnation;
    }
}

/* The number of an equal group chosen before, or the next free number. */
static uint32_t group_number(const struct placement *result, const struct slot_group *group)
{
    for (uint32_t i = 0; i < result->ngroups; i++) {
        if (memcmp(&result->groups[i], group, sizeof *group) == 0) {
            return i;
        }
    }
    return result->ngroups;
}

static enum status deal(struct placement_node *nodes, uint32_t nnodes, uint32_t replicas,
                        uint32_t nshards, uint64_t shard_bytes, struct placement *result)
{
    uint32_t ndeals = nnodes == replicas ? 1 : nnodes;

    ndeals = ndeals < nshards ? ndeals : nshards;
    for (uint32_t i = 0; i < ndeals; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * nshards / ndeals);
        uint32_t end = (uint32_t)((uint64_t)(i + 1) * nshards / ndeals);
        uint32_t chosen[QUORUM_MAX_REPLICAS];
        struct slot_group group;
        uint32_t number;
        enum status status = choose_group(nodes, nnodes, replicas, (end - first) * shard_bytes,
                                          chosen, result);

        if (status != STATUS_OK) {
            return status;
        }
        fill_group(nodes, chosen, replicas, &group);
        number = group_number(result, &group);
        if (number == result->ngroups) {
            result->groups[number] = group;
            result->ngroups++;
        }
        for (uint32_t shard = first; shard < end; shard++) {
            result->group_of_shard[shard] = (uint16_t)number;
        }
    }
    return STATUS_OK;
}

enum status placement_make(struct placement_node *nodes, uint32_t nnodes, uint32_t replicas,
                           uint32_t shard_bits, uint64_t shard_bytes, struct placement *result)
{
    uint32_t nshards = UINT32_C(1) << shard_bits;
    enum status status = STATUS_NOMEM;

    assert(replicas >= 1 && replicas <= QUORUM_MAX_REPLICAS && nshards <= DOCUMENT_MAX_SHARDS);
    *result = (struct placement){0};
    if (nnodes < replicas) {
        return STATUS_UNAVAILABLE;
    }
    result->groups = heap_zalloc(nnodes < nshards ? nnodes : nshards, sizeof *result->groups);
    result->group_of_shard = heap_zalloc(nshards, sizeof *result->group_of_shard);
    if (result->groups != NULL && result->group_of_shard != NULL) {
        status = deal(nodes, nnodes, replicas, nshards, shard_bytes, result);
    }
    if (status != STATUS_OK) {
        heap_free(result->groups);
        heap_free(result->group_of_shard);
        result->groups = NULL;
        result->group_of_shard = NULL;
        result->ngroups = 0;
    }
    return status;
}
