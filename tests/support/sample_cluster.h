/* sample_cluster.h - documents of a small cluster, signed, for tests of caches and cores.
 *
 * Nodes are 1 to n, named node-1 and so on, of incarnation SAMPLE_INCARNATION + id. A filter on
 * as many nodes as it has replicas has one slot group; on more, as many groups as nodes, group g
 * on nodes g + 1, g + 2 and so on, in a ring.
 *
 * Errors:  a failed cr_assert.
 * Owner:   the caller frees documents (document_fini) and buffers.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_SAMPLE_CLUSTER_H
#define ORBLOOM_TESTS_SUPPORT_SAMPLE_CLUSTER_H

#include "base/buffer.h"
#include "base/cluster_id.h"
#include "map/access/seal.h"
#include "map/document.h"

enum { SAMPLE_INCARNATION = 1000, SAMPLE_SHARD_BITS = 4, SAMPLE_UID = 0x75 };

const struct cluster_key *sample_key(void);

/* Which cluster its folders are of. */
const struct cluster_id *sample_cluster(void);

/* A key that no process of the cluster has. */
const struct cluster_key *sample_foreign_key(void);

/* Revision and epoch 1, capacity 10,000, rate 1 %, 16 shards of 64 lines. */
void sample_document(uint64_t id, const char *name, const struct quorum_rule *rule, uint32_t nnodes,
                     struct filter_document *out);

/* It is in two sites, eu (0) and us (1), and this is the document of `own`. */
void sample_sites(uint32_t own, struct filter_document *document);
struct site_id sample_site_id(uint32_t site);
const char *sample_site_name(uint32_t site);

/* `count` fingerprints of a slot group, different for each seed. */
void sample_fingerprints(const struct filter_document *document, uint32_t group, uint64_t seed,
                         uint32_t count, uint64_t *out);

/* Encode the content and sign; the buffer is initialised here. */
void sample_sign(struct filter_document *document, const struct cluster_key *key,
                 struct buffer *out);

/* A signed list of nodes 1 to n at tcp://node-1:7000 and so on. */
void sample_node_list(uint32_t nnodes, uint64_t revision, const struct cluster_key *key,
                      struct buffer *out);

/* The hash secret of every sample filter, sealed for one. */
void sample_secret(struct hash_secret *out);
void sample_sealed_secret(uint64_t filter_id, uint8_t sealed[SEAL_SECRET_BYTES]);

#endif
