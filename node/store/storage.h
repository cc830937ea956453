/* storage.h - what a node keeps on disk: one log, sorted runs, and what they say when read back.
 *
 * The facade over lib/log for the node's core, which never blocks: everything that touches
 * the disk is a job (base/job.h), and its end comes as a callback on the actor's thread.
 *
 *   storage_create -> [nameless -> storage_name()] -> recovering: reads the log, tells `recovered`
 *        what it found
 *     -> storage_begin(identity): a new segment of this boot -> open for appending
 *        background: sealed segments -> runs (merging), old segments and runs removed
 *
 * Set:     (filter, keyset, slice): what a run belongs to. Fingerprints of a set are in its runs
 *          and in the batches of the log from `merged` on: both together are the replica. Of a
 *          filter without key log (record_batch.bits) there are no runs: a snapshot of its array
 *          is taken from time to time, and the log is kept from where that began.
 * Units:   bytes, offsets of the log.
 * Errors:  as said; a failed write of the log calls `failed`: the process must end.
 * Owner:   storage_create()'s caller calls storage_destroy(), the lanes being stopped.
 * Threads: the actor's.
 */
#ifndef ORBLOOM_NODE_STORE_STORAGE_H
#define ORBLOOM_NODE_STORE_STORAGE_H

#include "base/actor.h"
#include "base/cluster_id.h"
#include "base/disk.h"
#include "log/snapshot.h"
#include "node/base/steps.h"

#include <stdbool.h>

struct storage;
struct read_job;

struct storage_set {
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
};

/* Is a batch, among others, for it? */
bool storage_set_gets(const struct storage_set *set, const struct record_batch *batch);

/* The array of a set as it is now, all bits of the log being in it. */
struct storage_image {
    uint64_t hosting; /* tells it from another one of the same set */
    uint32_t generation;
    struct snapshot_geometry geometry;
    uint8_t *const *shards; /* by their numbers; NULL: not here */
    uint32_t nshards;       /* of the filter */
    uint32_t nhosted;       /* of them here */
    uint32_t ngroups;       /* here */
    const uint16_t *group_of_shard;
};

/* Why the data found can't be trusted to be all that was acknowledged. */
enum amnesia {
    AMNESIA_NONE,
    AMNESIA_EMPTY,   /* nothing there: a new disk, or a wiped one */
    AMNESIA_CORRUPT, /* something once durable can't be read */
    AMNESIA_POWER,   /* unsynced, not ended in order, and the kernel is another one */
    AMNESIA_BOOT,    /* the last boot known elsewhere is not the last one here: an older copy */
};

const char *amnesia_meaning(enum amnesia amnesia);

struct storage_config {
    struct disk *disk;
    const struct effects *effects;
    struct cluster_id cluster; /* none: the folder says, or `nameless` is told */
    uint64_t kernel_boot;      /* which boot of the kernel this is */
    uint64_t segment_bytes;
    uint64_t retain_bytes;  /* of files of merged segments, kept for peers that catch up */
    uint64_t retain_us;     /* ... and all of so long, while there is room; 0: none for its age */
    uint64_t hold_bytes;    /* ... and of what storage_hold() names; 0: none for that */
    uint64_t reserve_bytes; /* of the disk that background work leaves free */
    uint64_t imprint_bytes; /* imprints are taken of arrays of so many bytes or more; 0: of none */
    bool imprint_eager;     /* the first one however little there is in runs: for tests */
    uint32_t merge_runs;    /* so many of a set and a tier become one: for tests; 0: as in
                               log/run_merge.h */
    struct steps *steps;    /* borrowed */

    void *context;
    /* The folder does not say which cluster it belongs to, and nobody has: nothing was read,
     * nothing written. Goes on with storage_name(). */
    void (*nameless)(void *context, uint64_t now_us);
    /* Recovery, in order: each document, fence and cursor found (the newest of each last), then
     * `recovered` once. A STATUS_UNAUTHENTIC or _VERSION there: another cluster's folder, another
     * format; nothing was written. What `found` returns but STATUS_OK is told there too. */
    enum status (*found)(void *context, enum record_type type, struct span record);
    void (*recovered)(void *context, uint64_t now_us, enum status status, enum amnesia amnesia,
                      const struct record_identity *last);
    /* Append documents, fences, cursors: see log_writer.h. */
    enum status (*checkpoint)(void *context);
    /* For snapshots and imprints. False: the set's array is not here now, does not cover the log
     * yet, or has bits that no imprint may have; else it may be read until the call returns that
     * asked. */
    bool (*image)(void *context, const struct storage_set *set, struct storage_image *out);
    /* image()'s ngroups of them, ascending, with their keys. */
    void (*image_groups)(void *context, const struct storage_set *set, struct snapshot_group *out);
    /* False: it, or its filter, is durably dropped for good. */
    bool (*wanted)(void *context, const struct storage_set *set);
    void (*moved)(void *context, uint64_t now_us); /* written or synced has risen */
    /* A sorted run or a snapshot of the set is lost. Log a new incarnation before returning: what
     * is left is in the log as all there is after that. What was read of it must go, too, wherever
     * it is by now: nothing would have it at the next start. */
    void (*damaged)(void *context, uint64_t now_us, const struct storage_set *set);
    void (*failed)(void *context, enum status status, const char *what);
};

