/* storage_log_writer.h - one writer on a disk in memory; begins and ends each test with nothing
 * allocated. */
#ifndef ORBLOOM_TESTS_UNIT_STORAGE_LOG_WRITER_H
#define ORBLOOM_TESTS_UNIT_STORAGE_LOG_WRITER_H

#include "base/heap.h"
#include "tests/support/log_samples.h"
#include "tests/support/log_stage.h"

#include <criterion/criterion.h>

enum { SMALL = 16, KIB_BATCH = 128 - STAGE_BATCH_FIXED_BYTES / 8 /* 1 KiB with its header */ };

static struct log_stage stage;
static size_t live;

static inline void setup(void)
{
    live = heap_live();
    log_stage_init(&stage);
}

/* In the body of each test: in .fini a failure would not show. */
static inline void close_stage(void)
{
    log_stage_end(&stage);
    cr_assert_eq(memory_disk_open_files(stage.disk), 0);
    cr_assert_eq(heap_live(), live);
    log_stage_fini(&stage);
}

static inline void add(uint64_t number, uint32_t count)
{
    uint64_t end;

    cr_assert_eq(log_stage_add(&stage, number, count, &end), STATUS_OK, "batch %u",
                 (unsigned)number);
    cr_assert_eq(end, log_writer_end(stage.writer));
}

static inline uint64_t record_bytes(uint32_t count)
{
    return STAGE_BATCH_FIXED_BYTES + 8 * (uint64_t)count;
}

#endif
