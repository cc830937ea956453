/* Life of the store, and its turn: what was asked for goes to the lanes, what is durable is
 * told. The parts are in files of their own. */
#include "base/heap.h"
#include "node/store/private.h"

#include <assert.h>

const char *amnesia_meaning(enum amnesia amnesia)
{
    switch (amnesia) {
    case AMNESIA_NONE:
        return "all that was acknowledged is there";
    case AMNESIA_EMPTY:
        return "the folder is empty";
    case AMNESIA_CORRUPT:
        return "something that was durable can't be read";
    case AMNESIA_POWER:
        return "the machine went down before everything acknowledged had been synced";
    case AMNESIA_BOOT:
        return "the folder is an older copy of this node's data";
    }
    return "unknown";
}

enum status storage_create(const struct storage_config *config, struct storage **out)
{
    struct storage *self = heap_zalloc(1, sizeof *self);
    enum status status;

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->next_run = 1;
    self->next_snapshot = 1;
    self->merge_over = storage_merge_work;
    self->held_from = UINT64_MAX;
    batch_ring_init(&self->batch_ring, UINT64_MAX);
    self->tag = (uint32_t)config->effects->random(config->effects->context);
    status = storage_recover(self);
    if (status != STATUS_OK) {
        storage_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

enum status storage_name(struct storage *self, const struct cluster_id *cluster)
{
    self->config.cluster = *cluster;
    return storage_recover(self);
}

const struct cluster_id *storage_cluster(const struct storage *self)
{
    return &self->config.cluster;
}

void storage_destroy(struct storage **storage)
{
    struct storage *self = *storage;

    *storage = NULL;
    if (self == NULL) {
        return;
    }
    storage_recovery_destroy(&self->recovery);
    storage_merge_destroy(&self->merge);
    storage_snapshot_destroy(&self->snapshot);
    storage_load_destroy(self);
    storage_reads_destroy(self);
    storage_views_destroy(self);
    log_writer_destroy(&self->writer);
    heap_free(self->segments);
    heap_free(self->runs);
    storage_arrays_fini(&self->arrays);
    heap_free(self->old_snapshots);
    storage_imprints_fini(&self->imprints);
    storage_sets_fini(&self->sets);
    batch_ring_fini(&self->batch_ring);
    heap_free(self->trash);
    heap_free(self->evidence);
    heap_free(self);
}

bool storage_found_clean(const struct storage *self)
{
    return self->found_clean;
}

uint64_t storage_found_end(const struct storage *self)
{
    return self->begin_first;
}

void storage_work(struct storage *self, uint64_t now_us)
{
    if (self->writer != NULL && !self->failed) {
        storage_merge_work(self, now_us);
        storage_snapshot_work(self, now_us);
    }
}

enum status storage_finish(struct storage *self)
{
    uint8_t *body;
    uint64_t end;
    enum status status;
    enum status finished;

    if (self->writer == NULL || self->failed) {
        return STATUS_OK; /* Nothing was accepted, or nothing more may be written. */
    }
    status = storage_append(self, RECORD_CLEAN, true, 0, &body, &end);
    if (self->failed) {
        return STATUS_IO;
    }
    finished = log_writer_finish(self->writer);
    return finished == STATUS_OK ? status : finished;
}

struct storage_usage storage_usage(const struct storage *self)
{
    struct storage_usage usage = {.room_bytes = self->room_bytes,
                                  .nruns = (uint32_t)self->nruns,
                                  .nsegments = (uint32_t)self->nsegments};

    usage.log_bytes = self->nsegments * self->config.segment_bytes;
    if (self->writer != NULL) {
        usage.log_bytes += log_writer_ahead(self->writer) * self->config.segment_bytes;
    }
    for (size_t i = 0; i < self->nruns; i++) {
        usage.run_bytes += run_bytes(self->runs[i].count);
        usage.run_keys += self->runs[i].count;
    }
    for (size_t i = 0; i < self->arrays.count; i++) {
        usage.snapshot_bytes += self->arrays.items[i].bytes;
    }
    for (size_t i = 0; i < self->imprints.count; i++) {
        usage.imprint_bytes += self->imprints.items[i].bytes;
    }
    usage.imprints = self->imprints.written;
    usage.imprints_read = self->imprints.read;
    usage.imprints_refused = self->imprints.refused;
    usage.snapshots = self->snapshots_written;
    usage.bare_dropped = self->bare_dropped;
    usage.unmerged_bytes = storage_end(self) - self->merged;
    return usage;
}

bool storage_has(const struct storage *self, const struct storage_set *set)
{
    for (size_t i = 0; i < self->nruns; i++) {
        if (storage_set_has(set, &self->runs[i])) {
            return true;
        }
    }
    return storage_sets_have(&self->sets, set) || storage_arrays_find(&self->arrays, set) != NULL;
}
