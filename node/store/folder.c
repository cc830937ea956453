/* The files of a node's folder as they are found at start. */
#include "base/heap.h"
#include "base/log.h"
#include "base/mutant.h"
#include "log/file_name.h"
#include "log/log_segment.h"
#include "log/segment_file.h"
#include "node/store/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_ours(const char *name)
{
    uint64_t number;

    return segment_name_parse(name, &number) || run_name_parse(name, &number) ||
           snapshot_name_parse(name, &number) || imprint_name_parse(name, &number);
}

/* What was left out would be taken for lost, or never be removed. */
static void note_name(void *context, const char *name)
{
    struct storage_recovery *self = context;

    if (self->status != STATUS_OK || !is_ours(name)) {
        return;
    }
    if (self->nnames == STORAGE_MAX_NAMES) {
        log_line(LOG_ERROR,
                 "the data folder has more than %d segments, sorted runs and snapshots: this node "
                 "never makes so many; move those elsewhere that are not its own. Nothing was "
                 "changed",
                 STORAGE_MAX_NAMES);
        self->status = STATUS_TOO_LARGE;
        return;
    }
    if (!heap_grow(&self->names, &self->names_capacity, self->nnames + 1, sizeof *self->names)) {
        self->status = STATUS_NOMEM;
        return;
    }
    (void)snprintf(self->names[self->nnames++], DISK_NAME_BYTES, "%s", name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum status storage_folder_list(struct storage_recovery *self)
{
    const struct disk *disk = self->storage->config.disk;
    enum status status = disk->list(disk->context, note_name, self);

    status = status == STATUS_OK ? self->status : status;
    if (status == STATUS_OK && self->nnames > 0) {
        qsort(self->names, self->nnames, sizeof *self->names, by_name);
    }
    return status;
}

static bool in_log(const struct log_survey *survey, uint64_t number)
{
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->extents[i].number == number) {
            return true;
        }
    }
    return false;
}

/* Only its header outlived the crash in which it began. Behind one that shows a loss nothing is
 * taken for that. */
static bool was_torn_at_once(const struct storage_recovery *self, uint64_t number)
{
    struct log_segment segment;
    struct record_header header;
    struct span record;
    bool torn;

    log_segment_init(&segment, self->storage->config.disk);
    torn = log_segment_open(&segment, number) == STATUS_OK &&
           log_segment_read(&segment, segment.header.first, UINT64_MAX, &header, &record) ==
               STATUS_MALFORMED &&
           !storage_begun_only(self);
    log_segment_fini(&segment);
    return torn;
}

/* A segment that is none: made ahead and never written, or torn as it began, or bad. */
static enum status clear_segment(const struct storage_recovery *self, const char *name,
                                 uint64_t number)
{
    const struct disk *disk = self->storage->config.disk;
    static const uint8_t zeros[SEGMENT_HEADER_BYTES];
    uint8_t header[SEGMENT_HEADER_BYTES];
    uint32_t file;
    uint64_t size;
    bool empty;

    if (number < self->unneeded) { /* The oldest first: what is damaged goes behind those before. */
        return strcmp(name, self->unneeded_bad) < 0 ? disk->remove(disk->context, name)
                                                    : storage_set_aside(self->storage, name);
    }
    if (disk->open(disk->context, name, &file, &size) != STATUS_OK) {
        return STATUS_IO;
    }
    empty = size < sizeof header ||
            (disk->read(disk->context, file, 0, header, sizeof header) == STATUS_OK &&
             memcmp(header, zeros, sizeof header) == 0);
    disk->close(disk->context, file);
    return empty || was_torn_at_once(self, number) ? disk->remove(disk->context, name)
                                                   : storage_set_aside(self->storage, name);
}

static bool is_lost(const struct storage_recovery *self, uint64_t number)
{
    for (size_t i = 0; i < self->nlost; i++) {
        if (self->lost[i].number == number) {
            return true;
        }
    }
    return false;
}

/* Runs that no manifest names were being made when the process ended; their batches are still in
 * the log. Where that can't be known, as the log was lost, they are set aside instead. */
static enum status clear_run(struct storage_recovery *self, const char *name, uint64_t number)
{
    const struct disk *disk = self->storage->config.disk;
    bool keep;

