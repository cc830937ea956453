/* Reading everything back at start: one job, which touches nothing but the disk and itself. */
#include "base/heap.h"
#include "base/log.h"
#include "node/storage_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_STATE_BYTES = 1 << 30, /* of documents, fences and cursors found */
    MAX_NAMES = 65536,
};

struct storage_recovery {
    struct job job; /* first */
    struct storage *storage;
    enum status status;
    struct log_survey survey;
    struct buffer state; /* records that the node is to be told, in order */
    size_t checkpoint;   /* where those of a checkpoint begin that has not ended yet */
    bool in_checkpoint;
    struct record_identity last;
    bool has_identity;
    bool clean;
    uint64_t merged;
    struct record_run *runs;
    size_t nruns;
    size_t runs_capacity;
    struct storage_filters filters; /* that have batches in the log */
    uint64_t highest_run;
    struct record_run *lost; /* that the manifest names and can't be read */
    size_t nlost;
    bool log_gone; /* runs, and no log that names them */
    char (*names)[DISK_NAME_BYTES];
    size_t nnames;
    size_t names_capacity;
};

/* ---- what the log says ---- */

static enum status note_filter(struct storage_recovery *self, struct span record)
{
    struct record_batch batch;
    enum status status = record_batch_get(record, &batch);

    if (status == STATUS_OK && !storage_filters_add(&self->filters, batch.filter_id)) {
        status = STATUS_NOMEM;
    }
    return status;
}

/* What a checkpoint repeats, when it is whole, need not be kept from before it: that would be a
 * copy of the state for each segment. */
static enum status note_identity(struct storage_recovery *self, uint16_t flags, struct span record)
{
    struct buffer *state = &self->state;

    if ((flags & RECORD_CHECKPOINT) != 0) {
        self->checkpoint = state->size;
        self->in_checkpoint = true;
    } else if ((flags & RECORD_CHECKPOINTED) != 0 && self->in_checkpoint) {
        state->size -= self->checkpoint;
        if (state->size > 0) {
            memmove(state->data, state->data + self->checkpoint, state->size);
        }
        self->in_checkpoint = false;
    }
    self->has_identity = true;
    return record_identity_get(record, &self->last);
}

static enum status edit_runs(struct storage_recovery *self, struct span record)
{
    struct record_manifest manifest;
    enum status status = record_manifest_get(record, &manifest);

    if (status != STATUS_OK) {
        return status;
    }
    self->merged = manifest.merged > self->merged ? manifest.merged : self->merged;
    for (uint32_t i = 0; i < manifest.nadded; i++) {
        uint64_t number = record_manifest_added(&manifest, i).number;

        self->highest_run = number > self->highest_run ? number : self->highest_run;
    }
    return storage_runs_apply(&self->runs, &self->nruns, &self->runs_capacity, &manifest)
               ? STATUS_OK
               : STATUS_NOMEM;
}

static enum status visit(void *context, const struct record_header *header, struct span record)
{
    struct storage_recovery *self = context;

    self->clean = header->type == RECORD_CLEAN;
    switch ((enum record_type)header->type) {
    case RECORD_IDENTITY:
        return note_identity(self, header->flags, record);
    case RECORD_BATCH:
        return note_filter(self, record);
    case RECORD_MANIFEST:
        return edit_runs(self, record);
    case RECORD_FENCE:
    case RECORD_DOCUMENT:
    case RECORD_CURSOR:
        return buffer_append(&self->state, record);
    case RECORD_CLEAN:
        break;
    }
    return STATUS_OK;
}

/* ---- what the folder holds ---- */

