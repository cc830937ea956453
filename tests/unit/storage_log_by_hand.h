/* storage_log_by_hand.h - folders of segments made by hand, record by record, for the tests of what
 * reads them: begin() a segment, put() records, keep() it on the disk.
 *
 * Each test program has its own disk; setup() and teardown() go into its suites.
 */
#ifndef ORBLOOM_TESTS_UNIT_STORAGE_LOG_BY_HAND_H
#define ORBLOOM_TESTS_UNIT_STORAGE_LOG_BY_HAND_H

#include "log/segment.h"
#include "tests/support/log_samples.h"
#include "tests/support/memory_disk.h"

#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_BYTES = 64 << 10,
    BOOT = 7,
    FENCE_BYTES = 64, /* a record of that type */
};

static struct memory_disk *disk;
static _Alignas(8) uint8_t image[IMAGE_BYTES];
static size_t used;
static uint64_t first;
static uint64_t boot;
static uint64_t bare; /* of the segments that begin */

static inline void setup(void)
{
    disk = memory_disk_create();
    boot = BOOT;
    bare = 0;
}

static inline void teardown(void)
{
    memory_disk_destroy(&disk);
}

static inline void begin_version(uint64_t number, uint64_t cluster, uint64_t at)
{
    const struct segment_header header = {.cluster = cluster,
                                          .number = number,
                                          .first = at,
                                          .boot = boot,
                                          .incarnation = SAMPLE_LOG_INCARNATION,
                                          .bare = bare};

    memset(image, 0, sizeof image);
    segment_header_put(image, &header);
    used = SEGMENT_HEADER_BYTES;
    first = at;
}

static inline void begin(uint64_t number, uint64_t at)
{
    begin_version(number, SAMPLE_CLUSTER, at);
}

static inline uint64_t here(void)
{
    return first + used - SEGMENT_HEADER_BYTES;
}

/* A fence record; what was durable then; its place. */
static inline size_t put(uint64_t durable)
{
    size_t place = used;

    used += sample_record(image + used, RECORD_FENCE, here(), boot, durable);
    return place;
}

static inline void put_many(unsigned count, uint64_t durable)
{
    for (unsigned i = 0; i < count; i++) {
        (void)put(durable);
    }
}

static inline void keep(uint64_t number)
{
    char name[DISK_NAME_BYTES];

    segment_name(number, name);
    memory_disk_put(disk, name, span_of(image, sizeof image));
}

/* Three segments of three records each, one of them with a bad header if it is named. */
static inline void keep_three(uint64_t without_header)
{
    for (uint64_t number = 1; number <= 3; number++) {
        begin(number, (number - 1) * 3 * FENCE_BYTES);
        put_many(2, first);
        put_many(1, first + 2 * FENCE_BYTES);
        image[20] ^= number == without_header;
        keep(number);
    }
}

#endif
