/* What background work comes next. */
#include "node/store/merge.h"

#include <string.h>

enum { CROWDED_RUNS = RUN_MERGE_MAX / 2 /* of a set: merge these before more are made */ };

/* ---- segments into runs ---- */

/* The oldest sealed segment whose batches are in no run yet. */
static const struct log_extent *unmerged(const struct storage *storage)
{
    for (size_t i = 0; i + 1 < storage->nsegments; i++) {
        const struct log_extent *segment = &storage->segments[i];

        if (segment->end > storage->merged && segment->end <= log_writer_written(storage->writer)) {
            return segment;
        }
    }
    return NULL;
}

static bool begin_segment(struct storage *storage)
{
    const struct log_extent *segment = unmerged(storage);
    struct storage_merge *self = segment != NULL ? storage_merge_begin(storage, TASK_SEGMENT)
                                                 : NULL;

    if (self == NULL) {
        return false;
    }
    self->segment = *segment;
    self->from = segment->first > storage->merged ? segment->first : storage->merged;
    self->merged = segment->end;
    self->needed_bytes = segment->end - segment->first + MERGE_SLACK_BYTES;
    storage_merge_submit(self);
    return true;
}

/* ---- runs into runs ---- */

static size_t merged_at(const struct storage *storage)
{
    return storage->config.merge_runs != 0 ? storage->config.merge_runs : RUN_MERGE_LEAST;
}

/* Some runs of one set that has `least` of them; 0: there is none. */
static size_t choose_runs(struct storage *storage, size_t least,
                          struct record_run chosen[RUN_MERGE_MOST])
{
    const struct record_run *runs = storage->runs;
    size_t places[RUN_MERGE_MOST];
    size_t count = 0;
    size_t end;

    for (size_t i = 0; i < storage->nruns && count == 0; i = end) {
        end = storage_runs_end(runs, storage->nruns, i);
        count = end - i >= least ? run_merge_plan(runs + i, end - i, merged_at(storage), places)
                                 : 0;
        for (size_t k = 0; k < count; k++) {
            chosen[k] = runs[i + places[k]];
        }
    }
    storage->runs_changed = count > 0 || least > merged_at(storage);
    return count;
}

static bool begin_runs(struct storage *storage, size_t least)
{
    struct record_run chosen[RUN_MERGE_MOST];
    bool may = storage->runs_changed && storage->nruns >= least;
    size_t count = may ? choose_runs(storage, least, chosen) : 0;
    struct storage_merge *self = count > 0 ? storage_merge_begin(storage, TASK_RUNS) : NULL;
    uint64_t keys = 0;

    if (self == NULL) {
        return false;
    }
    memcpy(self->chosen, chosen, count * sizeof *chosen);
    self->nchosen = count;
    for (size_t i = 0; i < count; i++) {
        keys += chosen[i].count;
        self->removed[self->nremoved++] = chosen[i].number;
    }
    self->needed_bytes = run_bytes(keys) + MERGE_SLACK_BYTES;
    storage_merge_submit(self);
    return true;
}

/* ---- all ---- */

static void begin_any(struct storage *storage)
{
    if (!storage_retire_begin(storage) && !begin_runs(storage, CROWDED_RUNS) &&
        !begin_segment(storage)) {
        (void)begin_runs(storage, merged_at(storage));
    }
}

void storage_merge_work(struct storage *self, uint64_t now_us)
{
    storage_retire_note(self);
    if (self->merge != NULL && !(self->merge->unlogged && storage_merge_conclude(self))) {
        return;
    }
    if (self->failed || now_us < self->next_merge_us) {
        return;
    }
    storage_retire_look(self, now_us);
    begin_any(self);
}
