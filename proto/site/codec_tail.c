/* What a link asks of its site's nodes, and the tails of their logs. */
#include "proto/codec_body.h"

#include <assert.h>

/* ---- the request: filters and offsets, in columns ---- */

static enum status put_filters(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct site_tail_request *request = ours;
    Orbloom__V1__SiteTailRequest *wire = message;
    uint64_t *ids = codec_scratch_take(scratch, request->nfilters, sizeof *ids);
    uint64_t *epochs = codec_scratch_take(scratch, request->nfilters, sizeof *epochs);
    uint64_t *hashes = codec_scratch_take(scratch, request->nfilters, sizeof *hashes);

    assert(request->nfilters == 0 ||
           (site_tail_filters_good(request->filters, request->nfilters) &&
            request->list == site_tail_list(request->filters, request->nfilters)));
    if (ids == NULL || epochs == NULL || hashes == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < request->nfilters; i++) {
        ids[i] = request->filters[i].filter_id;
        epochs[i] = request->filters[i].epoch;
        hashes[i] = request->filters[i].epoch_hash;
    }
    wire->filter_ids = ids;
    wire->epochs = epochs;
    wire->epoch_hashes = hashes;
    wire->n_filter_ids = wire->n_epochs = wire->n_epoch_hashes = request->nfilters;
    return STATUS_OK;
}

static enum status get_filters(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__SiteTailRequest *wire = message;
    struct site_tail_request *request = ours;
    struct site_tail_filter *filters;

    if (wire->n_filter_ids > SITE_TAIL_MAX_FILTERS) {
        return STATUS_TOO_LARGE;
    }
    if (wire->n_epochs != wire->n_filter_ids || wire->n_epoch_hashes != wire->n_filter_ids) {
        return STATUS_MALFORMED;
    }
    filters = arena_take(arena, wire->n_filter_ids, sizeof *filters);
    if (filters == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_filter_ids; i++) {
        filters[i] = (struct site_tail_filter){wire->filter_ids[i], wire->epochs[i],
                                               wire->epoch_hashes[i]};
    }
    request->filters = filters;
    request->nfilters = wire->n_filter_ids;
    return site_tail_filters_good(filters, request->nfilters) &&
                   (request->nfilters == 0 ||
                    request->list == site_tail_list(filters, request->nfilters))
               ? STATUS_OK
               : STATUS_MALFORMED;
}

static enum status put_wanted(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct site_tail_request *request = ours;
    Orbloom__V1__SiteTailRequest *wire = message;
    uint64_t *differences = codec_scratch_take(scratch, request->nwanted, sizeof *differences);
    uint64_t last = request->from;

    if (request->nwanted > SITE_TAIL_MAX_WANTED) {
        return STATUS_TOO_LARGE;
    }
    if (differences == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < request->nwanted; i++) {
        assert(request->wanted[i] >= last && (i == 0 || request->wanted[i] > last));
        differences[i] = request->wanted[i] - last;
        last = request->wanted[i];
    }
    wire->wanted = differences;
    wire->n_wanted = request->nwanted;
    return STATUS_OK;
}

static enum status get_wanted(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__SiteTailRequest *wire = message;
    struct site_tail_request *request = ours;
    uint64_t *wanted;
    uint64_t last = request->from;

    if (wire->n_wanted > SITE_TAIL_MAX_WANTED) {
        return STATUS_TOO_LARGE;
    }
    wanted = arena_take(arena, wire->n_wanted, sizeof *wanted);
    if (wanted == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_wanted; i++) {
        if (wire->wanted[i] > UINT64_MAX - last || (i > 0 && wire->wanted[i] == 0)) {
            return STATUS_MALFORMED;
        }
        last += wire->wanted[i];
        wanted[i] = last;
    }
    request->wanted = wanted;
    request->nwanted = wire->n_wanted;
    return STATUS_OK;
}

#define WIRE_site_taken Orbloom__V1__SiteTaken
static const struct binding site_taken_rows[] = {
    ROW(site_taken, site_high, UINT64),
    ROW(site_taken, site_low, UINT64),
    ROW(site_taken, offset, UINT64),
};
static BINDING_TABLE(site_taken, site_taken, NULL);

#define WIRE_site_tail_request Orbloom__V1__SiteTailRequest
static const struct binding site_tail_request_rows[] = {
    LIST(site_tail_request, taken, ntaken, site_taken, SITE_TAIL_MAX_SITES, STATUS_TOO_LARGE),
    ROW_AS(site_tail_request, source.node, source, UINT32),
    ROW_AS(site_tail_request, source.incarnation, source_incarnation, UINT64),
    ROW_AS(site_tail_request, boot, source_boot, UINT64),
    ROW(site_tail_request, from, UINT64),
    ROW(site_tail_request, max_bytes, UINT32),
    ROW(site_tail_request, wait_ms, UINT32),
    ROW(site_tail_request, headers_only, BOOL),
    ROW(site_tail_request, list, UINT64),
    BY_HAND(site_tail_request, filter_ids, put_filters, get_filters),
    BY_HAND(site_tail_request, epochs, NULL, NULL),
    BY_HAND(site_tail_request, epoch_hashes, NULL, NULL),
    BY_HAND(site_tail_request, wanted, put_wanted, get_wanted),
};
BINDING_TABLE(site_tail_request, site_tail_request, NULL);

