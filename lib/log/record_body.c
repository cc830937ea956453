/* What records say: of one thing (an identity, a fence, a peer, a cursor, a document), of
 * fingerprints, of bit arrays, of runs, of other sites. Fields lie where struct *_layout says. */
#include "log/record.h"

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
    uint32_t nformer;
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
    uint32_t keyset;
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

/* The body of a record of that type; its first `size` bytes are put into `fixed`. */
static enum status record_body_of(struct span record, enum record_type type, void *fixed,
                                  size_t size, struct span *body)
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
        .nformer = identity->nformer,
    };
    size_t count = (size_t)identity->nbefore + identity->nformer;

    assert(count <= RECORD_MAX_BOOTS);
    memcpy(fixed.before, identity->before, count * sizeof fixed.before[0]);
    memcpy(fixed.ends, identity->ends, count * sizeof fixed.ends[0]);
    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_identity_get(struct span record, struct record_identity *identity)
{
    struct identity_layout fixed;
    struct span body;
    size_t count;
    enum status status = record_body_of(record, RECORD_IDENTITY, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK) {
        return status;
    }
    if ((fixed.flags & ~(uint32_t)(IDENTITY_UNSYNCED | IDENTITY_CONFIRMED)) != 0) {
        return STATUS_VERSION;
    }
    count = (size_t)fixed.nbefore + fixed.nformer;
    if (body.size != sizeof fixed || count > RECORD_MAX_BOOTS) {
        return STATUS_MALFORMED;
    }
    *identity = (struct record_identity){.incarnation = fixed.incarnation,
                                         .boot = fixed.boot,
                                         .kernel_boot = fixed.kernel_boot,
                                         .node = fixed.node,
                                         .unsynced = (fixed.flags & IDENTITY_UNSYNCED) != 0,
                                         .confirmed = (fixed.flags & IDENTITY_CONFIRMED) != 0,
                                         .nbefore = fixed.nbefore,
                                         .nformer = fixed.nformer};
    memcpy(identity->before, fixed.before, count * sizeof fixed.before[0]);
    memcpy(identity->ends, fixed.ends, count * sizeof fixed.ends[0]);
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
                                        .keyset = cursor->keyset,
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
                                     .keyset = fixed.keyset,
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

/* What records say of fingerprints. */

enum { TARGET_BYTES = 16 };

/* None of these has padding of the compiler's: copied as they are. */
struct batch_layout {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t batch_producer;
    uint64_t batch_number;
    uint32_t group;
    uint16_t zero;
    uint16_t ntargets;
    uint32_t count;
    uint32_t flags;
};

struct target_layout {
    uint64_t slice;
    uint32_t keyset;
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
        .batch_producer = batch->batch_producer,
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
                                             .keyset = batch->targets[i].keyset};

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
                                   .batch_producer = fixed.batch_producer,
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
        batch->targets[i] = (struct record_target){.slice = target.slice, .keyset = target.keyset};
        at += sizeof target;
    }
    batch->fingerprints = (const uint64_t *)(const void *)at;
    return STATUS_OK;
}

/* What records say of bit arrays, for filters without key log. */

/* None of these has padding of the compiler's: copied as they are. */
struct snapshot_layout {
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint32_t generation;
    uint64_t from;
    uint64_t end;
};

struct lines_layout {
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint32_t generation;
    uint32_t shard;
    uint32_t zero;
    uint64_t page;
};

_Static_assert(sizeof(struct snapshot_layout) == RECORD_SNAPSHOT_BYTES, "as record.h says");
_Static_assert(sizeof(struct lines_layout) + RECORD_PAGE_BYTES == RECORD_LINES_BYTES,
               "as record.h says");

