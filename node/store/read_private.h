/* read_private.h - a read under way; shared by node/storage_read*.c only. */
#ifndef ORBLOOM_NODE_STORE_READ_PRIVATE_H
#define ORBLOOM_NODE_STORE_READ_PRIVATE_H

#include "node/store/private.h"

enum { READ_PAGE_WORDS = RECORD_PAGE_BYTES / sizeof(uint64_t) };

struct read_job {
    struct job job; /* first */
    struct storage *storage;
    struct storage_read *read;
    struct read_job *next;
    enum status status;

    /* What is asked, as it was when asked. */
    struct storage_set set;
    uint64_t from;
    uint64_t to;
    size_t room;
    bool lines;
    bool every;
    struct record_run *runs;
    size_t nruns;
    struct log_extent *segments;
    size_t nsegments;

    /* The answer. */
    uint64_t *fingerprints;
    size_t count;
    struct record_batch *batches;
    uint64_t *offsets;
    size_t nbatches;
    size_t batches_capacity;
    struct record_lines *pages;
    uint64_t *page_offsets;
    size_t npages;
    uint64_t next_place;
    bool end;
    uint64_t *bad; /* runs that can't be read */
    size_t nbad;
};

/* read_lane.c: jobs, on the lane. */
void read_job_runs(struct job *job);
void read_job_log(struct job *job);

#endif
