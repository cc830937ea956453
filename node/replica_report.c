/* What a coordinator is told of a replica: its state, its progress, how many keys it has. */
#include "filter/sizing.h"
#include "node/replica.h"

#include <math.h>

enum { PAGE_BYTES = 4096 };

/* Popcount evenly spaced pages of the group's shards, or all when they are few. */
static void sample(const struct replica_set *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    const struct layer *layer = replica_set_base(self);
    uint64_t pages = layer->shard_bytes / PAGE_BYTES;
    uint64_t wanted = sample_lines / LINES_PER_PAGE /
                      (self->groups[group].nshards > 0 ? self->groups[group].nshards : 1);
    uint64_t take = wanted < 1 ? 1 : (wanted < pages ? wanted : pages);

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] != group) {
            continue;
        }
        for (uint64_t i = 0; i < take; i++) {
            const uint8_t *page = layer->shards[shard] + i * pages / take * PAGE_BYTES;

            report->bits_set += lines_popcount(page, PAGE_BYTES);
            report->bits_seen += (uint64_t)PAGE_BYTES * 8;
        }
    }
}

static void show_progress(const struct replica_set *self, const struct replica_group *group,
                          struct replica_report *report)
{
    report->progress = 1.0;
    if (!replica_set_built(self)) {
        report->progress = (double)self->built_shards / (double)self->nshards;
    } else if (!self->loaded) {
        report->phase = PHASE_REPLAYING;
        report->progress = self->loaded_part;
    } else if (report->state == REPLICA_BUILDING) {
        report->phase = PHASE_SYNCING;
    } else if (report->state == REPLICA_JOINING) {
        report->phase = PHASE_SYNCING;
        report->progress = group->copied;
        report->complete = group->complete;
    }
}

void replica_set_report(const struct replica_set *self, const struct filter_document *document,
                        uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    const struct layer *layer = replica_set_base(self);
    uint64_t bytes = self->groups[group].nshards * layer->shard_bytes;

    report->filter_id = document->id;
    report->group = group;
    report->state = replica_set_state(self, group);
    report->bytes = bytes;
    report->keys = self->groups[group].keys;
    show_progress(self, &self->groups[group], report);
    if (sample_lines > 0 && replica_set_ready(self)) {
        double keys;

        sample(self, document, group, sample_lines, report);
        keys = (double)sizing_estimate_keys(report->bits_set, report->bits_seen,
                                            layer->generation.geometry.z);
        report->keys = (uint64_t)llround(keys * (double)bytes * 8 / (double)report->bits_seen);
    }
}
