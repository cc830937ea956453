/* recovery.h - reading everything back at start: one job on the background lane.
 *
 *   recover.c   the job, its judgement, and what the actor is told
 *   recover_records.c     what records of the log say
 *   folder.c    what files there are: used, set aside, removed
 *
 * All but recover.c runs on the lane and touches nothing but the disk and the recovery.
 */
#ifndef ORBLOOM_NODE_STORE_RECOVERY_H
#define ORBLOOM_NODE_STORE_RECOVERY_H

#include "node/store/private.h"
#include "node/store/run_list.h"

enum { STORAGE_MAX_NAMES = 1 << 20 /* of our files in the folder: 64 MiB of names */ };

struct storage_recovery {
    struct job job; /* first */
    struct storage *storage;
    enum status status;
    struct cluster_id cluster; /* that the folder belongs to, or will */
    bool named;                /* its file says so */
    bool nameless;             /* nothing says so: nothing else was read */
    struct log_survey survey;
    uint64_t unneeded; /* segments of lower numbers: one of them is damaged, none is needed; or 0 */
    char unneeded_bad[DISK_NAME_BYTES]; /* ... that one */
    uint64_t left_end;   /* where what is readable of a damaged segment ends that is set aside */
    struct buffer state; /* records that the node is to be told, in order */
    size_t checkpoint;   /* where those of a checkpoint begin that has not ended yet */
    bool in_checkpoint;
    bool checkpointed;      /* one was whole */
    uint64_t checkpoint_at; /* the latest one's offset, whole or not */
    uint64_t whole_at;      /* ... of those that were whole */
    struct record_identity last;
    bool has_identity;
    bool clean;
    uint64_t merged;
    struct run_list runs;
    struct run_list fresh; /* of the checkpoint that has not ended yet */
    struct storage_arrays arrays;
    uint64_t highest_snapshot;
    struct storage_imprints imprints;
    size_t nlost_snapshots;   /* that the log names and can't be read; no longer in `arrays` */
    struct storage_sets sets; /* that have batches in the log */
    uint64_t highest_run;
    uint64_t room_bytes;
    struct record_run *lost; /* that the manifest names and can't be read */
    size_t nlost;
    bool log_gone;                     /* runs, and no log that names them */
    bool fell_back;                    /* an imprint has what was durable, and the log has not */
    char (*evidence)[DISK_NAME_BYTES]; /* segments to be set aside, and imprints to be removed, once
                                          the loss is written down */
    size_t nevidence;
    char (*names)[DISK_NAME_BYTES];
    size_t nnames;
    size_t names_capacity;
};

/* What one record of the log says; `context` is the recovery. */
MUST_USE enum status storage_found(void *context, const struct record_header *header,
                                   struct span record);

/* The names of all our files, in order; STATUS_TOO_LARGE, which is said: too many. */
MUST_USE enum status storage_folder_list(struct storage_recovery *self);

/* Can the runs that count be read? Changes nothing: STATUS_VERSION, and what can't is in `lost`. */
MUST_USE enum status storage_folder_try_runs(struct storage_recovery *self);

MUST_USE enum status storage_folder_try_snapshots(struct storage_recovery *self);

/* Which imprints may be read in place of runs? All others go, but for those that show a loss, which
 * are evidence of it. After runs and snapshots were tried, as what was lost must be known; before
 * anything else goes, which may be all that is left. */
MUST_USE enum status storage_folder_choose_imprints(struct storage_recovery *self);

/* Runs that do not say where in the log their batches are say from now on that it is below its end;
 * for imprints. What can't be written is said, and no more. */
void storage_folder_note_runs(struct storage_recovery *self);

/* Where the readable log ends, and this boot's begins. recover.c */
uint64_t storage_recovery_end(const struct storage_recovery *self);

/* Is all there that was acknowledged? recover.c */
enum amnesia storage_recovery_judge(const struct storage_recovery *self);

/* A new incarnation began its log and went no further: what it cut off was damaged, and nothing of
 * that is seen any more. */
bool storage_begun_only(const struct storage_recovery *self);

/* Does the log itself show a loss? */
bool storage_folder_lost(const struct storage_recovery *self);

/* What is not part of the data: leftovers are removed, what was lost is set aside; but for segments
 * where storage_folder_lost(). */
MUST_USE enum status storage_folder_clear(struct storage_recovery *self);

/* Room for the segment that this start begins: where there is none, imprints go, then the oldest
 * segments that are kept for other nodes only. STATUS_NO_SPACE: that was not enough. */
MUST_USE enum status storage_folder_make_room(struct storage_recovery *self);

/* Behind a bad place the log is not gone on with, but what later segments say of documents, fences
 * and sorted runs is better than nothing. */
MUST_USE enum status storage_folder_salvage(struct storage_recovery *self);

#endif
