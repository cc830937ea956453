/* fence.h - which requests a node may still serve for a filter.
 *
 * A node's fence for a filter is the lowest epoch that it still accepts. It rises only to the
 * epoch of a document that the node holds and has validated, never to a bare number, and
 * never falls. Once F = N - min(W, R) + 1 FULL replicas of a shard have fenced an epoch, no
 * older one can gather a quorum of writes or reads.
 *
 * Errors:  none; the judgement is a status for the wire.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_BASE_FENCE_H
#define ORBLOOM_NODE_BASE_FENCE_H

#include "base/status.h"
#include "map/document.h"

struct fence {
    uint64_t epoch; /* 0: none yet */
};

/* Raise the fence to the held document's epoch. */
void fence_raise(struct fence *self, const struct filter_document *held);

/* May a request that names (epoch, hash) be served?
 * OK · STALE (behind the fence) · NEED_DOC (ahead of `held`, which is NULL when there is none)
 * · CONFLICT (another content under this epoch) · DROPPED (the filter no longer serves). */
enum status fence_judge(const struct fence *self, const struct filter_document *held,
                        uint64_t epoch, uint64_t epoch_hash);

#endif
