/* segment_merge.h - the batches of one sealed segment of the log into sorted runs, one a set.
 *
 *   create -> collect(batch) for every batch of the segment -> step() until MERGE_END -> destroy
 *
 * Set:     (filter, keyset, slice), as a batch's targets name them; runs hold what is distinct.
 * Shape:   a step sorts or writes about a million fingerprints, or makes one run durable: some
 *          10 ms and, as steps write as they go, never a sync of much. Where nearly all of a large
 *          set share their leading six bits (one shard of very many) a step may take longer.
 * Memory:  at most twice the bytes of the fingerprints collected, counted for each target they
 *          are in; and while a piece is sorted (a 64th of a set, as a rule) its size once more.
 * Errors:  those of run.h, STATUS_NOMEM; STATUS_TOO_LARGE: more than SEGMENT_MERGE_KEYS of one set.
 *          A step that fails leaves no file of the run under way; the next one begins that run
 *          anew, under another number.
 * Threads: none; one at a time. Collecting may be done by other jobs than stepping.
 */
#ifndef ORBLOOM_LOG_SEGMENT_MERGE_H
#define ORBLOOM_LOG_SEGMENT_MERGE_H

#include "base/disk.h"
#include "log/record.h"

#include <stdbool.h>

/* 2 GB of one set: far more than a segment should hold. */
enum { SEGMENT_MERGE_KEYS = 240 << 20 };

struct segment_merge;

enum segment_merge_progress {
    MERGE_MORE, /* call again */
    MERGE_RUN,  /* a run is finished and durable; call again */
    MERGE_END,  /* nothing is left */
};

/* `through`: all batches are below that offset of the log; 0: not told. */
MUST_USE enum status segment_merge_create(struct disk *disk, uint64_t cluster, uint64_t through,
                                          struct segment_merge **out);

/* A file under way is removed. */
void segment_merge_destroy(struct segment_merge **merge);

/* The batch's fingerprints are copied. After an error collecting can't go on: destroy it. */
MUST_USE enum status segment_merge_collect(struct segment_merge *self,
                                           const struct record_batch *batch);

/* One slice. *next_number: of the next run; it rises when one is begun. *run is set with
 * MERGE_RUN. */
MUST_USE enum status segment_merge_step(struct segment_merge *self, uint64_t *next_number,
                                        struct record_run *run,
                                        enum segment_merge_progress *progress);

#endif
