/* Who writes the node's log, and with what each segment of it begins. */
#include "base/heap.h"
#include "node/store/private.h"

#include <assert.h>

static enum status append_identity(struct storage *self, uint16_t flags)
{
    uint8_t *body;
    uint64_t end;
    enum status status = storage_append_flagged(self, RECORD_IDENTITY, flags, true,
                                                RECORD_IDENTITY_BYTES, &body, &end);

    if (status == STATUS_OK) {
        record_identity_put(body - RECORD_HEADER_BYTES, &self->identity);
        log_writer_want_sync(self->writer);
    }
    return status;
}

/* ---- the log's own events ---- */

/* A segment begins: the one before has ended here. */
static enum status note_segment(struct storage *self)
{
    uint64_t first = log_writer_end(self->writer);
    struct log_extent extent = {.number = log_writer_segment(self->writer),
                                .first = first,
                                .end = UINT64_MAX,
                                .bare = log_writer_bare(self->writer)};

    if (self->nsegments > 0 && self->segments[self->nsegments - 1].end == UINT64_MAX) {
        self->segments[self->nsegments - 1].end = first;
    }
    if (!heap_grow(&self->segments, &self->segments_capacity, self->nsegments + 1,
                   sizeof *self->segments)) {
        return STATUS_NOMEM; /* Readers would miss a segment: as bad as a lost one. */
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
        /* The loss is written down, durably: the evidence of it may leave its place. */
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
        .cluster = cluster_id_tag(&self->config.cluster),
        .incarnation = identity->incarnation,
        .boot = identity->boot,
        .segment_bytes = self->config.segment_bytes,
        .first = self->begin_first,
        .number = self->begin_number,
        .bare = self->begin_bare,
        .kept = LOG_MAX_KEPT,
        .sync = !identity->unsynced,
        .context = self,
        .checkpoint = on_checkpoint,
        .moved = on_moved,
        .failed = on_failed,
    };
    enum status status;

    assert(self->writer == NULL && self->recovery == NULL);
    self->identity = *identity;
    batch_ring_init(&self->batch_ring, self->begin_first);
    status = log_writer_create(&config, &self->writer);
    status = status == STATUS_OK ? append_identity(self, 0) : status;
    self->begin_end = status == STATUS_OK ? log_writer_end(self->writer) : UINT64_MAX;
    return status;
}

enum status storage_identify(struct storage *self, const struct record_identity *identity)
{
    const struct record_identity before = self->identity;
    enum status status;

    if (identity->incarnation != before.incarnation) {
        storage_imprints_forget(self);
    }
    self->identity = *identity; /* A checkpoint that comes first repeats it, which is as good. */
    log_writer_set_incarnation(self->writer, identity->incarnation);
    status = append_identity(self, 0);
    if (status != STATUS_OK) {
        self->identity = before;
        log_writer_set_incarnation(self->writer, before.incarnation);
    }
    return status;
}