void record_snapshot_put(uint8_t *record, const struct record_snapshot *snapshot)
{
    const struct snapshot_layout fixed = {.number = snapshot->number,
                                          .filter_id = snapshot->filter_id,
                                          .slice = snapshot->slice,
                                          .keyset = snapshot->keyset,
                                          .generation = snapshot->generation,
                                          .from = snapshot->from,
                                          .end = snapshot->end};

    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_snapshot_get(struct span record, struct record_snapshot *snapshot)
{
    struct snapshot_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_SNAPSHOT, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != sizeof fixed) {
        return STATUS_MALFORMED;
    }
    *snapshot = (struct record_snapshot){.number = fixed.number,
                                         .filter_id = fixed.filter_id,
                                         .slice = fixed.slice,
                                         .keyset = fixed.keyset,
                                         .generation = fixed.generation,
                                         .from = fixed.from,
                                         .end = fixed.end};
    return STATUS_OK;
}

/* Also in place. */
static void invert(uint8_t *into, const uint8_t *from)
{
    for (size_t i = 0; i < RECORD_PAGE_BYTES; i++) {
        into[i] = (uint8_t)~from[i];
    }
}

void record_lines_page(const struct record_lines *read, uint8_t page[RECORD_PAGE_BYTES])
{
    invert(page, read->bytes);
}

void record_lines_put(uint8_t *record, const struct record_lines *lines)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct lines_layout fixed = {.filter_id = lines->filter_id,
                                       .slice = lines->slice,
                                       .keyset = lines->keyset,
                                       .generation = lines->generation,
                                       .shard = lines->shard,
                                       .page = lines->page};

    memcpy(at, &fixed, sizeof fixed);
    invert(at + sizeof fixed, lines->bytes);
}

enum status record_lines_get(struct span record, struct record_lines *lines)
{
    struct lines_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_LINES, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != RECORD_LINES_BYTES || fixed.zero != 0) {
        return STATUS_MALFORMED;
    }
    *lines = (struct record_lines){.filter_id = fixed.filter_id,
                                   .slice = fixed.slice,
                                   .keyset = fixed.keyset,
                                   .generation = fixed.generation,
                                   .shard = fixed.shard,
                                   .page = fixed.page,
                                   .bytes = body.data + sizeof fixed};
    return STATUS_OK;
}

/* What records say of runs. */

enum { RUN_BYTES = 40, MANIFEST_FIXED_BYTES = 16 };

/* None of these has padding of the compiler's: copied as they are. */
struct manifest_layout {
    uint64_t merged;
    uint32_t nremoved;
    uint32_t nadded;
};

struct run_layout {
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint32_t zero;
    uint64_t count;
};

_Static_assert(sizeof(struct manifest_layout) == MANIFEST_FIXED_BYTES, "as record.h says");
_Static_assert(sizeof(struct run_layout) == RUN_BYTES, "as record.h says");

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
                                       .keyset = added[i].keyset,
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
                               .keyset = run.keyset,
                               .count = run.count};
}

/* What records say of other sites; and which records only a newer version can read. */

enum { CURSOR_FIXED_BYTES = 80, SOURCE_BYTES = 40 };

/* None of these has padding of the compiler's: copied as they are. */
struct site_cursor_layout {
    uint64_t filter_id;
    uint32_t group;
    uint32_t keyset;
    uint64_t site[2];
    uint64_t site_life[2];
    uint64_t own_life[2];
    uint64_t loss;
    uint32_t site_group;
    uint32_t nsources;
};

struct source_layout {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t offset;
    uint64_t epoch;
    uint32_t node;
    uint32_t zero;
};

_Static_assert(sizeof(struct site_cursor_layout) == CURSOR_FIXED_BYTES, "as record.h says");
_Static_assert(sizeof(struct source_layout) == SOURCE_BYTES, "as record.h says");

static size_t cursor_bytes(uint32_t nsources)
{
    return CURSOR_FIXED_BYTES + (size_t)nsources * SOURCE_BYTES;
}

size_t record_site_cursor_size(const struct record_site_cursor *cursor)
{
    return cursor_bytes(cursor->nsources);
}

