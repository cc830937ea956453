/* A slot group's share of its filter's sorted runs: an estimate by shards, as runs are not kept
 * by group. */
#include "node/private.h"

uint64_t node_disk_bytes(const struct node *self, const struct document_entry *entry,
                         uint32_t group)
{
    const struct hosted_filter *hosted = entry->attachment;
    uint64_t shards = 0;

    if (self->storage == NULL || hosted == NULL || hosted->set == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < hosted->set->ngroups; i++) {
        shards += hosted->set->groups[i].hosted ? hosted->set->groups[i].nshards : 0;
    }
    return shards == 0
               ? 0
               : (uint64_t)((double)storage_filter_bytes(self->storage, entry->document.id) *
                            (double)hosted->set->groups[group].nshards / (double)shards);
}
