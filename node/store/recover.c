/* Reading everything back at start: is it all that was acknowledged? */
#include "base/heap.h"
#include "base/log.h"
#include "log/cluster_file.h"
#include "node/store/recovery.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STATE_BYTES = 1 << 30 /* of documents, fences and cursors found */ };

/* A damaged segment is not gone on with, not even with what is readable of it: all of it is set
 * aside, and the keys come from the other replicas. */
static void leave_bad_segment(struct storage_recovery *self)
{
    struct log_survey *survey = &self->survey;
    char name[DISK_NAME_BYTES];

    while (survey->count > 0) {
        segment_name(survey->extents[survey->count - 1].number, name);
        if (strcmp(name, survey->bad_name) != 0) {
            return;
        }
        self->left_end = survey->extents[--survey->count].end;
    }
}

/* What records have said so far. */
static void forget(struct storage_recovery *self)
{
    log_survey_fini(&self->survey);
    run_list_fini(&self->runs);
    run_list_fini(&self->fresh);
    storage_arrays_fini(&self->arrays);
    storage_sets_fini(&self->sets);
    buffer_clear(&self->state);
    self->checkpoint = 0;
    self->in_checkpoint = false;
    self->checkpointed = false;
    self->checkpoint_at = 0;
    self->whole_at = 0;
    self->has_identity = false;
    self->clean = false;
    self->last = (struct record_identity){0};
    self->merged = 0;
    self->highest_snapshot = 0;
    self->highest_run = 0;
}

static enum status survey_from(struct storage_recovery *self, uint64_t begin)
{
    const struct storage_config *config = &self->storage->config;

    return log_survey_make_behind(config->disk, cluster_id_tag(&self->cluster), begin,
                                  storage_found, self, &self->survey);
}

/* Nothing that was acknowledged needs a segment whose batches are in sorted runs or snapshots,
 * once a later one begins with a whole checkpoint: it is kept for other nodes only. So if what lies
 * behind the damage is a log that could have begun there, that is the log. */
static enum status try_behind(struct storage_recovery *self)
{
    uint64_t begin = self->survey.behind;
    enum status status;

    (void)snprintf(self->unneeded_bad, sizeof self->unneeded_bad, "%s", self->survey.bad_name);
    forget(self);
    status = survey_from(self, begin);
    if (status == STATUS_OK && self->survey.state == LOG_OK && self->checkpointed &&
        !storage_begun_only(self) && !storage_folder_lost(self)) {
        self->unneeded = begin;
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        forget(self);
        status = survey_from(self, 0); /* As it was. */
    }
    return status;
}

/* What may not be read at all is not changed either. */
static enum status read_log(struct storage_recovery *self)
{
    enum status status = survey_from(self, 0);

    if (status == STATUS_OK && self->survey.state == LOG_CORRUPT && self->survey.behind != 0) {
        status = try_behind(self);
    }
    if (status != STATUS_OK) {
        return status;
    }
    switch (self->survey.state) {
    case LOG_FOREIGN:
        return STATUS_UNAUTHENTIC;
    case LOG_VERSION:
        return STATUS_VERSION;
    case LOG_CORRUPT:
        leave_bad_segment(self);
        return storage_folder_salvage(self);
    case LOG_EMPTY:
    case LOG_OK:
        break;
    }
    return STATUS_OK;
}

/* ---- which cluster it belongs to ---- */

/* A file that is damaged says nothing; what was learned in its place is compared with the log. */
static enum status read_cluster(struct storage_recovery *self)
{
    enum status status = cluster_file_read(self->storage->config.disk, &self->cluster);

    self->named = status == STATUS_OK;
    if (status == STATUS_NOT_FOUND || status == STATUS_MALFORMED) {
        self->cluster = self->storage->config.cluster;
        self->nameless = !cluster_id_known(&self->cluster);
        status = STATUS_OK;
    } else if (status == STATUS_VERSION) {
        self->survey.state = LOG_VERSION;
        self->survey.reason = "a newer orbloom wrote it; upgrade to that version";
        (void)snprintf(self->survey.bad_name, sizeof self->survey.bad_name, CLUSTER_FILE_NAME);
    }
    return status;
}

/* Whatever is in the folder is of that cluster: now it may say so. */
static enum status write_cluster(const struct storage_recovery *self)
{
    return self->named ? STATUS_OK : cluster_file_write(self->storage->config.disk, &self->cluster);
}

