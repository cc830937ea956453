/* Fingerprints that other nodes had and this one did not. */
#include "base/mutant.h"
#include "node/pull/live_sets.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <string.h>

bool node_batch_named(const struct record_batch *batch)
{
    return batch->batch_producer != 0 && batch->batch_number != 0;
}

bool node_batch_whole(const struct record_batch *batch)
{
    return node_batch_named(batch) && (!batch->partial || MUTANT(PARTIAL_IS_WHOLE));
}

static struct batch_series_key series_of(const struct document_entry *entry,
                                         const struct record_batch *batch, uint32_t target)
{
    return (struct batch_series_key){
        .producer_id = batch->batch_producer,
        .filter_id = entry->document.id,
        .epoch = batch->epoch,
        .slice = batch->targets[target].slice,
        .keyset = batch->targets[target].keyset,
        .group = batch->group,
    };
}

void node_note_batch(struct exchange *self, const struct document_entry *entry,
                     const struct record_batch *batch)
{
    if (self->storage == NULL || !node_batch_whole(batch)) {
        return;
    }
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        const struct batch_series_key key = series_of(entry, batch, i);

        batch_set_add(self->have, &key, batch->batch_number);
    }
}

void node_forget_batches(struct exchange *self)
{
    batch_set_clear(self->have);
}

static bool has(struct exchange *self, const struct document_entry *entry,
                const struct record_batch *batch, uint32_t target)
{
    const struct batch_series_key key = series_of(entry, batch, target);

    return node_batch_whole(batch) && batch_set_has(self->have, &key, batch->batch_number);
}

bool node_has_batch(struct exchange *self, const struct document_entry *entry,
                    const struct record_batch *batch)
{
    return has(self, entry, batch, 0);
}

/* Another one, which lagged behind, may have taken keys for which this one was at its capacity. All
 * of them would pass the rate asked for. A FULL replica can do without what others bring: whatever
 * is acknowledged, W of them have from its router. */
static enum status judge(const struct document_entry *entry, const struct arrays *set,
                         const struct record_batch *batch)
{
    if (set == NULL || !arrays_ready(set)) {
        return STATUS_NOT_READY; /* A replay under way would not see it. */
    }
    if (!arrays_belongs(set, &entry->document, batch->group, batch->fingerprints, batch->count)) {
        return STATUS_INVALID;
    }
    return arrays_state(set, batch->group) == REPLICA_FULL &&
                   !hosted_fits(set, batch->group, batch->fingerprints, batch->count)
               ? STATUS_FULL
               : STATUS_OK;
}

/* Besides the first one, that was asked for. Each is asked for by its own name, too, so that one
 * which can't be taken now is not lost. */
static void choose_targets(struct exchange *self, const struct document_entry *entry,
                           struct record_batch *batch)
{
    uint32_t kept = 1;

    for (uint32_t i = 1; i < batch->ntargets && !batch->bits; i++) {
        const struct record_target target = batch->targets[i];
        const struct arrays *set = hosted_find(entry->attachment, target.keyset, target.slice);

        if (live_sets_have(&entry->document, target.keyset, target.slice) &&
            judge(entry, set, batch) == STATUS_OK &&
            arrays_state(set, batch->group) >= REPLICA_JOINING && !has(self, entry, batch, i)) {
            batch->targets[kept++] = target;
        }
    }
    batch->ntargets = kept;
}

static void fill_targets(const struct document_entry *entry, const struct record_batch *batch)
{
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        struct arrays *set = hosted_find(entry->attachment, batch->targets[i].keyset,
                                         batch->targets[i].slice);

        hosted_fill(set, &entry->document, batch->fingerprints, batch->count);
    }
}

/* Each set by its name: what was forgotten is not here, and does not come back. */
enum status node_absorb(struct exchange *self, struct document_entry *entry,
                        struct record_batch *batch)
{
    struct arrays *set;
    enum status status;
    uint64_t end;

    if (MUTANT(REBUILD_MERGE_ANY)) {
        batch->targets[0].keyset = live_sets_at(&entry->document, 0).keyset;
    }
    set = hosted_find(entry->attachment, batch->targets[0].keyset, batch->targets[0].slice);
    status = self->node.life->failed ? STATUS_NOT_READY : judge(entry, set, batch);
    assert(batch->ntargets > 0);
    if (status != STATUS_OK) {
        return status;
    }
    if (!live_sets_have(&entry->document, set->keyset, set->slice)) {
        return STATUS_INVALID;
    }
    batch->repaired = true;
    batch->bits = entry->document.keylog == KEYLOG_OFF;
    choose_targets(self, entry, batch);
    status = MUTANT(SYNC_BITS_ONLY) ? STATUS_OK : storage_add(self->storage, batch, &end);
    if (status != STATUS_OK) {
        return status;
    }
    fill_targets(entry, batch);
    if (node_batch_named(batch)) {
        self->node.arrived(self->node.self, batch);
        node_note_batch(self, entry, batch);
    }
    return STATUS_OK;
}
