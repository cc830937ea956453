/* What nodes ask of each other. */
#include "proto/codec_body.h"

#include <assert.h>

static enum status put_intervals(struct codec_scratch *scratch,
                                 const struct pull_interval *intervals, size_t count,
                                 Orbloom__V1__PullInterval ***out)
{
    Orbloom__V1__PullInterval *items = codec_scratch_take(scratch, count, sizeof *items);
    Orbloom__V1__PullInterval **list = codec_scratch_take(scratch, count, sizeof *list);

    if (items == NULL || list == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (Orbloom__V1__PullInterval)ORBLOOM__V1__PULL_INTERVAL__INIT;
        items[i].boot = intervals[i].boot;
        items[i].epoch = intervals[i].epoch;
        items[i].first = intervals[i].first;
        items[i].count = intervals[i].count;
        items[i].offset = intervals[i].offset;
        list[i] = &items[i];
    }
    *out = list;
    return STATUS_OK;
}

/* Numbers that run over the end of their range belong to no router. */
static enum status get_intervals(struct codec_arena *arena, Orbloom__V1__PullInterval *const *wire,
                                 size_t count, const struct pull_interval **out)
{
    struct pull_interval *intervals = arena_take(arena, count, sizeof *intervals);

    if (intervals == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < count; i++) {
        if (wire[i]->count == 0 || wire[i]->count - 1 > UINT64_MAX - wire[i]->first) {
            return STATUS_MALFORMED;
        }
        intervals[i] = (struct pull_interval){
            .boot = wire[i]->boot,
            .epoch = wire[i]->epoch,
            .first = wire[i]->first,
            .count = wire[i]->count,
            .offset = wire[i]->offset,
        };
    }
    *out = intervals;
    return STATUS_OK;
}

/* ---- prefixes of ranges, as differences ---- */

static enum status put_prefixes(struct codec_scratch *scratch, const struct pull_request *request,
                                Orbloom__V1__PullRequest *wire)
{
    uint64_t *differences = codec_scratch_take(scratch, request->nprefixes, sizeof *differences);

    if (differences == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < request->nprefixes; i++) {
        differences[i] = request->prefixes[i] - (i > 0 ? request->prefixes[i - 1] : 0);
    }
    wire->cut = request->cut;
    wire->prefix_bits = request->prefix_bits;
    wire->prefixes = differences;
    wire->n_prefixes = request->nprefixes;
    return STATUS_OK;
}

static enum status get_prefixes(struct codec_arena *arena, const Orbloom__V1__PullRequest *wire,
                                struct pull_request *request)
{
    uint64_t *prefixes = arena_take(arena, wire->n_prefixes, sizeof *prefixes);
    uint64_t last = 0;

    if (prefixes == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_prefixes; i++) {
        if (wire->prefixes[i] > UINT64_MAX - last) {
            return STATUS_MALFORMED;
        }
        last += wire->prefixes[i];
        prefixes[i] = last;
    }
    request->cut = wire->cut;
    request->prefix_bits = wire->prefix_bits;
    request->prefixes = prefixes;
    request->nprefixes = wire->n_prefixes;
    return pull_prefixes_good(request) ? STATUS_OK : STATUS_MALFORMED;
}

enum status codec_put_pull_request(const struct frame *frame, struct codec_scratch *scratch,
                                   ProtobufCMessage **out)
{
    const struct pull_request *request = &frame->body.pull_request;
    Orbloom__V1__PullRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);
    enum status status;

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    assert(request->kind == PULL_BODIES || request->nwanted == 0);
    assert(pull_prefixes_good(request));
    if (request->nwanted > PULL_MAX_WANTED) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__PullRequest)ORBLOOM__V1__PULL_REQUEST__INIT;
    wire->kind = (Orbloom__V1__PullKind)request->kind;
    wire->filter_id = request->scope.filter_id;
    wire->epoch = request->scope.epoch;
    wire->epoch_hash = request->scope.epoch_hash;
    wire->group = request->scope.group;
    wire->lineage = request->scope.lineage;
    wire->slice = request->scope.slice;
    wire->source = request->source.node;
    wire->source_incarnation = request->source.incarnation;
    wire->sync = request->sync;
    wire->from = request->from;
    wire->to = request->to;
    wire->max_bytes = request->max_bytes;
    wire->n_wanted = request->nwanted;
    *out = &wire->base;
    status = put_prefixes(scratch, request, wire);
    return status != STATUS_OK
               ? status
               : put_intervals(scratch, request->wanted, request->nwanted, &wire->wanted);
}

