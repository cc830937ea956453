/* What a node gives another one that has asked. */
#include "proto/codec_body.h"

#include <assert.h>

/* ---- batches, in stretches that share what is the same ---- */

static bool same_series(const struct pull_batch *a, const struct pull_batch *b)
{
    return a->boot == b->boot && a->epoch == b->epoch && a->flags == b->flags &&
           pull_targets_equal(a->targets, b->targets) && a->offset <= b->offset;
}

static size_t series_length(const struct pull_batch *batches, size_t count)
{
    size_t length = 1;

    while (length < count && same_series(&batches[0], &batches[length])) {
        length++;
    }
    return length;
}

static size_t count_series(const struct pull_batch *batches, size_t count)
{
    size_t series = 0;

    for (size_t i = 0; i < count; i += series_length(batches + i, count - i)) {
        series++;
    }
    return series;
}

static enum status put_targets(struct codec_scratch *scratch, const struct pull_targets *targets,
                               Orbloom__V1__PullBatches *wire)
{
    uint64_t *slices = codec_scratch_take(scratch, targets->count, sizeof *slices);
    uint32_t *lineages = codec_scratch_take(scratch, targets->count, sizeof *lineages);

    if (slices == NULL || lineages == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        slices[i] = targets->items[i].slice;
        lineages[i] = targets->items[i].lineage;
    }
    wire->slices = slices;
    wire->lineages = lineages;
    wire->n_slices = wire->n_lineages = targets->count;
    return STATUS_OK;
}

static enum status put_series(struct codec_scratch *scratch, const struct pull_batch *batches,
                              size_t count, Orbloom__V1__PullBatches *wire)
{
    int64_t *numbers = codec_scratch_take(scratch, count, sizeof *numbers);
    uint64_t *offsets = codec_scratch_take(scratch, count, sizeof *offsets);
    uint32_t *counts = codec_scratch_take(scratch, count, sizeof *counts);
    uint64_t number = 0;
    uint64_t offset = 0;

    if (numbers == NULL || offsets == NULL || counts == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        assert(batches[i].offset >= offset);
        numbers[i] = (int64_t)(batches[i].number - number);
        offsets[i] = batches[i].offset - offset;
        counts[i] = batches[i].count;
        number = batches[i].number;
        offset = batches[i].offset;
    }
    *wire = (Orbloom__V1__PullBatches)ORBLOOM__V1__PULL_BATCHES__INIT;
    wire->boot = batches[0].boot;
    wire->epoch = batches[0].epoch;
    wire->numbers = numbers;
    wire->offsets = offsets;
    wire->counts = counts;
    wire->n_numbers = wire->n_offsets = wire->n_counts = count;
    wire->flags = batches[0].flags;
    return batches[0].targets != NULL ? put_targets(scratch, batches[0].targets, wire) : STATUS_OK;
}

static enum status put_batches(struct codec_scratch *scratch, const struct pull_reply *reply,
                               Orbloom__V1__PullReply *wire)
{
    size_t nseries = count_series(reply->batches, reply->nbatches);
    Orbloom__V1__PullBatches *items = codec_scratch_take(scratch, nseries, sizeof *items);
    Orbloom__V1__PullBatches **list = codec_scratch_take(scratch, nseries, sizeof *list);
    enum status status = items != NULL && list != NULL ? STATUS_OK : STATUS_NOMEM;
    size_t at = 0;

    for (size_t i = 0; i < nseries && status == STATUS_OK; i++) {
        size_t length = series_length(reply->batches + at, reply->nbatches - at);

        status = put_series(scratch, reply->batches + at, length, &items[i]);
        list[i] = &items[i];
        at += length;
    }
    wire->n_batches = nseries;
    wire->batches = list;
    return status;
}

/* *out: NULL where the scope is all that there is. */
static enum status get_targets(struct codec_arena *arena, const Orbloom__V1__PullBatches *wire,
                               const struct pull_scope *scope, const struct pull_targets **out)
{
    struct pull_targets *targets;

    *out = NULL;
    if (wire->n_slices != wire->n_lineages) {
        return STATUS_MALFORMED;
    }
    if (wire->n_slices == 0) {
        return STATUS_OK;
    }
    if (wire->n_slices > PULL_MAX_TARGETS) {
        return STATUS_TOO_LARGE;
    }
    targets = arena_take(arena, 1, sizeof *targets);
    if (targets == NULL) {
        return STATUS_TOO_LARGE;
    }
    *targets = (struct pull_targets){.count = (uint32_t)wire->n_slices};
    for (size_t i = 0; i < wire->n_slices; i++) {
        targets->items[i] = (struct pull_target){wire->slices[i], wire->lineages[i]};
    }
    *out = targets;
    return pull_targets_good(targets, scope) ? STATUS_OK : STATUS_MALFORMED;
}