static void run(struct job *job)
{
    struct storage_recovery *self = (struct storage_recovery *)job;

    self->status = read_cluster(self);
    if (self->nameless) {
        return;
    }
    if (self->status == STATUS_OK) {
        self->status = storage_folder_list(self);
    }
    if (self->status == STATUS_OK) {
        self->status = read_log(self);
    }
    if (self->status == STATUS_OK) {
        self->status = storage_folder_try_runs(self);
    }
    if (self->status == STATUS_OK) {
        self->status = storage_folder_try_snapshots(self);
    }
    if (self->status == STATUS_OK) {
        /* Only now: a folder that is refused has not been changed. */
        self->status = write_cluster(self);
    }
    if (self->status == STATUS_OK) {
        self->status = storage_folder_choose_imprints(self);
    }
    if (self->status == STATUS_OK) {
        self->status = storage_folder_clear(self);
    }
    if (self->status == STATUS_OK) {
        self->status = storage_folder_make_room(self);
    }
    if (self->status == STATUS_OK && self->storage->config.imprint_bytes > 0) {
        storage_folder_note_runs(self);
    }
    /* The last of it: `places` are wrong from here on. */
    storage_runs_sort(self->runs.runs, self->runs.count);
}

/* Where none is left: behind what there was. Else the next start, if the damage is not set aside by
 * then, would take it for damage of the new log. */
uint64_t storage_recovery_end(const struct storage_recovery *self)
{
    const struct log_survey *survey = &self->survey;

    return survey->count > 0 ? survey->extents[survey->count - 1].end : self->left_end;
}

/* ---- back with the actor ---- */

enum amnesia storage_recovery_judge(const struct storage_recovery *self)
{
    if (self->survey.state == LOG_CORRUPT || self->nlost > 0 || self->nlost_snapshots > 0 ||
        self->log_gone || self->fell_back) {
        return AMNESIA_CORRUPT;
    }
    if (self->survey.count == 0 || !self->has_identity) {
        return AMNESIA_EMPTY;
    }
    if (storage_folder_lost(self)) {
        return AMNESIA_CORRUPT; /* Segments that were still needed are gone. */
    }
    if (storage_begun_only(self)) {
        return AMNESIA_CORRUPT;
    }
    if (self->last.unsynced && !self->clean &&
        self->last.kernel_boot != self->storage->config.kernel_boot) {
        return AMNESIA_POWER;
    }
    return AMNESIA_NONE;
}

/* What is gone will not be replayed; what is written from now on must be. */
static void take_over_arrays(struct storage *storage, struct storage_recovery *self)
{
    uint64_t first = storage->nsegments > 0 ? storage->segments[0].first : storage->begin_first;

    storage->arrays = self->arrays;
    self->arrays = (struct storage_arrays){0};
    storage->next_snapshot = self->highest_snapshot + 1;
    for (size_t i = 0; i < storage->arrays.count; i++) {
        struct storage_array *array = &storage->arrays.items[i];
        uint64_t from = array->counts.from > first ? array->counts.from : first;

        array->counts.from = from < storage->begin_first ? from : storage->begin_first;
        if (array->pending < array->counts.from) {
            array->pending = array->counts.from;
        }
        if (array->last >= storage->begin_first) {
            array->last = 0;
            array->pending = array->counts.from;
        }
    }
}

/* The new log goes on where the readable one ends. */
static void take_over(struct storage *storage, struct storage_recovery *self)
{
    storage->begin_first = storage_recovery_end(self);
    storage->segments = self->survey.extents;
    storage->nsegments = self->survey.count;
    storage->segments_capacity = self->survey.count;
    self->survey.extents = NULL;
    self->survey.count = 0;
    storage->runs = self->runs.runs;
    storage->nruns = self->runs.count;
    storage->runs_capacity = self->runs.capacity;
    self->runs.runs = NULL;
    run_list_fini(&self->runs);
    storage->next_run = self->highest_run + 1;
    storage->merged = self->merged;
    storage->runs_changed = true;
    storage->room_bytes = self->room_bytes;
    storage->sets = self->sets;
    self->sets = (struct storage_sets){0};
    storage->begin_number = self->survey.next_number;
    storage->begin_bare = self->survey.bare;
    storage->found_clean = self->clean;
    if (storage->nsegments == 0) {
        storage->merged = storage->begin_first;
    } else if (storage->merged < storage->segments[0].first) {
        storage->merged = storage->segments[0].first; /* What is gone will not be merged. */
    }
    storage->merged = storage->merged < storage->begin_first ? storage->merged
                                                             : storage->begin_first;
    take_over_arrays(storage, self);
    storage->imprints = self->imprints;
    self->imprints = (struct storage_imprints){0};
    /* What no run has is behind what all have, and the log goes on behind both. */
    assert(storage->merged <= storage->begin_first);
    storage->evidence = self->evidence;
    storage->nevidence = self->nevidence;
    self->evidence = NULL;
}

