/* Appending to the log: batches and lines, documents, fences, cursors, peers. */
#include "node/store/private.h"

#include <assert.h>

static enum status add_bits(struct storage *self, const struct record_batch *batch, uint64_t *end)
{
    const struct storage_set set = {.filter_id = batch->filter_id,
                                    .slice = batch->targets[0].slice,
                                    .keyset = batch->targets[0].keyset};
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
        batch_ring_add(&self->batch_ring, batch, *end - record_size(size), *end);
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
    /* First what may fail: a batch in the log whose set is not listed would not be found again. */
    if (storage_sets_add(&self->sets, batch)) {
        status = storage_append(self, RECORD_BATCH, false, record_batch_size(batch), &body, end);
    }
    if (status == STATUS_OK) {
        uint64_t offset = *end - record_size(record_batch_size(batch));

        record_batch_put(body - RECORD_HEADER_BYTES, batch);
        storage_sets_note(&self->sets, batch, offset, self->merged);
        batch_ring_add(&self->batch_ring, batch, offset, *end);
    }
    return status;
}

enum status storage_put_lines(struct storage *self, const struct record_lines *lines, uint64_t *end)
{
    const struct storage_set set = {
        .filter_id = lines->filter_id, .slice = lines->slice, .keyset = lines->keyset};
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

enum status storage_put_site_cursor(struct storage *self, const struct record_site_cursor *cursor,
                                    uint64_t *end)
{
    uint8_t *body;
    enum status status = storage_append(self, RECORD_SITE_CURSOR, false,
                                        record_site_cursor_size(cursor), &body, end);

    if (status == STATUS_OK) {
        record_site_cursor_put(body - RECORD_HEADER_BYTES, cursor);
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
