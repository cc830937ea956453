/* What nobody needs any more: segments of the log, runs and snapshots that were replaced, all of
 * filters that were dropped, and of keysets and slices that are no more. */
#include "base/mutant.h"
#include "log/segment_file.h"
#include "node/store/merge.h"

#include <stdio.h>
#include <string.h>

enum {
    SEGMENTS_KEPT = 2,       /* at least: the one written to, and one before it */
    LOOK_US = 1000000,       /* for dropped filters */
    EXPANSION_US = 10000000, /* since a segment began, and the log is not at rest */
    ROOMY_SEGMENTS = 16,     /* free on the disk: then age counts */
    SCARCE_SEGMENTS = 3      /* free on the disk: then nothing is kept for peers */
};

/* All below is in runs, and in the snapshots of arrays that have no runs. */
static uint64_t unneeded(const struct storage *storage)
{
    uint64_t arrays = storage_arrays_from(&storage->arrays);

    return arrays < storage->merged ? arrays : storage->merged;
}

static size_t nmerged(const struct storage *storage)
{
    uint64_t needed = unneeded(storage);
    size_t count = 0;

    while (count < storage->nsegments && storage->segments[count].end <= needed) {
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

/* Who has yet to read it is elsewhere, and can't be waited for without end. */
static bool is_held(const struct storage *storage, const struct log_extent *segment,
                    uint64_t merged_bytes)
{
    return segment->end > storage->held_from && merged_bytes <= storage->config.hold_bytes &&
           has_room(storage, ROOMY_SEGMENTS);
}

/* Segments that are merged, and needed by no array, are kept for peers up to a bound, and not where
 * adds will lack their room; each one that is left begins with the whole state, so any older one
 * may go. Their files count, however little is in them. */
static bool old_segment(const struct storage *storage)
{
    size_t merged = nmerged(storage);
    uint64_t bytes = merged * storage->config.segment_bytes;
    bool many = bytes > storage->config.retain_bytes && !is_young(storage, &storage->segments[0]) &&
                !is_held(storage, &storage->segments[0], bytes);

    return storage->nsegments > SEGMENTS_KEPT && merged > 0 &&
           (many || storage->lacks_room || !has_room(storage, SCARCE_SEGMENTS)) &&
           !storage_view_pins_log(storage, storage->segments[0].end);
}

/* Of those that are durably in no manifest, one that no view still reads comes last. */
static bool choose_trash(struct storage *storage)
{
    for (size_t i = storage->ntrash_durably; i > 0; i--) {
        uint64_t number = storage->trash[i - 1];

        if (!storage_view_pins_run(storage, number)) {
            storage->trash[i - 1] = storage->trash[storage->ntrash_durably - 1];
            storage->trash[storage->ntrash_durably - 1] = number;
            return true;
        }
    }
    return false;
}

/* The file of a segment that goes is worth keeping while the log grows. */
static void mark_expansion(struct storage *storage, uint64_t now_us)
{
    uint64_t segment = log_writer_segment(storage->writer);

    if (segment != storage->expansion_segment) {
        storage->expansion_segment = segment;
        storage->expansion_us = now_us;
    }
    storage->grows = now_us - storage->expansion_us < EXPANSION_US;
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
    return storage->segments[0].end <= storage->unneeded_durably &&
           storage->segments[1].end <= log_writer_synced(storage->writer);
}

static bool drop_segment(struct storage *storage, size_t i, bool spare)
{
    struct storage_merge *self = storage_merge_begin(storage, TASK_REMOVE);

    if (self == NULL) {
        return false;
    }
    self->segment = storage->segments[i];
    self->spare = spare && !log_writer_has_spare(storage->writer);
    storage->nsegments--;
    memmove(storage->segments + i, storage->segments + i + 1,
            (storage->nsegments - i) * sizeof *storage->segments);
    storage_merge_submit(self);
    return true;
}

static bool begin_drop_oldest(struct storage *storage)
{
    return old_segment(storage) && is_replaced(storage) && !may_wait(storage) &&
           drop_segment(storage, 0, storage->grows);
}

/* Is the state durable with which the segment behind it begins? Of one that was found, nobody
 * knows that it is whole. */
static bool is_repeated(const struct storage *storage, size_t i)
{
    const struct log_extent *next = &storage->segments[i + 1];
    bool last = i + 2 == storage->nsegments;
    uint64_t end = last ? storage->manifest_end : next->end;

    if (MUTANT(BARE_BEFORE_DURABLE)) {
        end = 0;
    }
    return next->number >= storage->begin_number && end <= log_writer_synced(storage->writer);
}

/* A full disk keeps the log from growing, but for such segments: the room of one is the next
 * one's. The oldest segment says where the log begins; it is left alone. */
static bool begin_drop_bare(struct storage *storage)
{
    for (size_t i = 1; i + 1 < storage->nsegments; i++) {
        const struct log_extent *segment = &storage->segments[i];

        if (log_extent_is_bare(segment, segment + 1) && is_repeated(storage, i) &&
            !storage_view_pins_log(storage, segment->end)) {
            bool dropped = drop_segment(storage, i, true);

            storage->bare_dropped += dropped;
            return dropped;
        }
    }
    return false;
}

static bool begin_remove_file(struct storage *storage)
{
    struct storage_merge *self;
    bool run = choose_trash(storage);
    bool snapshot = storage->nold_durably > 0;
    bool imprint = storage->imprints.nold > 0;

    if (!run && !snapshot && !imprint &&
        (storage->grows || !log_writer_has_spare(storage->writer))) {
        return false;
    }
    self = storage_merge_begin(storage, TASK_REMOVE);
    if (self == NULL) {
        return false;
    }
    if (run) {
        run_name(storage->trash[--storage->ntrash_durably], self->name);
        storage->trash[storage->ntrash_durably] = storage->trash[--storage->ntrash];
    } else if (snapshot) {
        snapshot_name(storage->old_snapshots[--storage->nold_durably], self->name);
        storage->old_snapshots[storage->nold_durably] =
            storage->old_snapshots[--storage->nold_snapshots];
    } else if (imprint) {
        imprint_name(storage->imprints.old[--storage->imprints.nold], self->name);
    } else {
        (void)log_writer_take_spare(storage->writer);
        (void)snprintf(self->name, sizeof self->name, SEGMENT_SPARE);
    }
    storage_merge_submit(self);
    return true;
}

static bool is_wanted(const struct storage *storage, uint64_t filter_id, uint32_t keyset,
                      uint64_t slice)
{
    const struct storage_set set = {.filter_id = filter_id, .slice = slice, .keyset = keyset};

    return storage->config.wanted(storage->config.context, &set);
}

static void drop_arrays(struct storage *storage)
{
    size_t i = 0;

    while (i < storage->arrays.count && !storage->failed) {
        struct record_snapshot none = storage->arrays.items[i].counts;
        enum status status = STATUS_NO_SPACE;

        none.number = 0;
        none.from = UINT64_MAX;
        if (!is_wanted(storage, none.filter_id, none.keyset, none.slice)) {
            status = storage_edit_array(storage, &none);
        }
        i += status != STATUS_OK; /* Else another one has its place now. */
        if (status != STATUS_OK && !storage_may_wait(status)) {
            storage_fail(storage, status, "the end of dropped filters' snapshots can't be logged");
        }
    }
}

/* Runs of filters that were dropped, their tombstones being durable, and of keysets and slices
 * that their documents have no more. */
static void drop_unwanted(struct storage *storage, uint64_t now_us)
{
    uint64_t removed[RUN_MERGE_MAX];
    struct storage_edit change = {.merged = storage->merged, .removed = removed};

    if (now_us < storage->next_drop_us) {
        return;
    }
    storage->next_drop_us = now_us + LOOK_US;
    storage_sets_keep(&storage->sets, storage_end(storage), storage->config.wanted,
                      storage->config.context);
    drop_arrays(storage);
    storage_imprints_keep(storage);
    for (size_t i = 0; i < storage->nruns && change.nremoved < RUN_MERGE_MAX; i++) {
        const struct record_run *run = &storage->runs[i];

        if (!is_wanted(storage, run->filter_id, run->keyset, run->slice)) {
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

void storage_hold(struct storage *self, uint64_t from)
{
    self->held_from = from;
}

void storage_retire_look(struct storage *storage, uint64_t now_us)
{
    mark_age(storage, now_us);
    mark_expansion(storage, now_us);
    drop_unwanted(storage, now_us);
    if (storage->config.imprint_bytes > 0 &&
        (storage->lacks_room || !has_room(storage, SCARCE_SEGMENTS) ||
         storage_room(storage, 1) == STATUS_NO_SPACE)) {
        storage_imprints_make_room(storage, now_us);
    }
}

/* While merging has no pause, there is no other moment at which it is seen. */
void storage_retire_note(struct storage *storage)
{
    bool durable = storage->manifest_end <= log_writer_synced(storage->writer) ||
                   MUTANT(RETIRED_BEFORE_DURABLE);

    if (durable) {
        storage->unneeded_durably = unneeded(storage);
        storage->ntrash_durably = storage->ntrash;
        storage->nold_durably = storage->nold_snapshots;
    }
}

bool storage_retire_begin(struct storage *storage)
{
    return begin_remove_file(storage) || begin_drop_bare(storage) || begin_drop_oldest(storage);
}
