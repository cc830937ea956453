#include "base/heap.h"
#include "node/storage_private.h"

#include <assert.h>

const char *amnesia_meaning(enum amnesia amnesia)
{
    switch (amnesia) {
    case AMNESIA_NONE:
        return "all that was acknowledged is there";
    case AMNESIA_EMPTY:
        return "the folder is empty";
    case AMNESIA_CORRUPT:
        return "something that was durable can't be read";
    case AMNESIA_POWER:
        return "the machine went down before everything acknowledged had been synced";
    case AMNESIA_BOOT:
        return "the folder is an older copy of this node's data";
    }
    return "unknown";
}

enum status storage_create(const struct storage_config *config, struct storage **out)
{
    struct storage *self = heap_zalloc(1, sizeof *self);
    enum status status;

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->next_run = 1;
    self->next_snapshot = 1;
    storage_recent_init(&self->recent, UINT64_MAX);
    self->tag = (uint32_t)config->effects->random(config->effects->context);
    status = storage_recover(self);
    if (status != STATUS_OK) {
        storage_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void storage_destroy(struct storage **storage)
{
    struct storage *self = *storage;

    *storage = NULL;
    if (self == NULL) {
        return;
    }
    storage_recovery_destroy(&self->recovery);
    storage_merge_destroy(&self->merge);
    storage_snapshot_destroy(&self->snapshot);
    storage_load_destroy(self);
    storage_reads_destroy(self);
    storage_cuts_destroy(self);
    log_writer_destroy(&self->writer);
    heap_free(self->segments);
    heap_free(self->runs);
    storage_arrays_fini(&self->arrays);
    heap_free(self->old_snapshots);
    storage_filters_fini(&self->filters);
    storage_recent_fini(&self->recent);
    heap_free(self->trash);
    heap_free(self->evidence);
    heap_free(self);
}

/* ---- appending ---- */

static enum status append_flagged(struct storage *self, enum record_type type, uint16_t flags,
                                  bool urgent, size_t body_size, uint8_t **body, uint64_t *end)
{
    enum status status = STATUS_NOT_READY;

    if (self->failed) {
        return STATUS_IO;
    }
    if (self->writer == NULL) {
        return STATUS_NOT_READY;
    }
    *body = log_writer_append(self->writer, type, flags, body_size, urgent, end, &status);
    if (self->failed) { /* By a checkpoint that came first. */
        return STATUS_IO;
    }
    return *body != NULL ? STATUS_OK : status;
}

enum status storage_append(struct storage *self, enum record_type type, bool urgent,
                           size_t body_size, uint8_t **body, uint64_t *end)
{
    return append_flagged(self, type, 0, urgent, body_size, body, end);
}

static enum status append_identity(struct storage *self, uint16_t flags)
{
    uint8_t *body;
    uint64_t end;
    enum status status = append_flagged(self, RECORD_IDENTITY, flags, true, RECORD_IDENTITY_BYTES,
                                        &body, &end);

    if (status == STATUS_OK) {
        record_identity_put(body - RECORD_HEADER_BYTES, &self->identity);
        log_writer_want_sync(self->writer);
    }
    return status;
}

void storage_fail(struct storage *self, enum status status, const char *what)
{
    self->failed = true;
    self->config.failed(self->config.context, status, what);
}

/* ---- the log's own events ---- */

/* A segment begins: the one before has ended here. */
static enum status note_segment(struct storage *self)
{
    uint64_t first = log_writer_end(self->writer);
    struct log_extent extent = {
        .number = log_writer_segment(self->writer), .first = first, .end = UINT64_MAX};

    if (self->nsegments > 0 && self->segments[self->nsegments - 1].end == UINT64_MAX) {
        self->segments[self->nsegments - 1].end = first;
    }
    if (self->nsegments == self->segments_capacity) {
        size_t capacity = self->segments_capacity * 2 + 8;
        struct log_extent *grown = heap_realloc(self->segments, capacity, sizeof *grown);

        if (grown == NULL) { /* Readers would miss a segment: as bad as a lost one. */
            return STATUS_NOMEM;
        }
        self->segments = grown;
        self->segments_capacity = capacity;
    }
    self->segments[self->nsegments++] = extent;
    return STATUS_OK;
}

/* The whole state, between two marks: what lies before a whole one says nothing more. */
static enum status log_state(struct storage *self)
{
    enum status status = append_identity(self, RECORD_CHECKPOINT);

    if (status == STATUS_OK) {
        status = storage_log_runs(self);
    }
    if (status == STATUS_OK) {
        status = storage_log_arrays(self);
    }
    if (status == STATUS_OK) {
        status = self->config.checkpoint(self->config.context);
    }
    if (status == STATUS_OK) {
        status = append_identity(self, RECORD_CHECKPOINTED);
    }
    self->manifest_end = log_writer_end(self->writer);
    return status;
}

/* What was gathered with a state that is not whole is never written. */
static void on_checkpoint(void *context)
{
    struct storage *self = context;
    enum status status = note_segment(self);

    if (status == STATUS_OK) {
        status = log_state(self);
    }
    if (status != STATUS_OK) {
        storage_fail(self, status,
                     status == STATUS_NO_SPACE || status == STATUS_TOO_LARGE
                         ? "the documents, fences and runs do not fit a segment of the log; give "
                           "it larger ones (log_segment)"
                         : "the state can't be written to a new segment of the log");
    }
}

static void on_moved(void *context, uint64_t now_us)
{
    struct storage *self = context;

    if (log_writer_synced(self->writer) >= self->begin_end) {
        storage_damage_put_away(self);
    }
    self->config.moved(self->config.context, now_us);
    storage_work(self, now_us); /* What waited for a manifest to be durable. */
}

static void on_failed(void *context, enum status status, const char *what)
{
    storage_fail(context, status,
                 status == STATUS_NO_SPACE
                     ? "the disk of data_dir has no room for the segment of the log (log_segment) "
                       "that each start begins; make room there, then start again"
                     : what);
}

enum status storage_begin(struct storage *self, const struct record_identity *identity)
{
    const struct log_writer_config config = {
        .disk = self->config.disk,
        .effects = self->config.effects,
        .cluster = self->config.cluster,
        .incarnation = identity->incarnation,
        .boot = identity->boot,
        .segment_bytes = self->config.segment_bytes,
        .first = self->begin_first,
        .number = self->begin_number,
        .sync = !identity->unsynced,
        .context = self,
        .checkpoint = on_checkpoint,
        .moved = on_moved,
        .failed = on_failed,
    };
    enum status status;

    assert(self->writer == NULL);
    self->identity = *identity;
    storage_recent_init(&self->recent, self->begin_first);
    status = log_writer_create(&config, &self->writer);
    status = status == STATUS_OK ? append_identity(self, 0) : status;
    self->begin_end = status == STATUS_OK ? log_writer_end(self->writer) : UINT64_MAX;
    return status;
}

enum status storage_identify(struct storage *self, const struct record_identity *identity)
{
    const struct record_identity before = self->identity;
    enum status status;

    self->identity = *identity; /* A checkpoint that comes first repeats it, which is as good. */
    log_writer_set_incarnation(self->writer, identity->incarnation);
    status = append_identity(self, 0);
    if (status != STATUS_OK) {
        self->identity = before;
        log_writer_set_incarnation(self->writer, before.incarnation);
    }
    return status;
}

static enum status add_bits(struct storage *self, const struct record_batch *batch, uint64_t *end)
{
    const struct storage_set set = {.filter_id = batch->filter_id,
                                    .slice = batch->targets[0].slice,
                                    .lineage = batch->targets[0].lineage};
    struct storage_array *array = storage_arrays_put(&self->arrays, &set, storage_end(self));
    size_t size = record_batch_size(batch);
    uint8_t *body;
    enum status status = STATUS_NOMEM;

    assert(batch->ntargets == 1);
    if (array != NULL) {
        status = storage_append(self, RECORD_BATCH, false, size, &body, end);
    }
    if (status == STATUS_OK) {
        record_batch_put(body - RECORD_HEADER_BYTES, batch);
        storage_arrays_note(array, *end - record_size(size));
        storage_recent_add(&self->recent, batch, *end - record_size(size), *end);
    }
    return status;
}

enum status storage_add(struct storage *self, const struct record_batch *batch, uint64_t *end)
{
    uint8_t *body;
    enum status status = STATUS_NOMEM;

    if (batch->bits) {
        return add_bits(self, batch, end);
    }
    if (storage_filters_add(&self->filters, batch->filter_id)) {
        status = storage_append(self, RECORD_BATCH, false, record_batch_size(batch), &body, end);
    }
    if (status == STATUS_OK) {
        record_batch_put(body - RECORD_HEADER_BYTES, batch);
        storage_recent_add(&self->recent, batch, *end - record_size(record_batch_size(batch)),
                           *end);
    }
    return status;
}

enum status storage_put_lines(struct storage *self, const struct record_lines *lines, uint64_t *end)
{
    const struct storage_set set = {
        .filter_id = lines->filter_id, .slice = lines->slice, .lineage = lines->lineage};
    struct storage_array *array = storage_arrays_put(&self->arrays, &set, storage_end(self));
    uint8_t *body;
    enum status status = STATUS_NOMEM;

    if (array != NULL) {
        status = storage_append(self, RECORD_LINES, false, RECORD_LINES_BYTES, &body, end);
    }
    if (status == STATUS_OK) {
        record_lines_put(body - RECORD_HEADER_BYTES, lines);
        storage_arrays_note(array, *end - record_size(RECORD_LINES_BYTES));
    }
    return status;
}

enum status storage_room(const struct storage *self, size_t count)
{
    const struct record_batch batch = {.ntargets = 1, .count = (uint32_t)count};

    if (self->writer == NULL || self->failed) {
        return STATUS_NOT_READY;
    }
    return log_writer_room(self->writer, record_batch_size(&batch));
}

enum status storage_put_document(struct storage *self, struct span document, uint64_t *end)
{
    uint8_t *body;
    enum status status = storage_append(self, RECORD_DOCUMENT, true, record_document_size(document),
                                        &body, end);

    if (status == STATUS_OK) {
        record_document_put(body - RECORD_HEADER_BYTES, document);
        log_writer_want_sync(self->writer);
    }
    return status;
}

enum status storage_put_fence(struct storage *self, const struct record_fence *fence, uint64_t *end)
{
    uint8_t *body;
    enum status status = storage_append(self, RECORD_FENCE, true, RECORD_FENCE_BYTES, &body, end);

    if (status == STATUS_OK) {
        record_fence_put(body - RECORD_HEADER_BYTES, fence);
        log_writer_want_sync(self->writer);
    }
    return status;
}

enum status storage_put_cursor(struct storage *self, const struct record_cursor *cursor,
                               uint64_t *end)
{
    uint8_t *body;
    enum status status = storage_append(self, RECORD_CURSOR, false, RECORD_CURSOR_BYTES, &body,
                                        end);

    if (status == STATUS_OK) {
        record_cursor_put(body - RECORD_HEADER_BYTES, cursor);
    }
    return status;
}

enum status storage_put_peer(struct storage *self, const struct record_peer *peer, uint64_t *end)
{
    uint8_t *body;
    enum status status = storage_append(self, RECORD_PEER, true, RECORD_PEER_BYTES, &body, end);

    if (status == STATUS_OK) {
        record_peer_put(body - RECORD_HEADER_BYTES, peer);
    }
    return status;
}

void storage_turn(struct storage *self)
{
    if (self->writer != NULL && !self->failed) {
        log_writer_turn(self->writer);
    }
}

void storage_want_sync(struct storage *self)
{
    if (self->writer != NULL) {
        log_writer_want_sync(self->writer);
    }
}

void storage_set_sync(struct storage *self, bool sync)
{
    if (self->writer != NULL) {
        log_writer_set_sync(self->writer, sync);
    }
}

bool storage_found_clean(const struct storage *self)
{
    return self->found_clean;
}

uint64_t storage_found_end(const struct storage *self)
{
    return self->begin_first;
}

uint64_t storage_end(const struct storage *self)
{
    return self->writer != NULL ? log_writer_end(self->writer) : self->begin_first;
}

uint64_t storage_written(const struct storage *self)
{
    return self->writer != NULL ? log_writer_written(self->writer) : self->begin_first;
}

uint64_t storage_synced(const struct storage *self)
{
    return self->writer != NULL ? log_writer_synced(self->writer) : self->begin_first;
}

void storage_work(struct storage *self, uint64_t now_us)
{
    if (self->writer != NULL && !self->failed) {
        storage_merge_work(self, now_us);
        storage_snapshot_work(self, now_us);
    }
}

enum status storage_finish(struct storage *self)
{
    uint8_t *body;
    uint64_t end;
    enum status status;
    enum status finished;

    if (self->writer == NULL || self->failed) {
        return STATUS_OK; /* Nothing was accepted, or nothing more may be written. */
    }
    status = storage_append(self, RECORD_CLEAN, true, 0, &body, &end);
    if (self->failed) {
        return STATUS_IO;
    }
    finished = log_writer_finish(self->writer);
    return finished == STATUS_OK ? status : finished;
}

/* Files that are to be segments. */
static size_t ahead(const struct storage *self)
{
    return self->writer == NULL ? 0
                                : (size_t)log_writer_ahead(self->writer) +
                                      (size_t)log_writer_has_spare(self->writer);
}

struct storage_usage storage_usage(const struct storage *self)
{
    struct storage_usage usage = {.room_bytes = self->room_bytes,
                                  .nruns = (uint32_t)self->nruns,
                                  .nsegments = (uint32_t)self->nsegments};

    usage.log_bytes = (self->nsegments + ahead(self)) * self->config.segment_bytes;
    for (size_t i = 0; i < self->nruns; i++) {
        usage.run_bytes += run_bytes(self->runs[i].count);
        usage.run_keys += self->runs[i].count;
    }
    for (size_t i = 0; i < self->arrays.count; i++) {
        usage.snapshot_bytes += self->arrays.items[i].bytes;
    }
    usage.snapshots = self->snapshots_written;
    usage.unmerged_bytes = storage_end(self) - self->merged;
    return usage;
}

bool storage_has(const struct storage *self, uint64_t filter_id)
{
    for (size_t i = 0; i < self->nruns; i++) {
        if (self->runs[i].filter_id == filter_id) {
            return true;
        }
    }
    return storage_filters_have(&self->filters, filter_id) ||
           storage_arrays_have(&self->arrays, filter_id);
}
