/* proto_site_tail_samples.h - what links ask of nodes and are told, what rows BY_HAND need and
 * fields have in common: see proto_samples.h. */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_SITE_TAIL_SAMPLES_H
#define ORBLOOM_TESTS_UNIT_PROTO_SITE_TAIL_SAMPLES_H

#include "map/site_tail.h"
#include "tests/unit/proto_sample_values.h"

static inline void sample_site_tail_request(enum sample_size size, struct site_tail_request *out)
{
    static struct site_tail_filter filters[SITE_TAIL_MAX_FILTERS];
    static uint64_t wanted[SITE_TAIL_MAX_WANTED];

    if (size == SAMPLE_EMPTY) {
        return;
    }
    out->nfilters = size == SAMPLE_LARGE ? SITE_TAIL_MAX_FILTERS : 3;
    for (size_t i = 0; i < out->nfilters; i++) {
        filters[i] = (struct site_tail_filter){i * 1000 + 1, UINT64_MAX - i, i + 7};
    }
    out->filters = filters;
    out->list = site_tail_list(filters, out->nfilters);
    out->nwanted = size == SAMPLE_LARGE ? SITE_TAIL_MAX_WANTED : 2;
    for (size_t i = 0; i < out->nwanted; i++) {
        wanted[i] = out->from + i * 8;
    }
    out->wanted = wanted;
}

/* FULL: records that change whatever a series shares; LARGE: headers. */
static inline void sample_site_tail_reply(enum sample_size size, struct site_tail_reply *out)
{
    static const struct pull_targets one = {1, {{4, 5}}};
    static const struct pull_targets three = {3, {{1, 5}, {4, 5}, {UINT64_MAX, UINT32_MAX}}};
    static const struct site_tail_record records[] = {
        {9, 1, 10, 11, 1000, UINT64_MAX, 2, 2, 0, &one},
        {9, 1, 10, 12, 1080, 13, 0, 0, 0, &one},
        {9, 1, 10, UINT64_MAX, 1160, 14, 3, 1, 0, &one},
        {9, 1, 0, 0, 1240, 15, 3, 1, 0, &one},
        {9, 2, 10, 3, 1320, 16, 3, 1, 0, &one},
        {8, 2, 10, 3, 1400, 17, UINT32_MAX, 1, 0, &one},
        {8, 2, 10, 4, 1480, 18, 3, 1, PULL_BATCH_FED, &one},
        {8, 2, 10, 5, 1560, 19, 3, 1, PULL_BATCH_FED | PULL_BATCH_PARTIAL, &one},
        {8, 2, 10, 6, 1640, 20, 3, 1, 0, &three},
    };
    static const uint64_t fingerprints[] = {0x0102030405060708, UINT64_MAX, 0, 4, 5, 6, 7, 8, 9};
    static struct site_tail_record headers[SITE_TAIL_MAX_RECORDS];

    out->status = STATUS_OK;
    out->from = size == SAMPLE_EMPTY ? 0 : 1000;
    out->next = size == SAMPLE_EMPTY ? 0 : UINT64_MAX;
    out->nrecords = 0;
    out->count = 0;
    if (size == SAMPLE_EMPTY) {
        return;
    }
    out->headers_only = size == SAMPLE_LARGE;
    out->records = size == SAMPLE_LARGE ? headers : records;
    out->fingerprints = fingerprints;
    if (size == SAMPLE_LARGE) {
        for (size_t i = 0; i < SITE_TAIL_MAX_RECORDS; i++) {
            headers[i] = records[i % 9];
            headers[i].offset = 1000 + i * 80;
        }
        out->nrecords = SITE_TAIL_MAX_RECORDS;
    } else {
        out->nrecords = sizeof records / sizeof records[0];
        out->count = 9;
    }
}

#endif
