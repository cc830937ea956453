/* storage_private.h - the parts of a node's storage; shared by node/storage*.c only. */
#ifndef ORBLOOM_NODE_STORAGE_PRIVATE_H
#define ORBLOOM_NODE_STORAGE_PRIVATE_H

#include "base/buffer.h"
#include "node/storage.h"
#include "storage/log_reader.h"
#include "storage/log_writer.h"
#include "storage/run.h"

/* Filters that have, or had, batches in the log; few, and mostly the same one again. */
struct storage_filters {
    uint64_t *ids;
    size_t count;
    size_t capacity;
};

/* storage_runs.c; false: no memory. */
MUST_USE bool storage_filters_note(struct storage_filters *self, uint64_t filter_id);
bool storage_filters_has(const struct storage_filters *self, uint64_t filter_id);

struct storage_recovery;
struct storage_merge;

struct storage {
    struct storage_config config;
    struct record_identity identity;
    bool failed;

    struct log_writer *writer; /* NULL until storage_begin() */
    uint64_t begin_first;      /* where this boot begins */
    uint64_t begin_number;

    struct log_extent *segments; /* in order; the last one is written to */
    size_t nsegments;
    size_t segments_capacity;

    struct record_run *runs;
    size_t nruns;
    size_t runs_capacity;
    uint64_t next_run;
    uint64_t merged;       /* batches below are in runs */
    uint64_t manifest_end; /* the newest edit of the runs is in the log up to here */
    uint64_t *trash;       /* numbers of runs that are in no manifest any more */
    size_t ntrash;
    size_t trash_capacity;
    uint64_t next_merge_us;

    struct storage_filters filters;

    struct storage_recovery *recovery;
    struct storage_merge *merge;
    void *reads; /* jobs under way, a list */
    uint64_t room_bytes;
};

/* Append a record of a body that `put` writes; storage.c. */
MUST_USE enum status storage_append(struct storage *self, enum record_type type, bool urgent,
                                    size_t body_size, uint8_t **body, uint64_t *end);

/* The set of runs, edited as a manifest says; false: no memory. storage_runs.c. */
MUST_USE bool storage_runs_apply(struct record_run **runs, size_t *nruns, size_t *capacity,
                                 const struct record_manifest *manifest);

/* The same a run at a time; false: no memory. */
MUST_USE bool storage_runs_put(struct storage *self, const struct record_run *run);
void storage_runs_drop(struct storage *self, uint64_t number);

/* Its file is to be removed once the manifest is durable. */
MUST_USE bool storage_trash_run(struct storage *self, uint64_t number);

/* storage_recover.c */
MUST_USE enum status storage_recover(struct storage *self);
void storage_recovery_destroy(struct storage_recovery **recovery);

/* storage_merge.c */
void storage_merge_work(struct storage *self, uint64_t now_us);
void storage_merge_destroy(struct storage_merge **merge);

/* storage_read.c */
void storage_reads_destroy(struct storage *self);

#endif
