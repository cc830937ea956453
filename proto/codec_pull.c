/* What nodes ask each other to take over from them, and what they answer. */
#include "proto/codec_body.h"

#include <assert.h>

/* ---- batches of routers, told apart by their numbers ---- */

/* By hand, as there may be thousands of them: rows cost a tenth more. */
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
        items[i].producer_id = intervals[i].producer_id;
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
            .producer_id = wire[i]->producer_id,
            .epoch = wire[i]->epoch,
            .first = wire[i]->first,
            .count = wire[i]->count,
            .offset = wire[i]->offset,
        };
    }
    *out = intervals;
    return STATUS_OK;
}

/* ---- the request ---- */

/* Prefixes of ranges travel as differences. */
static enum status put_prefixes(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_request *request = ours;
    Orbloom__V1__PullRequest *wire = message;
    uint64_t *differences = codec_scratch_take(scratch, request->nprefixes, sizeof *differences);

    assert(pull_prefixes_good(request));
    if (differences == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < request->nprefixes; i++) {
        differences[i] = request->prefixes[i] - (i > 0 ? request->prefixes[i - 1] : 0);
    }
    wire->prefixes = differences;
    wire->n_prefixes = request->nprefixes;
    return STATUS_OK;
}

static enum status get_prefixes(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__PullRequest *wire = message;
    struct pull_request *request = ours;
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
    request->prefixes = prefixes;
    request->nprefixes = wire->n_prefixes;
    return pull_prefixes_good(request) ? STATUS_OK : STATUS_MALFORMED;
}

static enum status get_bounds(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__PullRequest *wire = message;

    (void)arena;
    (void)ours;
    return wire->n_wanted > PULL_MAX_WANTED || wire->n_prefixes > PULL_MAX_PREFIXES
               ? STATUS_TOO_LARGE
               : STATUS_OK;
}

static enum status put_wanted(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_request *request = ours;
    Orbloom__V1__PullRequest *wire = message;

    wire->n_wanted = request->nwanted;
    return request->nwanted > PULL_MAX_WANTED
               ? STATUS_TOO_LARGE
               : put_intervals(scratch, request->wanted, request->nwanted, &wire->wanted);
}

static enum status get_wanted(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__PullRequest *wire = message;
    struct pull_request *request = ours;

    request->nwanted = wire->n_wanted;
    return get_intervals(arena, wire->wanted, wire->n_wanted, &request->wanted);
}

/* Only bodies are asked for by their numbers. */
static enum status put_kind(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_request *request = ours;

    (void)scratch;
    (void)message;
    assert(request->kind == PULL_BODIES || request->nwanted == 0);
    return STATUS_OK;
}

static enum status get_kind(struct codec_arena *arena, const void *message, void *ours)
{
    const struct pull_request *request = ours;

    (void)arena;
    return ((const Orbloom__V1__PullRequest *)message)->n_wanted == 0 ||
                   request->kind == PULL_BODIES
               ? STATUS_OK
               : STATUS_MALFORMED;
}

#define WIRE_pull_request Orbloom__V1__PullRequest
static const struct binding pull_request_rows[] = {
    BY_HAND(pull_request, wanted, NULL, get_bounds),
    ENUM(pull_request, kind, PULL_RUNS, PULL_FILTERS),
    BY_HAND(pull_request, kind, put_kind, get_kind),
    ROW_AS(pull_request, scope.filter_id, filter_id, UINT64),
    ROW_AS(pull_request, scope.epoch, epoch, UINT64),
    ROW_AS(pull_request, scope.epoch_hash, epoch_hash, UINT64),
    ROW_AS(pull_request, scope.group, group, UINT32),
    ROW_AS(pull_request, scope.keyset, keyset, UINT32),
    ROW_AS(pull_request, scope.slice, slice, UINT64),
    ROW_AS(pull_request, scope.generation, generation, UINT32),
    ROW_AS(pull_request, scope.geometry, geometry, UINT64),
    ROW_AS(pull_request, source.node, source, UINT32),
    ROW_AS(pull_request, source.incarnation, source_incarnation, UINT64),
    ROW(pull_request, sync, BOOL),
    ROW(pull_request, from, UINT64),
    ROW(pull_request, to, UINT64),
    ROW(pull_request, max_bytes, UINT32),
    ROW(pull_request, view, UINT64),
    ROW(pull_request, prefix_bits, UINT32),
    BY_HAND(pull_request, prefixes, put_prefixes, get_prefixes),
    BY_HAND(pull_request, wanted, put_wanted, get_wanted),
};
BINDING_TABLE(pull_request, pull_request, NULL);

