/* Background work: sealed segments become sorted runs, runs of like size become one, what is no
 * longer needed goes. One task at a time, in slices on the background lane.
 *
 *   slice, slice, ... -> the new runs are synced -> a manifest record -> synced -> old files go
 */
#include "base/heap.h"
#include "base/log.h"
#include "node/storage_private.h"
#include "storage/run_merge.h"
#include "storage/segment_merge.h"

#include <string.h>

enum {
    SLICE_BYTES = 4 << 20,     /* of a segment read */
    SLICE_KEYS = 256 << 10,    /* of runs merged: 2 MiB, some milliseconds */
    PAUSE_US = 1000000,        /* after the disk had no room */
    MANY_RUNS = 24,            /* merge these first: reading goes through all of a set */
    SEGMENTS_KEPT = 2,         /* at least: the one written to, and one before it */
    DISK_SLACK_BYTES = 1 << 20 /* headers and indices of runs */
};

enum task { TASK_SEGMENT, TASK_RUNS, TASK_REMOVE };

struct storage_merge {
    struct job job; /* first */
    struct storage *storage;
    enum task task;
    enum status status;
    bool finished;
    uint64_t room_bytes;
    uint64_t needed_bytes;
    uint64_t next_run;

    bool opened;

    struct log_extent segment; /* TASK_SEGMENT: read, then sorted and written, a run a slice */
    uint64_t from;
    struct log_reader *reader;
    struct segment_merge *sort;
    uint64_t merged;

    struct record_run chosen[RUN_MERGE_MAX]; /* TASK_RUNS */
    size_t nchosen;
    struct run_reader *readers[RUN_MERGE_MAX];
    struct run_merge *merge;
    struct run_writer *writer;
    struct record_run into;
    uint64_t *keys;

    struct record_run *added;
    size_t nadded;
    size_t added_capacity;
    uint64_t removed[RUN_MERGE_MAX];
    uint32_t nremoved;

    char name[DISK_NAME_BYTES]; /* a file to remove */
};

void storage_merge_destroy(struct storage_merge **merge)
{
    struct storage_merge *self = *merge;

    *merge = NULL;
    if (self == NULL) {
        return;
    }
    log_reader_destroy(&self->reader);
    segment_merge_destroy(&self->sort);
    run_merge_destroy(&self->merge);
    for (size_t i = 0; i < RUN_MERGE_MAX; i++) {
        run_reader_destroy(&self->readers[i]);
    }
    run_writer_destroy(&self->writer);
    heap_free(self->keys);
    heap_free(self->added);
    heap_free(self);
}

/* ---- on the lane ---- */

static enum status note_added(struct storage_merge *self, const struct record_run *run)
{
    if (self->nadded == self->added_capacity) {
        size_t capacity = self->added_capacity * 2 + 8;
        struct record_run *grown = heap_realloc(self->added, capacity, sizeof *grown);

        if (grown == NULL) {
            return STATUS_NOMEM;
        }
        self->added = grown;
        self->added_capacity = capacity;
    }
    self->added[self->nadded++] = *run;
    return STATUS_OK;
}

static enum status collect(struct storage_merge *self)
{
    uint64_t from = log_reader_offset(self->reader);
    struct record_header header;
    struct span record;
    enum status status = STATUS_OK;

    while (status == STATUS_OK && log_reader_offset(self->reader) - from < SLICE_BYTES) {
        status = log_reader_next(self->reader, &header, &record);
        if (status == STATUS_OK && header.type == RECORD_BATCH) {
            struct record_batch batch;

            status = record_batch_get(record, &batch);
            status = status == STATUS_OK ? segment_merge_collect(self->sort, &batch) : status;
        }
    }
    if (status == STATUS_NOT_FOUND) {
        log_reader_destroy(&self->reader);
        status = STATUS_OK;
    }
    return status;
}

static enum status open_segment(struct storage_merge *self)
{
    enum status status = log_reader_create(self->storage->config.disk, &self->segment, 1,
                                           self->from, self->segment.end, &self->reader);

