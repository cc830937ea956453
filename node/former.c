/* Remembers what such documents say of themselves, and compares it with what the log has proved to
 * hold. */
#include "node/former.h"

#include "base/heap.h"
#include "base/log.h"

void former_fini(struct former *self)
{
    heap_free(self->items);
    *self = (struct former){0};
}

enum status former_note(struct former *self, struct span bytes)
{
    struct document_claim claim;

    if (codec_document_claim(bytes, &claim) != STATUS_OK) {
        claim = (struct document_claim){.revision = UINT64_MAX}; /* Nothing can replace it. */
    }
    if (!heap_grow(&self->items, &self->capacity, self->count + 1, sizeof *self->items)) {
        return STATUS_NOMEM;
    }
    self->items[self->count++] = claim;
    return STATUS_OK;
}

static bool is_replaced(const struct document_claim *claim, const struct document_cache *documents)
{
    const struct document_entry *entry;

    switch (claim->kind) {
    case DOCUMENT_NODE_LIST:
        return documents->nodes.revision > claim->revision;
    case DOCUMENT_DROPPED:
        return documents->dropped.revision > claim->revision;
    case DOCUMENT_USERS:
        return documents->users.revision > claim->revision;
    case DOCUMENT_FILTER:
        entry = document_cache_find(documents, claim->id);
        return document_cache_is_dropped(documents, claim->id) ||
               (entry != NULL && entry->document.revision > claim->revision);
    case DOCUMENT_CLUSTER:
    case DOCUMENT_FEATURES:
        break;
    }
    return false;
}

enum status former_judge(struct former *self, const struct document_cache *documents)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->count && status == STATUS_OK; i++) {
        if (!is_replaced(&self->items[i], documents)) {
            status = STATUS_UNAUTHENTIC;
            log_line(LOG_ERROR,
                     "the documents in the data folder are signed with another cluster key: start "
                     "this node with that cluster_key_file; if that key was replaced while the "
                     "node was away, with one that has both keys. Nothing of the folder was given "
                     "up");
        }
    }
    former_fini(self);
    return status;
}
