/* What records say, those of one thing: an identity, a fence, a peer, a cursor, a document. Fields
 * lie where struct *_layout says. */
#include "log/record_private.h"

#include <assert.h>
#include <string.h>

enum { IDENTITY_UNSYNCED = 1, IDENTITY_CONFIRMED = 2, DOCUMENT_FIXED_BYTES = 4 };

/* None of these has padding of the compiler's: copied as they are. */
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

_Static_assert(sizeof(struct identity_layout) == RECORD_IDENTITY_BYTES, "as record.h says");
_Static_assert(sizeof(struct fence_layout) == RECORD_FENCE_BYTES, "as record.h says");
_Static_assert(sizeof(struct cursor_layout) == RECORD_CURSOR_BYTES, "as record.h says");
_Static_assert(sizeof(struct peer_layout) == RECORD_PEER_BYTES, "as record.h says");

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

    if (status != STATUS_OK) {
        return status;
    }
    if ((fixed.flags & ~(uint32_t)(IDENTITY_UNSYNCED | IDENTITY_CONFIRMED)) != 0) {
        return STATUS_VERSION;
    }
    if (body.size != sizeof fixed || fixed.nbefore > RECORD_MAX_BOOTS) {
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