    if (number > self->highest_run && number < FILE_NUMBER_MAX) {
        self->highest_run = number;
    }
    self->log_gone = self->log_gone || self->survey.count == 0 || !self->has_identity;
    keep = self->survey.state == LOG_CORRUPT || self->log_gone || self->fell_back ||
           is_lost(self, number);
    return keep ? storage_set_aside(self->storage, name) : disk->remove(disk->context, name);
}

static bool is_named(const struct storage_recovery *self, uint64_t number)
{
    for (size_t i = 0; i < self->arrays.count; i++) {
        if (self->arrays.items[i].counts.number == number) {
            return true;
        }
    }
    return false;
}

/* As with runs; those that were lost are in no record any more, and set aside with the leftovers.
 */
static enum status clear_snapshot(struct storage_recovery *self, const char *name, uint64_t number)
{
    const struct disk *disk = self->storage->config.disk;
    bool keep;

    if (number > self->highest_snapshot) {
        self->highest_snapshot = number;
    }
    self->log_gone = self->log_gone || self->survey.count == 0 || !self->has_identity;
    keep = self->survey.state == LOG_CORRUPT || self->log_gone || self->fell_back ||
           self->nlost_snapshots > 0;
    return keep ? storage_set_aside(self->storage, name) : disk->remove(disk->context, name);
}

/* Is something needed of what was in front of the log's first segment? */
static bool lacks_beginning(const struct storage_recovery *self, const struct log_extent *first)
{
    uint64_t from = first->first - (self->checkpointed ? first->bare : 0);

    return from > self->merged || from > storage_arrays_from(&self->arrays);
}

bool storage_begun_only(const struct storage_recovery *self)
{
    const struct log_survey *survey = &self->survey;

    return survey->count > 0 && self->has_identity &&
           survey->extents[survey->count - 1].first == survey->extents[survey->count - 1].end &&
           survey->incarnation != self->last.incarnation;
}

bool storage_folder_lost(const struct storage_recovery *self)
{
    const struct log_survey *survey = &self->survey;

    return survey->state == LOG_CORRUPT ||
           (survey->count > 0 && lacks_beginning(self, &survey->extents[0]));
}

/* It shows that something was lost. Until that is written down, by the new incarnation's log, a
 * start that did not find it would take the rest for everything. */
static enum status keep_evidence(struct storage_recovery *self, const char *name)
{
    char(*grown)[DISK_NAME_BYTES] = heap_realloc(self->evidence, self->nevidence + 1,
                                                 sizeof *grown);

    if (grown == NULL) {
        return STATUS_NOMEM;
    }
    self->evidence = grown;
    (void)snprintf(self->evidence[self->nevidence++], DISK_NAME_BYTES, "%s", name);
    return STATUS_OK;
}

enum status storage_folder_clear(struct storage_recovery *self)
{
    const struct disk *disk = self->storage->config.disk;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < self->nnames; i++) {
        uint64_t number;

        if (segment_name_parse(self->names[i], &number) && !in_log(&self->survey, number)) {
            status = storage_folder_lost(self) ? keep_evidence(self, self->names[i])
                                               : clear_segment(self, self->names[i], number);
        } else if (run_name_parse(self->names[i], &number) && !run_list_has(&self->runs, number)) {
            status = clear_run(self, self->names[i], number);
        } else if (snapshot_name_parse(self->names[i], &number) && !is_named(self, number)) {
            status = clear_snapshot(self, self->names[i], number);
        }
    }
    if (status == STATUS_OK) {
        status = segment_file_remove_spare(disk); /* It may be of another size. */
    }
    return status == STATUS_OK ? disk->sync_folder(disk->context) : status;
}

/* Opening a run checks its size, header and index; its blocks are checked as they are read.
 * Nothing is renamed yet: one of another version may follow. */
enum status storage_folder_try_runs(struct storage_recovery *self)
{
    const struct storage_config *config = &self->storage->config;