/* ---- the reply: records, in stretches that share what is the same ---- */

static bool same_series(const struct site_tail_record *a, const struct site_tail_record *b)
{
    return a->filter_id == b->filter_id && a->epoch == b->epoch &&
           a->producer_id == b->producer_id && a->flags == b->flags &&
           pull_targets_equal(a->targets, b->targets);
}

static size_t series_length(const struct site_tail_record *records, size_t count)
{
    size_t length = 1;

    while (length < count && same_series(&records[0], &records[length])) {
        length++;
    }
    return length;
}

static size_t count_series(const struct site_tail_record *records, size_t count)
{
    size_t series = 0;

    for (size_t i = 0; i < count; i += series_length(records + i, count - i)) {
        series++;
    }
    return series;
}

/* The columns of one series, each of so many. */
struct columns {
    int64_t *numbers;
    uint64_t *offsets;
    uint32_t *groups;
    uint32_t *counts;
    uint64_t *digests;
    uint64_t *slices;
    uint32_t *keysets;
};

static bool take_columns(struct codec_scratch *scratch, size_t count, uint32_t ntargets,
                         struct columns *out)
{
    out->numbers = codec_scratch_take(scratch, count, sizeof *out->numbers);
    out->offsets = codec_scratch_take(scratch, count, sizeof *out->offsets);
    out->groups = codec_scratch_take(scratch, count, sizeof *out->groups);
    out->counts = codec_scratch_take(scratch, count, sizeof *out->counts);
    out->digests = codec_scratch_take(scratch, count, sizeof *out->digests);
    out->slices = codec_scratch_take(scratch, ntargets, sizeof *out->slices);
    out->keysets = codec_scratch_take(scratch, ntargets, sizeof *out->keysets);
    return out->numbers != NULL && out->offsets != NULL && out->groups != NULL &&
           out->counts != NULL && out->digests != NULL && out->slices != NULL &&
           out->keysets != NULL;
}

/* *offset: of the record before. */
static enum status put_series(struct codec_scratch *scratch, const struct site_tail_record *records,
                              size_t count, uint64_t *offset, Orbloom__V1__SiteTailRecords *wire)
{
    const struct pull_targets *targets = records[0].targets;
    uint64_t number = 0;
    struct columns to;

    if (!take_columns(scratch, count, targets->count, &to)) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        to.slices[i] = targets->items[i].slice;
        to.keysets[i] = targets->items[i].keyset;
    }
    for (size_t i = 0; i < count; i++) {
        to.numbers[i] = (int64_t)(records[i].number - number);
        to.offsets[i] = records[i].offset - *offset;
        to.groups[i] = records[i].group;
        to.counts[i] = records[i].count;
        to.digests[i] = records[i].digest;
        number = records[i].number;
        *offset = records[i].offset;
    }
    *wire = (Orbloom__V1__SiteTailRecords)ORBLOOM__V1__SITE_TAIL_RECORDS__INIT;
    wire->filter_id = records[0].filter_id;
    wire->epoch = records[0].epoch;
    wire->producer_id = records[0].producer_id;
    wire->flags = records[0].flags;
    wire->slices = to.slices;
    wire->keysets = to.keysets;
    wire->n_slices = wire->n_keysets = targets->count;
    wire->numbers = to.numbers;
    wire->offsets = to.offsets;
    wire->groups = to.groups;
    wire->counts = to.counts;
    wire->digests = to.digests;
    wire->n_numbers = wire->n_offsets = wire->n_groups = wire->n_counts = wire->n_digests = count;
    return STATUS_OK;
}

static enum status put_records(struct codec_scratch *scratch, const void *ours, void *message)
{
    const struct site_tail_reply *reply = ours;
    Orbloom__V1__SiteTailReply *wire = message;
    size_t nseries = count_series(reply->records, reply->nrecords);
    Orbloom__V1__SiteTailRecords *items = codec_scratch_take(scratch, nseries, sizeof *items);
    Orbloom__V1__SiteTailRecords **list = codec_scratch_take(scratch, nseries, sizeof *list);
    enum status status = items != NULL && list != NULL ? STATUS_OK : STATUS_NOMEM;
    uint64_t offset = reply->from;
    size_t at = 0;

    assert(site_tail_reply_good(reply));
    for (size_t i = 0; i < nseries && status == STATUS_OK; i++) {
        size_t length = series_length(reply->records + at, reply->nrecords - at);

        status = put_series(scratch, reply->records + at, length, &offset, &items[i]);
        list[i] = &items[i];
        at += length;
    }
    wire->n_records = nseries;
    wire->records = list;
    return status;
}

