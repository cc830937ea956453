/* What background work comes next. */
#include "base/heap.h"
#include "node/storage_merge.h"
#include "storage/segment_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEGMENTS_KEPT = 2,                /* at least: the one written to, and one before it */
    CROWDED_RUNS = RUN_MERGE_MAX / 2, /* of a set: merge these before more are made */
    LOOK_US = 1000000,                /* for dropped filters */
    GROWTH_US = 10000000,             /* since a segment began, and the log is not at rest */
    ROOMY_SEGMENTS = 16,              /* free on the disk: then age counts */
    SCARCE_SEGMENTS = 3               /* free on the disk: then nothing is kept for peers */
};

/* ---- what nobody needs any more ---- */

static size_t nmerged(const struct storage *storage)
{
    size_t count = 0;

    while (count < storage->nsegments && storage->segments[count].end <= storage->merged) {
        count++;
    }
    return count;
}

/* After some time what is at the log's end now is old. */
static void mark_age(struct storage *storage, uint64_t now_us)
{
    if (now_us - storage->mark_us >= storage->config.retain_us) {
        storage->young_from = storage->mark_us > 0 ? storage->mark_end : 0;
        storage->mark_end = log_writer_end(storage->writer);
        storage->mark_us = now_us;
    }
}

static bool has_room(const struct storage *storage, uint64_t segments)
{
    return storage->room_bytes >= segments * storage->config.segment_bytes +
                                      storage->config.reserve_bytes + MERGE_SLACK_BYTES;
}

/* A peer that follows is some gossip delays behind. At full speed that is more than is kept
 * otherwise, and it would have to copy the whole replica, although it missed nothing. */
static bool is_young(const struct storage *storage, const struct log_extent *segment)
{
    return storage->config.retain_us > 0 && segment->end > storage->young_from &&
           has_room(storage, ROOMY_SEGMENTS);
}

/* Merged segments are kept for peers up to a bound, and not where adds will lack their room; each
 * one that is left begins with the whole state, so any older one may go. Their files count, however
 * little is in them. */
static bool old_segment(const struct storage *storage)
{
    size_t merged = nmerged(storage);
    bool many = merged * storage->config.segment_bytes > storage->config.retain_bytes &&
                !is_young(storage, &storage->segments[0]);

    return storage->nsegments > SEGMENTS_KEPT && merged > 0 &&
           (many || storage->lacks_room || !has_room(storage, SCARCE_SEGMENTS)) &&
           !storage_cut_pins_log(storage, storage->segments[0].end);
}

/* Of those that are durably in no manifest, one that no cut still reads comes last. */
static bool choose_trash(struct storage *storage)
{
    for (size_t i = storage->ntrash_durably; i > 0; i--) {
        uint64_t number = storage->trash[i - 1];

        if (!storage_cut_pins_run(storage, number)) {
            storage->trash[i - 1] = storage->trash[storage->ntrash_durably - 1];
            storage->trash[storage->ntrash_durably - 1] = number;
            return true;
        }
    }
    return false;
}

/* The file of a segment that goes is worth keeping while the log grows. */
static void mark_growth(struct storage *storage, uint64_t now_us)
{
    uint64_t segment = log_writer_segment(storage->writer);

    if (segment != storage->growth_segment) {
        storage->growth_segment = segment;
        storage->growth_us = now_us;
    }
    storage->grows = now_us - storage->growth_us < GROWTH_US;
}

/* Age comes in leaps, segments are needed one by one: old ones wait for their turn to be used
 * again, as long as they are not more than the young ones. */
static bool may_wait(const struct storage *storage)
{
    size_t young = 0;

    for (size_t i = 0; i < storage->nsegments; i++) {
        young += is_young(storage, &storage->segments[i]);
    }
    return storage->grows && log_writer_has_spare(storage->writer) &&
           storage->nsegments <= 2 * young;
}

/* Nothing goes before what takes its place is durable: of a segment, runs that a manifest names,
 * and the whole state, with which the next one begins. */
static bool is_replaced(const struct storage *storage)
{
    return storage->segments[0].end <= storage->merged_durably &&
           storage->segments[1].end <= log_writer_synced(storage->writer);
}

static bool begin_drop(struct storage *storage)
{
    struct storage_merge *self;
    bool spare = storage->grows && !log_writer_has_spare(storage->writer);

    if (!old_segment(storage) || !is_replaced(storage) || may_wait(storage)) {
        return false;
    }
    self = storage_merge_begin(storage, TASK_REMOVE);
    if (self == NULL) {
        return false;
    }
    self->segment = storage->segments[0];
    self->spare = spare;
    storage->nsegments--;
    memmove(storage->segments, storage->segments + 1,
            storage->nsegments * sizeof *storage->segments);
    storage_merge_submit(self);
    return true;
}

