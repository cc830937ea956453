/* proto_compare_pull.h - do two messages between nodes that copy or compare replicas say the same?
 *
 * Part of proto_compare.h.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_COMPARE_PULL_H
#define ORBLOOM_TESTS_UNIT_PROTO_COMPARE_PULL_H

#include "tests/unit/proto_compare_fields.h"

static inline void compare_scope(const struct pull_scope *a, const struct pull_scope *b)
{
    SAME(filter_id);
    SAME(epoch);
    SAME(epoch_hash);
    SAME(slice);
    SAME(keyset);
    SAME(group);
    SAME(generation);
    SAME(geometry);
}

static inline void compare_intervals(const struct pull_interval *a, const struct pull_interval *b,
                                     size_t count)
{
    for (; count > 0; count--, a++, b++) {
        SAME(producer_id);
        SAME(epoch);
        SAME(first);
        SAME(count);
        SAME(offset);
    }
}

static inline void compare_pull_request(const struct pull_request *a, const struct pull_request *b)
{
    SAME(kind);
    compare_scope(&a->scope, &b->scope);
    SAME(source.node);
    SAME(source.incarnation);
    SAME(sync);
    SAME(from);
    SAME(to);
    SAME(max_bytes);
    SAME(nwanted);
    compare_intervals(a->wanted, b->wanted, a->nwanted);
    SAME(view);
    SAME(prefix_bits);
    SAME(nprefixes);
    for (size_t i = 0; i < a->nprefixes; i++) {
        SAME(prefixes[i]);
    }
}

static inline void compare_batches(const struct pull_batch *a, const struct pull_batch *b,
                                   size_t count)
{
    for (; count > 0; count--, a++, b++) {
        SAME(producer_id);
        SAME(number);
        SAME(epoch);
        SAME(offset);
        SAME(count);
        SAME(flags);
        cr_assert(pull_targets_equal(a->targets, b->targets));
    }
}

static inline void compare_pull_reply(const struct pull_reply *a, const struct pull_reply *b)
{
    SAME(status);
    SAME(kind);
    compare_scope(&a->scope, &b->scope);
    SAME(source.node);
    SAME(source.incarnation);
    SAME(boot);
    SAME(state);
    SAME(fence_epoch);
    SAME(fence_position);
    SAME(from);
    SAME(next);
    SAME(end);
    SAME(merged);
    SAME(durable);
    SAME(nbatches);
    compare_batches(a->batches, b->batches, a->nbatches);
    SAME(nintervals);
    compare_intervals(a->intervals, b->intervals, a->nintervals);
    SAME(count);
    for (size_t i = 0; i < a->count; i++) {
        SAME(fingerprints[i]);
    }
    SAME(view);
    SAME(view_end);
    SAME(ndigests);
    for (size_t i = 0; i < a->ndigests; i++) {
        SAME(digests[i]);
    }
    SAME(ncounts);
    for (size_t i = 0; i < a->ncounts; i++) {
        SAME(counts[i]);
    }
    SAME_SPAN(document);
}

#endif