    self->lost = heap_alloc(self->runs.count + 1, sizeof *self->lost);
    if (self->lost == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < self->runs.count;) {
        struct record_run *run = &self->runs.runs[i];
        struct run_reader *reader = NULL;
        char name[DISK_NAME_BYTES];
        enum status status = run_reader_create(config->disk, cluster_id_tag(&self->cluster), run,
                                               &reader);

        run->through = status == STATUS_OK ? run_reader_through(reader) : 0;
        run_reader_destroy(&reader);
        run_name(run->number, name);
        if (status == STATUS_OK) {
            i++;
            continue;
        }
        log_line(LOG_ERROR, "%s, which the log names, can't be read: %s", name,
                 status_meaning(status));
        if (status != STATUS_MALFORMED && status != STATUS_NOT_FOUND) {
            return status; /* A disk that can't be read now has not lost anything yet. */
        }
        self->lost[self->nlost++] = *run;
        run_list_remove_at(&self->runs, i);
    }
    return STATUS_OK;
}

/* Whatever was found is in the arrays before anything of this boot is copied of them. Were it not
 * written down, the next boot would know no more, and read them besides every imprint. */
void storage_folder_note_runs(struct storage_recovery *self)
{
    const struct storage_config *config = &self->storage->config;
    uint64_t begin = storage_recovery_end(self);
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->runs.count; i++) {
        struct record_run *run = &self->runs.runs[i];

        if (run_is_below(run, begin)) {
            continue;
        }
        run->through = begin;
        if (status == STATUS_OK) {
            status = run_write_through(config->disk, cluster_id_tag(&self->cluster), run);
        }
    }
    if (status != STATUS_OK) {
        log_line(LOG_WARN, "a sorted run can't be written to: %s; the next start takes longer",
                 status_meaning(status));
    }
}

/* A snapshot counts from when the log was durable beyond its end. */
static enum status try_snapshot(const struct storage_recovery *self, struct storage_array *array)
{
    const struct storage_config *config = &self->storage->config;
    const struct log_survey *survey = &self->survey;
    uint64_t end = survey->count > 0 ? survey->extents[survey->count - 1].end : 0;
    struct snapshot_reader *reader = NULL;
    enum status status;

    if (array->counts.end > end) {
        return STATUS_MALFORMED;
    }
    status = snapshot_reader_create(config->disk, cluster_id_tag(&self->cluster), &array->counts,
                                    &reader);
    if (status == STATUS_OK) {
        array->bytes = snapshot_bytes(snapshot_reader_shape(reader));
    }
    snapshot_reader_destroy(&reader);
    return status;
}

/* Its pages are checked as they are read. */
enum status storage_folder_try_snapshots(struct storage_recovery *self)
{
    for (size_t i = 0; i < self->arrays.count; i++) {
        struct storage_array *array = &self->arrays.items[i];
        char name[DISK_NAME_BYTES];
        enum status status = array->counts.number != 0 ? try_snapshot(self, array) : STATUS_OK;

        if (status == STATUS_OK) {
            continue;
        }
        snapshot_name(array->counts.number, name);
        log_line(LOG_ERROR, "%s, which the log names, can't be read: %s", name,
                 status_meaning(status));
        if (status != STATUS_MALFORMED && status != STATUS_NOT_FOUND) {
            return status;
        }
        self->nlost_snapshots++;
        array->counts.number = 0;
        array->counts.end = 0;
    }
    return STATUS_OK;
}

/* ---- imprints ---- */

enum { AHEAD_BYTES = 256 << 20 };

/* Where the log of the process that took it ended, as this log goes on from it; 0: it does not. */
static uint64_t end_of_boot(const struct storage_recovery *self, const struct snapshot_life *life)
{
    const struct record_identity *last = &self->last;
    const struct log_survey *survey = &self->survey;

    if (life->incarnation != last->incarnation || survey->count == 0) {
        return 0;
    }
    if (life->boot == last->boot) {
        return survey->extents[survey->count - 1].end;
    }
    for (uint32_t i = 0; i < last->nbefore + last->nformer && i < RECORD_MAX_BOOTS; i++) {
        if (last->before[i] == life->boot) {
            return last->ends[i];
        }
    }
    return 0;
}

/* All bits of its pages are of batches below its end: if that is in this log, they are. If it is
 * not, the log has lost what was durable: an imprint is ended only once the log is synced through
 * its end. *lost: so it is. */
