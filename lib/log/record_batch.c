/* What records say of fingerprints. */
#include "log/record_private.h"

#include <assert.h>
#include <string.h>

enum { TARGET_BYTES = 16 };

/* None of these has padding of the compiler's: copied as they are. */
struct batch_layout {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t batch_boot;
    uint64_t batch_number;
    uint32_t group;
    uint16_t zero;
    uint16_t ntargets;
    uint32_t count;
    uint32_t flags;
};

struct target_layout {
    uint64_t slice;
    uint32_t lineage;
    uint32_t zero;
};

enum { BATCH_FIXED_BYTES = sizeof(struct batch_layout) };

static const uint32_t batch_flags = RECORD_BATCH_REPAIRED | RECORD_BATCH_BITS |
                                    RECORD_BATCH_RELAYED | RECORD_BATCH_FED | RECORD_BATCH_PARTIAL;

_Static_assert(sizeof(struct batch_layout) == 48, "as record.h says");
_Static_assert(sizeof(struct target_layout) == TARGET_BYTES, "as record.h says");

static size_t batch_bytes(uint32_t ntargets, uint32_t count)
{
    return BATCH_FIXED_BYTES + (size_t)ntargets * TARGET_BYTES + (size_t)count * sizeof(uint64_t);
}

static uint32_t flags_of(const struct record_batch *batch)
{
    return (batch->repaired ? (uint32_t)RECORD_BATCH_REPAIRED : 0) |
           (batch->bits ? (uint32_t)RECORD_BATCH_BITS : 0) |
           (batch->relayed ? (uint32_t)RECORD_BATCH_RELAYED : 0) |
           (batch->fed ? (uint32_t)RECORD_BATCH_FED : 0) |
           (batch->partial ? (uint32_t)RECORD_BATCH_PARTIAL : 0);
}

size_t record_batch_size(const struct record_batch *batch)
{
    return batch_bytes(batch->ntargets, batch->count);
}

void record_batch_put(uint8_t *record, const struct record_batch *batch)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct batch_layout fixed = {
        .filter_id = batch->filter_id,
        .epoch = batch->epoch,
        .batch_boot = batch->batch_boot,
        .batch_number = batch->batch_number,
        .group = batch->group,
        .ntargets = (uint16_t)batch->ntargets,
        .count = batch->count,
        .flags = flags_of(batch),
    };

    assert(batch->ntargets <= RECORD_MAX_TARGETS);
    memcpy(at, &fixed, sizeof fixed);
    at += sizeof fixed;
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        const struct target_layout target = {.slice = batch->targets[i].slice,
                                             .lineage = batch->targets[i].lineage};

        memcpy(at, &target, sizeof target);
        at += sizeof target;
    }
    if (batch->count > 0) {
        memcpy(at, batch->fingerprints, batch->count * sizeof *batch->fingerprints);
    }
}

enum status record_batch_get(struct span record, struct record_batch *batch)
{
    struct batch_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_BATCH, &fixed, sizeof fixed, &body);
    const uint8_t *at;

    if (status != STATUS_OK) {
        return status;
    }
    if ((fixed.flags & ~batch_flags) != 0) {
        return STATUS_VERSION; /* Perhaps the rest means something else, too. */
    }
    if (fixed.zero != 0 || fixed.ntargets > RECORD_MAX_TARGETS ||
        body.size != batch_bytes(fixed.ntargets, fixed.count)) {
        return STATUS_MALFORMED;
    }
    *batch = (struct record_batch){.filter_id = fixed.filter_id,
                                   .epoch = fixed.epoch,
                                   .batch_boot = fixed.batch_boot,
                                   .batch_number = fixed.batch_number,
                                   .group = fixed.group,
                                   .repaired = (fixed.flags & RECORD_BATCH_REPAIRED) != 0,
                                   .bits = (fixed.flags & RECORD_BATCH_BITS) != 0,
                                   .relayed = (fixed.flags & RECORD_BATCH_RELAYED) != 0,
                                   .fed = (fixed.flags & RECORD_BATCH_FED) != 0,
                                   .partial = (fixed.flags & RECORD_BATCH_PARTIAL) != 0,
                                   .ntargets = fixed.ntargets,
                                   .count = fixed.count};
    at = body.data + sizeof fixed;
    for (uint32_t i = 0; i < fixed.ntargets; i++) {
        struct target_layout target;

        memcpy(&target, at, sizeof target);
        batch->targets[i] = (struct record_target){.slice = target.slice,
                                                   .lineage = target.lineage};
        at += sizeof target;
    }
    batch->fingerprints = (const uint64_t *)(const void *)at;
    return STATUS_OK;
}
