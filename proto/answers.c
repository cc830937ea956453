/* Refusals, counters and summaries of filters, filled in once for nodes, routers and
 * coordinators. */
#include "proto/answers.h"

#include "map/history/expiry.h"
#include "map/history/rebuild.h"
#include "map/history/window.h"

void answer_refusal(uint64_t correlation, enum status status, struct frame *frame)
{
    *frame = (struct frame){
        .correlation = correlation,
        .kind = FRAME_ERROR,
        .body.error = {.status = status, .message = status_meaning(status)},
    };
}

void answer_stats(uint64_t correlation, const char *program, const char *name,
                  struct counter_table table, const uint64_t *counters, struct stat_value *values,
                  struct frame *frame)
{
    for (size_t i = 0; i < table.count; i++) {
        values[i] = (struct stat_value){.name = table.defs[i].name, .value = counters[i]};
    }
    *frame = (struct frame){
        .correlation = correlation,
        .kind = FRAME_STATS_REPLY,
        .body.stats_reply = {.program = program,
                             .name = name,
                             .values = values,
                             .nvalues = table.count},
    };
}

static void note_losses(const struct filter_document *document, struct filter_summary *summary)
{
    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        const struct slot_group *group =
            &document->content.groups[document->content.group_of_shard[shard]];

        if (group->loss_epoch != 0) {
            summary->loss_shards[shard / 8] |= (uint8_t)(1U << shard % 8);
        }
        if (group->loss_epoch > summary->loss_epoch) {
            summary->loss_epoch = group->loss_epoch;
        }
    }
}

void answer_filter_summary(const struct filter_document *document, struct filter_summary *summary)
{
    const struct generation *generation = document_generation(document);

    *summary = (struct filter_summary){
        .id = document->id,
        .name = document->content.name,
        .uid = document->content.uid,
        .state = document->content.state,
        .revision = document->revision,
        .epoch = document->epoch,
        .capacity = document->capacity,
        .max_capacity = document->max_capacity,
        .rate = document->rate,
        .rule = document->content.rule,
        .hash = document->hash,
        .when_unavailable = document->when_unavailable,
        .when_full = document->when_full,
        .keylog = document->keylog,
        .durability = document->durability,
        .nshards = document_nshards(document),
        .ngroups = document->content.ngroups,
        .shard_bytes = document_shard_bytes(document),
        .lines = generation->geometry.lines,
        .z = generation->geometry.z,
        .ngenerations = document->ngenerations,
        .nchain = document->content.nchain,
        .turns = document->turns,
        .nturns = document->nturns,
        .growth_held = document->growth_held,
        .keyset = document->content.keysets[0].id,
        .rebuild_keyset = rebuild_keyset(document),
        .fed_keys = document->fed_keys,
        .rebuild_awaited = "",
        .lacking = "",
        .lacking_remedy = "",
        .growth_awaited = "",
        .growth_refused = "",
        .window_us = document->window_us,
        .nslices = document->nslices,
        .newest_slice = document->content.newest_slice,
        .max_staleness = document->max_staleness,
        .acks = document->acks,
        .window_awaited = "",
        .expiry = document->expiry.number,
        .expires_left_us = expiry_left_us(document, NULL, 0),
        .expires_at_ms = document->expiry.at_ms,
        .expiry_awaited = "",
        .load_source = document->load_source,
        .loaded = document->loaded,
        .owner = document->owner,
    };
    note_losses(document, summary);
    for (uint32_t i = 0; i < document->ngenerations; i++) {
        const struct generation *one = &document->generations[i];

        summary->generations[i] = (struct generation_summary){
            .id = one->id,
            .capacity = window_capacity(document->nslices, one->capacity),
            .rate = one->rate > 0 ? one->rate : document->rate,
            .lines = one->geometry.lines,
            .z = one->geometry.z,
        };
    }
}
