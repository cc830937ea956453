/* expansion_cluster.h - a filter with key log and what is known of its nodes, for tests of
 * expansion.
 *
 * Node n is on host-n, holds its groups of a filter made by sample_document(), and lives; its
 * reports say generation 1 and a hundred keys a group. The test changes what matters.
 *
 * Errors:  a failed cr_assert.
 * Owner:   expansion_cluster_fini() frees.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_EXPANSION_CLUSTER_H
#define ORBLOOM_TESTS_SUPPORT_EXPANSION_CLUSTER_H

#include "coordinator/plan/expansion.h"

enum { EXPANSION_CLUSTER_NODES = 16, EXPANSION_CLUSTER_REPORTS = 256 };

struct expansion_cluster {
    struct filter_document document;
    struct expansion_node nodes[EXPANSION_CLUSTER_NODES];
    struct expansion_report reports[EXPANSION_CLUSTER_REPORTS];
    struct expansion_view view;
    char hosts[EXPANSION_CLUSTER_NODES][16];
};

/* N=3 W=2 R=2 on nodes 1 to `nnodes`: one slot group on three nodes, else as many as nodes. */
void expansion_cluster_init(struct expansion_cluster *self, uint32_t nnodes);
void expansion_cluster_fini(struct expansion_cluster *self);

struct expansion_node *expansion_cluster_node(struct expansion_cluster *self, uint32_t id);

uint32_t expansion_cluster_shards(const struct expansion_cluster *self, uint32_t group);

/* Node `id` serves all its groups from this generation, the wanted one. */
void expansion_cluster_serve(struct expansion_cluster *self, uint32_t id, uint32_t generation);

/* Begin to grow to so many keys, with room for it. Returns the wanted generation's id. */
uint32_t expansion_cluster_begin(struct expansion_cluster *self, uint64_t capacity);

#endif
