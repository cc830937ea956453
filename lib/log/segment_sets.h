/* segment_sets.h - fingerprints gathered by the set that they belong to, in pieces to be sorted.
 *
 * Shape:   a set is one piece until it has SEGMENT_WHOLE_KEYS; then it is parted by the leading
 *          bits of its fingerprints, so that its pieces, each sorted, are the sorted set. A piece
 *          of a full segment (32 MiB) has some 65,000 and is sorted within a core's own cache. On a
 *          node that holds a few shards of many only some of the pieces grow.
 * Errors:  STATUS_NOMEM; STATUS_TOO_LARGE: more than SEGMENT_MERGE_KEYS of one set. Nothing can be
 *          gathered after one of them.
 * Threads: none.
 */
#ifndef ORBLOOM_LOG_SEGMENT_SETS_H
#define ORBLOOM_LOG_SEGMENT_SETS_H

#include "log/record.h"
#include "log/segment_merge.h"

enum {
    SEGMENT_PART_BITS = 6,
    SEGMENT_PARTS = 1 << SEGMENT_PART_BITS,
    SEGMENT_WHOLE_KEYS = 1 << 16,
};

struct segment_piece {
    uint64_t *fingerprints;
    size_t count;
    size_t capacity;
};

struct segment_set {
    struct record_run run; /* without number and count */
    size_t count;          /* gathered so far */
    size_t npieces;        /* 0, 1 or SEGMENT_PARTS */
    size_t nsorted;
    struct segment_piece pieces[SEGMENT_PARTS];
};

struct segment_sets {
    struct segment_set **sets; /* in order of filter, keyset, slice */
    size_t count;
    size_t capacity;
};

/* That of `run`, made if there is none. */
MUST_USE enum status segment_sets_find(struct segment_sets *self, const struct record_run *run,
                                       struct segment_set **out);
void segment_sets_fini(struct segment_sets *self);

MUST_USE enum status segment_set_append(struct segment_set *self, const uint64_t *fingerprints,
                                        size_t count);

/* Its memory, of which the set itself stays. */
void segment_set_clear(struct segment_set *self);

#endif