static const char *why_not(const struct storage_recovery *self, const struct record_snapshot *id,
                           const struct snapshot_life *life, bool *lost)
{
    uint64_t end = end_of_boot(self, life);

    if (MUTANT(IMPRINT_AHEAD_OF_LOG)) {
        return NULL;
    }
    if (storage_recovery_judge(self) != AMNESIA_NONE) {
        return "the node begins another life";
    }
    if (end == 0) {
        return "it is not of this log, or of a life too long ago";
    }
    *lost = id->end > end;
    return *lost ? "it has what is not in the log" : NULL;
}

/* The first one that shows it: until the new incarnation is logged it stays. */
static enum status note_fallen_back(struct storage_recovery *self, const char *name)
{
    log_line(LOG_ERROR,
             "%s was ended when the log was durable beyond where it ends now: what came after is "
             "gone. This node begins a new incarnation and takes its keys from the other replicas",
             name);
    self->fell_back = true;
    return keep_evidence(self, name);
}

/* *kept: it is in the list. */
static enum status try_imprint(struct storage_recovery *self, uint64_t number, const char *name,
                               bool *kept)
{
    const struct storage_config *config = &self->storage->config;
    struct snapshot_reader *reader = NULL;
    struct record_snapshot id;
    const char *why = "it was not finished, or was changed";
    bool lost = false;
    enum status status = imprint_reader_create(config->disk, cluster_id_tag(&self->cluster), number,
                                               &id, &reader);

    if (status == STATUS_OK) {
        why = why_not(self, &id, &snapshot_reader_shape(reader)->life, &lost);
    }
    *kept = why == NULL && config->imprint_bytes > 0;
    if (*kept && self->imprints.count == 0) {
        /* The first to be read, probably: the disk begins while the node is registered. */
        snapshot_reader_ahead(reader, AHEAD_BYTES);
    }
    if (*kept && !storage_imprints_put(&self->imprints, &id, snapshot_reader_shape(reader))) {
        status = STATUS_NOMEM;
    }
    snapshot_reader_destroy(&reader);
    if (status == STATUS_NOMEM || why == NULL) {
        return status;
    }
    self->imprints.refused++;
    if (lost) {
        return note_fallen_back(self, name);
    }
    log_line(LOG_INFO, "%s is not used and goes: %s", name, why);
    return STATUS_OK;
}

/* Of two of a set the newer one: a crash has come before the older one was removed. */
static void leave_newest(struct storage_imprints *all)
{
    struct storage_imprint *last = &all->items[all->count - 1];

    for (size_t i = 0; i + 1 < all->count; i++) {
        struct record_snapshot *one = &all->items[i].id;

        if (one->filter_id == last->id.filter_id && one->slice == last->id.slice &&
            one->keyset == last->id.keyset) {
            /* Names ascend, and numbers with them. */
            all->items[i] = *last;
            all->count--;
            return;
        }
    }
}

/* It is chosen, or evidence. */
static bool stays(const struct storage_recovery *self, const char *name, uint64_t number)
{
    bool stays = false;

    for (size_t i = 0; i < self->imprints.count; i++) {
        stays = stays || self->imprints.items[i].id.number == number;
    }
    for (size_t i = 0; i < self->nevidence; i++) {
        stays = stays || strcmp(self->evidence[i], name) == 0;
    }
    return stays;
}

static void remove_others(const struct storage_recovery *self)
{
    for (size_t i = 0; i < self->nnames; i++) {
        uint64_t number;

        if (imprint_name_parse(self->names[i], &number) && !stays(self, self->names[i], number)) {
            storage_imprint_remove(self->storage, self->names[i]);
        }
    }
}

/* They are of the life that was lost. */
static void leave_all(struct storage_recovery *self)
{
    self->imprints.refused += self->imprints.count;
    self->imprints.count = 0;
}

enum status storage_folder_choose_imprints(struct storage_recovery *self)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nnames && status == STATUS_OK; i++) {
        uint64_t number;
        bool kept;

        if (!imprint_name_parse(self->names[i], &number)) {
            continue;
        }
        if (number > self->highest_snapshot && number < FILE_NUMBER_MAX) {
            self->highest_snapshot = number;
        }
        status = try_imprint(self, number, self->names[i], &kept);
        if (status == STATUS_OK && kept) {
            leave_newest(&self->imprints);
        }
    }
    if (self->fell_back) {
        leave_all(self);
    }
    if (status == STATUS_OK) {
        remove_others(self);
    }
    return status;
}