MUST_USE enum status storage_create(const struct storage_config *config, struct storage **out);
void storage_destroy(struct storage **self);

/* After `nameless`: which cluster this is. Before anything else is written the folder says so. */
MUST_USE enum status storage_name(struct storage *self, const struct cluster_id *cluster);

/* Which cluster the folder belongs to, once it is recovered. */
const struct cluster_id *storage_cluster(const struct storage *self);

/* Recovered: from here on this identity writes. What was found is kept either way. */
MUST_USE enum status storage_begin(struct storage *self, const struct record_identity *identity);

/* The identity has changed within this boot (registered, another incarnation): logged. */
MUST_USE enum status storage_identify(struct storage *self, const struct record_identity *identity);

/* ---- appending; *end: acknowledge only once the log has reached it ---- */

/* STATUS_NO_SPACE, STATUS_OVERLOADED, STATUS_NOMEM: nothing was appended. */
MUST_USE enum status storage_add(struct storage *self, const struct record_batch *batch,
                                 uint64_t *end);

/* The set may have no document yet: what it names is kept. Same statuses. */
MUST_USE enum status storage_put_lines(struct storage *self, const struct record_lines *lines,
                                       uint64_t *end);

/* Would a batch of that many fingerprints be accepted now? Same statuses. */
MUST_USE enum status storage_room(const struct storage *self, size_t count);
MUST_USE enum status storage_put_document(struct storage *self, struct span document,
                                          uint64_t *end);
MUST_USE enum status storage_put_fence(struct storage *self, const struct record_fence *fence,
                                       uint64_t *end);
MUST_USE enum status storage_put_cursor(struct storage *self, const struct record_cursor *cursor,
                                        uint64_t *end);

MUST_USE enum status storage_put_site_cursor(struct storage *self,
                                             const struct record_site_cursor *cursor,
                                             uint64_t *end);

MUST_USE enum status storage_put_peer(struct storage *self, const struct record_peer *peer,
                                      uint64_t *end);

/* Every turn. */
void storage_turn(struct storage *self);
void storage_want_sync(struct storage *self);
void storage_set_sync(struct storage *self, bool sync);

bool storage_found_clean(const struct storage *self);   /* the process before ended in order */
uint64_t storage_found_end(const struct storage *self); /* of the log as it was found */
uint64_t storage_end(const struct storage *self);
uint64_t storage_written(const struct storage *self);
uint64_t storage_synced(const struct storage *self);

/* See to it that background work is under way if there is any. Call from the actor's work(). */
void storage_work(struct storage *self, uint64_t now_us);

/* When storage_work() has something to do by the clock; UINT64_MAX: not by it. */
uint64_t storage_next_us(const struct storage *self);

/* In order: write and sync the rest and a RECORD_CLEAN. The lanes are stopped. */
MUST_USE enum status storage_finish(struct storage *self);

/* ---- reading a set: one read at a time a struct storage_read ---- */

/* Which records of the log: adds that routers brought here, neither REPAIRED nor RELAYED, of some
 * filters. */
struct storage_own {
    const uint64_t *filters; /* ascending */
    size_t nfilters;
    const uint64_t *offsets; /* ascending: of records that begin there; none: of all */
    size_t noffsets;
    uint32_t most; /* records told at once */
    bool headers;  /* without their fingerprints */
};

/* Reads either a stretch of the runs of a set, ascending, or batches of the log. Two reads make a
 * whole set: runs from 0 to the end, remembering the lowest `merged` that an answer told; then
 * the log from there. If that offset is not kept any more (STATUS_STALE), start over. */
struct storage_read {
    struct storage_set set;
    bool log;   /* batches of the log with the set among their targets; else runs */
    bool lines; /* ... and lines of it */
    bool every; /* ... or batches of all sets that have runs, whatever `set` is */
    const struct storage_own *own; /* ... or these; stays as it is until done(). NULL: no */
    uint64_t beyond; /* runs: not those that have nothing from that offset of the log on; 0: all */
    uint64_t from;   /* runs: the lowest fingerprint wanted; log: an offset */
    uint64_t to;     /* log: stop there, or at the end of what is written; runs: highest wanted */
    size_t
        room; /* of fingerprints wanted at most; more only of one batch, or page, that is larger */

    void *context;
    /* OK. STALE: what was to be read is not there any more, start over; `from` is below what the
     * log keeps, or a run was damaged. IO, NOMEM, MALFORMED (the log), NOT_FOUND (own->offsets:
     * one of them is no such record): nothing was read. */
    void (*done)(struct storage_read *self, uint64_t now_us, enum status status);

