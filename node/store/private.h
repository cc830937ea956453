/* private.h - the parts of a node's storage; shared by node/storage only. */
#ifndef ORBLOOM_NODE_STORE_PRIVATE_H
#define ORBLOOM_NODE_STORE_PRIVATE_H

#include "base/buffer.h"
#include "log/log_reader.h"
#include "log/log_writer.h"
#include "log/run.h"
#include "node/store/batch_ring.h"
#include "node/store/storage.h"

struct load_job;
struct read_job;
struct storage_recovery;
struct storage_snapshot;
struct storage_merge;
struct storage_view;

/* A set that has had batches in the log: those that are in no run are in the stretch. */
struct storage_known {
    struct storage_set set;
    uint64_t first; /* offset of the first one */
    uint64_t end;   /* of the last one; 0: not noted yet */
};

/* They ascend. */
struct storage_sets {
    struct storage_known *items;
    size_t count;
    size_t capacity;
    uint64_t forgotten; /* what is not among them may have batches below */
};

/* A set of a filter without key log. */
struct storage_array {
    struct record_snapshot counts; /* as it was logged, or will be at the next checkpoint */
    uint64_t pending;              /* what the log has of it at or above this is in no snapshot;
                                      UINT64_MAX: nothing */
    uint64_t last;                 /* the last record about it; 0: none */
    uint64_t bytes;                /* of the file */
    bool fresh;                    /* named by the checkpoint that is being read */
};

struct storage_arrays {
    struct storage_array *items;
    size_t count;
    size_t capacity;
};

/* A copy of an array of a filter with key log, which a start may read in place of runs. */
struct storage_imprint {
    struct record_snapshot id;
    struct snapshot_geometry geometry;
    uint64_t shards; /* digest of which there are */
    uint64_t bytes;  /* of the file */
};

struct storage_imprints {
    struct storage_imprint *items; /* one a set */
    size_t count;
    size_t capacity;
    uint64_t *old; /* numbers of files that are to go */
    size_t nold;
    size_t old_capacity;
    bool looked;      /* which one is due: none, and no run has come since, */
    uint64_t then_us; /* ... then: arrays may be others by now */
    uint64_t next_us; /* it is not looked before */
    uint64_t rest_us; /* before, none is taken for little */
    bool lacks_room;  /* said */
    uint64_t written; /* by this process */
    uint64_t read;
    uint64_t refused;
};

struct storage {
    struct storage_config config;
    uint32_t tag; /* in the names of what is set aside */
    struct record_identity identity;
    bool failed;

    struct log_writer *writer;         /* NULL until storage_begin() */
    char (*evidence)[DISK_NAME_BYTES]; /* damaged segments, set aside once the loss is logged; and
                                          imprints that showed it, removed then */
    size_t nevidence;
    bool setting_aside;
    struct job evidence_job;
    enum status evidence_status;
    bool found_clean;
    uint64_t begin_first; /* where this boot begins */
    uint64_t begin_number;
    uint64_t begin_bare; /* so many bytes before hold nothing but state */
    uint64_t begin_end;  /* ... and who it is, is in the log up to here */

    struct log_extent *segments; /* in order; the last one is written to */
    size_t nsegments;
    size_t segments_capacity;

