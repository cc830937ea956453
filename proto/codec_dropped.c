/* The record of dropped filters, signed. */
#include "base/heap.h"
#include "proto/codec_field.h"
#include "proto/codec_signed.h"

/* Each number is what lies between it and the one before, so that it takes a byte or two. */
static enum status put_steps(const struct id_set *ids, struct codec_scratch *scratch,
                             Orbloom__V1__DroppedFilters *wire)
{
    uint64_t *steps = codec_scratch_take(scratch, 2 * ids->count, sizeof *steps);
    uint64_t before = 0;

    if (steps == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < ids->count; i++) {
        steps[2 * i] = ids->intervals[i].first - before;
        steps[2 * i + 1] = ids->intervals[i].last - ids->intervals[i].first;
        before = ids->intervals[i].last;
    }
    wire->n_steps = 2 * ids->count;
    wire->steps = steps;
    return STATUS_OK;
}

enum status codec_dropped_sign(const struct dropped_record *record, const struct cluster_key *key,
                               struct buffer *out)
{
    Orbloom__V1__DroppedFilters wire = ORBLOOM__V1__DROPPED_FILTERS__INIT;
    struct codec_scratch scratch;
    const char *reason = NULL;
    enum status status = dropped_record_validate(record, &reason);

    if (status != STATUS_OK) {
        return status;
    }
    codec_scratch_init(&scratch);
    wire.revision = record->revision;
    wire.needs = feature_bit(FEATURE_BASE);
    status = put_steps(&record->ids, &scratch, &wire);
    if (status == STATUS_OK) {
        status = codec_signed_append(&wire.base, DOCUMENT_DROPPED, key, out);
    }
    codec_scratch_fini(&scratch);
    return status;
}

static enum status get_steps(const Orbloom__V1__DroppedFilters *wire, struct id_set *ids)
{
    size_t count = wire->n_steps / 2;
    uint64_t before = 0;

    if (wire->n_steps % 2 != 0 || count > ID_SET_MAX_INTERVALS) {
        return STATUS_MALFORMED;
    }
    if (count == 0) {
        return STATUS_OK;
    }
    ids->intervals = heap_alloc(count, sizeof *ids->intervals);
    if (ids->intervals == NULL) {
        return STATUS_NOMEM;
    }
    ids->capacity = ids->count = count;
    for (size_t i = 0; i < count; i++) {
        struct id_interval *interval = &ids->intervals[i];

        if (wire->steps[2 * i] > UINT64_MAX - before) {
            return STATUS_MALFORMED;
        }
        interval->first = before + wire->steps[2 * i];
        if (wire->steps[2 * i + 1] > UINT64_MAX - interval->first) {
            return STATUS_MALFORMED;
        }
        interval->last = interval->first + wire->steps[2 * i + 1];
        before = interval->last;
    }
    return STATUS_OK;
}

static enum status decode(struct codec_arena *arena, struct span content, void *out)
{
    struct dropped_record *record = out;
    const Orbloom__V1__DroppedFilters *wire;
    ProtobufCMessage *message = NULL;
    const char *reason = NULL;
    enum status status = arena_unpack(arena, &orbloom__v1__dropped_filters__descriptor,
                                      content.data, content.size, &message);

    if (status != STATUS_OK) {
        return status;
    }
    wire = (const Orbloom__V1__DroppedFilters *)message;
    if ((wire->needs & ~features_known()) != 0) {
        return STATUS_VERSION;
    }
    record->revision = wire->revision;
    status = get_steps(wire, &record->ids);
    return status != STATUS_OK ? status : dropped_record_validate(record, &reason);
}

enum status codec_dropped_open(struct span bytes, const struct cluster_key *key,
                               struct dropped_record *out)
{
    enum status status;

    *out = (struct dropped_record){0};
    status = codec_signed_open(bytes, DOCUMENT_DROPPED, key, decode, out);
    if (status != STATUS_OK) {
        dropped_record_fini(out);
    }
    return status;
}