    /* The answer, valid during done(). */
    uint64_t *fingerprints;
    size_t count;
    struct record_batch *batches; /* log: their fingerprints lie one after the other above */
    uint64_t *offsets;            /* log: of each batch's record */
    uint64_t *digests; /* with `own`: XXH3-64, seed 0, of each batch's fingerprints; else NULL */
    size_t nbatches;
    struct record_lines *pages; /* if asked for; their bytes lie among the fingerprints */
    uint64_t *page_offsets;
    size_t npages;
    uint64_t next;   /* from where to go on; own->offsets: the first one that was not read */
    bool end;        /* nothing is left */
    uint64_t merged; /* batches below this offset are in the runs just read */

    struct read_job *job; /* storage's own */
};

/* Begin; done() comes later, always, unless storage is destroyed first.
 * STATUS_STALE (log: `from` is not kept any more), STATUS_OVERLOADED, STATUS_NOMEM: done() never
 * comes. */
MUST_USE enum status storage_read(struct storage *self, struct storage_read *read);

/* ---- reading back an array from a copy of it ---- */

/* Of a filter without key log its snapshot: pages, slice by slice, then the log from `from` on. Of
 * one with key log an imprint: then the runs that are not below its `from`, and the log from where
 * these end. */
struct storage_load {
    struct storage_set set;
    bool imprint;
    void *context;
    /* OK. STALE: the snapshot can't be read; it is set aside, and `damaged` was told. Or the
     * imprint can't, and is there no longer: that is all. IO, NOMEM. */
    void (*done)(struct storage_load *self, uint64_t now_us, enum status status);

    /* The answer, valid during done(). */
    struct record_snapshot snapshot;
    const struct snapshot_shape *shape;
    const uint8_t *pages;
    size_t npages;
    uint64_t first; /* which of all */
    bool end;       /* nothing is left */
};

/* Which part of the log a set needs, and its snapshot's number (0: none). False: the log has
 * nothing of it. */
bool storage_array(const struct storage *self, const struct storage_set *set,
                   struct record_snapshot *out);

/* The set's imprint; false: there is none. */
bool storage_imprint(const struct storage *self, const struct storage_set *set,
                     struct record_snapshot *out);

/* Begin, or go on after done(); one load at a time. done() comes later, unless stopped or storage
 * is destroyed first. STATUS_NOT_FOUND (no snapshot), STATUS_OVERLOADED, STATUS_NOMEM: done() never
 * comes. */
MUST_USE enum status storage_load(struct storage *self, struct storage_load *load);
void storage_load_stop(struct storage *self, struct storage_load *load);

/* In done(): the snapshot is not of this array. It counts no longer, and `damaged` is told; an
 * imprint only goes. */
void storage_load_refuse(struct storage *self, const struct storage_load *load, uint64_t now_us);

/* Which batches the log holds, but for their fingerprints: as a read of the log, at once and
 * without a job, where all from `from` on is young enough to be remembered; else false, and
 * nothing is told. The answer is valid until the next call, a batch having the set as its only
 * target. */
bool storage_recall(struct storage *self, struct storage_read *read);

/* Which filters have batches with numbers in the log between `from` and `to`, by what is
 * remembered: at most `most` ids, as they come and perhaps more than once; *next: where to go on.
 * False: that is not known. */
bool storage_recall_filters(struct storage *self, uint64_t from, uint64_t to, uint64_t *ids,
                            size_t most, size_t *count, uint64_t *next);

/* Where is the first own add of these filters from `from` on? *next: there, if it was *found; else
 * how far was looked, at most `to`. False: it is not remembered what is there. */
bool storage_recall_own(const struct storage *self, const struct storage_own *own, uint64_t from,
                        uint64_t to, uint64_t *next, bool *found);

/* Is the log kept from there on? */
bool storage_keeps(const struct storage *self, uint64_t from);

/* Others have yet to read the log from `from` on: merged files of it are kept, hold_bytes of them
 * at most, and not where adds will lack their room. UINT64_MAX: none. */
void storage_hold(struct storage *self, uint64_t from);

/* May some run or kept batch be of that set? */
bool storage_has(const struct storage *self, const struct storage_set *set);

struct storage_usage {
    uint64_t log_bytes; /* files */
    uint64_t run_bytes;
    uint64_t run_keys;
    uint64_t snapshot_bytes;
    uint64_t snapshots; /* written by this process */
    uint64_t imprint_bytes;
    uint64_t imprints;         /* written by this process, */
    uint64_t imprints_read;    /* ... read back, */
    uint64_t imprints_refused; /* ... found to be of no use */
    uint64_t bare_dropped;     /* segments that held nothing but state, by this process */
    uint64_t unmerged_bytes;
    uint64_t room_bytes; /* left on the disk when last looked */
    uint32_t nruns;
    uint32_t nsegments;
};

struct storage_usage storage_usage(const struct storage *self);

/* What runs of that filter take on the disk. The log is of all filters together. */
uint64_t storage_filter_bytes(const struct storage *self, uint64_t filter_id);

#endif
