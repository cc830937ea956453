/* What a coordinator is told of a replica: its state, its progress, how many keys it has. */
#include "filter/lines.h"
#include "filter/sizing.h"
#include "node/array/expansion_layers.h"

#include <math.h>

/* Few enough to be looked at in a request's turn of the loop? Of others the count is told: it is
 * without those that were present by chance, and a look would take milliseconds. */
static bool is_small(const struct arrays *self, uint32_t group, uint64_t sample_lines)
{
    return self->groups[group].nshards * arrays_base(self)->generation.geometry.lines <=
           sample_lines;
}

/* Popcount evenly spaced pages of the group's shards, or all when they are few. */
static void sample(const struct arrays *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    const struct layer *layer = arrays_base(self);
    uint64_t lines = layer->generation.geometry.lines;
    uint64_t pages = lines_shard_pages(lines);
    size_t page_bytes = lines_page_bytes(lines);
    uint64_t wanted = sample_lines / LINES_PER_PAGE /
                      (self->groups[group].nshards > 0 ? self->groups[group].nshards : 1);
    uint64_t take = wanted < 1 ? 1 : (wanted < pages ? wanted : pages);

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] != group) {
            continue;
        }
        for (uint64_t i = 0; i < take; i++) {
            const uint8_t *page = layer->shards[shard] + i * pages / take * page_bytes;

            report->bits_set += lines_popcount(page, page_bytes);
            report->bits_seen += 8 * page_bytes;
        }
    }
}

bool arrays_await_expansion(const struct arrays *self, const struct filter_document *document,
                            uint32_t number)
{
    const struct generation *wanted = document_generation(document);
    const struct layer *from = arrays_base(self);
    const struct replica_group *group = &self->groups[number];
    uint64_t beyond = self->expansion != NULL ? self->expansion->groups[number].overflow : 0;
    bool grown = self->expansion != NULL &&
                 self->expansion->groups[number].ngrown == group->nshards;

    return !document_is_chain(document) && !grown && wanted->id != from->generation.id &&
           wanted->capacity > from->generation.capacity &&
           group->keys - beyond > layer_capacity(from, group->nshards);
}

static void show_progress(const struct arrays *self, const struct filter_document *document,
                          uint32_t number, struct replica_report *report)
{
    const struct replica_group *group = &self->groups[number];

    report->progress = 1.0;
    if (report->state == REPLICA_BUILDING && !arrays_built(self)) {
        report->progress = (double)self->built_shards / (double)self->nshards;
    } else if (report->state == REPLICA_BUILDING && !self->loaded) {
        report->phase = PHASE_REPLAYING;
        report->progress = self->loaded_part;
    } else if (report->state == REPLICA_BUILDING) {
        report->phase = PHASE_SYNCING;
    } else if (report->state == REPLICA_JOINING) {
        report->phase = PHASE_SYNCING;
        report->progress = group->copied;
        report->complete = arrays_await_expansion(self, document, number) ? 0 : group->complete;
    } else if (self->expansion != NULL) {
        report->phase = PHASE_GROWING;
        report->progress = (double)self->expansion->ngrown / (double)self->layers[1]->nhosted;
    }
}

/* Which generations serve the group's shards, and the memory of their arrays. */
static void show_layers(const struct arrays *self, const struct filter_document *document,
                        uint32_t group, struct replica_report *report)
{
    uint32_t wanted = document_generation(document)->id;
    uint32_t nshards = self->groups[group].nshards;
    const struct layer *from = self->layers[0];
    const struct layer *to = self->layers[1];

    report->generation = from->generation.id;
    report->shards_grown = from->generation.id == wanted ? nshards : 0;
    report->bytes = nshards * from->shard_bytes;
    if (self->expansion == NULL) {
        return;
    }
    report->overflow_keys = self->expansion->groups[group].overflow;
    if (self->expansion->groups[group].ngrown == nshards) {
        report->generation = to->generation.id;
    }
    report->bytes = 0;
    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] == group) {
            bool serves = expansion_layers_serves(self, shard);

            report->bytes += serves ? to->shard_bytes : from->shard_bytes;
            report->bytes += expansion_layers_stands(self, shard) ? to->shard_bytes : 0;
        }
    }
    if (from->generation.id == wanted) { /* It was wanted again: what is left of the other. */
        report->shards_grown -= self->expansion->groups[group].ngrown;
    } else if (to->generation.id == wanted) {
        report->shards_grown = self->expansion->groups[group].ngrown;
    }
}

void arrays_report(const struct arrays *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    const struct layer *layer = arrays_base(self);

    report->filter_id = document->id;
    report->group = group;
    report->state = arrays_state(self, group);
    report->keys = self->groups[group].keys;
    show_layers(self, document, group, report);
    show_progress(self, document, group, report);
    if (is_small(self, group, sample_lines) && arrays_ready(self) && self->expansion == NULL) {
        double keys;

        sample(self, document, group, sample_lines, report);
        keys = (double)sizing_estimate_keys(report->bits_set, report->bits_seen,
                                            layer->generation.geometry.z);
        report->keys = (uint64_t)llround(keys * (double)report->bytes * 8 /
                                         (double)report->bits_seen);
    }
}