static void note_name(void *context, const char *name)
{
    struct storage_recovery *self = context;

    if (self->nnames == self->names_capacity && self->nnames < MAX_NAMES) {
        size_t capacity = self->names_capacity * 2 + 32;
        char(*grown)[DISK_NAME_BYTES] = heap_realloc(self->names, capacity, sizeof *grown);

        if (grown == NULL) {
            self->status = STATUS_NOMEM;
            return;
        }
        self->names = grown;
        self->names_capacity = capacity;
    }
    if (self->nnames < self->names_capacity) {
        (void)snprintf(self->names[self->nnames++], DISK_NAME_BYTES, "%s", name);
    }
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

static bool in_manifest(const struct storage_recovery *self, uint64_t number)
{
    for (size_t i = 0; i < self->nruns; i++) {
        if (self->runs[i].number == number) {
            return true;
        }
    }
    return false;
}

/* A segment that is none: made ahead and never written, or torn as it began, or bad. */
static enum status clear_segment(const struct storage_recovery *self, const char *name)
{
    const struct disk *disk = self->storage->config.disk;
    static const uint8_t zeros[SEGMENT_HEADER_BYTES];
    uint8_t header[SEGMENT_HEADER_BYTES];
    uint32_t file;
    uint64_t size;
    bool empty;
    bool bad;

    if (disk->open(disk->context, name, &file, &size) != STATUS_OK) {
        return STATUS_IO;
    }
    bad = self->survey.state == LOG_CORRUPT && strcmp(name, self->survey.bad_name) == 0;
    empty = size < sizeof header ||
            (disk->read(disk->context, file, 0, header, sizeof header) == STATUS_OK &&
             memcmp(header, zeros, sizeof header) == 0);
    disk->close(disk->context, file);
    return empty && !bad ? disk->remove(disk->context, name)
                         : storage_set_aside(self->storage, name);
}

/* Runs that no manifest names were being made when the process ended; their batches are still in
 * the log. Where that can't be known, as the log was lost, they are set aside instead. */
static enum status clear_run(struct storage_recovery *self, const char *name, uint64_t number)
{
    const struct disk *disk = self->storage->config.disk;

    self->highest_run = number > self->highest_run ? number : self->highest_run;
    if (self->survey.count == 0 || !self->has_identity) {
        self->log_gone = true;
    }
    return self->survey.state == LOG_CORRUPT || self->log_gone
               ? storage_set_aside(self->storage, name)
               : disk->remove(disk->context, name);
}

static enum status clear_folder(struct storage_recovery *self)
{
    const struct disk *disk = self->storage->config.disk;
    enum status status = disk->list(disk->context, note_name, self);

    status = status == STATUS_OK ? self->status : status;
    for (size_t i = 0; status == STATUS_OK && i < self->nnames; i++) {
        uint64_t number;

        if (segment_name_parse(self->names[i], &number) && !in_log(&self->survey, number)) {
            status = clear_segment(self, self->names[i]);
        } else if (run_name_parse(self->names[i], &number) && !in_manifest(self, number)) {
            status = clear_run(self, self->names[i], number);
        }
    }
    return status == STATUS_OK ? disk->sync_folder(disk->context) : status;
}

/* Opening a run checks its size, header and index; its blocks are checked as they are read.
 * Nothing is renamed yet: one of another version may follow. */
static enum status try_runs(struct storage_recovery *self)
{
    const struct storage_config *config = &self->storage->config;

    self->lost = heap_alloc(self->nruns + 1, sizeof *self->lost);
    if (self->lost == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < self->nruns;) {
        struct run_reader *reader = NULL;
        char name[DISK_NAME_BYTES];
        enum status status = run_reader_create(config->disk, config->cluster, &self->runs[i],
                                               &reader);

        run_reader_destroy(&reader);
        run_name(self->runs[i].number, name);
        if (status == STATUS_OK) {
            i++;
            continue;
        }
        log_line(LOG_ERROR, "%s, which the log names, can't be read: %s", name,
                 status_meaning(status));
        if (status == STATUS_NOMEM || status == STATUS_VERSION) {
            return status;
        }
        self->lost[self->nlost++] = self->runs[i];
        self->runs[i] = self->runs[--self->nruns];
    }
    return STATUS_OK;
}

static enum status set_lost_aside(const struct storage_recovery *self)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->nlost && status == STATUS_OK; i++) {
        char name[DISK_NAME_BYTES];

        run_name(self->lost[i].number, name);
        status = storage_set_aside(self->storage, name);
        status = status == STATUS_NOT_FOUND ? STATUS_OK : status;
    }
    return status;
}

/* A damaged segment is not gone on with, not even with what is readable of it: all of it is set
 * aside, and the keys come from the other replicas. */
static void leave_bad_segment(struct log_survey *survey)
{
    char name[DISK_NAME_BYTES];

    while (survey->count > 0) {
        segment_name(survey->extents[survey->count - 1].number, name);
        if (strcmp(name, survey->bad_name) != 0) {
            return;
        }
        survey->count--;
    }
}

static void run(struct job *job)
{
    struct storage_recovery *self = (struct storage_recovery *)job;
    const struct storage_config *config = &self->storage->config;

    self->status = log_survey_make(config->disk, config->cluster, visit, self, &self->survey);
    if (self->status == STATUS_OK && self->survey.state == LOG_FOREIGN) {
        self->status = STATUS_UNAUTHENTIC;
    } else if (self->status == STATUS_OK && self->survey.state == LOG_VERSION) {
        self->status = STATUS_VERSION;
    }
    if (self->status == STATUS_OK && self->survey.state == LOG_CORRUPT) {
        leave_bad_segment(&self->survey);
    }
    if (self->status == STATUS_OK) {
        self->status = try_runs(self);
    }
    if (self->status == STATUS_OK) {
        self->status = set_lost_aside(self);
    }
    if (self->status == STATUS_OK) {
        self->status = clear_folder(self);
    }
}

/* ---- back with the actor ---- */