    return status == STATUS_OK ? segment_merge_create(self->storage->config.disk,
                                                      self->storage->config.cluster, &self->sort)
                               : status;
}

static void run_segment(struct storage_merge *self)
{
    enum segment_merge_progress progress = MERGE_MORE;
    struct record_run run;

    if (!self->opened) {
        self->opened = true;
        self->status = open_segment(self);
    } else if (self->reader != NULL) {
        self->status = collect(self);
    } else {
        self->status = segment_merge_step(self->sort, &self->next_run, &run, &progress);
        if (self->status == STATUS_OK && progress == MERGE_RUN) {
            self->status = note_added(self, &run);
        }
        self->finished = progress == MERGE_END;
    }
}

static enum status open_runs(struct storage_merge *self)
{
    const struct storage_config *config = &self->storage->config;
    uint64_t least = 0;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nchosen && status == STATUS_OK; i++) {
        /* What is repeated among them is not known yet, and a file never shrinks. */
        least = self->chosen[i].count > least ? self->chosen[i].count : least;
        status = run_reader_create(config->disk, config->cluster, &self->chosen[i],
                                   &self->readers[i]);
    }
    self->into = self->chosen[0];
    self->into.number = self->next_run++;
    self->into.count = 0;
    self->keys = heap_alloc(SLICE_KEYS, sizeof *self->keys);
    if (status == STATUS_OK && self->keys == NULL) {
        return STATUS_NOMEM;
    }
    if (status == STATUS_OK) {
        status = run_merge_create(self->readers, self->nchosen, NULL, 0, &self->merge);
    }
    return status == STATUS_OK
               ? run_writer_create(config->disk, config->cluster, &self->into, least, &self->writer)
               : status;
}

static void run_runs(struct storage_merge *self)
{
    size_t count = 0;

    if (!self->opened) {
        self->opened = true;
        self->status = open_runs(self);
        return;
    }
    self->status = run_merge_next(self->merge, self->keys, SLICE_KEYS, &count);
    if (self->status == STATUS_OK && count > 0) {
        self->status = run_writer_add(self->writer, self->keys, count);
    } else if (self->status == STATUS_OK) {
        self->status = run_writer_finish(self->writer, &self->into);
        if (self->status == STATUS_OK) {
            self->status = note_added(self, &self->into);
        }
        self->finished = true;
    }
}

static void run_remove(struct storage_merge *self)
{
    const struct disk *disk = self->storage->config.disk;

    self->status = disk->remove(disk->context, self->name);
    /* The oldest segment first, and for good, or a later start would find a gap. */
    self->status = self->status == STATUS_OK || self->status == STATUS_NOT_FOUND
                       ? disk->sync_folder(disk->context)
                       : self->status;
    self->finished = true;
}

static void run(struct job *job)
{
    struct storage_merge *self = (struct storage_merge *)job;
    const struct storage_config *config = &self->storage->config;

    self->status = config->disk->room(config->disk->context, &self->room_bytes);
    if (self->status != STATUS_OK) {
        return;
    }
    if (self->task != TASK_REMOVE && !self->opened &&
        self->room_bytes < self->needed_bytes + config->reserve_bytes) {
        self->status = STATUS_NO_SPACE;
        return;
    }
    switch (self->task) {
    case TASK_SEGMENT:
        run_segment(self);
        break;
    case TASK_RUNS:
        run_runs(self);
        break;
    case TASK_REMOVE:
        run_remove(self);
        break;
    }
}

/* ---- with the actor ---- */

static void submit(struct storage_merge *self)
{
    const struct effects *effects = self->storage->config.effects;

    effects->submit(effects->context, JOB_BACKGROUND, &self->job);
}

/* The edit of the set of runs: what counts from now on, once it is durable. */
static enum status log_edit(struct storage *storage, const struct storage_merge *self)
{
    uint8_t *body;
    enum status status = storage_append(
        storage, RECORD_MANIFEST, true,
        record_manifest_size(self->nremoved, (uint32_t)self->nadded), &body,
        &storage->manifest_end);

