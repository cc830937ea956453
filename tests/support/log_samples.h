/* log_samples.h - records to try a log with. */
#ifndef ORBLOOM_TESTS_SUPPORT_LOG_SAMPLES_H
#define ORBLOOM_TESTS_SUPPORT_LOG_SAMPLES_H

#include "log/record.h"

enum {
    SAMPLE_CLUSTER = 0xc105,
    SAMPLE_LOG_INCARNATION = 0x1ca,
    SAMPLE_RECORD_MAX = 8192, /* room for any of these */
};

extern const struct record_batch sample_batch; /* 2 targets, 3 fingerprints */
extern const struct record_identity sample_identity;
extern const struct record_fence sample_fence;
extern const struct record_cursor sample_cursor;
extern const struct record_snapshot sample_snapshot;
extern const struct record_lines sample_lines;
extern const struct record_peer sample_peer;
extern const struct record_site_cursor sample_site_cursor; /* 2 sources */
extern const struct record_run sample_runs[2];
extern const uint64_t sample_removed[3];

/* A record with that header (its size is made) and no body yet; the size. */
uint32_t sample_begin(uint8_t *record, enum record_type type, uint64_t offset, size_t body_size);

/* One whole, sealed record of that type with the contents above; the size. */
uint32_t sample_record(uint8_t *record, enum record_type type, uint64_t offset, uint64_t boot,
                       uint64_t durable);

#endif