/* ---- room ---- */

static bool is_unneeded(const struct storage_recovery *self, const struct log_extent *extent)
{
    return self->survey.state == LOG_OK && self->checkpointed && !storage_folder_lost(self) &&
           !storage_begun_only(self) && extent->end <= self->whole_at &&
           extent->end <= self->merged && extent->end <= storage_arrays_from(&self->arrays);
}

/* The first one that is kept for other nodes only, or that a whole checkpoint has replaced. */
static bool choose_needless(const struct storage_recovery *self, size_t *out)
{
    const struct log_survey *survey = &self->survey;

    if (survey->count > 1 && is_unneeded(self, &survey->extents[0])) {
        *out = 0;
        return true;
    }
    for (size_t i = 1; i + 1 < survey->count; i++) {
        const struct log_extent *extent = &survey->extents[i];

        if (log_extent_is_bare(extent, extent + 1) && extent[1].first == self->whole_at) {
            *out = i;
            return true;
        }
    }
    return false;
}

static enum status drop_extent(struct storage_recovery *self, size_t i)
{
    const struct disk *disk = self->storage->config.disk;
    struct log_survey *survey = &self->survey;
    enum status status = segment_file_drop(disk, survey->extents[i].number, false);

    if (status == STATUS_OK) {
        memmove(survey->extents + i, survey->extents + i + 1,
                (--survey->count - i) * sizeof *survey->extents);
    }
    return status;
}

/* Nothing rests on it. */
static enum status drop_imprint(struct storage_recovery *self)
{
    const struct disk *disk = self->storage->config.disk;
    char name[DISK_NAME_BYTES];

    imprint_name(self->imprints.items[--self->imprints.count].id.number, name);
    log_line(LOG_WARN, "the disk of data_dir is full: %s goes, so this start takes longer", name);
    storage_imprint_remove(self->storage, name);
    return disk->sync_folder(disk->context);
}

enum status storage_folder_make_room(struct storage_recovery *self)
{
    const struct storage_config *config = &self->storage->config;
    const struct disk *disk = config->disk;
    enum status status = disk->room(disk->context, &self->room_bytes);
    size_t needless = 0;

    while (status == STATUS_OK && self->room_bytes < config->segment_bytes &&
           (self->imprints.count > 0 || choose_needless(self, &needless))) {
        status = self->imprints.count > 0 ? drop_imprint(self) : drop_extent(self, needless);
        if (status == STATUS_OK) {
            status = disk->room(disk->context, &self->room_bytes);
        }
    }
    return status == STATUS_OK && self->room_bytes < config->segment_bytes ? STATUS_NO_SPACE
                                                                           : status;
}

/* ---- behind a bad place ---- */

static enum status visit_readable(struct storage_recovery *self, struct log_segment *segment)
{
    struct record_header header;
    struct span record;
    uint64_t offset = segment->header.first;
    enum status status = STATUS_OK;

    while (status == STATUS_OK) {
        status = log_segment_read(segment, offset, UINT64_MAX, &header, &record);
        if (status == STATUS_OK) {
            status = storage_found(self, &header, record);
            offset += header.size;
        }
    }
    return status == STATUS_MALFORMED ? STATUS_OK : status;
}

enum status storage_folder_salvage(struct storage_recovery *self)
{
    struct log_segment segment;
    enum status status = STATUS_OK;

    log_segment_init(&segment, self->storage->config.disk);
    for (size_t i = 0; i < self->nnames && status == STATUS_OK; i++) {
        uint64_t number;

        /* Those up to the bad one were read by the survey. */
        if (!segment_name_parse(self->names[i], &number) ||
            strcmp(self->names[i], self->survey.bad_name) <= 0) {
            continue;
        }
        status = log_segment_open(&segment, number);
        if (status == STATUS_OK) {
            status = visit_readable(self, &segment);
        } else if (status == STATUS_MALFORMED) {
            status = STATUS_OK;
        }
    }
    log_segment_fini(&segment);
    return status;
}