    struct record_run *runs; /* those of a set side by side */
    size_t nruns;
    size_t runs_capacity;
    uint64_t next_run;
    uint64_t merged;           /* batches below are in runs */
    uint64_t manifest_end;     /* the log says what is in runs, and the whole state, up to here */
    uint64_t unneeded_durably; /* segments below are replaced, durably */
    uint64_t *trash;           /* numbers of runs that are in no manifest any more, */
    size_t ntrash;
    size_t ntrash_durably; /* ... durably the first of them */
    size_t trash_capacity;
    struct storage_arrays arrays;
    uint64_t next_snapshot;
    uint64_t *old_snapshots; /* that are named no more */
    size_t nold_snapshots;
    size_t nold_durably; /* ... durably the first of them */
    size_t old_snapshots_capacity;
    uint64_t snapshots_written;
    uint64_t bare_dropped; /* segments */
    uint64_t next_snapshot_us;
    struct storage_snapshot *snapshot; /* under way */
    struct storage_imprints imprints;
    struct load_job *load;
    uint64_t next_merge_us;
    uint64_t next_drop_us; /* when dropped filters are looked for */
    uint64_t mark_us;      /* then the log ended at mark_end; */
    uint64_t mark_end;
    uint64_t young_from;        /* what was appended within retain_us is behind this */
    uint64_t held_from;         /* what others have yet to read; UINT64_MAX: nothing */
    uint64_t expansion_segment; /* the newest that was begun, */
    uint64_t expansion_us;      /* ... and about when */
    bool grows;                 /* some time ago at most */
    bool runs_changed;          /* some may be merged now */

    struct storage_sets sets;
    struct batch_ring batch_ring; /* batches of this boot */
    struct storage_recovery *recovery;
    struct storage_merge *merge; /* under way, and who says what comes after it */
    void (*merge_over)(struct storage *self, uint64_t now_us);
    struct read_job *reads; /* under way, a list */
    struct storage_view *views;
    uint64_t room_bytes;
    bool lacks_room; /* for the last merge tried */
};

/* Is a record among them? batch_ring.c */
bool storage_own_has(const struct storage_own *own, uint64_t filter_id, bool repaired,
                     bool relayed);

/* Room for the body of a record; append.c. */
MUST_USE enum status storage_append_flagged(struct storage *self, enum record_type type,
                                            uint16_t flags, bool urgent, size_t body_size,
                                            uint8_t **body, uint64_t *end);
MUST_USE enum status storage_append(struct storage *self, enum record_type type, bool urgent,
                                    size_t body_size, uint8_t **body, uint64_t *end);

/* The process must end. */
void storage_fail(struct storage *self, enum status status, const char *what);

/* An edit of the set of runs, logged and applied: the new runs, which are durable, count from now
 * on, the old ones don't, and their files go once that is durable. Nothing was done unless OK.
 * runs.c. */
struct storage_edit {
    uint64_t merged;
    struct record_run *added; /* put in order by the edit */
    size_t nadded;
    const uint64_t *removed;
    size_t nremoved;
};

MUST_USE enum status storage_edit_runs(struct storage *self, const struct storage_edit *edit);

/* Everything that counts, for a checkpoint. */
MUST_USE enum status storage_log_runs(struct storage *self);

/* No room now, in the log or in memory: may be tried again. */
bool storage_may_wait(enum status status);

/* Those of a set side by side. */
void storage_runs_sort(struct record_run *runs, size_t nruns);

/* Behind those that are of one set with the run at `first`, which is the first of them. */
size_t storage_runs_end(const struct record_run *runs, size_t nruns, size_t first);

/* Is a run of the set? sets.c. */
bool storage_set_has(const struct storage_set *set, const struct record_run *run);

/* All targets of a batch; false: no memory. */
MUST_USE bool storage_sets_add(struct storage_sets *self, const struct record_batch *batch);

/* Having been added, it is in the log at that offset; what is below `merged` is in runs. */
void storage_sets_note(struct storage_sets *self, const struct record_batch *batch, uint64_t offset,
                       uint64_t merged);

/* Narrow a stretch of the log, whose beginning is where batches are merged into runs, to what has
 * batches of the set. */
void storage_sets_narrow(const struct storage_sets *self, const struct storage_set *set,
                         uint64_t *from, uint64_t *to);
bool storage_sets_have(const struct storage_sets *self, const struct storage_set *set);

/* Those that are not wanted are never asked for again. */
void storage_sets_keep(struct storage_sets *self, uint64_t log_end,
                       bool (*wanted)(void *context, const struct storage_set *set), void *context);
void storage_sets_fini(struct storage_sets *self);

/* arrays.c */
struct storage_array *storage_arrays_find(const struct storage_arrays *self,
                                          const struct storage_set *set);
