/* merge.h - background work: one task at a time, in slices on the background lane.
 *
 *   plan.c decides what is next and begins it, of removals retire.c;
 *   merge.c does it.
 *
 *   slice, slice, ... -> the new runs are synced -> an edit in the log -> synced -> old files go
 *
 * What fails for want of room or memory leaves no file behind and begins anew later.
 */
#ifndef ORBLOOM_NODE_STORE_MERGE_H
#define ORBLOOM_NODE_STORE_MERGE_H

#include "log/run_merge.h"
#include "log/segment_merge.h"
#include "node/store/private.h"

enum { MERGE_SLACK_BYTES = 1 << 20 /* headers and indices of runs */ };

enum merge_task { TASK_SEGMENT, TASK_RUNS, TASK_REMOVE };

struct storage_merge {
    struct job job; /* first */
    struct storage *storage;
    enum merge_task task;
    enum status status;
    bool opened;
    bool finished;
    bool unlogged; /* it is back with the actor, and the log had no room for its edit yet */
    uint64_t room_bytes;
    uint64_t needed_bytes;
    uint64_t next_run;
    uint64_t merged;

    struct log_extent segment; /* TASK_SEGMENT: read, then sorted and written, a run a slice */
    uint64_t from;
    struct log_reader *reader;
    struct segment_merge *sort;

    struct record_run chosen[RUN_MERGE_MOST]; /* TASK_RUNS */
    size_t nchosen;
    struct run_reader *readers[RUN_MERGE_MOST];
    struct run_merge *merge;
    struct run_writer *writer;
    struct record_run into;
    uint64_t *keys;
    uint64_t bad[RUN_MERGE_MOST]; /* of the chosen: can't be read */
    size_t nbad;

    struct record_run *added;
    size_t nadded;
    size_t added_capacity;
    uint64_t removed[RUN_MERGE_MOST];
    size_t nremoved;
    unsigned steps; /* TASK_RUNS: so far */

    char name[DISK_NAME_BYTES]; /* TASK_REMOVE: the file, or "" for `segment` */
    bool spare;                 /* ... the file of which is kept as the spare */
};

/* NULL: no memory. To be filled, then submitted. */
struct storage_merge *storage_merge_begin(struct storage *storage, enum merge_task task);
void storage_merge_submit(struct storage_merge *self);

/* Log the edit of a finished one; false: not yet. */
bool storage_merge_conclude(struct storage *storage);

/* retire.c: what has been replaced durably, ... */
void storage_retire_note(struct storage *storage);

/* ... what has grown old, or belongs to dropped filters, ... */
void storage_retire_look(struct storage *storage, uint64_t now_us);

/* ... and removed, one file at a time; false: there is none. */
bool storage_retire_begin(struct storage *storage);

#endif
