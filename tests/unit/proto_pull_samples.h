/* proto_pull_samples.h - questions and answers between nodes, what rows BY_HAND need and fields
 * have in common: see proto_samples.h. */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_PULL_SAMPLES_H
#define ORBLOOM_TESTS_UNIT_PROTO_PULL_SAMPLES_H

#include "tests/unit/proto_sample_values.h"

/* Of a filter with key log, in the slice and keyset that batches name. */
static inline void sample_scope(struct pull_scope *out)
{
    out->slice = 4;
    out->keyset = 5;
    out->generation = 0;
    out->geometry = 0;
}

static inline size_t sample_intervals(size_t count, struct pull_interval *out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t x = i * 100;

        out[i] = (struct pull_interval){UINT64_MAX - x, x + 1, x + 2, x + 3, x + 4};
    }
    return count;
}

static inline void sample_pull_request(enum sample_size size, struct pull_request *out)
{
    static struct pull_interval wanted[PULL_MAX_WANTED];

    if (size != SAMPLE_EMPTY) {
        sample_scope(&out->scope);
        out->kind = PULL_BODIES;
        out->view = 0; /* Bodies are of none. */
        out->prefix_bits = 0;
        out->wanted = wanted;
        out->nwanted = sample_intervals(size == SAMPLE_LARGE ? PULL_MAX_WANTED : 2, wanted);
    }
}

/* Without what belongs to other kinds. */
static inline void sample_log_or_headers(struct pull_reply *out)
{
    out->status = STATUS_OK;
    out->view = out->view_end = 0;
    out->ndigests = out->ncounts = out->npages = out->count = 0;
}

/* FULL: batches that change their router and back; LARGE: headers. */
static inline void sample_pull_reply(enum sample_size size, struct pull_reply *out)
{
    static const struct pull_targets targets = {3, {{1, 5}, {4, 5}, {UINT64_MAX, UINT32_MAX}}};
    static const struct pull_batch batches[] = {
        {9, 10, 11, 12, 2, 0, NULL},
        {9, 9, 11, 12, 0, 0, NULL},
        {9, UINT64_MAX, 11, 80, 1, 0, NULL},
        {0, 0, 11, 100, 1, 0, NULL},
        {9, 12, 14, 200, 1, 0, NULL},
        {9, 13, 14, 300, 1, PULL_BATCH_FED, NULL},
        {9, 14, 14, 400, 1, PULL_BATCH_FED | PULL_BATCH_PARTIAL, NULL},
        {9, 15, 14, 500, 1, PULL_BATCH_RELAYED, &targets},
        {9, 16, 14, 600, 1, 0, &targets},
    };
    static const uint64_t fingerprints[] = {0x0102030405060708, UINT64_MAX, 0, 4, 5, 6, 7, 8, 9};
    static struct pull_interval intervals[PULL_MAX_INTERVALS];

    if (size == SAMPLE_EMPTY) {
        return;
    }
    sample_log_or_headers(out);
    sample_scope(&out->scope);
    out->kind = size == SAMPLE_LARGE ? PULL_HEADERS : PULL_LOG;
    out->intervals = intervals;
    out->batches = batches;
    out->fingerprints = fingerprints;
    if (size == SAMPLE_LARGE) {
        out->nintervals = sample_intervals(PULL_MAX_INTERVALS, intervals);
    } else {
        out->nbatches = sizeof batches / sizeof batches[0];
        out->count = 9;
    }
}

/* DIGESTS of some ranges, or RANGES. */
static inline void sample_view_request(enum pull_kind kind, struct pull_request *out)
{
    static const uint64_t prefixes[] = {0, 3, 200, 65535};

    sample_pull_request(SAMPLE_FULL, out);
    out->kind = kind;
    out->nwanted = 0;
    out->view = UINT64_MAX - 1;
    out->prefix_bits = 16;
    out->prefixes = prefixes;
    out->nprefixes = sizeof prefixes / sizeof prefixes[0];
}

static inline void sample_view_reply(enum pull_kind kind, struct pull_reply *out)
{
    static const uint64_t words[] = {UINT64_MAX, 0, 2, 0x0102030405060708};
    size_t count = sizeof words / sizeof words[0];

    sample_pull_reply(SAMPLE_FULL, out);
    out->kind = kind;
    out->nbatches = 0;
    out->count = kind == PULL_RANGES ? out->count : 0;
    out->view = 31;
    out->view_end = 32;
    out->digests = words;
    out->ndigests = kind == PULL_DIGESTS ? count : 0;
    out->counts = words;
    out->ncounts = kind == PULL_DIGESTS ? count : 0;
}

#endif