static enum status tell_some(const struct storage *storage, const struct storage_recovery *self,
                             bool documents)
{
    struct span rest = buffer_span(&self->state);
    struct record_header header;
    enum status status = STATUS_OK;

    while (status == STATUS_OK && rest.size > 0 && record_open(rest, &header) == STATUS_OK) {
        if ((header.type == RECORD_DOCUMENT) == documents) {
            status = storage->config.found(storage->config.context, (enum record_type)header.type,
                                           span_of(rest.data, header.size));
        }
        rest = span_of(rest.data + header.size, rest.size - header.size);
    }
    return status;
}

/* Documents first: one that was signed with a former key is replaced by a later one, and what the
 * log says of it in between counts all the same. */
static enum status tell(const struct storage *storage, const struct storage_recovery *self)
{
    enum status status = tell_some(storage, self, true);

    return status == STATUS_OK ? tell_some(storage, self, false) : status;
}

static void say(const struct storage_recovery *self)
{
    const struct log_survey *survey = &self->survey;

    if (self->unneeded != 0) {
        log_line(LOG_WARN,
                 "%s is damaged, or what follows it; all batches up to there are in sorted runs or "
                 "snapshots, so nothing is lost. What is damaged is set aside; other nodes that "
                 "would read it here compare replicas instead. The disk may be failing",
                 self->unneeded_bad);
    } else if (survey->state == LOG_CORRUPT) {
        log_line(LOG_ERROR,
                 "%s is damaged at byte %" PRIu64 ": %s; this node begins a new "
                 "incarnation and takes its keys from the other replicas",
                 survey->bad_name, survey->bad_at, survey->reason);
    } else if (storage_folder_lost(self)) {
        log_line(LOG_ERROR,
                 "segments of the log before %016" PRIx64 " are gone, and what was in them is not "
                 "in sorted runs or snapshots either",
                 survey->extents[0].number);
    } else if (storage_begun_only(self)) {
        log_line(LOG_ERROR,
                 "the process before began incarnation %016" PRIx64 " and ended before it could "
                 "write down why: what was lost then is lost still",
                 survey->incarnation);
    } else if (survey->torn_bytes > 0) {
        log_line(LOG_INFO,
                 "%" PRIu64 " bytes at the log's end were being written when the process "
                 "ended and were not acknowledged; they are ignored",
                 survey->torn_bytes);
    }
}

static void say_refused(const struct storage_recovery *self)
{
    char id[CLUSTER_ID_TEXT_BYTES];

    if (self->survey.state == LOG_FOREIGN) {
        log_line(
            LOG_ERROR,
            "%s belongs to another cluster than %s, which %s; give this node a data_dir of its "
            "own, or the coordinators of that cluster. Nothing was changed",
            self->survey.bad_name, cluster_id_show(&self->cluster, id),
            self->named ? "the file " CLUSTER_FILE_NAME " of the same folder names"
                        : "the coordinators name");
    } else if (self->survey.state == LOG_VERSION) {
        log_line(LOG_ERROR, "%s: %s. Nothing was changed", self->survey.bad_name,
                 self->survey.reason);
    } else if (self->status == STATUS_NO_SPACE) {
        log_line(LOG_ERROR,
                 "the disk of data_dir is full: a start needs %" PRIu64
                 " bytes there, for a segment "
                 "of the log (log_segment); make that much room, then start again. Nothing is lost",
                 self->storage->config.segment_bytes);
    }
}

static void done(struct job *job, uint64_t now_us)
{
    struct storage_recovery *self = (struct storage_recovery *)job;
    struct storage *storage = self->storage;
    enum amnesia amnesia = AMNESIA_NONE;
    struct record_identity last = self->last;
    enum status status = self->status;

    assert(storage->recovery == self && storage->writer == NULL);
    if (self->nameless) {
        storage_recovery_destroy(&storage->recovery);
        storage->config.nameless(storage->config.context, now_us);
        return;
    }
    storage->config.cluster = self->cluster;
    if (status == STATUS_OK) {
        say(self);
        amnesia = storage_recovery_judge(self);
        take_over(storage, self);
        status = tell(storage, self);
    } else {
        say_refused(self);
    }
    /* Before the node is told, as it begins the log at once. */
    storage_recovery_destroy(&storage->recovery);
    storage->config.recovered(storage->config.context, now_us, status, amnesia, &last);
}

enum status storage_recover(struct storage *self)
{
    struct storage_recovery *recovery = heap_zalloc(1, sizeof *recovery);

    assert(self->recovery == NULL && self->writer == NULL); /* Nothing is written before. */
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
    run_list_fini(&self->runs);
    run_list_fini(&self->fresh);
    heap_free(self->lost);
    storage_arrays_fini(&self->arrays);
    storage_imprints_fini(&self->imprints);
    storage_sets_fini(&self->sets);
    heap_free(self->names);
    heap_free(self->evidence);
    heap_free(self);
}