/* ---- the reply: batches, in stretches that share what is the same ---- */

static bool same_series(const struct pull_batch *a, const struct pull_batch *b)
{
    return a->producer_id == b->producer_id && a->epoch == b->epoch && a->flags == b->flags &&
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
    uint32_t *keysets = codec_scratch_take(scratch, targets->count, sizeof *keysets);

    if (slices == NULL || keysets == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        slices[i] = targets->items[i].slice;
        keysets[i] = targets->items[i].keyset;
    }
    wire->slices = slices;
    wire->keysets = keysets;
    wire->n_slices = wire->n_keysets = targets->count;
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
    wire->producer_id = batches[0].producer_id;
    wire->epoch = batches[0].epoch;
    wire->numbers = numbers;
    wire->offsets = offsets;
    wire->counts = counts;
    wire->n_numbers = wire->n_offsets = wire->n_counts = count;
    wire->flags = batches[0].flags;
    return batches[0].targets != NULL ? put_targets(scratch, batches[0].targets, wire) : STATUS_OK;
}

static enum status put_batches(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_reply *reply = ours;
    Orbloom__V1__PullReply *wire = message;
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
    return status == STATUS_OK && reply->nbatches > PULL_MAX_BATCHES ? STATUS_TOO_LARGE : status;
}

