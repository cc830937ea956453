/* Reading a set back: what is asked, fixed as it is now; what was read, handed over. */
#include "base/heap.h"
#include "base/mutant.h"
#include "log/run_merge.h"
#include "node/store/private.h"

#include <string.h>
#include <xxhash.h>

enum {
    LOG_SLICE_BYTES = 8 << 20, /* of the log a job goes through */
    LOG_SKIP_BYTES = 1 << 20,  /* between two records: beginning anew costs less than reading it */
};

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
    const struct storage_own *own;
    struct record_run *runs;
    size_t nruns;
    struct log_extent *segments;
    size_t nsegments;

    /* The answer. */
    uint64_t *fingerprints;
    size_t count;
    struct record_batch *batches;
    uint64_t *offsets;
    uint64_t *digests;
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

/* ---- on the lane: a stretch of the runs ---- */

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
    /* A merge gives all that there is, also what lies beyond. */
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

static void run_runs(struct job *job)
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

/* For one more batch, its offset and its digest. */
static bool grow_batches(struct read_job *self)
{
    size_t batches = self->batches_capacity;
    size_t offsets = self->batches_capacity;
    size_t digests = self->batches_capacity;

    if (!heap_grow(&self->batches, &batches, self->nbatches + 1, sizeof *self->batches) ||
        !heap_grow(&self->offsets, &offsets, self->nbatches + 1, sizeof *self->offsets) ||
        (self->own != NULL &&
         !heap_grow(&self->digests, &digests, self->nbatches + 1, sizeof *self->digests))) {
        return false;
    }
    self->batches_capacity = batches;
    return true;
}

static bool keeps_headers(const struct read_job *self)
{
    return self->own != NULL && self->own->headers;
}

static enum status keep_fingerprints(struct read_job *self, struct record_batch *batch)
{
    if (batch->count > self->room) { /* The first of all: it has to fit, or reading never ends. */
        uint64_t *grown = heap_realloc(self->fingerprints, batch->count, sizeof *grown);

        if (grown == NULL) {
            return STATUS_NOMEM;
        }
        self->fingerprints = grown;
        self->room = batch->count;
    }
    memcpy(self->fingerprints + self->count, batch->fingerprints,
           batch->count * sizeof *self->fingerprints);
    batch->fingerprints = self->fingerprints + self->count;
    self->count += batch->count;
    return STATUS_OK;
}

static enum status keep(struct read_job *self, struct record_batch *batch, uint64_t offset)
{
    enum status status = STATUS_OK;

    if (!grow_batches(self)) {
        return STATUS_NOMEM;
    }
    if (self->own != NULL) {
        self->digests[self->nbatches] = XXH3_64bits(batch->fingerprints,
                                                    batch->count * sizeof *batch->fingerprints);
    }
    if (keeps_headers(self)) {
        batch->fingerprints = NULL;
    } else {
        status = keep_fingerprints(self, batch);
    }
    if (status != STATUS_OK) {
        return status;
    }
    self->batches[self->nbatches] = *batch;
    self->offsets[self->nbatches++] = offset;
    return STATUS_OK;
}

static bool is_about(const struct record_lines *lines, const struct storage_set *set)
{
    return lines->filter_id == set->filter_id && lines->keyset == set->keyset &&
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
    if (self->own != NULL) {
        return !batch->bits && (batch->batch_number != 0 || !MUTANT(TAIL_NUMBERED)) &&
               storage_own_has(self->own, batch->filter_id, batch->repaired, batch->relayed);
    }
    return self->every ? !batch->bits : storage_set_gets(&self->set, batch);
}

/* Does it begin the next answer? The first of all never does. */
static bool is_full(const struct read_job *self, const struct record_batch *batch)
{
    bool room = keeps_headers(self) || self->count + batch->count <= self->room;

    return (self->nbatches > 0 || self->npages > 0) &&
           (!room || (self->own != NULL && self->nbatches >= self->own->most));
}

/* *full: this record begins the next answer. */
static enum status take_record(struct read_job *self, const struct record_header *header,
                               struct span record, bool *full)
{
    struct record_batch batch;
    struct record_lines lines;
    enum status status = STATUS_OK;

