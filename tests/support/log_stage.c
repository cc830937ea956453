/* Appends to a log on a disk in memory, and reads it back. */
#include "tests/support/log_stage.h"

#include "tests/support/log_samples.h"

#include <assert.h>
#include <stdlib.h>

enum { MAX_COUNT = 1 << 19 };

static void on_checkpoint(void *context)
{
    struct log_stage *self = context;
    uint64_t end;

    self->checkpoints++;
    self->begun = log_writer_end(self->writer);
    self->checkpoint_status = STATUS_OK;
    for (uint32_t i = 0; i < self->state && self->checkpoint_status == STATUS_OK; i++) {
        self->checkpoint_status = log_stage_fence(self, i, &end);
    }
    for (uint32_t i = 0; i < self->cursors && self->checkpoint_status == STATUS_OK; i++) {
        self->checkpoint_status = log_stage_add(self, i, 1, &end);
    }
}

static void on_moved(void *context, uint64_t now_us)
{
    struct log_stage *self = context;

    (void)now_us;
    self->moved++;
}

static void on_failed(void *context, enum status status, const char *what)
{
    struct log_stage *self = context;

    (void)what;
    self->failed++;
    self->failure = status;
}

void log_stage_init(struct log_stage *self)
{
    *self = (struct log_stage){.segment_bytes = STAGE_SEGMENT_BYTES, .boot = 100};
    self->disk = memory_disk_create();
}

void log_stage_fini(struct log_stage *self)
{
    log_stage_end(self);
    memory_disk_destroy(&self->disk);
}

void log_stage_begin(struct log_stage *self, uint64_t first, uint64_t number, bool sync)
{
    const struct log_writer_config config = {
        .disk = memory_disk_seam(self->disk),
        .effects = &self->lanes.effects,
        .cluster = SAMPLE_CLUSTER,
        .incarnation = SAMPLE_LOG_INCARNATION,
        .boot = ++self->boot,
        .segment_bytes = self->segment_bytes,
        .first = first,
        .number = number,
        .kept = self->kept,
        .sync = sync,
        .context = self,
        .checkpoint = on_checkpoint,
        .moved = on_moved,
        .failed = on_failed,
    };
    enum status status;

    job_lanes_init(&self->lanes);
    status = log_writer_create(&config, &self->writer);
    assert(status == STATUS_OK);
}

void log_stage_end(struct log_stage *self)
{
    job_lanes_stop(&self->lanes);
    log_writer_destroy(&self->writer);
}

static uint64_t fingerprint(uint64_t number, uint32_t index)
{
    return number * 0x9e3779b97f4a7c15u + index;
}

static void note(struct log_stage *self, enum record_type type, uint64_t number, uint32_t count,
                 uint64_t end)
{
    if (self->appended != NULL) {
        self->appended(self, type, number, count, end);
    }
}

enum status log_stage_add(struct log_stage *self, uint64_t number, uint32_t count, uint64_t *end)
{
    static uint64_t fingerprints[MAX_COUNT];
    const struct record_batch batch = {
        .filter_id = 7, .batch_number = number, .count = count, .fingerprints = fingerprints};
    enum status status;
    uint8_t *body = log_writer_append(self->writer, RECORD_BATCH, 0, record_batch_size(&batch),
                                      false, end, &status);

    assert(count <= MAX_COUNT && (body != NULL) == (status == STATUS_OK));
    if (body != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            fingerprints[i] = fingerprint(number, i);
        }
        record_batch_put(body - RECORD_HEADER_BYTES, &batch);
        note(self, RECORD_BATCH, number, count, *end);
    }
    return status;
}

enum status log_stage_fence(struct log_stage *self, uint64_t number, uint64_t *end)
{
    const struct record_fence fence = {.filter_id = number, .epoch = number};
    enum status status;
    uint8_t *body = log_writer_append(self->writer, RECORD_FENCE, 0, RECORD_FENCE_BYTES, true, end,
                                      &status);

    assert((body != NULL) == (status == STATUS_OK));
    if (body != NULL) {
        record_fence_put(body - RECORD_HEADER_BYTES, &fence);
        note(self, RECORD_FENCE, number, 0, *end);
    }
    return status;
}

void log_stage_commit(struct log_stage *self)
{
    log_writer_turn(self->writer);
    job_lanes_drain(&self->lanes, 0);
}

struct log_survey log_stage_survey(struct log_stage *self)
{
    struct log_survey survey;
    enum status status = log_survey_make(memory_disk_seam(self->disk), SAMPLE_CLUSTER, NULL, NULL,
                                         &survey);

    if (status != STATUS_OK) {
        abort();
    }
    return survey;
}

bool log_stage_is_fence(struct span record, uint64_t number)
{
    struct record_fence fence;

    return record_fence_get(record, &fence) == STATUS_OK && fence.filter_id == number;
}

bool log_stage_is_batch(struct span record, uint64_t number, uint32_t count)
{
    struct record_batch batch;

    if (record_batch_get(record, &batch) != STATUS_OK || batch.batch_number != number ||
        batch.count != count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (batch.fingerprints[i] != fingerprint(number, i)) {
            return false;
        }
    }
    return true;
}
