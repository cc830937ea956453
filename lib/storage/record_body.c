/* What records say: bodies of every type. Fields lie where struct *_layout says. */
#include "storage/record_private.h"

#include <assert.h>
#include <string.h>

enum { TARGET_BYTES = 16, RUN_BYTES = 40, MANIFEST_FIXED_BYTES = 16, DOCUMENT_FIXED_BYTES = 4 };

/* None of these has padding of the compiler's: copied as they are. */
struct batch_layout {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t batch_boot;
    uint64_t batch_number;
    uint32_t group;
    uint16_t origin_zone;
    uint16_t ntargets;
    uint32_t count;
    uint32_t flags;
};

struct target_layout {
    uint64_t slice;
    uint32_t lineage;
    uint32_t zero;
};

struct identity_layout {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t kernel_boot;
    uint32_t node;
    uint32_t flags;
    uint32_t nbefore;
    uint32_t zero;
    uint64_t before[RECORD_MAX_BOOTS];
    uint64_t ends[RECORD_MAX_BOOTS];
};

struct fence_layout {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
};

struct cursor_layout {
    uint64_t filter_id;
    uint32_t group;
    uint32_t lineage;
    uint64_t slice;
    uint32_t source;
    uint32_t zero;
    uint64_t source_incarnation;
    uint64_t offset;
    uint64_t epoch;
};

struct peer_layout {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t base;
    uint32_t node;
    uint32_t zero;
};

struct manifest_layout {
    uint64_t merged;
    uint32_t nremoved;
    uint32_t nadded;
};

struct run_layout {
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t lineage;
    uint32_t zero;
    uint64_t count;
};

enum {
    IDENTITY_UNSYNCED = 1,
    IDENTITY_CONFIRMED = 2,
    BATCH_FIXED_BYTES = sizeof(struct batch_layout)
};

static const uint32_t batch_flags = RECORD_BATCH_REPAIRED | RECORD_BATCH_BITS;

_Static_assert(sizeof(struct batch_layout) == 48, "as record.h says");
_Static_assert(sizeof(struct target_layout) == TARGET_BYTES, "as record.h says");
_Static_assert(sizeof(struct identity_layout) == RECORD_IDENTITY_BYTES, "as record.h says");
_Static_assert(sizeof(struct fence_layout) == RECORD_FENCE_BYTES, "as record.h says");
_Static_assert(sizeof(struct cursor_layout) == RECORD_CURSOR_BYTES, "as record.h says");
_Static_assert(sizeof(struct peer_layout) == RECORD_PEER_BYTES, "as record.h says");
_Static_assert(sizeof(struct manifest_layout) == MANIFEST_FIXED_BYTES, "as record.h says");
_Static_assert(sizeof(struct run_layout) == RUN_BYTES, "as record.h says");

enum status record_body_of(struct span record, enum record_type type, void *fixed, size_t size,
                           struct span *body)
{
    struct record_header header;

    if (record_peek(record, &header) != STATUS_OK || header.size > record.size ||
        header.type != type || header.size - RECORD_HEADER_BYTES < size) {
        return STATUS_MALFORMED;
    }
    *body = span_of(record.data + RECORD_HEADER_BYTES, header.size - RECORD_HEADER_BYTES);
    memcpy(fixed, body->data, size);
    return STATUS_OK;
}

/* ---- batches ---- */

