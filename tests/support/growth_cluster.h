/* growth_cluster.h - a filter with key log and what is known of its nodes, for tests of growth.
 *
 * Node n is on host-n, holds its groups of a filter made by sample_document(), and lives; its
 * reports say generation 1 and a hundred keys a group. The test changes what matters.
 *
 * Errors:  a failed cr_assert.
 * Owner:   growth_cluster_fini() frees.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_GROWTH_CLUSTER_H
#define ORBLOOM_TESTS_SUPPORT_GROWTH_CLUSTER_H

#include "map/growth.h"

enum { GROWTH_CLUSTER_NODES = 16, GROWTH_CLUSTER_REPORTS = 256 };

struct growth_cluster {
    struct filter_document document;
    struct growth_node nodes[GROWTH_CLUSTER_NODES];
    struct growth_report reports[GROWTH_CLUSTER_REPORTS];
    struct growth_view view;
    char hosts[GROWTH_CLUSTER_NODES][16];
};

/* N=3 W=2 R=2 on nodes 1 to `nnodes`: one slot group on three nodes, else as many as nodes. */
void growth_cluster_init(struct growth_cluster *self, uint32_t nnodes);
void growth_cluster_fini(struct growth_cluster *self);

struct growth_node *growth_cluster_node(struct growth_cluster *self, uint32_t id);

uint32_t growth_cluster_shards(const struct growth_cluster *self, uint32_t group);

/* Node `id` serves all its groups from this generation, the wanted one. */
void growth_cluster_serve(struct growth_cluster *self, uint32_t id, uint32_t generation);

/* Begin to grow to so many keys, with room for it. Returns the wanted generation's id. */
uint32_t growth_cluster_begin(struct growth_cluster *self, uint64_t capacity);

#endif
