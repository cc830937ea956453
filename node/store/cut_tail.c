/* The part of a cut that is in no run: gathered from the log, sorted. On the lane. */
#include "base/heap.h"
#include "node/store/cut_private.h"

enum { TAIL_SLICE_BYTES = 4 << 20 };

static enum status make_room(struct storage_cut *self, size_t count)
{
    if (count > STORAGE_CUT_TAIL - self->ntail) {
        return STATUS_TOO_LARGE;
    }
    return heap_grow(&self->tail, &self->tail_capacity, self->ntail + count, sizeof *self->tail)
               ? STATUS_OK
               : STATUS_NOMEM;
}

static enum status keep(struct storage_cut *self, struct span record)
{
    uint32_t bits = self->config.shard_bits;
    struct record_batch batch;
    enum status status = record_batch_get(record, &batch);

    if (status != STATUS_OK || !storage_set_gets(&self->config.set, &batch)) {
        return status;
    }
    status = make_room(self, batch.count);
    for (uint32_t i = 0; status == STATUS_OK && i < batch.count; i++) {
        uint64_t fingerprint = batch.fingerprints[i];

        if (self->shards[(fingerprint >> 1) >> (63 - bits)]) {
            self->tail[self->ntail++] = fingerprint;
        }
    }
    return status;
}

static enum status sort_tail(struct storage_cut *self)
{
    uint64_t *spare = heap_alloc(self->ntail + 1, sizeof *spare);

    if (spare == NULL) {
        return STATUS_NOMEM;
    }
    self->ntail = run_sort(self->tail, spare, self->ntail);
    heap_free(spare);
    return STATUS_OK;
}

enum status cut_tail_read(struct storage_cut *self)
{
    struct record_header header;
    struct span record;
    enum status status = STATUS_OK;
    uint64_t from;

    if (self->log == NULL) {
        status = log_reader_create(self->storage->config.disk, self->segments, self->nsegments,
                                   self->log_from, self->log_to, &self->log);
    }
    from = status == STATUS_OK ? log_reader_offset(self->log) : 0;
    while (status == STATUS_OK && self->bytes < TAIL_SLICE_BYTES) {
        status = log_reader_next(self->log, &header, &record);
        if (status == STATUS_OK && header.type == RECORD_BATCH) {
            status = keep(self, record);
        }
        self->bytes = log_reader_offset(self->log) - from;
    }
    if (status == STATUS_NOT_FOUND) {
        log_reader_destroy(&self->log);
        status = sort_tail(self);
        self->tailed = status == STATUS_OK;
    }
    return status;
}
