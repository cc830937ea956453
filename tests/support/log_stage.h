/* log_stage.h - a log_writer on a disk in memory, with lanes that go on step by step.
 *
 * Batches that it appends are told apart by their number, which is their fingerprints' too.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_LOG_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_LOG_STAGE_H

#include "log/log_reader.h"
#include "log/log_writer.h"
#include "tests/support/job_lane.h"
#include "tests/support/memory_disk.h"

enum { STAGE_SEGMENT_BYTES = 64 << 10, STAGE_BATCH_FIXED_BYTES = 40 + 48 };

struct log_stage {
    struct memory_disk *disk;
    struct job_lanes lanes;
    struct log_writer *writer;
    uint64_t boot;
    uint64_t segment_bytes;
    uint32_t state;   /* fences in a checkpoint */
    uint32_t cursors; /* ... and then records that are not urgent by themselves */
    uint32_t kept;    /* files made ahead for what is urgent */
    unsigned checkpoints;
    enum status checkpoint_status; /* of the last one */
    uint64_t begun;                /* offset of the segment begun last */
    void (*appended)(struct log_stage *self, enum record_type type, uint64_t number, uint32_t count,
                     uint64_t end); /* may be NULL */
    unsigned moved;
    unsigned failed;
    enum status failure;
};

void log_stage_init(struct log_stage *self);
void log_stage_fini(struct log_stage *self);

/* Begin a boot; `first` and `number` as for log_writer_config. */
void log_stage_begin(struct log_stage *self, uint64_t first, uint64_t number, bool sync);

/* The process is gone: lanes stop, the writer is destroyed. The disk stays as it is. */
void log_stage_end(struct log_stage *self);

/* Append a batch of `count` fingerprints. */
enum status log_stage_add(struct log_stage *self, uint64_t number, uint32_t count, uint64_t *end);
enum status log_stage_fence(struct log_stage *self, uint64_t number, uint64_t *end);

/* A turn, and all that it leads to. */
void log_stage_commit(struct log_stage *self);

/* Judge the folder with the stage's cluster; aborts the test where that fails. */
struct log_survey log_stage_survey(struct log_stage *self);

/* Is `record` what log_stage_fence(number) appended? */
bool log_stage_is_fence(struct span record, uint64_t number);

/* Is `record` what log_stage_add(number, count) appended? */
bool log_stage_is_batch(struct span record, uint64_t number, uint32_t count);

#endif