static bool begin_remove_file(struct storage *storage)
{
    struct storage_merge *self;
    bool run = choose_trash(storage);

    if (!run && (storage->grows || !log_writer_has_spare(storage->writer))) {
        return false;
    }
    self = storage_merge_begin(storage, TASK_REMOVE);
    if (self == NULL) {
        return false;
    }
    if (run) {
        run_name(storage->trash[--storage->ntrash_durably], self->name);
        storage->trash[storage->ntrash_durably] = storage->trash[--storage->ntrash];
    } else {
        (void)log_writer_take_spare(storage->writer);
        (void)snprintf(self->name, sizeof self->name, SEGMENT_SPARE);
    }
    storage_merge_submit(self);
    return true;
}

/* Runs of filters that were dropped, their tombstones being durable. */
static void drop_unwanted(struct storage *storage, uint64_t now_us)
{
    uint64_t removed[RUN_MERGE_MAX];
    struct storage_edit change = {.merged = storage->merged, .removed = removed};

    if (now_us < storage->next_drop_us) {
        return;
    }
    storage->next_drop_us = now_us + LOOK_US;
    for (size_t i = 0; i < storage->nruns && change.nremoved < RUN_MERGE_MAX; i++) {
        if (!storage->config.wanted(storage->config.context, storage->runs[i].filter_id)) {
            removed[change.nremoved++] = storage->runs[i].number;
        }
    }
    if (change.nremoved > 0) {
        enum status status = storage_edit_runs(storage, &change);

        if (status == STATUS_OK) {
            storage->next_drop_us = now_us; /* Perhaps more. */
        } else if (!storage_may_wait(status)) {
            storage_fail(storage, status, "the end of dropped filters' runs can't be logged");
        }
    }
}

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

static int by_set(const void *a, const void *b)
{
    const struct record_run *one = a;
    const struct record_run *other = b;

    if (one->filter_id != other->filter_id) {
        return one->filter_id < other->filter_id ? -1 : 1;
    }
    if (one->lineage != other->lineage) {
        return one->lineage < other->lineage ? -1 : 1;
    }
    return (one->slice > other->slice) - (one->slice < other->slice);
}

/* Some runs of one set that has `least` of them; 0: there is none, or no memory. */
static size_t choose_runs(struct storage *storage, size_t least,
                          struct record_run chosen[RUN_MERGE_MOST])
{
    struct record_run *runs = heap_alloc(storage->nruns + 1, sizeof *runs);
    size_t places[RUN_MERGE_MOST];
    size_t count = 0;
    size_t end;

    if (runs == NULL) {
        return 0;
    }
    memcpy(runs, storage->runs, storage->nruns * sizeof *runs);
    qsort(runs, storage->nruns, sizeof *runs, by_set);
    for (size_t i = 0; i < storage->nruns && count == 0; i = end) {
        end = i + 1;
        while (end < storage->nruns && by_set(&runs[i], &runs[end]) == 0) {
            end++;
        }
        count = end - i >= least ? run_merge_plan(runs + i, end - i, places) : 0;
        for (size_t k = 0; k < count; k++) {
            chosen[k] = runs[i + places[k]];
        }
    }
    heap_free(runs);
    storage->runs_changed = count > 0 || least > RUN_MERGE_LEAST;
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
    if (!begin_remove_file(storage) && !begin_drop(storage) && !begin_runs(storage, CROWDED_RUNS) &&
        !begin_segment(storage)) {
        (void)begin_runs(storage, RUN_MERGE_LEAST);
    }
}

/* While merging has no pause, there is no other moment at which it is seen. */
static void note_durable(struct storage *storage)
{
    if (storage->manifest_end <= log_writer_synced(storage->writer)) {
        storage->merged_durably = storage->merged;
        storage->ntrash_durably = storage->ntrash;
    }
}

void storage_merge_work(struct storage *self, uint64_t now_us)
{
    note_durable(self);
    if (self->merge != NULL && !(self->merge->unlogged && storage_merge_conclude(self))) {
        return;
    }
    if (self->failed || now_us < self->next_merge_us) {
        return;
    }
    mark_age(self, now_us);
    mark_growth(self, now_us);
    drop_unwanted(self, now_us);
    begin_any(self);
}
