/* view_private.h - the parts of a view; shared by node/store/view*.c only. */
#ifndef ORBLOOM_NODE_STORE_VIEW_PRIVATE_H
#define ORBLOOM_NODE_STORE_VIEW_PRIVATE_H

#include "log/run_merge.h"
#include "node/store/private.h"
#include "node/store/view.h"

enum view_work { VIEW_IDLE, VIEW_SURVEY, VIEW_SPLIT, VIEW_COLLECT, VIEW_SUBTRACT };

enum { VIEW_CHUNK_KEYS = 4096 };

struct view_range {
    uint64_t first;
    uint64_t last;
};

/* Digests of ranges that ascend, one each. */
struct view_trees {
    struct run_digest **items;
    size_t count;
    uint32_t bits; /* of the ranges' prefixes ... */
    uint64_t *prefixes;
};

struct storage_view {
    struct job job; /* first */
    struct storage *storage;
    struct storage_view *next; /* storage's list */
    struct storage_view_config config;
    bool *shards; /* which are the group's */
    size_t nshards;
    bool busy;   /* a job is under way */
    bool closed; /* it goes when that is done */

    struct record_run *runs;
    size_t nruns;
    struct run_reader *readers[RUN_MERGE_MAX];
    struct log_extent *segments;
    size_t nsegments;
    uint64_t log_from;
    uint64_t log_to;
    struct log_reader *log;
    bool tailed; /* the log is read and sorted */
    uint64_t *tail;
    size_t ntail;
    size_t tail_capacity;

    enum view_work work;
    enum status status;
    bool finished;
    uint64_t bytes; /* read in this step */
    uint64_t *bad;  /* runs that can't be read */
    size_t nbad;
    struct view_range *ranges;
    size_t nranges;
    size_t at;
    struct run_merge *merge; /* of all that is not below `place` */
    uint64_t place;

    struct view_trees survey;
    struct view_trees split;
    uint64_t *wanted; /* subtract */
    size_t nwanted;
    size_t wanted_at;
    uint64_t *keys; /* the answer */
    size_t nkeys;
    size_t room;
    uint64_t resume;
    bool more;

    uint64_t chunk[VIEW_CHUNK_KEYS];
};

#endif
