/* Views: opened, pinned, closed, gone on with. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/store/view_private.h"

#include <assert.h>
#include <string.h>

/* ---- on the lane: the log ---- */

enum { TAIL_SLICE_BYTES = 4 << 20 };

static enum status make_room(struct storage_view *self, size_t count)
{
    if (count > STORAGE_VIEW_TAIL - self->ntail) {
        return STATUS_TOO_LARGE;
    }
    return heap_grow(&self->tail, &self->tail_capacity, self->ntail + count, sizeof *self->tail)
               ? STATUS_OK
               : STATUS_NOMEM;
}

static enum status keep(struct storage_view *self, struct span record)
{
    uint32_t bits = self->config.shard_bits;
    struct record_batch batch;
    enum status status = record_batch_get(record, &batch);

    if (status != STATUS_OK || !storage_set_gets(&self->config.set, &batch)) {
        return status;
    }
    status = make_room(self, batch.count);
    for (uint32_t i = 0; status == STATUS_OK && i < batch.count; i++) {
        uint64_t fingerprint = batch.fingerprints[i];

        if (self->shards[(fingerprint >> 1) >> (63 - bits)]) {
            self->tail[self->ntail++] = fingerprint;
        }
    }
    return status;
}

static enum status sort_tail(struct storage_view *self)
{
    uint64_t *spare = heap_alloc(self->ntail + 1, sizeof *spare);

    if (spare == NULL) {
        return STATUS_NOMEM;
    }
    self->ntail = run_sort(self->tail, spare, self->ntail);
    heap_free(spare);
    return STATUS_OK;
}

/* A part of the log; `tailed` after the last one. */
static enum status read_tail(struct storage_view *self)
{
    struct record_header header;
    struct span record;
    enum status status = STATUS_OK;
    uint64_t from;

    if (self->log == NULL) {
        status = log_reader_create(self->storage->config.disk, self->segments, self->nsegments,
                                   self->log_from, self->log_to, &self->log);
    }
    from = status == STATUS_OK ? log_reader_offset(self->log) : 0;
    while (status == STATUS_OK && self->bytes < TAIL_SLICE_BYTES) {
        status = log_reader_next(self->log, &header, &record);
        if (status == STATUS_OK && header.type == RECORD_BATCH) {
            status = keep(self, record);
        }
        self->bytes = log_reader_offset(self->log) - from;
    }
    if (status == STATUS_NOT_FOUND) {
        log_reader_destroy(&self->log);
        status = sort_tail(self);
        self->tailed = status == STATUS_OK;
    }
    return status;
}

/* ---- on the lane: a part of the work ---- */

enum {
    MOST_SEEKS = 128,
};

static void end_walk(struct storage_view *self)
{
    run_merge_destroy(&self->merge);
}

/* From the range's beginning on. */
static enum status seek(struct storage_view *self, uint64_t from)
{
    const struct storage_config *config = &self->storage->config;
    struct run_array tail = {.fingerprints = self->tail, .count = self->ntail};
    enum status status = STATUS_OK;
    size_t low = 0;

