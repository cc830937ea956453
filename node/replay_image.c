/* What the array of a filter without key log is filled with: pages of its snapshot, then what the
 * log has since that began. */
#include "node/private.h"

#include <string.h>

static bool suits(const struct replica_set *set, const struct storage_load *load)
{
    const struct generation *own = &replica_set_base(set)->generation;
    struct snapshot_geometry geometry = node_image_geometry(&own->geometry);
    const struct snapshot_geometry *other = &load->shape->geometry;

    return load->snapshot.generation == own->id && geometry.seed == other->seed &&
           geometry.lines == other->lines && geometry.z == other->z &&
           geometry.shard_bits == other->shard_bits;
}

static void take_counts(struct replica_set *set, const struct snapshot_shape *shape)
{
    for (uint32_t i = 0; i < shape->ngroups; i++) {
        uint32_t group = shape->groups[i].group;

        if (group < set->ngroups && !replica_set_covers(set, group)) {
            set->groups[group].keys = shape->groups[i].keys;
        }
    }
}

/* What already covers the log has it, and counts on by itself. */
static bool wants_shard(const struct replica_set *set, const struct filter_document *document,
                        uint32_t shard)
{
    return shard < set->nshards &&
           !replica_set_covers(set, document->content.group_of_shard[shard]);
}

bool node_replay_pages(struct replica_set *set, const struct filter_document *document,
                       const struct storage_load *load)
{
    const struct snapshot_shape *shape = load->shape;
    uint64_t pages_a_shard = lines_shard_pages(shape->geometry.lines);
    size_t page_bytes = lines_page_bytes(shape->geometry.lines);

    if (!suits(set, load)) {
        return false;
    }
    for (size_t i = 0; i < load->npages; i++) {
        uint64_t at = load->first + i;
        uint32_t shard = shape->shards[at / pages_a_shard];

        if (wants_shard(set, document, shard)) {
            replica_set_merge_page(set, document, shard, at % pages_a_shard,
                                   load->pages + i * page_bytes);
        }
    }
    if (load->end) {
        take_counts(set, shape);
    }
    return true;
}

/* The count of the snapshot covers what came before its end: its bits may have come in a page that
 * was copied before they were set. */
static void fill_batch(struct node *self, struct document_entry *entry, struct replica_set *set,
                       const struct record_batch *batch, uint64_t offset)
{
    uint64_t *keys = batch->group < set->ngroups ? &set->groups[batch->group].keys : NULL;
    uint64_t before = keys != NULL ? *keys : 0;

    hosted_refill(set, &entry->document, batch->fingerprints, batch->count);
    if (keys != NULL && offset < self->replay.counted_from) {
        *keys = before;
    }
    /* Of a group that was left no bits are kept, so nothing of it is had: see replicas.md. */
    if (keys != NULL && set->groups[batch->group].hosted) {
        node_note_batch(self->exchange, entry, batch);
    }
}

static void merge_page(const struct node *self, const struct document_entry *entry,
                       struct replica_set *set, const struct record_lines *lines, uint64_t offset)
{
    uint64_t *keys;
    uint64_t before;

    if (!wants_shard(set, &entry->document, lines->shard) ||
        lines->generation != replica_set_base(set)->generation.id) {
        return; /* Of an array that is no more, or that has it. */
    }
    keys = &set->groups[entry->document.content.group_of_shard[lines->shard]].keys;
    before = *keys;
    replica_set_merge_page(set, &entry->document, lines->shard, lines->page, lines->bytes);
    if (offset < self->replay.counted_from) {
        *keys = before;
    }
}

void node_replay_records(struct node *self, struct document_entry *entry, struct replica_set *set,
                         const struct storage_read *read)
{
    for (size_t i = 0; i < read->nbatches; i++) {
        fill_batch(self, entry, set, &read->batches[i], read->offsets[i]);
    }
    for (size_t i = 0; i < read->npages; i++) {
        merge_page(self, entry, set, &read->pages[i], read->page_offsets[i]);
    }
}
