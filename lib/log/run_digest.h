/* run_digest.h - what two replicas compare instead of their sets: counts and sums of ranges.
 *
 * The digest of a range of fingerprints is how many there are and the sum of their hashes, so
 * that of a range is that of its parts added up. Ranges form a tree: the root (level 0) is a
 * shard, a node of level L is named by the next 6 L bits of the fingerprint, down to the leaves,
 * of which there are 2^leaf_bits. Digests of different leaf_bits agree on all levels above
 * the coarser one's leaves.
 *
 *   level 0:  1 range        level 1:  64        level 2:  4,096  ...  last level:  2^leaf_bits
 *
 * It is of the exact set: stream the union of runs and unmerged batches into it, each fingerprint
 * once.
 *
 * Units:   16 bytes of memory a leaf; run_digest_leaf_bits() gives 32 fingerprints a leaf or less.
 * Errors:  STATUS_NOMEM; STATUS_INVALID: bits out of range.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LOG_RUN_DIGEST_H
#define ORBLOOM_LOG_RUN_DIGEST_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RUN_DIGEST_LEVEL_BITS = 6,
    RUN_DIGEST_FANOUT = 64,
    RUN_DIGEST_LEAF_KEYS = 32,
    RUN_DIGEST_LEAF_BITS = 24, /* at most: 256 MiB */
    RUN_DIGEST_SHARD_BITS = 32 /* at most */
};

struct run_digest_range {
    uint64_t count;
    uint64_t sum; /* of XXH3-64, seed RUN_DIGEST_SEED, of the 8 bytes; mod 2^64 */
};

#define RUN_DIGEST_SEED UINT64_C(0x6f72626c6f6f6d21)

struct run_digest;

/* For a shard of about that many fingerprints. */
uint32_t run_digest_leaf_bits(uint64_t expected);

/* Of shard `shard` of 2^shard_bits. */
MUST_USE enum status run_digest_create(uint32_t shard_bits, uint64_t shard, uint32_t leaf_bits,
                                       struct run_digest **out);
void run_digest_destroy(struct run_digest **digest);

/* More of the shard's fingerprints, ascending, each once. */
void run_digest_add(struct run_digest *self, const uint64_t *fingerprints, size_t count);

/* That was all. Only then may be asked: */
void run_digest_finish(struct run_digest *self);

/* The level of the leaves. */
uint32_t run_digest_levels(const struct run_digest *self);

/* Where a node begins and ends: fingerprints from *first to *last. false: no such node. */
bool run_digest_bounds(const struct run_digest *self, uint32_t level, uint64_t index,
                       uint64_t *first, uint64_t *last);

/* false: no such node. */
bool run_digest_node(const struct run_digest *self, uint32_t level, uint64_t index,
                     struct run_digest_range *out);

/* The digests of a node's children, which are nodes index * 64 ... of the next level; fewer than
 * 64 only where these are leaves (then they are index * their number ...). Returns how many; 0: a
 * leaf, or no such node. */
size_t run_digest_children(const struct run_digest *self, uint32_t level, uint64_t index,
                           struct run_digest_range out[RUN_DIGEST_FANOUT]);

static inline bool run_digest_equal(struct run_digest_range a, struct run_digest_range b)
{
    return a.count == b.count && a.sum == b.sum;
}

/* Both in 8 bytes, for messages: unequal ranges have the same one by chance once in 2^64. */
uint64_t run_digest_short(struct run_digest_range range);

/* Bit i: ranges i differ. `count` is 64 at most. */
uint64_t run_digest_differing(const struct run_digest_range *a, const struct run_digest_range *b,
                              size_t count);

#endif
