/* Cuts: opened, pinned, closed, gone on with. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/store/cut_private.h"

static void trees_fini(struct cut_trees *trees)
{
    for (size_t i = 0; trees->items != NULL && i < trees->count; i++) {
        run_digest_destroy(&trees->items[i]);
    }
    heap_free(trees->items);
    heap_free(trees->prefixes);
    *trees = (struct cut_trees){0};
}

static void destroy(struct storage_cut *self)
{
    cut_walk_end(self);
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

static size_t count_cuts(const struct storage *storage)
{
    size_t count = 0;

    for (const struct storage_cut *cut = storage->cuts; cut != NULL; cut = cut->next) {
        count++;
    }
    return count;
}

static bool take_shards(struct storage_cut *self)
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

static enum status take_runs(struct storage_cut *self)
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

static enum status take_log(struct storage_cut *self)
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

enum status storage_cut_open(struct storage *storage, const struct storage_cut_config *config,
                             struct storage_cut **out)
{
    struct storage_cut *self;
    enum status status = STATUS_NOMEM;

    if (count_cuts(storage) == STORAGE_CUTS) {
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
    self->next = storage->cuts;
    storage->cuts = self;
    *out = self;
    return STATUS_OK;
}

static void forget(struct storage_cut *self)
{
    struct storage_cut **at = &self->storage->cuts;

    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
}

void storage_cut_close(struct storage_cut **cut)
{
    struct storage_cut *self = *cut;

    *cut = NULL;
    if (self == NULL) {
        return;
    }
    self->closed = true;
    if (!self->busy) {
        forget(self);
        destroy(self);
    }
}

void storage_cuts_destroy(struct storage *storage)
{
    while (storage->cuts != NULL) {
        struct storage_cut *self = storage->cuts;

        storage->cuts = self->next;
        destroy(self);
    }
}

/* ---- what is pinned ---- */

bool storage_cut_pins_run(const struct storage *storage, uint64_t number)
{
    if (MUTANT(CUT_RUNS_UNPINNED)) {
        return false;
    }
    for (const struct storage_cut *cut = storage->cuts; cut != NULL; cut = cut->next) {
        for (size_t i = 0; i < cut->nruns; i++) {
            if (cut->runs[i].number == number) {
                return true;
            }
        }
    }
    return false;
}

bool storage_cut_pins_log(const struct storage *storage, uint64_t below)
{
    if (MUTANT(CUT_LOG_UNPINNED)) {
        return false;
    }
    for (const struct storage_cut *cut = storage->cuts; cut != NULL; cut = cut->next) {
        if (!cut->tailed && cut->log_from < below) {
            return true;
        }
    }
    return false;
}

/* ---- steps ---- */

static enum status find_damage(struct storage_cut *self)
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
    struct storage_cut *self = (struct storage_cut *)job;

    self->bytes = 0;
    self->finished = false;
    self->status = STATUS_OK;
    if (!self->tailed) {
        self->status = cut_tail_read(self);
    } else {
        cut_walk(self);
        if (self->status == STATUS_MALFORMED || self->status == STATUS_NOT_FOUND) {
            self->status = find_damage(self);
        }
    }
}

static void done_step(struct job *job, uint64_t now_us)
{
    struct storage_cut *self = (struct storage_cut *)job;

    self->busy = false;
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
        cut_walk_end(self);
        self->work = CUT_NOTHING;
    } else if (self->tailed) {
        steps_again(self->storage->config.steps, STEP_WALK_KEYS);
    }
    self->config.stepped(self->config.context, now_us, self->status, self->finished, self->bytes);
}

void storage_cut_step(struct storage_cut *self)
{
    const struct effects *effects = self->storage->config.effects;

    self->busy = true;
    effects->submit(effects->context, JOB_BACKGROUND, &self->job);
}
