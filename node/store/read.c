/* Reading a set back: what is asked, fixed as it is now; what was read, handed over. */
#include "base/heap.h"
#include "log/run_merge.h"
#include "node/store/read_private.h"

static void job_destroy(struct read_job *self)
{
    heap_free(self->runs);
    heap_free(self->segments);
    heap_free(self->fingerprints);
    heap_free(self->batches);
    heap_free(self->offsets);
    heap_free(self->pages);
    heap_free(self->page_offsets);
    heap_free(self->bad);
    heap_free(self);
}

static void forget(struct storage *storage, struct read_job *self)
{
    struct read_job **at = &storage->reads;

    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
}

static void done(struct job *job, uint64_t now_us)
{
    struct read_job *self = (struct read_job *)job;
    struct storage_read *read = self->read;

    forget(self->storage, self);
    read->fingerprints = self->fingerprints;
    read->count = self->count;
    read->batches = self->batches;
    read->offsets = self->offsets;
    read->nbatches = self->nbatches;
    read->pages = self->pages;
    read->page_offsets = self->page_offsets;
    read->npages = self->npages;
    read->next = self->next_place;
    read->end = self->end;
    read->job = NULL;
    if (self->nbad > 0) {
        storage_damage_take(self->storage, now_us, self->bad, self->nbad);
    }
    read->done(read, now_us, self->status);
    job_destroy(self);
}

static enum status take_runs(struct read_job *self, const struct storage *storage)
{
    self->runs = heap_alloc(storage->nruns + 1, sizeof *self->runs);
    if (self->runs == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < storage->nruns; i++) {
        const struct record_run *one = &storage->runs[i];

        if (storage_set_has(&self->set, one)) {
            self->runs[self->nruns++] = *one;
        }
    }
    return self->nruns <= RUN_MERGE_MAX ? STATUS_OK : STATUS_OVERLOADED;
}

/* Is what is needed of the log from there on still there? In front of its first segment may be a
 * hole, where nothing was. */
static bool is_kept(const struct storage *storage, uint64_t from)
{
    const struct log_extent *first = storage->segments;

    return storage->nsegments == 0 || from + first->bare >= first->first;
}

static enum status take_segments(struct read_job *self, const struct storage *storage)
{
    uint64_t written = storage_written(storage);

    if (!is_kept(storage, self->from)) {
        return STATUS_STALE;
    }
    self->segments = heap_alloc(storage->nsegments + 1, sizeof *self->segments);
    if (self->segments == NULL) {
        return STATUS_NOMEM;
    }
    self->to = self->to < written ? self->to : written;
    for (size_t i = 0; i < storage->nsegments; i++) {
        self->segments[i] = storage->segments[i];
        if (self->segments[i].end > written) {
            self->segments[i].end = written;
        }
        self->nsegments += self->segments[i].first < written;
    }
    return STATUS_OK;
}

static enum status make_room(struct read_job *self)
{
    size_t npages;

    if (self->lines && self->room < READ_PAGE_WORDS) {
        self->room = READ_PAGE_WORDS;
    }
    npages = self->lines ? self->room / READ_PAGE_WORDS + 1 : 0;
    self->fingerprints = heap_alloc(self->room, sizeof *self->fingerprints);
    if (npages > 0) {
        self->pages = heap_alloc(npages, sizeof *self->pages);
        self->page_offsets = heap_alloc(npages, sizeof *self->page_offsets);
        if (self->pages == NULL || self->page_offsets == NULL) {
            return STATUS_NOMEM;
        }
    }
    return self->fingerprints != NULL ? STATUS_OK : STATUS_NOMEM;
}

enum status storage_read(struct storage *storage, struct storage_read *read)
{
    struct read_job *self = heap_zalloc(1, sizeof *self);
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->storage = storage;
    self->read = read;
    self->set = read->set;
    self->from = read->from;
    self->to = read->to;
    self->room = read->room;
    self->job = (struct job){.run = read->log ? read_job_log : read_job_runs, .done = done};
    self->lines = read->lines;
    self->every = read->every;
    status = make_room(self);
    if (status == STATUS_OK) {
        status = read->log ? take_segments(self, storage) : take_runs(self, storage);
    }
    if (status != STATUS_OK) {
        job_destroy(self);
        return status;
    }
    read->merged = storage->merged;
    read->job = self;
    self->next = storage->reads;
    storage->reads = self;
    storage->config.effects->submit(storage->config.effects->context, JOB_BACKGROUND, &self->job);
    return STATUS_OK;
}

bool storage_recall(struct storage *self, struct storage_read *read)
{
    uint64_t written = storage_written(self);
    bool told;

    if (self->nsegments == 0 || !is_kept(self, read->from)) {
        return false; /* Told, it could not be fetched. */
    }
    read->merged = self->merged;
    self->recent.most = self->config.steps->most[STEP_TOLD_BATCHES];
    told = storage_recent_tell(&self->recent, read, read->to < written ? read->to : written);
    if (told && !read->end) {
        steps_again(self->config.steps, STEP_TOLD_BATCHES);
    }
    return told;
}

bool storage_recall_filters(struct storage *self, uint64_t from, uint64_t to, uint64_t *ids,
                            size_t most, size_t *count, uint64_t *next)
{
    uint64_t written = storage_written(self);

    return self->nsegments > 0 && is_kept(self, from) &&
           storage_recent_filters(&self->recent, from, to < written ? to : written, ids, most,
                                  count, next);
}

void storage_reads_destroy(struct storage *storage)
{
    while (storage->reads != NULL) {
        struct read_job *self = storage->reads;

        storage->reads = self->next;
        job_destroy(self);
    }
}
