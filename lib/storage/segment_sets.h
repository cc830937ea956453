/* segment_sets.h - fingerprints gathered by the set that they belong to, in pieces to be sorted.
 *
 * Shape:   a piece is full at SEGMENT_PIECE_KEYS; from the 17th on they are twice as long, and
 *          so on, so that RUN_MERGE_MAX of them do.
 * Errors:  STATUS_NOMEM; STATUS_TOO_LARGE: too many of one set. What was gathered stays.
 * Threads: none.
 */
#ifndef ORBLOOM_STORAGE_SEGMENT_SETS_H
#define ORBLOOM_STORAGE_SEGMENT_SETS_H

#include "storage/run_merge.h"

enum { SEGMENT_PIECE_KEYS = 1 << 20 };

struct segment_piece {
    uint64_t *fingerprints;
    size_t count;
    size_t capacity;
};

struct segment_set {
    struct record_run run; /* without number and count */
    size_t npieces;
    size_t nsorted;
    struct segment_piece pieces[RUN_MERGE_MAX];
};

struct segment_sets {
    struct segment_set **sets; /* in order of filter, lineage, slice */
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
