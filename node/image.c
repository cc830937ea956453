/* Arrays of filters without key log, for snapshots. */
#include "node/private.h"
#include "node/pull/live_sets.h"

static const struct arrays *set_of(const struct node *self, const struct storage_set *set)
{
    const struct document_entry *entry = document_cache_find(&self->documents, set->filter_id);

    return entry != NULL && entry->document.content.state == FILTER_ACTIVE &&
                   entry->document.keylog == KEYLOG_OFF &&
                   live_sets_have(&entry->document, set->keyset, set->slice)
               ? hosted_find(entry->attachment, set->keyset, set->slice)
               : NULL;
}

struct snapshot_geometry node_image_geometry(const struct geometry *geometry)
{
    return (struct snapshot_geometry){.seed = geometry->seed,
                                      .lines = geometry->lines,
                                      .z = geometry->z,
                                      .shard_bits = geometry->shard_bits};
}

bool node_image(void *context, const struct storage_set *set, struct storage_image *out)
{
    const struct node *self = context;
    const struct arrays *found = set_of(self, set);
    const struct layer *layer;

    if (found == NULL || !arrays_ready(found)) {
        return false;
    }
    layer = arrays_base(found);
    *out = (struct storage_image){
        .hosting = found->hosting,
        .generation = layer->generation.id,
        .geometry = node_image_geometry(&layer->generation.geometry),
        .shards = layer->shards,
        .nshards = found->nshards,
        .nhosted = layer->nhosted,
    };
    for (uint32_t i = 0; i < found->ngroups; i++) {
        out->ngroups += found->groups[i].hosted;
    }
    return true;
}

void node_image_groups(void *context, const struct storage_set *set, struct snapshot_group *out)
{
    const struct node *self = context;
    const struct arrays *found = set_of(self, set);

    for (uint32_t i = 0; i < found->ngroups; i++) {
        if (found->groups[i].hosted) {
            *out++ = (struct snapshot_group){.group = i, .keys = found->groups[i].keys};
        }
    }
}