void record_site_cursor_put(uint8_t *record, const struct record_site_cursor *cursor)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct site_cursor_layout fixed = {
        .filter_id = cursor->filter_id,
        .group = cursor->group,
        .keyset = cursor->keyset,
        .site = {cursor->site[0], cursor->site[1]},
        .site_life = {cursor->site_life.number, cursor->site_life.tag},
        .own_life = {cursor->own_life.number, cursor->own_life.tag},
        .loss = cursor->loss,
        .site_group = cursor->site_group,
        .nsources = cursor->nsources,
    };

    assert(cursor->nsources > 0 && cursor->nsources <= RECORD_MAX_SOURCES);
    memcpy(at, &fixed, sizeof fixed);
    at += sizeof fixed;
    for (uint32_t i = 0; i < cursor->nsources; i++) {
        const struct source_layout source = {.incarnation = cursor->sources[i].incarnation,
                                             .boot = cursor->sources[i].boot,
                                             .offset = cursor->sources[i].offset,
                                             .epoch = cursor->sources[i].epoch,
                                             .node = cursor->sources[i].node};

        memcpy(at, &source, sizeof source);
        at += sizeof source;
    }
}

/* An offset is where a record begins or ends; nodes, incarnations and boots are never 0; `before`
 * is the node of the one before. */
static enum status take_source(const struct source_layout *source, uint32_t before,
                               struct record_site_source *out)
{
    if (source->zero != 0) {
        return STATUS_VERSION;
    }
    if (source->node <= before || source->incarnation == 0 || source->boot == 0 ||
        source->offset % 8 != 0 || source->offset > INT64_MAX) {
        return STATUS_MALFORMED;
    }
    *out = (struct record_site_source){.incarnation = source->incarnation,
                                       .boot = source->boot,
                                       .offset = source->offset,
                                       .epoch = source->epoch,
                                       .node = source->node};
    return STATUS_OK;
}

enum status record_site_cursor_get(struct span record, struct record_site_cursor *cursor)
{
    struct site_cursor_layout fixed;
    struct record_site_cursor read;
    struct span body;
    enum status status = record_body_of(record, RECORD_SITE_CURSOR, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || fixed.nsources == 0 || fixed.nsources > RECORD_MAX_SOURCES ||
        body.size != cursor_bytes(fixed.nsources)) {
        return STATUS_MALFORMED;
    }
    read = (struct record_site_cursor){
        .filter_id = fixed.filter_id,
        .group = fixed.group,
        .keyset = fixed.keyset,
        .site = {fixed.site[0], fixed.site[1]},
        .site_life = {.number = fixed.site_life[0], .tag = fixed.site_life[1]},
        .own_life = {.number = fixed.own_life[0], .tag = fixed.own_life[1]},
        .loss = fixed.loss,
        .site_group = fixed.site_group,
        .nsources = fixed.nsources,
    };
    for (uint32_t i = 0; i < fixed.nsources && status == STATUS_OK; i++) {
        struct source_layout source;

        memcpy(&source, body.data + cursor_bytes(i), sizeof source);
        status = take_source(&source, i > 0 ? read.sources[i - 1].node : 0, &read.sources[i]);
    }
    if (status == STATUS_OK) {
        *cursor = read;
    }
    return status;
}

bool record_is_newer(const struct record_header *header, struct span record)
{
    struct record_batch batch;
    struct record_identity identity;
    struct record_site_cursor cursor;

    if (header->type > RECORD_LAST ||
        (header->flags & ~(unsigned)(RECORD_CHECKPOINT | RECORD_CHECKPOINTED)) != 0) {
        return true;
    }
    if (header->type == RECORD_BATCH) {
        return record_batch_get(record, &batch) == STATUS_VERSION;
    }
    if (header->type == RECORD_IDENTITY) {
        return record_identity_get(record, &identity) == STATUS_VERSION;
    }
    return header->type == RECORD_SITE_CURSOR &&
           record_site_cursor_get(record, &cursor) == STATUS_VERSION;
}