static enum status get_series(struct codec_arena *arena, const Orbloom__V1__PullBatches *wire,
                              const struct pull_scope *scope, struct pull_batch *out)
{
    const struct pull_targets *targets;
    uint64_t number = 0;
    uint64_t offset = 0;
    enum status status;

    if ((wire->flags & ~(unsigned)PULL_BATCH_FLAGS) != 0) {
        return STATUS_VERSION;
    }
    status = get_targets(arena, wire, scope, &targets);
    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < wire->n_counts; i++) {
        if (wire->offsets[i] > UINT64_MAX - offset || wire->counts[i] > PULL_MAX_KEYS) {
            return STATUS_MALFORMED;
        }
        number += (uint64_t)wire->numbers[i];
        offset += wire->offsets[i];
        out[i] = (struct pull_batch){
            .boot = wire->boot,
            .number = number,
            .epoch = wire->epoch,
            .offset = offset,
            .count = wire->counts[i],
            .flags = wire->flags,
            .targets = targets,
        };
    }
    return STATUS_OK;
}

static enum status count_batches(const Orbloom__V1__PullReply *wire, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < wire->n_batches; i++) {
        const Orbloom__V1__PullBatches *series = wire->batches[i];

        if (series->n_numbers != series->n_counts || series->n_offsets != series->n_counts) {
            return STATUS_MALFORMED;
        }
        if (series->n_counts > PULL_MAX_BATCHES - *count) {
            return STATUS_TOO_LARGE;
        }
        *count += series->n_counts;
    }
    return STATUS_OK;
}

static enum status get_batches(struct codec_arena *arena, const Orbloom__V1__PullReply *wire,
                               struct pull_reply *reply)
{
    enum status status = count_batches(wire, &reply->nbatches);
    struct pull_batch *batches;
    size_t used = 0;

    if (status != STATUS_OK) {
        return status;
    }
    batches = arena_take(arena, reply->nbatches, sizeof *batches);
    if (batches == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_batches && status == STATUS_OK; i++) {
        status = get_series(arena, wire->batches[i], &reply->scope, batches + used);
        used += wire->batches[i]->n_counts;
    }
    reply->batches = batches;
    return status;
}

/* Digests, and what they are of, only where they were asked for. */
static bool cut_whole(const struct pull_reply *reply)
{
    if (!pull_kind_cuts(reply->kind) || reply->status != STATUS_OK) {
        return reply->cut == 0 && reply->cut_end == 0 && reply->ndigests == 0 &&
               reply->ncounts == 0;
    }
    if (reply->kind == PULL_RANGES) {
        return reply->ndigests == 0 && reply->ncounts == 0;
    }
    return reply->count == 0 && (reply->ncounts == 0 || reply->ncounts == reply->ndigests);
}

/* Each kind carries what it asks for, and keys only where a batch or a run claims them. */
static bool reply_whole(const struct pull_reply *reply)
{
    bool batched = reply->kind == PULL_LOG || reply->kind == PULL_BODIES;
    uint64_t sum = 0;

    if (!cut_whole(reply)) {
        return false;
    }
    for (size_t i = 0; i < reply->nbatches; i++) {
        sum += reply->batches[i].count;
    }
    if (reply->npages > 0 && (reply->status != STATUS_OK || reply->kind != PULL_LINES)) {
        return false;
    }
    if (reply->kind == PULL_LINES && reply->count > 0) {
        return false;
    }
    if (reply->status != STATUS_OK) {
        return reply->count == 0 && reply->nbatches == 0 && reply->nintervals == 0;
    }
    return (batched ? sum == reply->count : reply->nbatches == 0) &&
           (reply->kind == PULL_HEADERS ? reply->count == 0 : reply->nintervals == 0);
}

static void put_places(const struct pull_reply *reply, Orbloom__V1__PullReply *wire)
{
    wire->status = (Orbloom__V1__Status)reply->status;
    wire->kind = (Orbloom__V1__PullKind)reply->kind;
    wire->filter_id = reply->scope.filter_id;
    wire->epoch = reply->scope.epoch;
    wire->epoch_hash = reply->scope.epoch_hash;
    wire->group = reply->scope.group;
    wire->lineage = reply->scope.lineage;
    wire->slice = reply->scope.slice;
    wire->generation = reply->scope.generation;
    wire->geometry = reply->scope.geometry;
    wire->source = reply->source.node;
    wire->source_incarnation = reply->source.incarnation;
    wire->source_boot = reply->boot;
    wire->state = (Orbloom__V1__ReplicaState)reply->state;
    wire->fence_epoch = reply->fence_epoch;
    wire->fence_position = reply->fence_position;
    wire->from = reply->from;
    wire->next = reply->next;
    wire->end = reply->end;
    wire->merged = reply->merged;
    wire->durable = reply->durable;
    wire->cut = reply->cut;
    wire->cut_end = reply->cut_end;
    wire->digests = (uint64_t *)reply->digests;
    wire->n_digests = reply->ndigests;
    wire->counts = (uint64_t *)reply->counts;
    wire->n_counts = reply->ncounts;
}