    if (header->type == RECORD_BATCH) {
        status = record_batch_get(record, &batch);
        if (status == STATUS_OK && is_wanted(self, &batch)) {
            *full = is_full(self, &batch);
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

static void run_log(struct job *job)
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

/* ---- some records of the log ---- */

/* To the record that begins at `offset`, over what lies before it; NOT_FOUND: none does. */
static enum status read_at(struct read_job *self, uint64_t offset, struct log_reader **reader,
                           struct record_header *header, struct span *record)
{
    enum status status = STATUS_OK;

    if (*reader == NULL || offset - log_reader_offset(*reader) > LOG_SKIP_BYTES) {
        log_reader_destroy(reader);
        status = log_reader_create(self->storage->config.disk, self->segments, self->nsegments,
                                   offset, self->to, reader);
    }
    do {
        status = status == STATUS_OK ? log_reader_next(*reader, header, record) : status;
    } while (status == STATUS_OK && header->offset < offset);
    if (status == STATUS_MALFORMED || (status == STATUS_OK && header->offset != offset)) {
        return STATUS_NOT_FOUND;
    }
    return status;
}

/* One of the wanted records; *full: it begins the next answer. */
static enum status take_wanted(struct read_job *self, const struct record_header *header,
                               struct span record, bool *full)
{
    struct record_batch batch;

    if (header->type != RECORD_BATCH || record_batch_get(record, &batch) != STATUS_OK ||
        !is_wanted(self, &batch)) {
        return STATUS_NOT_FOUND;
    }
    *full = is_full(self, &batch);
    return *full ? STATUS_OK : keep(self, &batch, header->offset);
}

static void run_wanted(struct job *job)
{
    struct read_job *self = (struct read_job *)job;
    struct log_reader *reader = NULL;
    struct record_header header;
    struct span record;
    bool full = false;
    size_t i;

    for (i = 0; i < self->own->noffsets && self->status == STATUS_OK && !full; i++) {
        self->next_place = self->own->offsets[i];
        if (self->next_place - self->from >= LOG_SLICE_BYTES && self->nbatches > 0) {
            break;
        }
        self->status = read_at(self, self->next_place, &reader, &header, &record);
        if (self->status == STATUS_OK) {
            self->status = take_wanted(self, &header, record, &full);
        }
    }
    self->end = i == self->own->noffsets && !full;
    log_reader_destroy(&reader);
}

/* ---- the actor's side ---- */

static void job_destroy(struct read_job *self)
{
    heap_free(self->runs);
    heap_free(self->segments);
    heap_free(self->fingerprints);
    heap_free(self->batches);
    heap_free(self->offsets);
    heap_free(self->digests);
    heap_free(self->pages);
    heap_free(self->page_offsets);
    heap_free(self->bad);
    heap_free(self);
}

static void forget(struct storage *storage, struct read_job *self)
{
    struct read_job **at = &storage->reads;

    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
}

static void done(struct job *job, uint64_t now_us)
{
    struct read_job *self = (struct read_job *)job;
    struct storage_read *read = self->read;

    forget(self->storage, self);
    read->fingerprints = self->fingerprints;
    read->count = self->count;
    read->batches = self->batches;
    read->offsets = self->offsets;
    read->digests = self->digests;
    read->nbatches = self->nbatches;
    read->pages = self->pages;
    read->page_offsets = self->page_offsets;
    read->npages = self->npages;
    read->next = self->next_place;
    read->end = self->end;
    /* Whoever asked may ask again from within done(). */
    read->job = NULL;
    if (self->nbad > 0) {
        storage_damage_take(self->storage, now_us, self->bad, self->nbad);
    }
    read->done(read, now_us, self->status);
    job_destroy(self);
}

static enum status take_runs(struct read_job *self, const struct storage *storage)
{
    self->runs = heap_alloc(storage->nruns + 1, sizeof *self->runs);
    if (self->runs == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < storage->nruns; i++) {
        const struct record_run *one = &storage->runs[i];

        if (storage_set_has(&self->set, one) && !run_is_below(one, self->read->beyond)) {
            self->runs[self->nruns++] = *one;
        }
    }
    return self->nruns <= RUN_MERGE_MAX ? STATUS_OK : STATUS_OVERLOADED;
}

/* Is what is needed of the log from there on still there? In front of its first segment may be a
 * hole, where nothing was. */
static bool is_kept(const struct storage *storage, uint64_t from)
{
    const struct log_extent *first = storage->segments;

    return storage->nsegments == 0 || from + first->bare >= first->first;
}

static enum status take_segments(struct read_job *self, const struct storage *storage)
{
    uint64_t written = storage_written(storage);

    if (!is_kept(storage, self->from)) {
        return STATUS_STALE;
    }
    self->segments = heap_alloc(storage->nsegments + 1, sizeof *self->segments);
    if (self->segments == NULL) {
        return STATUS_NOMEM;
    }
    self->to = self->to < written ? self->to : written;
    for (size_t i = 0; i < storage->nsegments; i++) {
        self->segments[i] = storage->segments[i];
        if (self->segments[i].end > written) {
            self->segments[i].end = written;
        }
        self->nsegments += self->segments[i].first < written;
    }
    return STATUS_OK;
}

static enum status make_room(struct read_job *self)
{
    size_t npages;

    if (self->lines && self->room < READ_PAGE_WORDS) {
        self->room = READ_PAGE_WORDS;
    }
    npages = self->lines ? self->room / READ_PAGE_WORDS + 1 : 0;
    self->fingerprints = heap_alloc(self->room, sizeof *self->fingerprints);
    if (npages > 0) {
        self->pages = heap_alloc(npages, sizeof *self->pages);
        self->page_offsets = heap_alloc(npages, sizeof *self->page_offsets);
        if (self->pages == NULL || self->page_offsets == NULL) {
            return STATUS_NOMEM;
        }
    }
    return self->fingerprints != NULL ? STATUS_OK : STATUS_NOMEM;
}

static void (*job_of(const struct storage_read *read))(struct job *job)
{
    if (!read->log) {
        return run_runs;
    }
    return read->own != NULL && read->own->noffsets > 0 ? run_wanted : run_log;
}

enum status storage_read(struct storage *storage, struct storage_read *read)
{
    struct read_job *self = heap_zalloc(1, sizeof *self);
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->storage = storage;
    self->read = read;
    self->set = read->set;
    self->from = read->from;
    self->to = read->to;
    self->room = read->room;
    self->job = (struct job){.run = job_of(read), .done = done};
    self->lines = read->lines;
    self->every = read->every;
    self->own = read->log ? read->own : NULL;
    status = make_room(self);
    if (status == STATUS_OK) {
        status = read->log ? take_segments(self, storage) : take_runs(self, storage);
    }
    if (status != STATUS_OK) {
        job_destroy(self);
        return status;
    }
    /* As it is now: these runs have all below, whatever is merged meanwhile. */
    read->merged = storage->merged;
    read->job = self;
    self->next = storage->reads;
    storage->reads = self;
    storage->config.effects->submit(storage->config.effects->context, JOB_BACKGROUND, &self->job);
    return STATUS_OK;
}

bool storage_recall(struct storage *self, struct storage_read *read)
{
    uint64_t written = storage_written(self);
    bool told;

    if (self->nsegments == 0 || !is_kept(self, read->from)) {
        return false; /* Told, it could not be fetched. */
    }
    read->merged = self->merged;
    self->batch_ring.most = self->config.steps->most[STEP_TOLD_BATCHES];
    told = batch_ring_tell(&self->batch_ring, read, read->to < written ? read->to : written);
    if (told && !read->end) {
        steps_again(self->config.steps, STEP_TOLD_BATCHES);
    }
    return told;
}

bool storage_recall_own(const struct storage *self, const struct storage_own *own, uint64_t from,
                        uint64_t to, uint64_t *next, bool *found)
{
    return batch_ring_own(&self->batch_ring, own, from, to, next, found);
}

bool storage_keeps(const struct storage *self, uint64_t from)
{
    return self->nsegments > 0 && is_kept(self, from);
}

bool storage_recall_filters(struct storage *self, uint64_t from, uint64_t to, uint64_t *ids,
                            size_t most, size_t *count, uint64_t *next)
{
    uint64_t written = storage_written(self);

    return self->nsegments > 0 && is_kept(self, from) &&
           batch_ring_filters(&self->batch_ring, from, to < written ? to : written, ids, most,
                              count, next);
}

void storage_reads_destroy(struct storage *storage)
{
    while (storage->reads != NULL) {
        struct read_job *self = storage->reads;

        storage->reads = self->next;
        job_destroy(self);
    }
}
