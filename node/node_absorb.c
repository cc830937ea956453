/* Taking over what another replica has: into the log and the arrays, as an add would. */
#include "node/node_private.h"

enum status node_absorb(struct node *self, const struct document_entry *entry,
                        const struct record_batch *batch)
{
    struct hosted_filter *hosted = entry->attachment;
    struct record_batch repaired = *batch;
    uint64_t end;
    enum status status = STATUS_OK;

    if (hosted == NULL || hosted->set == NULL || self->storage == NULL || self->failed ||
        !replica_set_ready(hosted->set)) {
        return STATUS_NOT_READY; /* A replay under way would not see it. */
    }
    if (!replica_set_belongs(hosted->set, &entry->document, batch->group, batch->fingerprints,
                             batch->count)) {
        return STATUS_INVALID;
    }
    repaired.repaired = true;
#ifndef ORBLOOM_MUTANT_SYNC_BITS_ONLY
    status = storage_add(self->storage, &repaired, &end);
#endif
    if (status == STATUS_OK) {
        replica_set_fill(hosted->set, &entry->document, batch->fingerprints, batch->count);
    }
    return status;
}
