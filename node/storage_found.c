/* What records of the log say, in order: the newest of each counts. */
#include "node/storage_recovery.h"

#include <string.h>

static enum status note_filter(struct storage_recovery *self, struct span record)
{
    struct record_batch batch;
    enum status status = record_batch_get(record, &batch);

    if (status == STATUS_OK && !storage_filters_add(&self->filters, batch.filter_id)) {
        status = STATUS_NOMEM;
    }
    return status;
}

static void begin_checkpoint(struct storage_recovery *self)
{
    self->checkpoint = self->state.size;
    self->nfresh = 0;
    self->in_checkpoint = true;
}

/* It repeats all that counts, being whole: runs that it does not name were lost or merged. */
static void end_checkpoint(struct storage_recovery *self)
{
    struct buffer *state = &self->state;
    struct record_run *runs = self->runs;
    size_t capacity = self->runs_capacity;

    state->size -= self->checkpoint;
    if (state->size > 0) {
        memmove(state->data, state->data + self->checkpoint, state->size);
    }
    self->runs = self->fresh;
    self->nruns = self->nfresh;
    self->runs_capacity = self->fresh_capacity;
    self->fresh = runs;
    self->fresh_capacity = capacity;
    self->in_checkpoint = false;
}

static enum status note_identity(struct storage_recovery *self, uint16_t flags, struct span record)
{
    if ((flags & RECORD_CHECKPOINT) != 0) {
        begin_checkpoint(self);
    } else if ((flags & RECORD_CHECKPOINTED) != 0 && self->in_checkpoint) {
        end_checkpoint(self);
    }
    self->has_identity = true;
    return record_identity_get(record, &self->last);
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
    if (self->in_checkpoint &&
        !storage_runs_apply(&self->fresh, &self->nfresh, &self->fresh_capacity, &manifest)) {
        return STATUS_NOMEM;
    }
    return storage_runs_apply(&self->runs, &self->nruns, &self->runs_capacity, &manifest)
               ? STATUS_OK
               : STATUS_NOMEM;
}

enum status storage_found(void *context, const struct record_header *header, struct span record)
{
    struct storage_recovery *self = context;

    self->clean = header->type == RECORD_CLEAN;
    switch ((enum record_type)header->type) {
    case RECORD_IDENTITY:
        return note_identity(self, header->flags, record);
    case RECORD_BATCH:
        return note_filter(self, record);
    case RECORD_MANIFEST:
        return edit_runs(self, record);
    case RECORD_FENCE:
    case RECORD_DOCUMENT:
    case RECORD_CURSOR:
    case RECORD_PEER:
        return buffer_append(&self->state, record);
    case RECORD_CLEAN:
        break;
    }
    return STATUS_OK;
}