static enum amnesia judge(const struct storage_recovery *self)
{
    if (self->survey.state == LOG_CORRUPT || self->nlost > 0 || self->log_gone) {
        return AMNESIA_CORRUPT;
    }
    if (self->survey.count == 0 || !self->has_identity) {
        return AMNESIA_EMPTY;
    }
    if (self->survey.extents[0].first > self->merged) {
        return AMNESIA_CORRUPT; /* Segments that were not merged yet are gone. */
    }
    if (self->last.unsynced && !self->clean &&
        self->last.kernel_boot != self->storage->config.kernel_boot) {
        return AMNESIA_POWER;
    }
    return AMNESIA_NONE;
}

/* The new log goes on where the readable one ends. */
static void take_over(struct storage *storage, struct storage_recovery *self)
{
    storage->segments = self->survey.extents;
    storage->nsegments = self->survey.count;
    storage->segments_capacity = self->survey.count;
    self->survey.extents = NULL;
    self->survey.count = 0;
    storage->runs = self->runs;
    storage->nruns = self->nruns;
    storage->runs_capacity = self->runs_capacity;
    self->runs = NULL;
    storage->next_run = self->highest_run + 1;
    storage->merged = self->merged;
    storage->runs_changed = true;
    storage->filters = self->filters;
    self->filters = (struct storage_filters){0};
    storage->begin_number = 1;
    if (storage->nsegments > 0) {
        const struct log_extent *last = &storage->segments[storage->nsegments - 1];

        storage->begin_first = last->end;
        storage->begin_number = last->number + 1;
    }
    storage->merged = storage->merged < storage->begin_first ? storage->merged
                                                             : storage->begin_first;
}

static enum status tell(const struct storage *storage, const struct storage_recovery *self)
{
    struct span rest = buffer_span(&self->state);
    struct record_header header;
    enum status status = STATUS_OK;

    while (status == STATUS_OK && rest.size > 0 && record_open(rest, &header) == STATUS_OK) {
        status = storage->config.found(storage->config.context, (enum record_type)header.type,
                                       span_of(rest.data, header.size));
        rest = span_of(rest.data + header.size, rest.size - header.size);
    }
    return status;
}

static void say(const struct storage_recovery *self)
{
    const struct log_survey *survey = &self->survey;

    if (survey->state == LOG_CORRUPT) {
        log_line(LOG_ERROR,
                 "%s is damaged at byte %" PRIu64 ": %s; this node begins a new "
                 "incarnation and takes its keys from the other replicas",
                 survey->bad_name, survey->bad_at, survey->reason);
    } else if (survey->count > 0 && survey->extents[0].first > self->merged) {
        log_line(LOG_ERROR,
                 "segments of the log before %016" PRIx64 " are gone, and what was in them is not "
                 "in sorted runs either",
                 survey->extents[0].number);
    } else if (survey->torn_bytes > 0) {
        log_line(LOG_INFO,
                 "%" PRIu64 " bytes at the log's end were being written when the process "
                 "ended and were not acknowledged; they are ignored",
                 survey->torn_bytes);
    }
}

static void say_refused(const struct storage_recovery *self)
{
    if (self->survey.state == LOG_FOREIGN) {
        log_line(LOG_ERROR,
                 "%s belongs to another cluster: it was written under another cluster key; give "
                 "this node its own data_dir, or the key of that cluster. Nothing was changed",
                 self->survey.bad_name);
    } else if (self->survey.state == LOG_VERSION) {
        log_line(LOG_ERROR, "%s: %s; run the version of orbloom that wrote it. Nothing was changed",
                 self->survey.bad_name, self->survey.reason);
    }
}

static void done(struct job *job, uint64_t now_us)
{
    struct storage_recovery *self = (struct storage_recovery *)job;
    struct storage *storage = self->storage;
    enum amnesia amnesia = AMNESIA_NONE;
    struct record_identity last = self->last;
    enum status status = self->status;

    if (status == STATUS_OK) {
        say(self);
        amnesia = judge(self);
        take_over(storage, self);
        status = tell(storage, self);
    } else {
        say_refused(self);
    }
    storage_recovery_destroy(&storage->recovery);
    storage->config.recovered(storage->config.context, now_us, status, amnesia, &last);
}

enum status storage_recover(struct storage *self)
{
    struct storage_recovery *recovery = heap_zalloc(1, sizeof *recovery);

    if (recovery == NULL) {
        return STATUS_NOMEM;
    }
    recovery->storage = self;
    recovery->job = (struct job){.run = run, .done = done};
    buffer_init(&recovery->state, MAX_STATE_BYTES);
    self->recovery = recovery;
    self->config.effects->submit(self->config.effects->context, JOB_BACKGROUND, &recovery->job);
    return STATUS_OK;
}

void storage_recovery_destroy(struct storage_recovery **recovery)
{
    struct storage_recovery *self = *recovery;

    *recovery = NULL;
    if (self == NULL) {
        return;
    }
    log_survey_fini(&self->survey);
    buffer_fini(&self->state);
    heap_free(self->runs);
    heap_free(self->lost);
    storage_filters_fini(&self->filters);
    heap_free(self->names);
    heap_free(self);
}
