/* What records of the log say, in order: the newest of each counts. */
#include "node/store/recovery.h"

#include <string.h>

/* Bits were added at that offset: no run has them, and other records say which snapshot does. */
static enum status note_array(struct storage_recovery *self, const struct storage_set *set,
                              uint64_t offset)
{
    struct storage_array *array = storage_arrays_put(&self->arrays, set, offset);

    if (array == NULL) {
        return STATUS_NOMEM;
    }
    array->last = offset;
    if (offset >= array->counts.from && offset < array->pending) {
        array->pending = offset;
    }
    return STATUS_OK;
}

static enum status note_lines(struct storage_recovery *self, uint64_t offset, struct span record)
{
    struct record_lines lines = {0};
    struct storage_set set;
    enum status status = record_lines_get(record, &lines);

    set = (struct storage_set){
        .filter_id = lines.filter_id, .slice = lines.slice, .keyset = lines.keyset};
    return status == STATUS_OK ? note_array(self, &set, offset) : status;
}

static enum status note_filter(struct storage_recovery *self, uint64_t offset, struct span record)
{
    struct record_batch batch;
    enum status status = record_batch_get(record, &batch);

    if (status == STATUS_OK && batch.bits) {
        const struct storage_set set = {.filter_id = batch.filter_id,
                                        .slice = batch.targets[0].slice,
                                        .keyset = batch.targets[0].keyset};

        return note_array(self, &set, offset);
    }
    if (status == STATUS_OK && !storage_sets_add(&self->sets, &batch)) {
        status = STATUS_NOMEM;
    }
    if (status == STATUS_OK) {
        storage_sets_note(&self->sets, &batch, offset, self->merged);
    }
    return status;
}

static void begin_checkpoint(struct storage_recovery *self)
{
    self->checkpoint = self->state.size;
    run_list_fini(&self->fresh);
    self->in_checkpoint = true;
    for (size_t i = 0; i < self->arrays.count; i++) {
        self->arrays.items[i].fresh = false;
    }
}

/* It repeats all that counts, being whole: runs that it does not name were lost or merged. */
static void end_checkpoint(struct storage_recovery *self)
{
    struct buffer *state = &self->state;

    state->size -= self->checkpoint;
    if (state->size > 0) {
        memmove(state->data, state->data + self->checkpoint, state->size);
    }
    run_list_fini(&self->runs);
    self->runs = self->fresh;
    self->fresh = (struct run_list){0};
    self->in_checkpoint = false;
    self->checkpointed = true;
    self->whole_at = self->checkpoint_at;
    for (size_t i = 0; i < self->arrays.count;) {
        if (self->arrays.items[i].fresh) {
            i++;
        } else {
            storage_arrays_drop(&self->arrays, &self->arrays.items[i]);
        }
    }
}

/* Another incarnation lacks something, nobody knows what: how far it had taken over its peers'
 * logs, or other sites', says nothing any more. */
static void forget_cursors(struct storage_recovery *self)
{
    struct buffer *state = &self->state;
    size_t kept = 0;
    struct record_header header;

    for (size_t at = 0; at < state->size; at += header.size) {
        if (record_open(span_of(state->data + at, state->size - at), &header) != STATUS_OK) {
            return; /* It was read just now. */
        }
        self->checkpoint = at == self->checkpoint ? kept : self->checkpoint;
        if (header.type != RECORD_CURSOR && header.type != RECORD_SITE_CURSOR) {
            memmove(state->data + kept, state->data + at, header.size);
            kept += header.size;
        }
    }
    self->checkpoint = self->checkpoint >= state->size ? kept : self->checkpoint;
    state->size = kept;
}

static enum status note_identity(struct storage_recovery *self, const struct record_header *header,
                                 struct span record)
{
    uint64_t incarnation = self->last.incarnation;
    uint16_t flags = header->flags;
    enum status status = record_identity_get(record, &self->last);

    if (status != STATUS_OK) {
        return status;
    }
    if (self->has_identity && self->last.incarnation != incarnation) {
        forget_cursors(self);
    }
    if ((flags & RECORD_CHECKPOINT) != 0) {
        self->checkpoint_at = header->offset;
        begin_checkpoint(self);
    } else if ((flags & RECORD_CHECKPOINTED) != 0 && self->in_checkpoint) {
        end_checkpoint(self);
    }
    self->has_identity = true;
    return STATUS_OK;
}

static enum status edit_runs(struct storage_recovery *self, struct span record)
{
    struct record_manifest manifest;
    enum status status = record_manifest_get(record, &manifest);

    if (status != STATUS_OK) {
        return status;
    }
    self->merged = manifest.merged > self->merged ? manifest.merged : self->merged;
    for (uint32_t i = 0; i < manifest.nadded; i++) {
        uint64_t number = record_manifest_added(&manifest, i).number;

        self->highest_run = number > self->highest_run ? number : self->highest_run;
    }
    if (self->in_checkpoint && !run_list_apply(&self->fresh, &manifest)) {
        return STATUS_NOMEM;
    }
    return run_list_apply(&self->runs, &manifest) ? STATUS_OK : STATUS_NOMEM;
}

static enum status note_snapshot(struct storage_recovery *self, struct span record)
{
    struct record_snapshot snapshot;
    enum status status = record_snapshot_get(record, &snapshot);

    if (status != STATUS_OK) {
        return status;
    }
    if (snapshot.number > self->highest_snapshot) {
        self->highest_snapshot = snapshot.number;
    }
    return storage_arrays_apply(&self->arrays, &snapshot) ? STATUS_OK : STATUS_NOMEM;
}

enum status storage_found(void *context, const struct record_header *header, struct span record)
{
    struct storage_recovery *self = context;

    /* As the very last word only. */
    self->clean = header->type == RECORD_CLEAN;
    switch ((enum record_type)header->type) {
    case RECORD_IDENTITY:
        return note_identity(self, header, record);
    case RECORD_BATCH:
        return note_filter(self, header->offset, record);
    case RECORD_LINES:
        return note_lines(self, header->offset, record);
    case RECORD_SNAPSHOT:
        return note_snapshot(self, record);
    case RECORD_MANIFEST:
        return edit_runs(self, record);
    case RECORD_FENCE:
    case RECORD_DOCUMENT:
    case RECORD_CURSOR:
    case RECORD_SITE_CURSOR:
    case RECORD_PEER:
        return buffer_append(&self->state, record);
    case RECORD_CLEAN:
        break;
    }
    return STATUS_OK;
}
