/* What is said of filters, in several conversations. */
#include "proto/codec_field.h"

#include <math.h>
#include <string.h>

static enum status put_generations(struct codec_scratch *scratch,
                                   const struct filter_summary *summary,
                                   Orbloom__V1__FilterSummary *out)
{
    size_t n = summary->ngenerations;
    Orbloom__V1__GenerationSummary *items = codec_scratch_take(scratch, n, sizeof *items);
    Orbloom__V1__GenerationSummary **list = codec_scratch_take(scratch, n, sizeof *list);

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const struct generation_summary *generation = &summary->generations[i];

        items[i] = (Orbloom__V1__GenerationSummary)ORBLOOM__V1__GENERATION_SUMMARY__INIT;
        items[i].id = generation->id;
        items[i].capacity = generation->capacity;
        items[i].rate = generation->rate;
        items[i].lines = generation->lines;
        items[i].z = generation->z;
        list[i] = &items[i];
    }
    out->n_generations = n;
    out->generations = list;
    return STATUS_OK;
}

static enum status put_growth(struct codec_scratch *scratch, const struct filter_summary *summary,
                              Orbloom__V1__FilterSummary *out)
{
    enum status status = put_generations(scratch, summary, out);

    out->n_turns = summary->nturns;
    out->turns = (uint32_t *)summary->turns;
    out->shards_grown = summary->shards_grown;
    out->shards_growing = summary->shards_growing;
    out->growth_held = summary->growth_held;
    out->nchain = summary->nchain;
    status = status != STATUS_OK
                 ? status
                 : codec_put_message(scratch, summary->growth_awaited, &out->growth_awaited);
    return status != STATUS_OK
               ? status
               : codec_put_message(scratch, summary->growth_refused, &out->growth_refused);
}

static enum status put_rebuild(struct codec_scratch *scratch, const struct filter_summary *summary,
                               Orbloom__V1__FilterSummary *out)
{
    Orbloom__V1__RebuildSummary *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    out->lineage = summary->lineage;
    if (summary->rebuild_lineage != 0) {
        *wire = (Orbloom__V1__RebuildSummary)ORBLOOM__V1__REBUILD_SUMMARY__INIT;
        wire->lineage = summary->rebuild_lineage;
        wire->fed_keys = summary->fed_keys;
        wire->keys = summary->rebuild_keys;
        out->rebuild = wire;
    }
    return codec_put_message(scratch, summary->rebuild_awaited, &out->rebuild_awaited);
}

static enum status put_window(struct codec_scratch *scratch, const struct filter_summary *summary,
                              Orbloom__V1__FilterSummary *out)
{
    out->window_us = summary->window_us;
    out->nslices = summary->nslices;
    out->newest_slice = summary->newest_slice;
    out->load_source = summary->load_source;
    out->loaded = summary->loaded;
    return codec_put_message(scratch, summary->window_awaited, &out->window_awaited);
}

static enum status put_expiry(struct codec_scratch *scratch, const struct filter_summary *summary,
                              Orbloom__V1__FilterSummary *out)
{
    out->expiry = summary->expiry;
    out->expires_left_us = summary->expires_left_us;
    out->expires_at_ms = summary->expires_at_ms;
    return codec_put_message(scratch, summary->expiry_awaited, &out->expiry_awaited);
}

/* What replicas lack, and what was given up. */
static enum status put_lack(struct codec_scratch *scratch, const struct filter_summary *summary,
                            Orbloom__V1__FilterSummary *out)
{
    enum status status = codec_put_message(scratch, summary->lacking, &out->lacking);

    out->shards_lacking = summary->shards_lacking;
    out->fewest_full = summary->fewest_full;
    out->loss_epoch = summary->loss_epoch;
    if (summary->loss_epoch != 0) {
        out->loss_shards.data = (uint8_t *)summary->loss_shards;
        out->loss_shards.len = summary->nshards <= DOCUMENT_MAX_SHARDS
                                   ? (summary->nshards + 7) / 8
                                   : sizeof summary->loss_shards;
    }
    return status != STATUS_OK
               ? status
               : codec_put_message(scratch, summary->lacking_remedy, &out->lacking_remedy);
}

