/* What the node adds to its log. */
#include "base/mutant.h"
#include "node/private.h"
#include "node/pull/live_sets.h"

void node_fail(struct node *self, const char *what, enum status status)
{
    if (!self->life.failed) {
        self->life.failed = true;
        log_line(LOG_ERROR,
                 "%s: %s; nothing can be acknowledged any more, so this process ends. Everything "
                 "acknowledged is on the other replicas or in the log's durable part",
                 what, status_meaning(status));
    }
}

/* Only acknowledgements that nobody waits to be synced: then kill -9 is survived by the kernel's
 * memory, and power loss is noticed by the identity's word, which is in the log first. */
void node_choose_sync(struct node *self)
{
    bool sync = false;
    bool unsynced = false;

    if (!self->sync_unchosen || self->life.recovering || self->life.failed) {
        return;
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;
        bool active = document->content.state == FILTER_ACTIVE;

        sync = sync || (active && document->durability == DURABILITY_SYNC);
        unsynced = unsynced || (active && document->durability == DURABILITY_OS);
    }
    if (unsynced && !self->life.identity.unsynced) {
        struct record_identity identity = self->life.identity;

        identity.unsynced = true;
        if (storage_identify(self->storage, &identity) != STATUS_OK) {
            return; /* The next turn tries again; until then all is synced. */
        }
        self->life.identity = identity;
        self->life.identity_end = storage_end(self->storage);
    }
    storage_set_sync(self->storage, sync || !unsynced);
    self->sync_unchosen = false;
}

void node_log_document(struct node *self, struct document_entry *entry)
{
    struct hosted_filter *hosted = entry->attachment;
    const struct record_fence fence = {
        .filter_id = entry->document.id,
        .epoch = hosted->fence.epoch,
        .epoch_hash = entry->document.epoch_hash,
    };
    enum status status;

    if (self->storage == NULL) {
        return;
    }
    if (MUTANT(VOLATILE_FENCE)) {
        hosted->unlogged = false;
        return;
    }
    if (MUTANT(KEYSET_FREED_EARLY) && entry->document.content.nkeysets == 1 &&
        entry->document.content.keysets[0].id != 1) {
        hosted->unlogged = false; /* Logged with what comes later, and freed before that. */
        return;
    }
    status = storage_put_document(self->storage, span_of(entry->signed_bytes, entry->signed_size),
                                  &hosted->fence_end);
    if (status == STATUS_OK) {
        /* Behind the document: a fence that is found without one says nothing. */
        status = storage_put_fence(self->storage, &fence, &hosted->fence_end);
    }
    if (MUTANT(FENCE_BESIDE_LOG)) {
        hosted->fence_end = storage_synced(self->storage);
    }
    hosted->unlogged = status != STATUS_OK;
    hosted->logged_revision = hosted->unlogged ? 0 : entry->document.revision;
}

/* One record for all sets that the add goes to. */
static void name_targets(const struct filter_document *document,
                         const struct subrequest *subrequest, struct record_batch *batch)
{
    for (uint32_t i = 0; i < live_sets_count(document); i++) {
        const struct live_set live = live_sets_at(document, i);

        if (live.written && (subrequest->keyset == 0 || subrequest->keyset == live.keyset) &&
            batch->ntargets < RECORD_MAX_TARGETS) {
            batch->targets[batch->ntargets++] = (struct record_target){.slice = live.slice,
                                                                       .keyset = live.keyset};
        }
    }
}

/* Whatever was accepted is logged, also what seemed to be there: its bits may have been set by
 * chance, and the next array that is built would not have it. Also what gossip has brought under
 * the same number: that record is another node's add, and this one the router's. And also what
 * another site has brought before: only what is logged as this site's own goes to the other sites,
 * and those that it was to come from may have lost it. */
enum status node_log_add(struct node *self, const struct document_entry *entry,
                         const struct subrequest *subrequest, const uint64_t *fingerprints,
                         uint32_t count, struct log_need *need)
{
    struct record_batch batch = {
        .filter_id = subrequest->filter_id,
        .epoch = subrequest->epoch,
        .batch_producer = subrequest->batch.producer_id,
        .batch_number = subrequest->batch.number,
        .group = subrequest->group,
        .bits = entry->document.keylog == KEYLOG_OFF,
        .relayed = subrequest->relayed,
        .fed = subrequest->keyset != 0,
        .partial = count != subrequest->count,
        .count = count,
        .fingerprints = fingerprints,
    };
    uint64_t end;
    enum status status;

    if (self->storage == NULL || count == 0) {
        return STATUS_OK;
    }
    name_targets(&entry->document, subrequest, &batch);
    if (MUTANT(KNOWN_NOT_LOGGED) && node_has_batch(self->exchange, entry, &batch)) {
        need->synced = storage_end(self->storage);
        return STATUS_OK;
    }
    status = storage_add(self->storage, &batch, &end);
    if (status == STATUS_OK) {
        need->written = end;
        need->synced = entry->document.durability == DURABILITY_SYNC ? end : need->synced;
        node_note_batch(self->exchange, entry, &batch);
    }
    return status;
}
