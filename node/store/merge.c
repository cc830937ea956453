/* Sealed segments become sorted runs, runs of like size become one, what is not needed goes. */
#include "node/store/merge.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "log/segment_file.h"

#include <assert.h>

enum {
    SLICE_BYTES = 4 << 20, /* of a segment read */
    PAUSE_US = 1000000,    /* after there was no room or memory */
};

static void close_all(struct storage_merge *self)
{
    log_reader_destroy(&self->reader);
    segment_merge_destroy(&self->sort);
    run_merge_destroy(&self->merge);
    for (size_t i = 0; i < RUN_MERGE_MOST; i++) {
        run_reader_destroy(&self->readers[i]);
    }
    run_writer_destroy(&self->writer);
}

void storage_merge_destroy(struct storage_merge **merge)
{
    struct storage_merge *self = *merge;

    *merge = NULL;
    if (self == NULL) {
        return;
    }
    close_all(self);
    heap_free(self->keys);
    heap_free(self->added);
    heap_free(self);
}

/* ---- on the lane ---- */

static enum status note_added(struct storage_merge *self, const struct record_run *run)
{
    if (!heap_grow(&self->added, &self->added_capacity, self->nadded + 1, sizeof *self->added)) {
        return STATUS_NOMEM;
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
            /* Filters without key log have snapshots in place of runs. */
            if (status == STATUS_OK && !batch.bits) {
                status = segment_merge_collect(self->sort, &batch);
            }
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
    const struct storage_config *config = &self->storage->config;
    enum status status = log_reader_create(config->disk, &self->segment, 1, self->from,
                                           self->segment.end, &self->reader);

    return status == STATUS_OK
               ? segment_merge_create(config->disk, cluster_id_tag(&config->cluster), self->merged,
                                      &self->sort)
               : status;
}

static enum status run_segment(struct storage_merge *self)
{
    enum segment_merge_progress progress = MERGE_MORE;
    struct record_run run;
    enum status status;

    if (!self->opened) {
        self->opened = true;
        return open_segment(self);
    }
    if (self->reader != NULL) {
        return collect(self);
    }
    status = segment_merge_step(self->sort, &self->next_run, &run, &progress);
    if (status == STATUS_OK && progress == MERGE_RUN) {
        status = note_added(self, &run);
        if (status != STATUS_OK) {
            self->into = run; /* To be removed with the others. */
        }
    }
    self->finished = status == STATUS_OK && progress == MERGE_END;
    return status;
}

/* What is in one of them is in what they become. */
static uint64_t through_of_all(const struct storage_merge *self)
{
    uint64_t through = self->chosen[0].through;

    for (size_t i = 1; i < self->nchosen && through != 0; i++) {
        uint64_t other = self->chosen[i].through;
        bool takes = MUTANT(IMPRINT_FORGETS_LATER) ? other < through : other > through;

        through = other == 0 || takes ? other : through;
    }
    return through;
}

/* The file never gets shorter, so no more is reserved than it will need at least. */
static enum status open_runs(struct storage_merge *self)
{
    const struct storage_config *config = &self->storage->config;
    uint64_t least = 0;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nchosen && status == STATUS_OK; i++) {
        least = self->chosen[i].count > least ? self->chosen[i].count : least;
        status = run_reader_create(config->disk, cluster_id_tag(&config->cluster), &self->chosen[i],
                                   &self->readers[i]);
    }
    self->keys = heap_alloc(config->steps->most[STEP_MERGE_KEYS], sizeof *self->keys);
    if (status == STATUS_OK && self->keys == NULL) {
        return STATUS_NOMEM;
    }
    if (status == STATUS_OK) {
        status = run_merge_create(self->readers, self->nchosen, NULL, 0, &self->merge);
    }
    if (status == STATUS_OK) {
        struct record_run into = self->chosen[0];

        into.number = self->next_run++;
        into.count = 0;
        into.through = through_of_all(self);
        status = run_writer_create(config->disk, cluster_id_tag(&config->cluster), &into, least,
                                   &self->writer);
    }
    return status;
}

static enum status run_runs(struct storage_merge *self)
{
    const uint32_t most = self->storage->config.steps->most[STEP_MERGE_KEYS];
    size_t count = 0;
    enum status status;

    if (!self->opened) {
        self->opened = true;
        return open_runs(self);
    }
    status = run_merge_next(self->merge, self->keys, most, &count);
    if (status != STATUS_OK) {
        return status;
    }
    if (count > 0) {
        return run_writer_add(self->writer, self->keys, count);
    }
    status = run_writer_finish(self->writer, &self->into);
    if (status == STATUS_OK) {
        status = note_added(self, &self->into);
        self->finished = status == STATUS_OK;
    }
    return status;
}

/* The oldest segment first, and for good, or a later start would find a gap. */
static enum status run_remove(struct storage_merge *self)
{
    const struct disk *disk = self->storage->config.disk;
    enum status status = STATUS_OK;
    uint64_t number;

    if (self->name[0] == '\0') {
        status = segment_file_drop(disk, self->segment.number, self->spare);
    } else if (imprint_name_parse(self->name, &number)) {
        storage_imprint_remove(self->storage, self->name);
    } else {
        status = disk->remove(disk->context, self->name);
        if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
            status = disk->sync_folder(disk->context);
        }
    }
    if (status == STATUS_OK) {
        status = disk->room(disk->context, &self->room_bytes);
    }
    self->finished = status == STATUS_OK;
    return status;
}