enum status codec_put_filter_summary(struct codec_scratch *scratch,
                                     const struct filter_summary *summary,
                                     Orbloom__V1__FilterSummary *out)
{
    enum status status;

    *out = (Orbloom__V1__FilterSummary)ORBLOOM__V1__FILTER_SUMMARY__INIT;
    out->id = summary->id;
    out->uid_high = summary->uid.high;
    out->uid_low = summary->uid.low;
    out->state = (Orbloom__V1__FilterState)summary->state;
    out->revision = summary->revision;
    out->epoch = summary->epoch;
    out->capacity = summary->capacity;
    out->max_capacity = summary->max_capacity;
    out->rate = summary->rate;
    out->replicas = summary->rule.replicas;
    out->write_quorum = summary->rule.write;
    out->read_quorum = summary->rule.read;
    out->hash = (Orbloom__V1__HashKind)summary->hash;
    out->when_unavailable = (Orbloom__V1__WhenUnavailable)summary->when_unavailable;
    out->when_full = (Orbloom__V1__WhenFull)summary->when_full;
    out->keylog = (Orbloom__V1__Keylog)summary->keylog;
    out->durability = (Orbloom__V1__Durability)summary->durability;
    out->nshards = summary->nshards;
    out->ngroups = summary->ngroups;
    out->shard_bytes = summary->shard_bytes;
    out->lines = summary->lines;
    out->z = summary->z;
    status = codec_put_text(summary->name, &out->name);
    status = status != STATUS_OK ? status : put_rebuild(scratch, summary, out);
    status = status != STATUS_OK ? status : put_lack(scratch, summary, out);
    status = status != STATUS_OK ? status : put_window(scratch, summary, out);
    status = status != STATUS_OK ? status : put_expiry(scratch, summary, out);
    return status != STATUS_OK ? status : put_growth(scratch, summary, out);
}

static bool summary_enums_known(const Orbloom__V1__FilterSummary *wire)
{
    return codec_enum_known((int)wire->state, FILTER_DROPPED) &&
           codec_enum_known((int)wire->hash, HASH_XXH3) &&
           codec_enum_known((int)wire->when_unavailable, WHEN_UNAVAILABLE_MAYBE) &&
           codec_enum_known((int)wire->when_full, WHEN_FULL_EXPAND) &&
           codec_enum_known((int)wire->keylog, KEYLOG_OFF) &&
           codec_enum_known((int)wire->durability, DURABILITY_SYNC);
}

static enum status get_generations(const Orbloom__V1__FilterSummary *wire,
                                   struct filter_summary *out)
{
    if (wire->n_generations > DOCUMENT_MAX_GENERATIONS) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_generations; i++) {
        const Orbloom__V1__GenerationSummary *generation = wire->generations[i];

        if (!isfinite(generation->rate)) {
            return STATUS_MALFORMED;
        }
        out->generations[i] = (struct generation_summary){
            .id = generation->id,
            .capacity = generation->capacity,
            .rate = generation->rate,
            .lines = generation->lines,
            .z = generation->z,
        };
    }
    out->ngenerations = (uint32_t)wire->n_generations;
    out->nchain = wire->nchain < out->ngenerations ? wire->nchain : out->ngenerations;
    return STATUS_OK;
}

static enum status get_growth(struct codec_arena *arena, const Orbloom__V1__FilterSummary *wire,
                              struct filter_summary *out)
{
    enum status status = get_generations(wire, out);
    uint32_t *turns = arena_take(arena, wire->n_turns, sizeof *turns);

