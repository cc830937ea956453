/* A set's fingerprints are gathered in pieces by their leading bits. Each is sorted by itself; one
 * after the other they are the run: so no step is long, no second copy of a set is needed, and
 * nothing is merged. */
#include "log/segment_merge.h"

#include "base/heap.h"
#include "log/run_merge.h"
#include "log/segment_sets.h"

#include <assert.h>

/* Sorted or written by a step, roughly. */
enum { STEP_KEYS = 1 << 20 };

struct segment_merge {
    struct disk *disk;
    uint64_t cluster;
    uint64_t through;
    struct segment_sets sets;
    size_t current; /* those below are in runs, and empty */
    bool stepping;
    uint64_t *spare;
    size_t spare_capacity;
    struct run_writer *writer; /* of the current set; or NULL */
    size_t nwritten;           /* of its pieces */
};

enum status segment_merge_create(struct disk *disk, uint64_t cluster, uint64_t through,
                                 struct segment_merge **out)
{
    struct segment_merge *self = heap_zalloc(1, sizeof *self);

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->disk = disk;
    self->cluster = cluster;
    self->through = through;
    *out = self;
    return STATUS_OK;
}

static void stop_writing(struct segment_merge *self)
{
    run_writer_destroy(&self->writer);
    self->nwritten = 0;
}

void segment_merge_destroy(struct segment_merge **merge)
{
    struct segment_merge *self = *merge;

    if (self == NULL) {
        return;
    }
    stop_writing(self);
    segment_sets_fini(&self->sets);
    heap_free(self->spare);
    heap_free(self);
    *merge = NULL;
}

/* ---- collecting ---- */

enum status segment_merge_collect(struct segment_merge *self, const struct record_batch *batch)
{
    enum status status = STATUS_OK;

    assert(!self->stepping);
    for (uint32_t i = 0; i < batch->ntargets && batch->count > 0 && status == STATUS_OK; i++) {
        struct record_run run = {.filter_id = batch->filter_id,
                                 .slice = batch->targets[i].slice,
                                 .keyset = batch->targets[i].keyset};
        struct segment_set *set = NULL;

        status = segment_sets_find(&self->sets, &run, &set);
        if (status == STATUS_OK) {
            status = segment_set_append(set, batch->fingerprints, batch->count);
        }
    }
    return status;
}

/* ---- stepping ---- */

static enum status sort_piece(struct segment_merge *self, struct segment_set *set, size_t *work)
{
    struct segment_piece *piece = &set->pieces[set->nsorted];

    if (self->spare_capacity < piece->count) {
        uint64_t *spare = heap_alloc(piece->count, sizeof *spare);

        if (spare == NULL) {
            return STATUS_NOMEM;
        }
        heap_free(self->spare);
        self->spare = spare;
        self->spare_capacity = piece->count;
    }
    *work += piece->count;
    piece->count = run_sort(piece->fingerprints, self->spare, piece->count);
    set->nsorted++;
    return STATUS_OK;
}

static enum status begin_run(struct segment_merge *self, struct segment_set *set,
                             uint64_t *next_number)
{
    uint64_t count = 0;

    for (size_t i = 0; i < set->npieces; i++) {
        count += set->pieces[i].count;
    }
    set->run.number = (*next_number)++;
    set->run.through = self->through;
    return run_writer_create(self->disk, self->cluster, &set->run, count, &self->writer);
}

/* *written: that was all of it. */
static enum status write_some(struct segment_merge *self, const struct segment_set *set,
                              size_t *work, bool *written)
{
    enum status status = STATUS_OK;

    while (status == STATUS_OK && self->nwritten < set->npieces && *work < STEP_KEYS) {
        const struct segment_piece *piece = &set->pieces[self->nwritten++];

        status = run_writer_add(self->writer, piece->fingerprints, piece->count);
        *work += piece->count;
    }
    *written = status == STATUS_OK && self->nwritten == set->npieces;
    return status;
}

static enum status end_run(struct segment_merge *self, struct record_run *run)
{
    enum status status = run_writer_finish(self->writer, run);

    if (status == STATUS_OK) {
        stop_writing(self);
        segment_set_clear(self->sets.sets[self->current++]);
    }
    return status;
}

/* Some work on the current set; *written: its run is finished. */
static enum status work_on_set(struct segment_merge *self, uint64_t *next_number,
                               struct record_run *run, bool *written)
{
    struct segment_set *set = self->sets.sets[self->current];
    enum status status = STATUS_OK;
    size_t work = 0;

    while (status == STATUS_OK && work < STEP_KEYS && !*written) {
        if (set->nsorted < set->npieces) {
            status = sort_piece(self, set, &work);
        } else if (self->writer == NULL) {
            status = begin_run(self, set, next_number);
        } else {
            status = write_some(self, set, &work, written);
        }
    }
    return status == STATUS_OK && *written ? end_run(self, run) : status;
}

enum status segment_merge_step(struct segment_merge *self, uint64_t *next_number,
                               struct record_run *run, enum segment_merge_progress *progress)
{
    bool written = false;
    enum status status;

    self->stepping = true;
    if (self->current == self->sets.count) {
        *progress = MERGE_END;
        return STATUS_OK;
    }
    status = work_on_set(self, next_number, run, &written);
    if (status != STATUS_OK) {
        stop_writing(self);
        return status;
    }
    *progress = written ? MERGE_RUN : MERGE_MORE;
    return STATUS_OK;
}