enum status codec_put_pull_reply(const struct frame *frame, struct codec_scratch *scratch,
                                 ProtobufCMessage **out)
{
    const struct pull_reply *reply = &frame->body.pull_reply;
    Orbloom__V1__PullReply *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    assert(reply_whole(reply));
    if (reply->count > PULL_MAX_KEYS || reply->nbatches > PULL_MAX_BATCHES ||
        reply->nintervals > PULL_MAX_INTERVALS || reply->npages > PULL_MAX_PAGES ||
        reply->ndigests > PULL_MAX_DIGESTS || reply->ncounts > PULL_MAX_DIGESTS ||
        reply->document.size > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__PullReply)ORBLOOM__V1__PULL_REPLY__INIT;
    put_places(reply, wire);
    wire->n_fingerprints = reply->count;
    wire->fingerprints = (uint64_t *)reply->fingerprints;
    wire->n_intervals = reply->nintervals;
    wire->n_page_ids = reply->npages;
    wire->page_ids = (uint64_t *)reply->page_ids;
    wire->pages = codec_put_span(span_of(reply->pages, reply->npages * PULL_PAGE_BYTES));
    wire->checksum = pull_reply_sum(reply);
    wire->document = codec_put_span(reply->document);
    *out = &wire->base;
    status = put_batches(scratch, reply, wire);
    return status != STATUS_OK ? status
                               : codec_put_intervals(scratch, reply->intervals, reply->nintervals,
                                                     &wire->intervals);
}

static void get_places(const Orbloom__V1__PullReply *wire, struct pull_reply *reply)
{
    *reply = (struct pull_reply){
        .status = status_from_wire((unsigned)wire->status),
        .kind = (enum pull_kind)wire->kind,
        .scope =
            {
                .filter_id = wire->filter_id,
                .epoch = wire->epoch,
                .epoch_hash = wire->epoch_hash,
                .slice = wire->slice,
                .lineage = wire->lineage,
                .group = wire->group,
                .generation = wire->generation,
                .geometry = wire->geometry,
            },
        .source = {.node = wire->source, .incarnation = wire->source_incarnation},
        .boot = wire->source_boot,
        .state = (enum replica_state)wire->state,
        .fence_epoch = wire->fence_epoch,
        .fence_position = wire->fence_position,
        .from = wire->from,
        .next = wire->next,
        .end = wire->end,
        .merged = wire->merged,
        .durable = wire->durable,
        .nintervals = wire->n_intervals,
        .fingerprints = wire->fingerprints,
        .count = wire->n_fingerprints,
        .page_ids = wire->page_ids,
        .pages = wire->pages.data,
        .npages = wire->n_page_ids,
        .document = codec_get_span(wire->document),
        .cut = wire->cut,
        .cut_end = wire->cut_end,
        .digests = wire->digests,
        .ndigests = wire->n_digests,
        .counts = wire->counts,
        .ncounts = wire->n_counts,
    };
}

enum status codec_get_pull_reply(const ProtobufCMessage *message, struct codec_arena *arena,
                                 struct frame *frame)
{
    const Orbloom__V1__PullReply *wire = (const Orbloom__V1__PullReply *)message;
    struct pull_reply *reply = &frame->body.pull_reply;
    enum status status;

    if (wire->n_fingerprints > PULL_MAX_KEYS || wire->n_intervals > PULL_MAX_INTERVALS ||
        wire->n_page_ids > PULL_MAX_PAGES || wire->n_digests > PULL_MAX_DIGESTS ||
        wire->n_counts > PULL_MAX_DIGESTS || wire->document.len > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    if (!codec_enum_known((int)wire->kind, PULL_FILTERS) || (unsigned)wire->state > REPLICA_FULL ||
        wire->pages.len != wire->n_page_ids * PULL_PAGE_BYTES) {
        return STATUS_MALFORMED;
    }
    get_places(wire, reply);
    status = codec_get_intervals(arena, wire->intervals, wire->n_intervals, &reply->intervals);
    if (status == STATUS_OK) {
        status = get_batches(arena, wire, reply);
    }
    if (status != STATUS_OK) {
        return status;
    }
    return reply_whole(reply) && pull_reply_sum(reply) == wire->checksum ? STATUS_OK
                                                                         : STATUS_MALFORMED;
}