    if (turns == NULL || wire->n_turns > DOCUMENT_MAX_TURNS) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_turns; i++) {
        turns[i] = wire->turns[i];
    }
    out->turns = turns;
    out->nturns = wire->n_turns;
    status = status != STATUS_OK
                 ? status
                 : codec_get_text(arena, wire->growth_awaited, &out->growth_awaited);
    return status != STATUS_OK ? status
                               : codec_get_text(arena, wire->growth_refused, &out->growth_refused);
}

static enum status get_rebuild(struct codec_arena *arena, const Orbloom__V1__FilterSummary *wire,
                               struct filter_summary *out)
{
    out->lineage = wire->lineage;
    if (wire->rebuild != NULL) {
        out->rebuild_lineage = wire->rebuild->lineage;
        out->fed_keys = wire->rebuild->fed_keys;
        out->rebuild_keys = wire->rebuild->keys;
    }
    return codec_get_text(arena, wire->rebuild_awaited, &out->rebuild_awaited);
}

static enum status get_lack(struct codec_arena *arena, const Orbloom__V1__FilterSummary *wire,
                            struct filter_summary *out)
{
    enum status status = codec_get_text(arena, wire->lacking, &out->lacking);

    if (wire->loss_shards.len > sizeof out->loss_shards) {
        return STATUS_TOO_LARGE;
    }
    out->shards_lacking = wire->shards_lacking;
    out->fewest_full = wire->fewest_full;
    out->loss_epoch = wire->loss_epoch;
    if (wire->loss_shards.len > 0) {
        memcpy(out->loss_shards, wire->loss_shards.data, wire->loss_shards.len);
    }
    return status != STATUS_OK ? status
                               : codec_get_text(arena, wire->lacking_remedy, &out->lacking_remedy);
}

enum status codec_get_filter_summary(struct codec_arena *arena,
                                     const Orbloom__V1__FilterSummary *wire,
                                     struct filter_summary *out)
{
    enum status status;

    if (!summary_enums_known(wire) || !isfinite(wire->rate)) {
        return STATUS_MALFORMED;
    }
    *out = (struct filter_summary){
        .id = wire->id,
        .uid = {wire->uid_high, wire->uid_low},
        .state = (enum filter_state)wire->state,
        .revision = wire->revision,
        .epoch = wire->epoch,
        .capacity = wire->capacity,
        .max_capacity = wire->max_capacity,
        .rate = wire->rate,
        .rule = {wire->replicas, wire->write_quorum, wire->read_quorum},
        .hash = (enum hash_kind)wire->hash,
        .when_unavailable = (enum when_unavailable)wire->when_unavailable,
        .when_full = (enum when_full)wire->when_full,
        .keylog = (enum keylog)wire->keylog,
        .durability = (enum durability)wire->durability,
        .nshards = wire->nshards,
        .ngroups = wire->ngroups,
        .shard_bytes = wire->shard_bytes,
        .lines = wire->lines,
        .z = wire->z,
        .growth_held = wire->growth_held != 0,
        .shards_grown = wire->shards_grown,
        .shards_growing = wire->shards_growing,
        .window_us = wire->window_us,
        .nslices = wire->nslices,
        .newest_slice = wire->newest_slice,
        .expiry = wire->expiry,
        .expires_left_us = wire->expires_left_us,
        .expires_at_ms = wire->expires_at_ms,
        .load_source = wire->load_source,
        .loaded = wire->loaded,
    };
    status = codec_get_text(arena, wire->name, &out->name);
    status = status != STATUS_OK ? status : get_rebuild(arena, wire, out);
    status = status != STATUS_OK ? status : get_lack(arena, wire, out);
    status = status != STATUS_OK
                 ? status
                 : codec_get_text(arena, wire->window_awaited, &out->window_awaited);
    status = status != STATUS_OK
                 ? status
                 : codec_get_text(arena, wire->expiry_awaited, &out->expiry_awaited);
    return status != STATUS_OK ? status : get_growth(arena, wire, out);
}