enum status codec_get_pull_request(const ProtobufCMessage *message, struct codec_arena *arena,
                                   struct frame *frame)
{
    const Orbloom__V1__PullRequest *wire = (const Orbloom__V1__PullRequest *)message;
    struct pull_request *request = &frame->body.pull_request;
    enum status status;

    if (wire->n_wanted > PULL_MAX_WANTED || wire->n_prefixes > PULL_MAX_PREFIXES) {
        return STATUS_TOO_LARGE;
    }
    if (!codec_enum_known((int)wire->kind, PULL_RANGES) ||
        (wire->n_wanted > 0 && (int)wire->kind != PULL_BODIES)) {
        return STATUS_MALFORMED;
    }
    *request = (struct pull_request){
        .kind = (enum pull_kind)wire->kind,
        .scope =
            {
                .filter_id = wire->filter_id,
                .epoch = wire->epoch,
                .epoch_hash = wire->epoch_hash,
                .slice = wire->slice,
                .lineage = wire->lineage,
                .group = wire->group,
            },
        .source = {.node = wire->source, .incarnation = wire->source_incarnation},
        .sync = wire->sync,
        .from = wire->from,
        .to = wire->to,
        .max_bytes = wire->max_bytes,
        .nwanted = wire->n_wanted,
    };
    status = get_prefixes(arena, wire, request);
    return status != STATUS_OK
               ? status
               : get_intervals(arena, wire->wanted, wire->n_wanted, &request->wanted);
}

/* ---- batches, in stretches that share what is the same ---- */

static bool same_series(const struct pull_batch *a, const struct pull_batch *b)
{
    return a->boot == b->boot && a->epoch == b->epoch && a->origin_zone == b->origin_zone &&
           a->offset <= b->offset;
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
    wire->origin_zone = batches[0].origin_zone;
    wire->numbers = numbers;
    wire->offsets = offsets;
    wire->counts = counts;
    wire->n_numbers = wire->n_offsets = wire->n_counts = count;
    return STATUS_OK;
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

static enum status get_series(const Orbloom__V1__PullBatches *wire, struct pull_batch *out)
{
    uint64_t number = 0;
    uint64_t offset = 0;

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
            .origin_zone = wire->origin_zone,
            .count = wire->counts[i],
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
        status = get_series(wire->batches[i], batches + used);
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
        reply->nintervals > PULL_MAX_INTERVALS || reply->ndigests > PULL_MAX_DIGESTS ||
        reply->ncounts > PULL_MAX_DIGESTS || reply->document.size > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__PullReply)ORBLOOM__V1__PULL_REPLY__INIT;
    put_places(reply, wire);
    wire->n_fingerprints = reply->count;
    wire->fingerprints = (uint64_t *)reply->fingerprints;
    wire->n_intervals = reply->nintervals;
    wire->checksum = pull_reply_sum(reply);
    wire->document = codec_put_span(reply->document);
    *out = &wire->base;
    status = put_batches(scratch, reply, wire);
    return status != STATUS_OK
               ? status
               : put_intervals(scratch, reply->intervals, reply->nintervals, &wire->intervals);
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
        wire->n_digests > PULL_MAX_DIGESTS || wire->n_counts > PULL_MAX_DIGESTS ||
        wire->document.len > DOCUMENT_MAX_BYTES) {
        return STATUS_TOO_LARGE;
    }
    if (!codec_enum_known((int)wire->kind, PULL_RANGES) || (unsigned)wire->state > REPLICA_FULL) {
        return STATUS_MALFORMED;
    }
    get_places(wire, reply);
    status = get_intervals(arena, wire->intervals, wire->n_intervals, &reply->intervals);
    if (status == STATUS_OK) {
        status = get_batches(arena, wire, reply);
    }
    if (status != STATUS_OK) {
        return status;
    }
    return reply_whole(reply) && pull_reply_sum(reply) == wire->checksum ? STATUS_OK
                                                                         : STATUS_MALFORMED;
}
