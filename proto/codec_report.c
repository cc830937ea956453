/* What is said of replicas and filters, in several conversations. */
#include "proto/codec_field.h"

#include <math.h>

static void put_report(const struct replica_report *report, Orbloom__V1__ReplicaReport *wire)
{
    *wire = (Orbloom__V1__ReplicaReport)ORBLOOM__V1__REPLICA_REPORT__INIT;
    wire->filter_id = report->filter_id;
    wire->group = report->group;
    wire->node_id = report->node_id;
    wire->incarnation = report->incarnation;
    wire->fence = report->fence;
    wire->state = (Orbloom__V1__ReplicaState)report->state;
    wire->bytes = report->bytes;
    wire->keys = report->keys;
    wire->bits_set = report->bits_set;
    wire->bits_seen = report->bits_seen;
    wire->progress = report->progress;
    wire->phase = (Orbloom__V1__ReplicaPhase)report->phase;
    wire->complete = report->complete;
    wire->disk_bytes = report->disk_bytes;
    wire->generation = report->generation;
    wire->shards_grown = report->shards_grown;
    wire->overflow_keys = report->overflow_keys;
}

enum status codec_put_reports(struct codec_scratch *scratch, const struct replica_report *reports,
                              size_t count, Orbloom__V1__ReplicaReport ***out)
{
    Orbloom__V1__ReplicaReport *items = codec_scratch_take(scratch, count, sizeof *items);
    Orbloom__V1__ReplicaReport **list = codec_scratch_take(scratch, count, sizeof *list);
    size_t i;

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (i = 0; i < count; i++) {
        put_report(&reports[i], &items[i]);
        list[i] = &items[i];
    }
    *out = list;
    return STATUS_OK;
}

static enum status get_report(const Orbloom__V1__ReplicaReport *wire, struct replica_report *report)
{
    *report = (struct replica_report){
        .filter_id = wire->filter_id,
        .group = wire->group,
        .node_id = wire->node_id,
        .incarnation = wire->incarnation,
        .fence = wire->fence,
        .state = (enum replica_state)wire->state,
        .bytes = wire->bytes,
        .keys = wire->keys,
        .bits_set = wire->bits_set,
        .bits_seen = wire->bits_seen,
        .progress = wire->progress,
        .phase = (enum replica_phase)wire->phase,
        .complete = wire->complete,
        .disk_bytes = wire->disk_bytes,
        .generation = wire->generation,
        .shards_grown = wire->shards_grown,
        .overflow_keys = wire->overflow_keys,
    };
    if ((unsigned)wire->state > REPLICA_FULL || (unsigned)wire->phase > PHASE_GROWING ||
        wire->bits_set > wire->bits_seen) {
        return STATUS_MALFORMED;
    }
    return wire->progress >= 0 && wire->progress <= 1 ? STATUS_OK : STATUS_MALFORMED; /* not NaN */
}

enum status codec_get_reports(struct codec_arena *arena, Orbloom__V1__ReplicaReport *const *reports,
                              size_t count, const struct replica_report **out)
{
    struct replica_report *items = arena_take(arena, count, sizeof *items);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (i = 0; i < count && status == STATUS_OK; i++) {
        status = get_report(reports[i], &items[i]);
    }
    *out = items;
    return status;
}

enum status codec_put_filter_summary(const struct filter_summary *summary,
                                     Orbloom__V1__FilterSummary *out)
{
    *out = (Orbloom__V1__FilterSummary)ORBLOOM__V1__FILTER_SUMMARY__INIT;
    out->id = summary->id;
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
    return codec_put_text(summary->name, &out->name);
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

enum status codec_get_filter_summary(struct codec_arena *arena,
                                     const Orbloom__V1__FilterSummary *wire,
                                     struct filter_summary *out)
{
    if (!summary_enums_known(wire) || !isfinite(wire->rate)) {
        return STATUS_MALFORMED;
    }
    *out = (struct filter_summary){
        .id = wire->id,
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
    };
    return codec_get_text(arena, wire->name, &out->name);
}