    if (status == STATUS_OK) {
        record_manifest_put(body - RECORD_HEADER_BYTES, self->merged, self->removed, self->nremoved,
                            self->added, (uint32_t)self->nadded);
        log_writer_want_sync(storage->writer);
    }
    return status;
}

static bool take_edit(struct storage *storage, const struct storage_merge *self)
{
    for (size_t i = 0; i < self->nadded; i++) {
        if (!storage_runs_put(storage, &self->added[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < self->nremoved; i++) {
        storage_runs_drop(storage, self->removed[i]);
        if (!storage_trash_run(storage, self->removed[i])) {
            return false;
        }
    }
    storage->merged = self->merged;
    storage->next_run = self->next_run;
    return true;
}

static void fail(struct storage *storage, enum status status, const char *what)
{
    storage->failed = true;
    storage->config.failed(storage->config.context, status, what);
}

static void edit(struct storage *storage, const struct storage_merge *self)
{
    enum status status = log_edit(storage, self);

    if (status == STATUS_OK && !take_edit(storage, self)) {
        status = STATUS_NOMEM;
    }
    if (status != STATUS_OK) {
        fail(storage, status, "the set of sorted runs can't be logged");
    }
}

/* Later. Numbers of runs are not used again, and the runs made so far are not needed. */
static void begin_anew(struct storage *storage, uint64_t now_us)
{
    const struct storage_merge *self = storage->merge;

    storage->next_merge_us = now_us + PAUSE_US;
    storage->next_run = self->next_run;
    for (size_t i = 0; i < self->nadded; i++) {
        if (!storage_trash_run(storage, self->added[i].number)) {
            break; /* It goes at the next start: no manifest names it. */
        }
    }
    storage_merge_destroy(&storage->merge);
}

static void done(struct job *job, uint64_t now_us)
{
    struct storage_merge *self = (struct storage_merge *)job;
    struct storage *storage = self->storage;

    storage->room_bytes = self->room_bytes;
    if (self->status == STATUS_NO_SPACE || self->status == STATUS_NOMEM) {
        begin_anew(storage, now_us);
    } else if (self->status != STATUS_OK) {
        enum status status = self->status;

        storage_merge_destroy(&storage->merge);
        fail(storage, status, "a file can't be merged or removed");
    } else if (!self->finished) {
        submit(self);
    } else {
        if (self->task != TASK_REMOVE) {
            edit(storage, self);
        }
        storage_merge_destroy(&storage->merge);
        storage_merge_work(storage, now_us);
    }
}

/* ---- what to do next ---- */

static struct storage_merge *begin(struct storage *storage, enum task task)
{
    struct storage_merge *self = heap_zalloc(1, sizeof *self);

    if (self != NULL) {
        self->storage = storage;
        self->task = task;
        self->merged = storage->merged;
        self->next_run = storage->next_run;
        self->job = (struct job){.run = run, .done = done};
        storage->merge = self;
    }
    return self;
}

/* The oldest sealed segment whose batches are in no run yet. */
static const struct log_extent *unmerged(const struct storage *storage)
{
    for (size_t i = 0; i + 1 < storage->nsegments; i++) {
        const struct log_extent *segment = &storage->segments[i];

        if (segment->end > storage->merged && segment->end <= log_writer_written(storage->writer)) {
            return segment;
        }
    }
    return NULL;
}

static bool begin_segment(struct storage *storage)
{
    const struct log_extent *segment = unmerged(storage);
    struct storage_merge *self = segment != NULL ? begin(storage, TASK_SEGMENT) : NULL;

    if (self == NULL) {
        return false;
    }
    self->segment = *segment;
    self->from = segment->first > storage->merged ? segment->first : storage->merged;
    self->merged = segment->end;
    self->needed_bytes = segment->end - segment->first + DISK_SLACK_BYTES;
    submit(self);
    return true;
}

/* Runs of one set, those of the filter that has most of them first. */
static size_t same_set(const struct storage *storage, const struct record_run *like,
                       struct record_run *runs, size_t *places)
{
    size_t count = 0;

    for (size_t i = 0; i < storage->nruns; i++) {
        const struct record_run *one = &storage->runs[i];

        if (one->filter_id == like->filter_id && one->lineage == like->lineage &&
            one->slice == like->slice) {
            runs[count] = *one;
            places[count++] = i;
        }
    }
    return count;
}

static size_t choose_runs(const struct storage *storage, struct record_run *chosen)
{
    struct record_run *runs = heap_alloc(storage->nruns + 1, sizeof *runs);
    size_t *places = heap_alloc(storage->nruns + 1, sizeof *places);
    size_t indices[RUN_MERGE_MAX];
    size_t count = 0;

    for (size_t i = 0; runs != NULL && places != NULL && i < storage->nruns && count == 0; i++) {
        size_t nruns = same_set(storage, &storage->runs[i], runs, places);

        if (places[0] == i) { /* Each set once. */
            count = run_merge_plan(runs, nruns, indices);
        }
    }
    for (size_t i = 0; i < count; i++) {
        chosen[i] = runs[indices[i]];
    }
    heap_free(runs);
    heap_free(places);
    return count;
}

static bool begin_runs(struct storage *storage)
{
    struct record_run chosen[RUN_MERGE_MAX];
    size_t count = choose_runs(storage, chosen);
    struct storage_merge *self = count > 0 ? begin(storage, TASK_RUNS) : NULL;
    uint64_t keys = 0;

    if (self == NULL) {
        return false;
    }
    memcpy(self->chosen, chosen, sizeof chosen);
    self->nchosen = count;
    for (size_t i = 0; i < count; i++) {
        keys += chosen[i].count;
        self->removed[self->nremoved++] = chosen[i].number;
    }
    self->needed_bytes = run_bytes(keys) + DISK_SLACK_BYTES;
    submit(self);
    return true;
}

/* Merged segments are kept for peers up to a bound; each one that is left begins with the whole
 * state, so any older one may go. */
static bool old_segment(const struct storage *storage)
{
    const struct log_extent *oldest = &storage->segments[0];

    return storage->nsegments > SEGMENTS_KEPT && oldest->end <= storage->merged &&
           storage->merged - oldest->first > storage->config.retain_bytes;
}

static bool begin_remove(struct storage *storage)
{
    struct storage_merge *self;
    bool run = storage->ntrash > 0;

    if (storage->manifest_end > log_writer_synced(storage->writer) ||
        (!run && (storage->nsegments == 0 || !old_segment(storage)))) {
        return false;
    }
    self = begin(storage, TASK_REMOVE);
    if (self == NULL) {
        return false;
    }
    if (run) {
        run_name(storage->trash[--storage->ntrash], self->name);
    } else {
        segment_name(storage->segments[0].number, self->name);
        storage->nsegments--;
        memmove(storage->segments, storage->segments + 1,
                storage->nsegments * sizeof *storage->segments);
    }
    submit(self);
    return true;
}

/* Runs of filters that were dropped, their tombstones being durable. */
static void drop_unwanted(struct storage *storage)
{
    struct storage_merge change = {.merged = storage->merged, .next_run = storage->next_run};

    for (size_t i = 0; i < storage->nruns && change.nremoved < RUN_MERGE_MAX; i++) {
        if (!storage->config.wanted(storage->config.context, storage->runs[i].filter_id)) {
            change.removed[change.nremoved++] = storage->runs[i].number;
        }
    }
    if (change.nremoved > 0) {
        edit(storage, &change);
    }
}

void storage_merge_work(struct storage *self, uint64_t now_us)
{
    if (self->merge != NULL || now_us < self->next_merge_us) {
        return;
    }
    drop_unwanted(self);
    if (begin_remove(self) || (self->nruns > MANY_RUNS && begin_runs(self))) {
        return;
    }
    if (!begin_segment(self)) {
        (void)begin_runs(self);
    }
}
