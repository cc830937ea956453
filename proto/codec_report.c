/* What is said of replicas, in several conversations. */
#include "proto/codec_field.h"

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
    wire->keys_next = report->keys_next;
    wire->keys_kept = report->keys_kept;
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
        .keys_next = wire->keys_next,
        .keys_kept = wire->keys_kept,
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
