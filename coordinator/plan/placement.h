/* placement.h - which nodes hold which shards of a new filter.
 *
 * Shards are dealt to few slot groups (as many as there are nodes, one when every node holds
 * everything): less to batch, and fewer sets of nodes whose loss together loses a shard.
 * Replicas of a shard never share a host when hosts suffice, nor a zone when zones suffice;
 * among what is left the node with the lowest share of its memory in use comes first.
 *
 * Units:   bytes of arrays.
 * Errors:  STATUS_UNAVAILABLE: fewer usable nodes than replicas. STATUS_NO_SPACE: memory does
 *          not suffice; result->missing_bytes says how much, on result->node; 0: the node holds as
 *          many slot groups as it may. STATUS_NOMEM.
 * Owner:   placement_fini() frees a result.
 * Threads: none; pure and deterministic.
 * Source:  copysets: Cidon et al., "Copysets: Reducing the Frequency of Data Loss in Cloud
 *          Storage", USENIX ATC 2013.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_PLACEMENT_H
#define ORBLOOM_COORDINATOR_PLAN_PLACEMENT_H

#include "base/status.h"
#include "map/document.h"

#include <stdbool.h>

/* A node that may take replicas. */
struct placement_node {
    uint32_t id;
    uint64_t incarnation;
    const char *host;
    const char *zone;
    uint64_t limit_bytes;
    uint64_t used_bytes;  /* by replicas placed before */
    uint64_t groups;      /* slot groups that it holds */
    uint64_t most_groups; /* ... and may hold; 0: any number */
};

struct placement {
    uint32_t ngroups;
    struct slot_group *groups;
    uint16_t *group_of_shard;
    bool shares_host; /* some shard has two replicas on one host */
    uint32_t node;    /* on STATUS_NO_SPACE: the node with the most room */
    uint64_t missing_bytes;
};

/* `nodes` are updated: used_bytes and groups grow by what was placed. */
MUST_USE enum status placement_make(struct placement_node *nodes, uint32_t nnodes,
                                    uint32_t replicas, uint32_t shard_bits, uint64_t shard_bytes,
                                    struct placement *result);
void placement_fini(struct placement *result);

#endif
