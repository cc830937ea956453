/* Arrays of filters without key log, for snapshots. */
#include "node/node_private.h"

static struct document_entry *entry_of(const struct node *self, const struct storage_set *set)
{
    struct document_entry *entry = document_cache_find(&self->documents, set->filter_id);

    return entry != NULL && entry->document.content.state == FILTER_ACTIVE &&
                   entry->document.keylog == KEYLOG_OFF &&
                   entry->document.content.lineages[0].id == set->lineage &&
                   entry->document.content.newest_slice == set->slice
               ? entry
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
    const struct document_entry *entry = entry_of(self, set);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    const struct layer *layer;

    if (hosted == NULL || hosted->set == NULL || !replica_set_ready(hosted->set)) {
        return false;
    }
    layer = replica_set_base(hosted->set);
    *out = (struct storage_image){
        .hosting = hosted->set->hosting,
        .generation = layer->generation.id,
        .geometry = node_image_geometry(&layer->generation.geometry),
        .shards = layer->shards,
        .nshards = hosted->set->nshards,
        .nhosted = layer->nhosted,
    };
    for (uint32_t i = 0; i < hosted->set->ngroups; i++) {
        out->ngroups += hosted->set->groups[i].hosted;
    }
    return true;
}

void node_image_groups(void *context, const struct storage_set *set, struct snapshot_group *out)
{
    const struct node *self = context;
    const struct document_entry *entry = entry_of(self, set);
    const struct hosted_filter *hosted = entry->attachment;

    for (uint32_t i = 0; i < hosted->set->ngroups; i++) {
        if (hosted->set->groups[i].hosted) {
            *out++ = (struct snapshot_group){.group = i, .keys = hosted->set->groups[i].keys};
        }
    }
}