MUST_USE struct storage_array *storage_arrays_put(struct storage_arrays *self,
                                                  const struct storage_set *set, uint64_t from);
/* What a record says of them; false: no memory. */
MUST_USE bool storage_arrays_apply(struct storage_arrays *self,
                                   const struct record_snapshot *snapshot);
void storage_arrays_drop(struct storage_arrays *self, struct storage_array *array);
void storage_arrays_note(struct storage_array *array, uint64_t offset);

/* Below it no set needs the log. */
uint64_t storage_arrays_from(const struct storage_arrays *self);
void storage_arrays_fini(struct storage_arrays *self);

/* What counts, for a checkpoint. */
MUST_USE enum status storage_log_arrays(struct storage *self);

/* Logged and applied; the file that counted before goes once that is durable. */
MUST_USE enum status storage_edit_array(struct storage *self,
                                        const struct record_snapshot *snapshot);

/* snapshot.c */
void storage_snapshot_work(struct storage *self, uint64_t now_us);
void storage_snapshot_destroy(struct storage_snapshot **snapshot);

/* If an imprint is under way, it is given up; false: none is, or it was told before. */
bool storage_snapshot_yield(struct storage *self);

/* imprints.c */

/* Is one due, and of what? */
bool storage_imprint_due(struct storage *self, uint64_t now_us, struct storage_set *set,
                         struct storage_image *image);
MUST_USE bool storage_imprints_put(struct storage_imprints *self, const struct record_snapshot *id,
                                   const struct snapshot_shape *shape);

/* It is durable, and replaces the one before. */
void storage_imprint_taken(struct storage *self, uint64_t now_us, const struct record_snapshot *id,
                           const struct snapshot_shape *shape);

/* That very one can't be used: said, and its file goes. */
void storage_imprint_refuse(struct storage *self, const struct record_snapshot *id,
                            const char *why);

/* On a lane. What can't be removed is said: the next start looks at it again. */
void storage_imprint_remove(const struct storage *self, const char *name);

/* All go: what they are of is another life's. */
void storage_imprints_forget(struct storage *self);

/* Those of sets that are no more go. */
void storage_imprints_keep(struct storage *self);

/* All go, also one under way, as adds and runs need their room; none is taken for a while. */
void storage_imprints_make_room(struct storage *self, uint64_t now_us);

/* One was not taken after all, which harms nothing. `number`: of its file if that is whole, else 0;
 * `bytes`: that it would have. */
void storage_imprint_given_up(struct storage *self, uint64_t now_us, enum status why,
                              uint64_t number, uint64_t bytes);
void storage_imprints_fini(struct storage_imprints *self);

/* load.c */
void storage_load_destroy(struct storage *self);

/* The new incarnation is in the log, synced: damaged segments may go. damage.c */
void storage_damage_put_away(struct storage *self);

/* Never deleted: somebody may want to look at it. On a lane. damage.c */
MUST_USE enum status storage_set_aside(const struct storage *self, const char *name);

/* Runs that could not be read: find out which, and set those aside. On a lane. Their numbers come
 * first in `bad`, which has room for all. */
MUST_USE enum status storage_damage_find(const struct storage *self, const struct record_run *runs,
                                         size_t nruns, uint64_t *bad, size_t *nbad);

/* They count no longer, and this is another incarnation. */
void storage_damage_take(struct storage *self, uint64_t now_us, const uint64_t *bad, size_t nbad);

/* recover.c */
MUST_USE enum status storage_recover(struct storage *self);
void storage_recovery_destroy(struct storage_recovery **recovery);

/* plan.c */
void storage_merge_work(struct storage *self, uint64_t now_us);

/* merge.c */
void storage_merge_destroy(struct storage_merge **merge);

/* read.c */
void storage_reads_destroy(struct storage *self);

/* view.c: may the file of that run be removed, or segments that end there? Not while a view
 * needs them. */
bool storage_view_pins_run(const struct storage *storage, uint64_t number);
bool storage_view_pins_log(const struct storage *storage, uint64_t below);
void storage_views_destroy(struct storage *self);

#endif