    run_merge_destroy(&self->merge);
    for (size_t i = 0; i < self->nruns && status == STATUS_OK; i++) {
        if (self->readers[i] == NULL) {
            status = run_reader_create(config->disk, cluster_id_tag(&config->cluster),
                                       &self->runs[i], &self->readers[i]);
        }
        if (status == STATUS_OK) {
            run_reader_seek(self->readers[i], from);
        }
    }
    for (size_t high = tail.count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (tail.fingerprints[middle] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    tail.fingerprints = tail.count > 0 ? tail.fingerprints + low : NULL;
    tail.count -= low;
    return status == STATUS_OK
               ? run_merge_create(self->readers, self->nruns, &tail, 1, &self->merge)
               : status;
}

/* What is wanted below `limit` is not in the view: nothing of the view lies before it any more. */
static void lacks_below(struct storage_view *self, uint64_t limit, bool all)
{
    while (self->wanted_at < self->nwanted && (all || self->wanted[self->wanted_at] < limit)) {
        self->keys[self->nkeys++] = self->wanted[self->wanted_at++];
    }
}

/* False: there is no room for more. */
static bool collect(struct storage_view *self, const uint64_t *keys, size_t count)
{
    size_t room = self->room - self->nkeys;
    size_t taken = count < room ? count : room;

    if (taken > 0) {
        memcpy(self->keys + self->nkeys, keys, taken * sizeof *keys);
        self->nkeys += taken;
    }
    if (taken < count) {
        self->resume = keys[taken];
        self->more = true;
    }
    return !self->more;
}

/* Of the range under way. */
static bool visit(struct storage_view *self, const uint64_t *keys, size_t count)
{
    switch (self->work) {
    case VIEW_SURVEY:
        run_digest_add(self->survey.items[self->at], keys, count);
        break;
    case VIEW_SPLIT:
        run_digest_add(self->split.items[self->at], keys, count);
        break;
    case VIEW_COLLECT:
        return collect(self, keys, count);
    case VIEW_SUBTRACT:
        for (size_t i = 0; i < count; i++) {
            lacks_below(self, keys[i], false);
            self->wanted_at += self->wanted_at < self->nwanted &&
                               self->wanted[self->wanted_at] == keys[i];
        }
        break;
    case VIEW_IDLE:
        break;
    }
    return true;
}

/* How many are not above `last`. */
static size_t up_to(const uint64_t *keys, size_t count, uint64_t last)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;

        if (keys[middle] <= last) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

/* Hand a stretch of the merge to the ranges that it touches. False: enough. */
static bool share(struct storage_view *self, const uint64_t *keys, size_t count)
{
    size_t done = 0;

    while (self->at < self->nranges) {
        const struct view_range *range = &self->ranges[self->at];
        size_t end = done + up_to(keys + done, count - done, range->last);

        while (done < end && keys[done] < range->first) {
            done++;
        }
        if (end > done && !visit(self, keys + done, end - done)) {
            return false;
        }
        done = end;
        if (done == count) {
            return true; /* It may go on in the next stretch. */
        }
        self->at++;
    }
    return false;
}

static void finish(struct storage_view *self)
{
    struct view_trees *trees = self->work == VIEW_SURVEY ? &self->survey : &self->split;

    self->finished = true;
    if (self->work == VIEW_SURVEY || self->work == VIEW_SPLIT) {
        for (size_t i = 0; i < trees->count; i++) {
            run_digest_finish(trees->items[i]);
        }
    } else if (self->work == VIEW_SUBTRACT) {
        lacks_below(self, 0, true);
    }
}

/* The range under way begins beyond what was read: go there, unless it is near. */
static bool is_far(const struct storage_view *self)
{
    return self->merge == NULL || (self->at > 0 && self->ranges[self->at].first > self->place &&
                                   self->ranges[self->at].first - self->place >
                                       self->ranges[self->at].last - self->ranges[self->at].first);
}

/* A part of the work. */
static void walk(struct storage_view *self)
{
    const uint32_t most = self->storage->config.steps->most[STEP_WALK_KEYS];
    const size_t chunk = most < VIEW_CHUNK_KEYS ? most : VIEW_CHUNK_KEYS;
    size_t keys = 0;
    size_t seeks = 0;

    while (self->at < self->nranges && keys < most && seeks < MOST_SEEKS) {
        size_t count = 0;

        if (is_far(self)) {
            seeks++;
            self->place = self->ranges[self->at].first;
            self->status = seek(self, self->place);
        }
        if (self->status == STATUS_OK) {
            self->status = run_merge_next(self->merge, self->chunk, chunk, &count);
        }
        if (self->status != STATUS_OK) {
            return;
        }
        keys += count;
        self->bytes += count * sizeof(uint64_t);
        if (count > 0) {
            self->place = self->chunk[count - 1];
        }
        if (count == 0 || !share(self, self->chunk, count)) {
            self->at = self->nranges;
        }
    }
    if (self->at == self->nranges) {
        finish(self);
    }
}

/* ---- the actor's side ---- */

static void trees_fini(struct view_trees *trees)
{
    for (size_t i = 0; trees->items != NULL && i < trees->count; i++) {
        run_digest_destroy(&trees->items[i]);
    }
    heap_free(trees->items);
    heap_free(trees->prefixes);
    *trees = (struct view_trees){0};
}

static void destroy(struct storage_view *self)
{
    end_walk(self);
    log_reader_destroy(&self->log);
    for (size_t i = 0; i < self->nruns; i++) {
        run_reader_destroy(&self->readers[i]);
    }
    trees_fini(&self->survey);
    trees_fini(&self->split);
    heap_free(self->shards);
    heap_free(self->runs);
    heap_free(self->segments);
    heap_free(self->tail);
    heap_free(self->ranges);
    heap_free(self->wanted);
    heap_free(self->keys);
    heap_free(self->bad);
    heap_free(self);
}

/* ---- opening ---- */

static size_t count_views(const struct storage *storage)
{
    size_t count = 0;

    for (const struct storage_view *view = storage->views; view != NULL; view = view->next) {
        count++;
    }
    return count;
}

static bool take_shards(struct storage_view *self)
{
    size_t nshards = (size_t)1 << self->config.shard_bits;

    self->shards = heap_zalloc(nshards, sizeof *self->shards);
    for (size_t i = 0; self->shards != NULL && i < nshards; i++) {
        self->shards[i] = self->config.group_of_shard[i] == self->config.group;
        self->nshards += self->shards[i];
    }
    self->config.group_of_shard = NULL;
    return self->shards != NULL;
}

static enum status take_runs(struct storage_view *self)
{
    const struct storage *storage = self->storage;
    const struct storage_set *set = &self->config.set;

    self->runs = heap_alloc(storage->nruns + 1, sizeof *self->runs);
    if (self->runs == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < storage->nruns; i++) {
        const struct record_run *run = &storage->runs[i];

        if (storage_set_has(set, run)) {
            if (self->nruns == RUN_MERGE_MAX - 1) { /* One source is the log. */
                return STATUS_OVERLOADED;
            }
            self->runs[self->nruns++] = *run;
        }
    }
    return STATUS_OK;
}

static enum status take_log(struct storage_view *self)
{
    const struct storage *storage = self->storage;
    uint64_t written = storage_written(storage);

    self->log_from = storage->merged;
    self->log_to = self->config.end < written ? self->config.end : written;
    /* Of many sets most have little there, if anything. */
    storage_sets_narrow(&storage->sets, &self->config.set, &self->log_from, &self->log_to);
    self->tailed = self->log_from >= self->log_to;
    self->segments = heap_alloc(storage->nsegments + 1, sizeof *self->segments);
    if (self->segments == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < storage->nsegments; i++) {
        struct log_extent extent = storage->segments[i];

        if (extent.first < self->log_to) {
            extent.end = extent.end < written ? extent.end : written;
            self->segments[self->nsegments++] = extent;
        }
    }
    return STATUS_OK;
}

static void run_step(struct job *job);
static void done_step(struct job *job, uint64_t now_us);

enum status storage_view_open(struct storage *storage, const struct storage_view_config *config,
                              struct storage_view **out)
{
    struct storage_view *self;
    enum status status = STATUS_NOMEM;

    if (count_views(storage) == STORAGE_VIEWS) {
        return STATUS_OVERLOADED;
    }
    self = heap_zalloc(1, sizeof *self);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->storage = storage;
    self->config = *config;
    self->job = (struct job){.run = run_step, .done = done_step};
    if (take_shards(self)) {
        status = take_runs(self);
    }
    if (status == STATUS_OK) {
        status = take_log(self);
    }
    if (status != STATUS_OK) {
        self->nruns = 0;
        destroy(self);
        return status;
    }
    self->next = storage->views;
    storage->views = self;
    *out = self;
    return STATUS_OK;
}

static void forget(struct storage_view *self)
{
    struct storage_view **at = &self->storage->views;

    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
}

void storage_view_close(struct storage_view **view)
{
    struct storage_view *self = *view;

    *view = NULL;
    if (self == NULL) {
        return;
    }
    self->closed = true;
    if (!self->busy) {
        forget(self);
        destroy(self);
    }
}

void storage_views_destroy(struct storage *storage)
{
    while (storage->views != NULL) {
        struct storage_view *self = storage->views;

        storage->views = self->next;
        destroy(self);
    }
}

/* ---- what is pinned ---- */

bool storage_view_pins_run(const struct storage *storage, uint64_t number)
{
    if (MUTANT(CUT_RUNS_UNPINNED)) {
        return false;
    }
    for (const struct storage_view *view = storage->views; view != NULL; view = view->next) {
        for (size_t i = 0; i < view->nruns; i++) {
            if (view->runs[i].number == number) {
                return true;
            }
        }
    }
    return false;
}

bool storage_view_pins_log(const struct storage *storage, uint64_t below)
{
    if (MUTANT(CUT_LOG_UNPINNED)) {
        return false;
    }
    for (const struct storage_view *view = storage->views; view != NULL; view = view->next) {
        if (!view->tailed && view->log_from < below) {
            return true;
        }
    }
    return false;
}

/* ---- steps ---- */

static enum status find_damage(struct storage_view *self)
{
    enum status status;

    self->bad = heap_alloc(self->nruns + 1, sizeof *self->bad);
    if (self->bad == NULL) {
        return STATUS_NOMEM;
    }
    status = storage_damage_find(self->storage, self->runs, self->nruns, self->bad, &self->nbad);
    return status == STATUS_OK ? STATUS_STALE : status;
}

static void run_step(struct job *job)
{
    struct storage_view *self = (struct storage_view *)job;

    self->bytes = 0;
    self->finished = false;
    self->status = STATUS_OK;
    if (!self->tailed) {
        self->status = read_tail(self);
    } else {
        walk(self);
        if (self->status == STATUS_MALFORMED || self->status == STATUS_NOT_FOUND) {
            self->status = find_damage(self);
        }
    }
}

static void done_step(struct job *job, uint64_t now_us)
{
    struct storage_view *self = (struct storage_view *)job;

    assert(self->busy);
    self->busy = false;
    /* Also of a view that was closed: the runs are bad for everybody. */
    if (self->nbad > 0) {
        storage_damage_take(self->storage, now_us, self->bad, self->nbad);
        self->nbad = 0;
    }
    if (self->closed) {
        forget(self);
        destroy(self);
        return;
    }
    if (self->finished || self->status != STATUS_OK) {
        end_walk(self);
        self->work = VIEW_IDLE;
    } else if (self->tailed) {
        steps_again(self->storage->config.steps, STEP_WALK_KEYS);
    }
    self->config.stepped(self->config.context, now_us, self->status, self->finished, self->bytes);
}

void storage_view_step(struct storage_view *self)
{
    const struct effects *effects = self->storage->config.effects;

    assert(!self->busy && !self->closed && self->work != VIEW_IDLE);
    self->busy = true;
    effects->submit(effects->context, JOB_BACKGROUND, &self->job);
}