static size_t batch_bytes(uint32_t ntargets, uint32_t count)
{
    return BATCH_FIXED_BYTES + (size_t)ntargets * TARGET_BYTES + (size_t)count * sizeof(uint64_t);
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
        .origin_zone = batch->origin_zone,
        .ntargets = (uint16_t)batch->ntargets,
        .count = batch->count,
        .flags = (batch->repaired ? (uint32_t)RECORD_BATCH_REPAIRED : 0) |
                 (batch->bits ? (uint32_t)RECORD_BATCH_BITS : 0),
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
    if (fixed.ntargets > RECORD_MAX_TARGETS || (fixed.flags & ~batch_flags) != 0 ||
        body.size != batch_bytes(fixed.ntargets, fixed.count)) {
        return STATUS_MALFORMED;
    }
    *batch = (struct record_batch){.filter_id = fixed.filter_id,
                                   .epoch = fixed.epoch,
                                   .batch_boot = fixed.batch_boot,
                                   .batch_number = fixed.batch_number,
                                   .group = fixed.group,
                                   .origin_zone = fixed.origin_zone,
                                   .repaired = (fixed.flags & RECORD_BATCH_REPAIRED) != 0,
                                   .bits = (fixed.flags & RECORD_BATCH_BITS) != 0,
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

/* ---- records of a fixed size ---- */

void record_identity_put(uint8_t *record, const struct record_identity *identity)
{
    struct identity_layout fixed = {
        .incarnation = identity->incarnation,
        .boot = identity->boot,
        .kernel_boot = identity->kernel_boot,
        .node = identity->node,
        .flags = (identity->unsynced ? (uint32_t)IDENTITY_UNSYNCED : 0) |
                 (identity->confirmed ? (uint32_t)IDENTITY_CONFIRMED : 0),
        .nbefore = identity->nbefore,
    };

    assert(identity->nbefore <= RECORD_MAX_BOOTS);
    memcpy(fixed.before, identity->before, identity->nbefore * sizeof fixed.before[0]);
    memcpy(fixed.ends, identity->ends, identity->nbefore * sizeof fixed.ends[0]);
    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_identity_get(struct span record, struct record_identity *identity)
{
    struct identity_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_IDENTITY, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != sizeof fixed || fixed.nbefore > RECORD_MAX_BOOTS ||
        (fixed.flags & ~(uint32_t)(IDENTITY_UNSYNCED | IDENTITY_CONFIRMED)) != 0) {
        return STATUS_MALFORMED;
    }
    *identity = (struct record_identity){.incarnation = fixed.incarnation,
                                         .boot = fixed.boot,
                                         .kernel_boot = fixed.kernel_boot,
                                         .node = fixed.node,
                                         .unsynced = (fixed.flags & IDENTITY_UNSYNCED) != 0,
                                         .confirmed = (fixed.flags & IDENTITY_CONFIRMED) != 0,
                                         .nbefore = fixed.nbefore};
    memcpy(identity->before, fixed.before, fixed.nbefore * sizeof fixed.before[0]);
    memcpy(identity->ends, fixed.ends, fixed.nbefore * sizeof fixed.ends[0]);
    return STATUS_OK;
}

void record_fence_put(uint8_t *record, const struct record_fence *fence)
{
    const struct fence_layout fixed = {
        .filter_id = fence->filter_id, .epoch = fence->epoch, .epoch_hash = fence->epoch_hash};

    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_fence_get(struct span record, struct record_fence *fence)
{
    struct fence_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_FENCE, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != sizeof fixed) {
        return STATUS_MALFORMED;
    }
    *fence = (struct record_fence){
        .filter_id = fixed.filter_id, .epoch = fixed.epoch, .epoch_hash = fixed.epoch_hash};
    return STATUS_OK;
}

void record_peer_put(uint8_t *record, const struct record_peer *peer)
{
    const struct peer_layout fixed = {.incarnation = peer->incarnation,
                                      .boot = peer->boot,
                                      .base = peer->base,
                                      .node = peer->node};

    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_peer_get(struct span record, struct record_peer *peer)
{
    struct peer_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_PEER, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != sizeof fixed) {
        return STATUS_MALFORMED;
    }
    *peer = (struct record_peer){.incarnation = fixed.incarnation,
                                 .boot = fixed.boot,
                                 .base = fixed.base,
                                 .node = fixed.node};
    return STATUS_OK;
}

void record_cursor_put(uint8_t *record, const struct record_cursor *cursor)
{
    const struct cursor_layout fixed = {.filter_id = cursor->filter_id,
                                        .group = cursor->group,
                                        .lineage = cursor->lineage,
                                        .slice = cursor->slice,
                                        .source = cursor->source,
                                        .source_incarnation = cursor->source_incarnation,
                                        .offset = cursor->offset,
                                        .epoch = cursor->epoch};

    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_cursor_get(struct span record, struct record_cursor *cursor)
{
    struct cursor_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_CURSOR, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != sizeof fixed) {
        return STATUS_MALFORMED;
    }
    *cursor = (struct record_cursor){.filter_id = fixed.filter_id,
                                     .group = fixed.group,
                                     .lineage = fixed.lineage,
                                     .slice = fixed.slice,
                                     .source = fixed.source,
                                     .source_incarnation = fixed.source_incarnation,
                                     .offset = fixed.offset,
                                     .epoch = fixed.epoch};
    return STATUS_OK;
}

/* ---- documents ---- */

size_t record_document_size(struct span document)
{
    return DOCUMENT_FIXED_BYTES + document.size;
}

void record_document_put(uint8_t *record, struct span document)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    uint32_t size = (uint32_t)document.size;

    memcpy(at, &size, sizeof size);
    if (size > 0) {
        memcpy(at + sizeof size, document.data, size);
    }
}

enum status record_document_get(struct span record, struct span *document)
{
    uint32_t size;
    struct span body;
    enum status status = record_body_of(record, RECORD_DOCUMENT, &size, sizeof size, &body);

    if (status != STATUS_OK ||
        record_size(DOCUMENT_FIXED_BYTES + (size_t)size) != body.size + RECORD_HEADER_BYTES) {
        return STATUS_MALFORMED;
    }
    *document = span_of(body.data + sizeof size, size);
    return STATUS_OK;
}

/* ---- manifests ---- */

size_t record_manifest_size(uint32_t nremoved, uint32_t nadded)
{
    return MANIFEST_FIXED_BYTES + (size_t)nremoved * sizeof(uint64_t) + (size_t)nadded * RUN_BYTES;
}

void record_manifest_put(uint8_t *record, uint64_t merged, const uint64_t *removed,
                         uint32_t nremoved, const struct record_run *added, uint32_t nadded)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct manifest_layout fixed = {.merged = merged, .nremoved = nremoved, .nadded = nadded};

    memcpy(at, &fixed, sizeof fixed);
    at += sizeof fixed;
    if (nremoved > 0) {
        memcpy(at, removed, nremoved * sizeof *removed);
        at += nremoved * sizeof *removed;
    }
    for (uint32_t i = 0; i < nadded; i++) {
        const struct run_layout run = {.number = added[i].number,
                                       .filter_id = added[i].filter_id,
                                       .slice = added[i].slice,
                                       .lineage = added[i].lineage,
                                       .count = added[i].count};

        memcpy(at, &run, sizeof run);
        at += sizeof run;
    }
}

enum status record_manifest_get(struct span record, struct record_manifest *manifest)
{
    struct manifest_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_MANIFEST, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != record_manifest_size(fixed.nremoved, fixed.nadded)) {
        return STATUS_MALFORMED;
    }
    *manifest = (struct record_manifest){
        .merged = fixed.merged, .nremoved = fixed.nremoved, .nadded = fixed.nadded, .body = body};
    return STATUS_OK;
}

uint64_t record_manifest_removed(const struct record_manifest *manifest, uint32_t index)
{
    uint64_t number;

    assert(index < manifest->nremoved);
    memcpy(&number, manifest->body.data + MANIFEST_FIXED_BYTES + (size_t)index * sizeof number,
           sizeof number);
    return number;
}

struct record_run record_manifest_added(const struct record_manifest *manifest, uint32_t index)
{
    struct run_layout run;

    assert(index < manifest->nadded);
    memcpy(&run,
           manifest->body.data + record_manifest_size(manifest->nremoved, 0) +
               (size_t)index * RUN_BYTES,
           sizeof run);
    return (struct record_run){.number = run.number,
                               .filter_id = run.filter_id,
                               .slice = run.slice,
                               .lineage = run.lineage,
                               .count = run.count};
}
