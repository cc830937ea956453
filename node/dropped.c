/* Filters that are dropped for good: the record of them takes the place of their documents and
 * fences, here as in the store. */
#include "base/heap.h"
#include "node/private.h"

void node_hosted_destroy(struct hosted_filter *hosted)
{
    if (hosted != NULL) {
        node_pull_drop(hosted);
        node_sets_destroy(hosted);
        heap_free(hosted);
    }
}

bool node_dropped_durable(const struct node *self)
{
    return self->storage == NULL ||
           (!self->dropped_unlogged && storage_synced(self->storage) >= self->dropped_end);
}

static void log_record(struct node *self)
{
    const struct document_cache *documents = &self->documents;

    self->dropped_unlogged = storage_put_document(
                                 self->storage,
                                 span_of(documents->dropped_bytes, documents->dropped_size),
                                 &self->dropped_end) != STATUS_OK;
    self->counters[NODE_no_space_total] += self->dropped_unlogged;
}

void node_take_dropped(struct node *self)
{
    if (self->storage != NULL) {
        log_record(self);
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        struct document_entry *entry = self->documents.by_id[i];

        if (entry->gone && entry->attachment != NULL) {
            node_sets_release(self, entry->attachment);
            node_exchange_look(self->exchange,
                               entry->document.id); /* Nothing of it is pulled any more. */
        }
    }
    self->sync_unchosen = true;
    node_expansion_stir(self);
}

/* What is still read of it, or built, ends first. */
static bool is_in_use(const struct node *self, uint64_t filter_id)
{
    return (self->replay.active && self->replay.filter_id == filter_id) ||
           (self->expansion.phase != EXPANSION_REST && self->expansion.filter_id == filter_id) ||
           node_serves(self->exchange, filter_id);
}

static bool let_go(void *context, struct document_entry *entry)
{
    struct node *self = context;

    if (is_in_use(self, entry->document.id)) {
        return false;
    }
    node_hosted_destroy(entry->attachment);
    return true;
}

/* The fence goes with the document. So at any moment the log has the one or the other: the record
 * is in it, or, if the power fails before, what lies below it. */
void node_forget_dropped(struct node *self)
{
    if (self->dropped_unlogged && self->storage != NULL) {
        log_record(self);
    }
    if (!self->dropped_unlogged) {
        document_cache_sweep(&self->documents, let_go, self);
    }
}