static enum status get_targets(struct codec_arena *arena, const Orbloom__V1__SiteTailRecords *wire,
                               const struct pull_targets **out)
{
    struct pull_targets *targets;

    if (wire->n_slices != wire->n_keysets) {
        return STATUS_MALFORMED;
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
    return STATUS_OK;
}

static enum status get_series(struct codec_arena *arena, const Orbloom__V1__SiteTailRecords *wire,
                              uint64_t *offset, struct site_tail_record *out)
{
    const struct pull_targets *targets = NULL;
    uint64_t number = 0;
    enum status status;

    if ((wire->flags & ~(unsigned)(PULL_BATCH_FED | PULL_BATCH_PARTIAL)) != 0) {
        return STATUS_VERSION;
    }
    status = get_targets(arena, wire, &targets);
    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < wire->n_counts; i++) {
        if (wire->offsets[i] > UINT64_MAX - *offset) {
            return STATUS_MALFORMED;
        }
        number += (uint64_t)wire->numbers[i];
        *offset += wire->offsets[i];
        out[i] = (struct site_tail_record){
            .filter_id = wire->filter_id,
            .epoch = wire->epoch,
            .producer_id = wire->producer_id,
            .number = number,
            .offset = *offset,
            .digest = wire->digests[i],
            .group = wire->groups[i],
            .count = wire->counts[i],
            .flags = wire->flags,
            .targets = targets,
        };
    }
    return STATUS_OK;
}

static enum status count_records(const Orbloom__V1__SiteTailReply *wire, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < wire->n_records; i++) {
        const Orbloom__V1__SiteTailRecords *series = wire->records[i];

        if (series->n_numbers != series->n_counts || series->n_offsets != series->n_counts ||
            series->n_groups != series->n_counts || series->n_digests != series->n_counts) {
            return STATUS_MALFORMED;
        }
        if (series->n_counts > SITE_TAIL_MAX_RECORDS - *count) {
            return STATUS_TOO_LARGE;
        }
        *count += series->n_counts;
    }
    return STATUS_OK;
}

static enum status get_records(struct codec_arena *arena, const void *message, void *ours)
{
    const Orbloom__V1__SiteTailReply *wire = message;
    struct site_tail_reply *reply = ours;
    enum status status = count_records(wire, &reply->nrecords);
    struct site_tail_record *records;
    uint64_t offset = reply->from;
    size_t used = 0;

    if (status != STATUS_OK) {
        return status;
    }
    records = arena_take(arena, reply->nrecords, sizeof *records);
    if (records == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_records && status == STATUS_OK; i++) {
        status = get_series(arena, wire->records[i], &offset, records + used);
        used += wire->records[i]->n_counts;
    }
    reply->records = records;
    return status;
}

static enum status put_sum(struct codec_scratch *scratch, const void *ours, void *message)
{
    (void)scratch;
    ((Orbloom__V1__SiteTailReply *)message)->checksum = site_tail_reply_sum(ours);
    return STATUS_OK;
}

static enum status get_sum(struct codec_arena *arena, const void *message, void *ours)
{
    const struct site_tail_reply *reply = ours;

    (void)arena;
    return site_tail_reply_good(reply) &&
                   site_tail_reply_sum(reply) ==
                       ((const Orbloom__V1__SiteTailReply *)message)->checksum
               ? STATUS_OK
               : STATUS_MALFORMED;
}

#define WIRE_site_tail_refusal Orbloom__V1__SiteTailRefusal
static const struct binding site_tail_refusal_rows[] = {
    ROW(site_tail_refusal, filter_id, UINT64),  ROW(site_tail_refusal, status, STATUS),
    ROW(site_tail_refusal, compare, BOOL),      ROW(site_tail_refusal, epoch, UINT64),
    ROW(site_tail_refusal, epoch_hash, UINT64),
};
static BINDING_TABLE(site_tail_refusal, site_tail_refusal, NULL);

/* What is too large is refused as that first; the sum is of all the rest. */
#define WIRE_site_tail_reply Orbloom__V1__SiteTailReply
static const struct binding site_tail_reply_rows[] = {
    NUMBERS(site_tail_reply, fingerprints, count, uint64_t, SITE_TAIL_MAX_KEYS, STATUS_TOO_LARGE),
    LIST(site_tail_reply, refusals, nrefusals, site_tail_refusal, SITE_TAIL_MAX_FILTERS,
         STATUS_TOO_LARGE),
    DOCUMENTS(site_tail_reply, documents, ndocuments),
    ROW(site_tail_reply, status, STATUS),
    ROW(site_tail_reply, message, MESSAGE),
    ROW_AS(site_tail_reply, source.node, source, UINT32),
    ROW_AS(site_tail_reply, source.incarnation, source_incarnation, UINT64),
    ROW_AS(site_tail_reply, boot, source_boot, UINT64),
    ROW(site_tail_reply, list, UINT64),
    ROW(site_tail_reply, from, UINT64),
    ROW(site_tail_reply, next, UINT64),
    ROW(site_tail_reply, durable, UINT64),
    ROW(site_tail_reply, headers_only, BOOL),
    BY_HAND(site_tail_reply, records, put_records, get_records),
    BY_HAND(site_tail_reply, checksum, put_sum, get_sum),
};
BINDING_TABLE(site_tail_reply, site_tail_reply, NULL);