/* *out: NULL where the scope is all that there is. */
static enum status get_targets(struct codec_arena *arena, const Orbloom__V1__PullBatches *wire,
                               const struct pull_scope *scope, const struct pull_targets **out)
{
    struct pull_targets *targets;

    *out = NULL;
    if (wire->n_slices != wire->n_keysets) {
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
        targets->items[i] = (struct pull_target){wire->slices[i], wire->keysets[i]};
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
            .producer_id = wire->producer_id,
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

static enum status get_batches(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__PullReply *wire = message;
    struct pull_reply *reply = ours;
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

/* ---- the reply: all of it ---- */

/* Digests, and what they are of, only where they were asked for. */
static bool view_whole(const struct pull_reply *reply)
{
    if (!pull_kind_reads_view(reply->kind) || reply->status != STATUS_OK) {
        return reply->view == 0 && reply->view_end == 0 && reply->ndigests == 0 &&
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

    if (!view_whole(reply)) {
        return false;
    }
    for (size_t i = 0; i < reply->nbatches; i++) {
        sum += reply->batches[i].count;
    }
    if (reply->npages > 0 && (reply->status != STATUS_OK || reply->kind != PULL_PAGES)) {
        return false;
    }
    if (reply->kind == PULL_PAGES && reply->count > 0) {
        return false;
    }
    if (reply->status != STATUS_OK) {
        return reply->count == 0 && reply->nbatches == 0 && reply->nintervals == 0;
    }
    return (batched ? sum == reply->count : reply->nbatches == 0) &&
           (reply->kind == PULL_HEADERS ? reply->count == 0 : reply->nintervals == 0);
}

static enum status put_sum(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_reply *reply = ours;

    (void)scratch;
    assert(reply_whole(reply));
    ((Orbloom__V1__PullReply *)message)->checksum = pull_reply_sum(reply);
    return STATUS_OK;
}

static enum status get_sum(struct codec_arena *arena, const void *message, void *ours)
{
    const struct pull_reply *reply = ours;

    (void)arena;
    return reply_whole(reply) &&
                   pull_reply_sum(reply) == ((const Orbloom__V1__PullReply *)message)->checksum
               ? STATUS_OK
               : STATUS_MALFORMED;
}

static enum status put_pages(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_reply *reply = ours;

    (void)scratch;
    ((Orbloom__V1__PullReply *)message)->pages = codec_put_span(
        span_of(reply->pages, reply->npages * PULL_PAGE_BYTES));
    return STATUS_OK;
}

static enum status get_pages(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__PullReply *wire = message;
    struct pull_reply *reply = ours;

    (void)arena;
    reply->pages = wire->pages.data;
    return wire->pages.len == reply->npages * PULL_PAGE_BYTES ? STATUS_OK : STATUS_MALFORMED;
}

static enum status put_headers(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct pull_reply *reply = ours;
    Orbloom__V1__PullReply *wire = message;

    wire->n_intervals = reply->nintervals;
    return reply->nintervals > PULL_MAX_INTERVALS
               ? STATUS_TOO_LARGE
               : put_intervals(scratch, reply->intervals, reply->nintervals, &wire->intervals);
}

static enum status get_headers(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__PullReply *wire = message;
    struct pull_reply *reply = ours;

    reply->nintervals = wire->n_intervals;
    return get_intervals(arena, wire->intervals, wire->n_intervals, &reply->intervals);
}

static enum status get_interval_bound(struct codec_arena *arena, const void *message, void *ours)
{
    (void)arena;
    (void)ours;
    return ((const Orbloom__V1__PullReply *)message)->n_intervals > PULL_MAX_INTERVALS
               ? STATUS_TOO_LARGE
               : STATUS_OK;
}

/* What is too large is refused as that before anything is looked at; the sum is of all the rest. */
#define WIRE_pull_reply Orbloom__V1__PullReply
static const struct binding pull_reply_rows[] = {
    NUMBERS(pull_reply, fingerprints, count, uint64_t, PULL_MAX_KEYS, STATUS_TOO_LARGE),
    NUMBERS(pull_reply, page_ids, npages, uint64_t, PULL_MAX_PAGES, STATUS_TOO_LARGE),
    NUMBERS(pull_reply, digests, ndigests, uint64_t, PULL_MAX_DIGESTS, STATUS_TOO_LARGE),
    NUMBERS(pull_reply, counts, ncounts, uint64_t, PULL_MAX_DIGESTS, STATUS_TOO_LARGE),
    ROW(pull_reply, document, DOCUMENT),
    BY_HAND(pull_reply, intervals, NULL, get_interval_bound),
    ENUM(pull_reply, kind, PULL_RUNS, PULL_FILTERS),
    ENUM(pull_reply, state, REPLICA_NONE, REPLICA_FULL),
    BY_HAND(pull_reply, pages, put_pages, get_pages),
    ROW(pull_reply, status, STATUS),
    ROW_AS(pull_reply, scope.filter_id, filter_id, UINT64),
    ROW_AS(pull_reply, scope.epoch, epoch, UINT64),
    ROW_AS(pull_reply, scope.epoch_hash, epoch_hash, UINT64),
    ROW_AS(pull_reply, scope.group, group, UINT32),
    ROW_AS(pull_reply, scope.keyset, keyset, UINT32),
    ROW_AS(pull_reply, scope.slice, slice, UINT64),
    ROW_AS(pull_reply, scope.generation, generation, UINT32),
    ROW_AS(pull_reply, scope.geometry, geometry, UINT64),
    ROW_AS(pull_reply, source.node, source, UINT32),
    ROW_AS(pull_reply, source.incarnation, source_incarnation, UINT64),
    ROW_AS(pull_reply, boot, source_boot, UINT64),
    ROW(pull_reply, fence_epoch, UINT64),
    ROW(pull_reply, fence_position, UINT64),
    ROW(pull_reply, from, UINT64),
    ROW(pull_reply, next, UINT64),
    ROW(pull_reply, end, BOOL),
    ROW(pull_reply, merged, UINT64),
    ROW(pull_reply, durable, UINT64),
    ROW(pull_reply, view, UINT64),
    ROW(pull_reply, view_end, UINT64),
    BY_HAND(pull_reply, intervals, put_headers, get_headers),
    BY_HAND(pull_reply, batches, put_batches, get_batches),
    BY_HAND(pull_reply, checksum, put_sum, get_sum),
};
BINDING_TABLE(pull_reply, pull_reply, NULL);
