/* Reading a set back, on the lane: a stretch of its runs, or of the log. */
#include "base/heap.h"
#include "log/run_merge.h"
#include "node/store/read_private.h"

#include <string.h>

enum { LOG_SLICE_BYTES = 8 << 20 /* of the log a job goes through */ };

/* ---- a stretch of the runs ---- */

static enum status open_runs(const struct read_job *self, struct run_reader **readers)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nruns && status == STATUS_OK; i++) {
        status = run_reader_create(self->storage->config.disk,
                                   cluster_id_tag(&self->storage->config.cluster), &self->runs[i],
                                   &readers[i]);
        if (status == STATUS_OK) {
            run_reader_seek(readers[i], self->from);
        }
    }
    return status;
}

static enum status merge_runs(struct read_job *self, struct run_reader *const *readers)
{
    struct run_merge *merge = NULL;
    enum status status = run_merge_create(readers, self->nruns, NULL, 0, &merge);

    if (status == STATUS_OK) {
        status = run_merge_next(merge, self->fingerprints, self->room, &self->count);
    }
    run_merge_destroy(&merge);
    self->end = self->count < self->room;
    while (self->count > 0 && self->fingerprints[self->count - 1] > self->to) {
        self->count--;
        self->end = true;
    }
    if (self->count > 0) {
        uint64_t last = self->fingerprints[self->count - 1];

        self->end = self->end || last == UINT64_MAX;
        self->next_place = last + 1;
    }
    return status;
}

/* Which of them is it? The others are to be read again, without it. */
static enum status find_damage(struct read_job *self)
{
    enum status status;

    self->bad = heap_alloc(self->nruns, sizeof *self->bad);
    if (self->bad == NULL) {
        return STATUS_NOMEM;
    }
    status = storage_damage_find(self->storage, self->runs, self->nruns, self->bad, &self->nbad);
    return status == STATUS_OK ? STATUS_STALE : status;
}

void read_job_runs(struct job *job)
{
    struct read_job *self = (struct read_job *)job;
    struct run_reader *readers[RUN_MERGE_MAX] = {0};

    self->next_place = self->from;
    self->status = open_runs(self, readers);
    if (self->status == STATUS_OK) {
        self->status = merge_runs(self, readers);
    }
    for (size_t i = 0; i < self->nruns; i++) {
        run_reader_destroy(&readers[i]);
    }
    if (self->status == STATUS_MALFORMED || self->status == STATUS_NOT_FOUND) {
        self->status = find_damage(self);
    }
}

/* ---- a stretch of the log ---- */

/* For one more batch, and its offset. */
static bool make_room(struct read_job *self)
{
    size_t batches = self->batches_capacity;
    size_t offsets = self->batches_capacity;

    if (!heap_grow(&self->batches, &batches, self->nbatches + 1, sizeof *self->batches) ||
        !heap_grow(&self->offsets, &offsets, self->nbatches + 1, sizeof *self->offsets)) {
        return false;
    }
    self->batches_capacity = batches;
    return true;
}

static enum status keep(struct read_job *self, struct record_batch *batch, uint64_t offset)
{
    if (batch->count > self->room) { /* The first of all: it has to fit, or reading never ends. */
        uint64_t *grown = heap_realloc(self->fingerprints, batch->count, sizeof *grown);

        if (grown == NULL) {
            return STATUS_NOMEM;
        }
        self->fingerprints = grown;
        self->room = batch->count;
    }
    if (!make_room(self)) {
        return STATUS_NOMEM;
    }
    memcpy(self->fingerprints + self->count, batch->fingerprints,
           batch->count * sizeof *self->fingerprints);
    batch->fingerprints = self->fingerprints + self->count;
    self->count += batch->count;
    self->batches[self->nbatches] = *batch;
    self->offsets[self->nbatches++] = offset;
    return STATUS_OK;
}

static bool is_about(const struct record_lines *lines, const struct storage_set *set)
{
    return lines->filter_id == set->filter_id && lines->lineage == set->lineage &&
           lines->slice == set->slice;
}

/* Room for them was made at the beginning. */
static void keep_page(struct read_job *self, struct record_lines *lines, uint64_t offset)
{
    record_lines_page(lines, (uint8_t *)(self->fingerprints + self->count));
    lines->bytes = (const uint8_t *)(self->fingerprints + self->count);
    self->count += READ_PAGE_WORDS;
    self->pages[self->npages] = *lines;
    self->page_offsets[self->npages++] = offset;
}

static bool is_wanted(const struct read_job *self, const struct record_batch *batch)
{
    return self->every ? !batch->bits : storage_set_gets(&self->set, batch);
}

/* *full: this record begins the next answer. */
static enum status take_record(struct read_job *self, const struct record_header *header,
                               struct span record, bool *full)
{
    bool some = self->nbatches > 0 || self->npages > 0;
    struct record_batch batch;
    struct record_lines lines;
    enum status status = STATUS_OK;

    if (header->type == RECORD_BATCH) {
        status = record_batch_get(record, &batch);
        if (status == STATUS_OK && is_wanted(self, &batch)) {
            *full = some && self->count + batch.count > self->room;
            return *full ? STATUS_OK : keep(self, &batch, header->offset);
        }
    } else if (header->type == RECORD_LINES && self->lines) {
        status = record_lines_get(record, &lines);
        if (status == STATUS_OK && is_about(&lines, &self->set)) {
            *full = self->count + READ_PAGE_WORDS > self->room;
            if (!*full) {
                keep_page(self, &lines, header->offset);
            }
        }
    }
    return status;
}

/* Until the room is used up, the slice, or the log. */
static enum status read_on(struct read_job *self, struct log_reader *reader)
{
    struct record_header header;
    struct span record;
    bool full = false;
    enum status status = STATUS_OK;

    while (self->next_place - self->from < LOG_SLICE_BYTES) {
        status = log_reader_next(reader, &header, &record);
        if (status == STATUS_NOT_FOUND) { /* The last that there is may be a hole of the log. */
            self->next_place = self->to;
            self->end = true;
            return STATUS_OK;
        }
        if (status != STATUS_OK) {
            return status;
        }
        status = take_record(self, &header, record, &full);
        if (status != STATUS_OK || full) {
            return status;
        }
        self->next_place = log_reader_offset(reader);
    }
    return STATUS_OK;
}

void read_job_log(struct job *job)
{
    struct read_job *self = (struct read_job *)job;
    struct log_reader *reader = NULL;

    self->next_place = self->from;
    if (self->from >= self->to) {
        self->end = true;
        return;
    }
    self->status = log_reader_create(self->storage->config.disk, self->segments, self->nsegments,
                                     self->from, self->to, &reader);
    if (self->status == STATUS_OK) {
        self->status = read_on(self, reader);
    }
    log_reader_destroy(&reader);
}