/* What was made so far is in no manifest and never will be. */
static void undo(struct storage_merge *self)
{
    const struct disk *disk = self->storage->config.disk;
    char name[DISK_NAME_BYTES];

    close_all(self);
    for (size_t i = 0; i < self->nadded; i++) {
        run_name(self->added[i].number, name);
        (void)disk->remove(disk->context, name); /* Where it stays the next start removes it. */
    }
    if (self->into.number != 0) {
        run_name(self->into.number, name);
        (void)disk->remove(disk->context, name);
    }
    self->nadded = 0;
}

/* Before the task uses any; later on only what is kept for adds must be left. */
static enum status look_for_room(struct storage_merge *self)
{
    const struct storage_config *config = &self->storage->config;
    uint64_t needed = config->reserve_bytes + (self->opened ? 0 : self->needed_bytes);
    enum status status = config->disk->room(config->disk->context, &self->room_bytes);

    return status == STATUS_OK && self->room_bytes < needed ? STATUS_NO_SPACE : status;
}

static enum status slice(struct storage_merge *self)
{
    /* Removing takes no room, it makes some. */
    enum status status = self->task == TASK_REMOVE ? STATUS_OK : look_for_room(self);

    if (status != STATUS_OK) {
        return status;
    }
    switch (self->task) {
    case TASK_SEGMENT:
        return run_segment(self);
    case TASK_RUNS:
        return run_runs(self);
    case TASK_REMOVE:
        return run_remove(self);
    }
    return STATUS_INTERNAL;
}

static void run(struct job *job)
{
    struct storage_merge *self = (struct storage_merge *)job;
    enum status status = slice(self);

    if (status != STATUS_OK && self->task != TASK_REMOVE) {
        undo(self);
    }
    if (self->task == TASK_RUNS && (status == STATUS_MALFORMED || status == STATUS_NOT_FOUND)) {
        status = storage_damage_find(self->storage, self->chosen, self->nchosen, self->bad,
                                     &self->nbad);
        status = status == STATUS_OK ? STATUS_STALE : status;
    }
    self->status = status;
}

/* ---- with the actor ---- */

void storage_merge_submit(struct storage_merge *self)
{
    const struct effects *effects = self->storage->config.effects;

    effects->submit(effects->context, JOB_BACKGROUND, &self->job);
}

bool storage_merge_conclude(struct storage *storage)
{
    struct storage_merge *self = storage->merge;
    const struct storage_edit change = {
        .merged = self->merged,
        .added = self->added,
        .nadded = self->nadded,
        .removed = self->removed,
        .nremoved = self->nremoved,
    };
    enum status status = self->task == TASK_REMOVE ? STATUS_OK
                                                   : storage_edit_runs(storage, &change);

    /* The files are whole: only their record lacks, and is tried again. */
    self->unlogged = storage_may_wait(status);
    if (self->unlogged) {
        return false;
    }
    if (status != STATUS_OK) {
        storage_fail(storage, status, "the set of sorted runs can't be logged");
    }
    if (self->task == TASK_REMOVE && self->spare) {
        log_writer_give_spare(storage->writer);
    }
    storage_merge_destroy(&storage->merge);
    return true;
}

static void give_up(struct storage *storage, uint64_t now_us, enum status status)
{
    struct storage_merge *self = storage->merge;

    if (status == STATUS_STALE) {
        storage_damage_take(storage, now_us, self->bad, self->nbad);
    }
    if (status == STATUS_STALE || (storage_may_wait(status) && self->task != TASK_REMOVE)) {
        storage->next_merge_us = now_us + PAUSE_US; /* Begins anew then. */
    } else {
        storage_fail(storage, status, "a file can't be merged or removed");
    }
    storage_merge_destroy(&storage->merge);
}

/* Of runs: opening them and ending the new one are steps of their own. */
static void note_step(struct storage_merge *self)
{
    if (self->task == TASK_RUNS && self->merge != NULL && self->steps++ > 1) {
        steps_again(self->storage->config.steps, STEP_MERGE_KEYS);
    }
}

static void done(struct job *job, uint64_t now_us)
{
    struct storage_merge *self = (struct storage_merge *)job;
    struct storage *storage = self->storage;

    storage->room_bytes = self->room_bytes;
    if (self->task != TASK_REMOVE) {
        storage->lacks_room = self->status == STATUS_NO_SPACE;
    }
    storage->next_run = self->next_run; /* No number is used twice. */
    if (storage->failed) {
        storage_merge_destroy(&storage->merge);
    } else if (self->status != STATUS_OK) {
        give_up(storage, now_us, self->status);
    } else if (!self->finished) {
        note_step(self);
        storage_merge_submit(self);
    } else if (storage_merge_conclude(storage)) {
        storage->merge_over(storage, now_us);
    }
}

struct storage_merge *storage_merge_begin(struct storage *storage, enum merge_task task)
{
    struct storage_merge *self = heap_zalloc(1, sizeof *self);

    assert(storage->merge == NULL); /* One at a time: what is next rests on what it has edited. */
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
