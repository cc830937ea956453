/* Arrays as storage wants them, for snapshots and imprints. */
#include "node/private.h"
#include "node/pull/live_sets.h"

static const struct arrays *set_of(const struct node *self, const struct storage_set *set)
{
    const struct document_entry *entry = document_cache_find(&self->documents, set->filter_id);

    return entry != NULL && entry->document.content.state == FILTER_ACTIVE &&
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

/* Of these an imprint may be taken: no bit is set that no record has, and while shards move to
 * another generation's arrays some are in neither whole. */
static bool is_plain(const struct arrays *set)
{
    return !set->strays && set->nlayers == 1;
}

bool node_image(void *context, const struct storage_set *set, struct storage_image *out)
{
    const struct node *self = context;
    const struct document_entry *entry = document_cache_find(&self->documents, set->filter_id);
    const struct arrays *found = set_of(self, set);
    const struct layer *layer;

    if (found == NULL || !arrays_ready(found) ||
        (entry->document.keylog == KEYLOG_ON && !is_plain(found))) {
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
        .group_of_shard = entry->document.content.group_of_shard,
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
