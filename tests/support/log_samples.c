/* One record of each type, and how it is laid out. */
#include "tests/support/log_samples.h"

#include <string.h>

static const uint64_t fingerprints[3] = {0x1111111111111111u, 0x2222222222222222u,
                                         0xfedcba9876543210u};

const struct record_batch sample_batch = {
    .filter_id = 0x0102030405060708u,
    .epoch = 9,
    .batch_producer = 0xb007u,
    .batch_number = 77,
    .group = 5,
    .repaired = true,
    .ntargets = 2,
    .targets = {{.slice = 1, .keyset = 2}, {.slice = 0x100000000u, .keyset = 4}},
    .count = 3,
    .fingerprints = fingerprints,
};

const struct record_identity sample_identity = {.incarnation = 11,
                                                .boot = 12,
                                                .kernel_boot = 13,
                                                .node = 14,
                                                .unsynced = true,
                                                .confirmed = true,
                                                .nbefore = 2,
                                                .before = {15, 16},
                                                .ends = {17, 18}};

const struct record_fence sample_fence = {.filter_id = 21, .epoch = 22, .epoch_hash = 23};

const struct record_peer sample_peer = {.incarnation = 71, .boot = 72, .base = 73, .node = 74};
const struct record_site_cursor sample_site_cursor = {
    .filter_id = 91,
    .group = 92,
    .keyset = 93,
    .site = {94, 0x5ee0000000000095u},
    .site_life = {.number = 96, .tag = 97},
    .own_life = {.number = 98, .tag = 99},
    .loss = 100,
    .site_group = 101,
    .nsources = 2,
    .sources = {{.incarnation = 102, .boot = 103, .offset = 104, .epoch = 105, .node = 106},
                {.incarnation = 107, .boot = 108, .offset = 112, .epoch = 109, .node = 110}},
};
const struct record_cursor sample_cursor = {.filter_id = 31,
                                            .group = 32,
                                            .keyset = 33,
                                            .slice = 34,
                                            .source = 35,
                                            .source_incarnation = 36,
                                            .offset = 37,
                                            .epoch = 38};

const struct record_snapshot sample_snapshot = {.number = 71,
                                                .filter_id = 72,
                                                .slice = 73,
                                                .keyset = 74,
                                                .generation = 75,
                                                .from = 76,
                                                .end = 77};

static const _Alignas(8) uint8_t page[RECORD_PAGE_BYTES] = {[0] = 1, [RECORD_PAGE_BYTES - 1] = 2};

const struct record_lines sample_lines = {.filter_id = 81,
                                          .slice = 82,
                                          .keyset = 83,
                                          .generation = 84,
                                          .shard = 85,
                                          .page = 86,
                                          .bytes = page};

const struct record_run sample_runs[2] = {
    {.number = 41, .filter_id = 42, .slice = 43, .keyset = 44, .count = 45},
    {.number = 51, .filter_id = 52, .slice = 53, .keyset = 54, .count = 55}};

const uint64_t sample_removed[3] = {61, 62, 63};

uint32_t sample_begin(uint8_t *record, enum record_type type, uint64_t offset, size_t body_size)
{
    const struct record_header header = {
        .size = (uint32_t)record_size(body_size), .type = (uint16_t)type, .offset = offset};

    memset(record, 0, header.size);
    record_begin(record, &header);
    return header.size;
}

uint32_t sample_record(uint8_t *record, enum record_type type, uint64_t offset, uint64_t boot,
                       uint64_t durable)
{
    uint32_t size = 0;

    switch (type) {
    case RECORD_IDENTITY:
        size = sample_begin(record, type, offset, RECORD_IDENTITY_BYTES);
        record_identity_put(record, &sample_identity);
        break;
    case RECORD_BATCH:
        size = sample_begin(record, type, offset, record_batch_size(&sample_batch));
        record_batch_put(record, &sample_batch);
        break;
    case RECORD_FENCE:
        size = sample_begin(record, type, offset, RECORD_FENCE_BYTES);
        record_fence_put(record, &sample_fence);
        break;
    case RECORD_DOCUMENT:
        size = sample_begin(record, type, offset, record_document_size(span_text("document")));
        record_document_put(record, span_text("document"));
        break;
    case RECORD_MANIFEST:
        size = sample_begin(record, type, offset, record_manifest_size(3, 2));
        record_manifest_put(record, 99, sample_removed, 3, sample_runs, 2);
        break;
    case RECORD_CURSOR:
        size = sample_begin(record, type, offset, RECORD_CURSOR_BYTES);
        record_cursor_put(record, &sample_cursor);
        break;
    case RECORD_SITE_CURSOR:
        size = sample_begin(record, type, offset, record_site_cursor_size(&sample_site_cursor));
        record_site_cursor_put(record, &sample_site_cursor);
        break;
    case RECORD_CLEAN:
        size = sample_begin(record, type, offset, 0);
        break;
    case RECORD_SNAPSHOT:
        size = sample_begin(record, type, offset, RECORD_SNAPSHOT_BYTES);
        record_snapshot_put(record, &sample_snapshot);
        break;
    case RECORD_LINES:
        size = sample_begin(record, type, offset, RECORD_LINES_BYTES);
        record_lines_put(record, &sample_lines);
        break;
    case RECORD_PEER:
        size = sample_begin(record, type, offset, RECORD_PEER_BYTES);
        record_peer_put(record, &sample_peer);
        break;
    }
    record_seal(record, boot, durable);
    return size;
}
