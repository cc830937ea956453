/* Taking a snapshot of the array of a filter without key log, so that the log can be cut; or an
 * imprint of one with key log, so that a start need not make it from runs.
 *
 *   a slice of pages is copied by the actor -> checksums, written on the lane -> the next slice ...
 *   -> the log is durable through what was copied last -> the rest of the file, synced
 *   -> logged; an imprint: remembered
 *
 * Between two slices adds go on. What is in the log below where the snapshot began is in its pages,
 * and what comes later is replayed; setting a bit twice does no harm.
 */
#include "base/heap.h"
#include "base/log.h"
#include "base/mutant.h"
#include "node/store/key_tally.h"
#include "node/store/private.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    SNAPSHOT_SEGMENTS = 2, /* of the log kept for a set, at least, before one is taken */
    PAUSE_US = 1000000,    /* after there was no room or memory */
    PACE_BYTES_A_US = 128, /* of an imprint are written: as much as adds of 16 M keys a second */
    PACE_AHEAD_US = 8192,  /* ... and so much of it at once */
};

struct storage_snapshot {
    struct job job; /* first */
    struct storage *storage;
    struct record_snapshot id;
    struct storage_set set;
    uint64_t hosting;
    struct snapshot_shape shape;
    uint32_t *shards;
    struct snapshot_group *groups;
    bool imprint;
    struct key_tally tally;     /* imprint: of the keys in its pages */
    uint32_t *group_at;         /* ... by shard in the file: the place of its group in `groups` */
    struct snapshot_group *now; /* ... of the groups, as they are when looked at */
    uint64_t next;              /* page to be copied */
    uint64_t due_us;            /* imprint: when the next slice may be written */
    bool rests;                 /* ... and it may wait until then */
    bool last;                  /* all have been */
    bool waits;                 /* the lane has them, and the log is not durable through them */
    bool ends;                  /* it is: the lane writes the rest */
    bool unwanted;              /* imprint: its room is needed */
    bool abandoned;
    bool written;  /* the lane's word, */
    bool finished; /* and the actor has it */
    struct snapshot_writer *writer;
    enum status status;
    uint64_t room_bytes;
    size_t npages; /* in `pages` */
    uint8_t pages[STEPS_SNAPSHOT_PAGES * SNAPSHOT_PAGE_BYTES];
};

void storage_snapshot_destroy(struct storage_snapshot **snapshot)
{
    struct storage_snapshot *self = *snapshot;

    *snapshot = NULL;
    if (self == NULL) {
        return;
    }
    snapshot_writer_destroy(&self->writer);
    key_tally_fini(&self->tally);
    heap_free(self->group_at);
    heap_free(self->now);
    heap_free(self->shards);
    heap_free(self->groups);
    heap_free(self);
}

/* ---- on the lane ---- */

/* An imprint leaves room for the next one, which is written before it goes. */
static uint64_t needed_bytes(const struct storage_snapshot *self)
{
    uint64_t bytes = snapshot_bytes(&self->shape);

    return self->imprint ? 2 * bytes : bytes;
}

static enum status begin_file(struct storage_snapshot *self)
{
    const struct storage_config *config = &self->storage->config;
    enum status status = config->disk->room(config->disk->context, &self->room_bytes);

    if (status == STATUS_OK && self->room_bytes < config->reserve_bytes + needed_bytes(self)) {
        status = STATUS_NO_SPACE;
    }
    return status == STATUS_OK
               ? snapshot_writer_create(config->disk, cluster_id_tag(&config->cluster), &self->id,
                                        &self->shape, &self->writer)
               : status;
}

static enum status write_slice(struct storage_snapshot *self)
{
    enum status status = self->writer == NULL ? begin_file(self) : STATUS_OK;

    if (status == STATUS_OK && !self->ends) {
        status = snapshot_writer_add(self->writer, self->pages, self->npages);
    }
    if (status == STATUS_OK && self->ends) {
        status = snapshot_writer_finish(self->writer, self->id.end, self->groups);
        self->written = status == STATUS_OK;
    }
    return status;
}

static void run(struct job *job)
{
    struct storage_snapshot *self = (struct storage_snapshot *)job;

    self->status = self->abandoned ? STATUS_STALE : write_slice(self);
    if (self->status != STATUS_OK || self->written) {
        snapshot_writer_destroy(&self->writer); /* Unless it is finished the file goes. */
    }
}

/* ---- which one ---- */

/* How much of the log is kept for a set's sake; it may be as much as what a snapshot writes. */
static bool is_due(const struct storage *storage, const struct storage_array *array,
                   struct storage_image *image)
{
    const struct record_snapshot *counts = &array->counts;
    const struct storage_set set = {
        .filter_id = counts->filter_id, .slice = counts->slice, .keyset = counts->keyset};
    uint64_t behind = array->pending < storage_end(storage) ? storage_end(storage) - array->pending
                                                            : 0;

    return behind > SNAPSHOT_SEGMENTS * storage->config.segment_bytes &&
           storage->config.image(storage->config.context, &set, image) && image->nhosted > 0 &&
           behind > image->nhosted * snapshot_shard_pages(image->geometry.lines) *
                        snapshot_page_bytes(image->geometry.lines);
}

static const struct storage_array *choose(const struct storage *storage,
                                          struct storage_image *image)
{
    const struct storage_array *chosen = NULL;
    struct storage_image one;

    for (size_t i = 0; i < storage->arrays.count; i++) {
        const struct storage_array *array = &storage->arrays.items[i];

        if ((chosen == NULL || array->pending < chosen->pending) && is_due(storage, array, &one)) {
            chosen = array;
            *image = one;
        }
    }
    return chosen;
}

/* ---- with the actor ---- */

/* Their arrays are the very ones that the snapshot was begun of. */
static bool look(const struct storage_snapshot *self, struct storage_image *image)
{
    const struct storage_config *config = &self->storage->config;

    if (MUTANT(SNAPSHOT_ANY_HOSTING) && self->last) {
        return true;
    }
    return config->image(config->context, &self->set, image) && image->hosting == self->hosting &&
           image->generation == self->id.generation;
}

/* What came since the slice before. */
static void note_keys(struct storage_snapshot *self)
{
    const struct storage_config *config = &self->storage->config;

    config->image_groups(config->context, &self->set, self->now);
    for (uint32_t i = 0; i < self->shape.ngroups; i++) {
        key_tally_note(&self->tally, i, self->now[i].keys);
    }
}

static void take_counts(struct storage_snapshot *self)
{
    const struct storage_config *config = &self->storage->config;

    config->image_groups(config->context, &self->set, self->groups);
    for (uint32_t i = 0; self->imprint && i < self->shape.ngroups; i++) {
        self->groups[i].keys = self->tally.groups[i].keys;
    }
}

static void copy_slice(struct storage_snapshot *self, const struct storage_image *image)
{
    uint64_t pages_a_shard = snapshot_shard_pages(self->shape.geometry.lines);
    size_t page_bytes = snapshot_page_bytes(self->shape.geometry.lines);
    uint64_t left = snapshot_npages(&self->shape) - self->next;
    uint32_t most = self->storage->config.steps->most[STEP_SNAPSHOT_PAGES];

    assert(!self->last && !self->written);
    if (self->imprint) {
        note_keys(self);
    }
    self->npages = left < most ? (size_t)left : most;
    for (size_t i = 0; i < self->npages; i++, self->next++) {
        const uint8_t *shard = image->shards[self->shards[self->next / pages_a_shard]];

        memcpy(self->pages + i * page_bytes, shard + self->next % pages_a_shard * page_bytes,
               page_bytes);
        if (self->imprint) {
            key_tally_copied(&self->tally, self->group_at[self->next / pages_a_shard]);
        }
    }
    self->last = self->npages == left;
    if (self->last) {
        /* Whatever is in the last page is below: the snapshot counts once that is durable. */
        self->id.end = storage_end(self->storage);
        take_counts(self);
    }
}

static void submit(struct storage_snapshot *self)
{
    const struct effects *effects = self->storage->config.effects;

    effects->submit(effects->context, JOB_BACKGROUND, &self->job);
}

/* The lane removes what there is of the file. */
static void abandon(struct storage_snapshot *self)
{
    self->waits = false;
    self->abandoned = true;
    submit(self);
}

/* ---- how fast ---- */

/* Nothing waits for an imprint, and at full speed it would take the disk from the log's own syncs,
 * and a core. Nor does it make up for time in which the lane was busy with something else. */
static void pace(struct storage_snapshot *self, uint64_t now_us)
{
    uint64_t bytes = self->npages * snapshot_page_bytes(self->shape.geometry.lines);
    uint64_t least = now_us > PACE_AHEAD_US ? now_us - PACE_AHEAD_US : 0;

    self->due_us = (self->due_us > least ? self->due_us : least) + bytes / PACE_BYTES_A_US;
}

static void go_on(struct storage_snapshot *self, uint64_t now_us)
{
    struct storage_image image;

    if (self->unwanted || !look(self, &image)) {
        abandon(self);
        return;
    }
    copy_slice(self, &image);
    pace(self, now_us);
    submit(self);
}

uint64_t storage_next_us(const struct storage *self)
{
    return self->snapshot != NULL && self->snapshot->rests ? self->snapshot->due_us : UINT64_MAX;
}

/* But for an imprint at once. A snapshot that is due waits for an imprint, and adds may lack room
 * until that is written. */
static void resume(struct storage *storage, uint64_t now_us)
{
    struct storage_snapshot *self = storage->snapshot;
    struct storage_image image;

    if (!self->imprint || self->unwanted || now_us >= self->due_us ||
        choose(storage, &image) != NULL) {
        self->rests = false;
        go_on(self, now_us);
    }
}

static void give_up(struct storage *storage, uint64_t now_us, enum status status)
{
    const struct storage_snapshot *self = storage->snapshot;

    if (self->imprint) {
        storage_imprint_given_up(storage, now_us, status, self->written ? self->id.number : 0,
                                 snapshot_bytes(&self->shape));
    }
    if (status == STATUS_STALE || storage_may_wait(status) || self->imprint) {
        storage->next_snapshot_us = now_us + PAUSE_US;
    } else {
        storage_fail(storage, status, "a snapshot can't be written");
    }
    storage_snapshot_destroy(&storage->snapshot);
}

static void done(struct job *job, uint64_t now_us)
{
    struct storage_snapshot *self = (struct storage_snapshot *)job;
    struct storage *storage = self->storage;

    if (storage->failed) {
        storage_snapshot_destroy(&storage->snapshot);
    } else if (self->status != STATUS_OK) {
        give_up(storage, now_us, self->status);
    } else if (!self->last) {
        steps_again(storage->config.steps, STEP_SNAPSHOT_PAGES);
        self->rests = true;
        resume(storage, now_us);
    } else if (!self->written) {
        self->waits = true;
        storage_want_sync(storage); /* Of what was in the array when the last page was copied. */
        storage_snapshot_work(storage, now_us);
    } else {
        self->finished = true;
        storage_snapshot_work(storage, now_us);
    }
}

/* Only now: were it whole before, and the power failed, it would have bits that no record has. */
static void end_file(struct storage_snapshot *self)
{
    self->waits = false;
    self->ends = true;
    submit(self);
}

/* False: the log has no room for its record now. */
static bool publish_snapshot(struct storage *storage, const struct storage_snapshot *self)
{
    enum status status = storage_edit_array(storage, &self->id);

    if (status == STATUS_OK) {
        storage_arrays_find(&storage->arrays, &self->set)->bytes = snapshot_bytes(&self->shape);
        storage->snapshots_written++;
    } else if (!storage_may_wait(status)) {
        storage_fail(storage, status, "a snapshot can't be logged");
    }
    return status == STATUS_OK || !storage_may_wait(status);
}

/* Is what was begun still what it was begun of? */
static bool counts(const struct storage *storage, const struct storage_snapshot *self)
{
    struct storage_image image;

    return !self->unwanted && look(self, &image) &&
           (self->imprint ? self->shape.life.incarnation == storage->identity.incarnation
                          : storage_arrays_find(&storage->arrays, &self->set) != NULL);
}

/* It counts from now on; false: not yet. */
static bool publish(struct storage *storage, uint64_t now_us)
{
    struct storage_snapshot *self = storage->snapshot;
    bool durable = storage_synced(storage) >= self->id.end || MUTANT(IMPRINT_AHEAD_OF_LOG);

    if ((!self->waits && !self->finished) || (!durable && !self->unwanted)) {
        return false;
    }
    /* Dropped; or a slot group came back meanwhile, and its bits are where this one would cut them
     * off: what was read back is not logged again. What is finished the next start removes. */
    if (!counts(storage, self)) {
        if (self->waits) {
            abandon(self);
            return false;
        }
        give_up(storage, now_us, STATUS_STALE);
        return true;
    }
    if (self->waits) {
        end_file(self);
        return false;
    }
    assert(self->written && self->writer == NULL); /* The lane is done with it. */
    if (self->imprint) {
        storage_imprint_taken(storage, now_us, &self->id, &self->shape);
    } else if (!publish_snapshot(storage, self)) {
        return false;
    }
    storage_snapshot_destroy(&storage->snapshot);
    return true;
}

bool storage_snapshot_yield(struct storage *self)
{
    struct storage_snapshot *snapshot = self->snapshot;
    bool yields = snapshot != NULL && snapshot->imprint && !snapshot->unwanted;

    if (yields) {
        snapshot->unwanted = true;
    }
    return yields;
}

/* ---- begun ---- */

static bool fill_shape(struct storage_snapshot *self, const struct storage_image *image)
{
    uint32_t count = 0;

    self->shards = heap_alloc(image->nhosted, sizeof *self->shards);
    self->groups = heap_zalloc((size_t)image->ngroups + 1, sizeof *self->groups);
    if (self->shards == NULL || self->groups == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < image->nshards; i++) {
        if (image->shards[i] != NULL) {
            self->shards[count++] = i;
        }
    }
    self->shape = (struct snapshot_shape){
        .life = {.incarnation = self->imprint ? self->storage->identity.incarnation : 0,
                 .boot = self->imprint ? self->storage->identity.boot : 0},
        .geometry = image->geometry,
        .nshards = count,
        .ngroups = image->ngroups,
        .shards = self->shards,
        .groups = self->groups,
    };
    return true;
}

/* Which group has which pages. */
static bool fill_tally(struct storage_snapshot *self, const struct storage_image *image)
{
    uint64_t pages_a_shard = snapshot_shard_pages(image->geometry.lines);

    self->now = heap_zalloc((size_t)image->ngroups + 1, sizeof *self->now);
    self->group_at = heap_zalloc((size_t)image->nhosted + 1, sizeof *self->group_at);
    if (self->now == NULL || self->group_at == NULL ||
        key_tally_init(&self->tally, image->ngroups) != STATUS_OK) {
        return false;
    }
    note_keys(self);
    for (uint32_t i = 0; i < self->shape.nshards; i++) {
        uint32_t group = image->group_of_shard[self->shards[i]];

        while (self->now[self->group_at[i]].group != group) {
            self->group_at[i]++;
            assert(self->group_at[i] < image->ngroups); /* A hosted shard's group is hosted. */
        }
        key_tally_expect(&self->tally, self->group_at[i], pages_a_shard);
    }
    return true;
}

static void begin(struct storage *storage, uint64_t now_us, const struct record_snapshot *of,
                  bool imprint, const struct storage_image *image)
{
    struct storage_snapshot *self = heap_zalloc(1, sizeof *self);

    assert(storage->snapshot == NULL); /* One at a time: its file takes as much as it cuts off. */
    if (self == NULL) {
        storage->next_snapshot_us = now_us + PAUSE_US;
        return;
    }
    storage->snapshot = self;
    self->storage = storage;
    self->set = (struct storage_set){
        .filter_id = of->filter_id, .slice = of->slice, .keyset = of->keyset};
    self->imprint = imprint;
    if (!fill_shape(self, image) || (imprint && !fill_tally(self, image))) {
        give_up(storage, now_us, STATUS_NOMEM);
        return;
    }
    self->hosting = image->hosting;
    self->id = *of;
    self->id.number = storage->next_snapshot++;
    self->id.generation = image->generation;
    self->id.from = storage_end(storage);
    self->job = (struct job){.run = run, .done = done};
    go_on(self, now_us);
}

void storage_snapshot_work(struct storage *self, uint64_t now_us)
{
    const struct storage_array *array;
    struct storage_image image;
    struct storage_set set;

    if (!self->failed && self->snapshot != NULL && self->snapshot->rests) {
        resume(self, now_us);
        return;
    }
    if (self->failed || (self->snapshot != NULL && !publish(self, now_us)) ||
        now_us < self->next_snapshot_us) {
        return;
    }
    array = self->failed ? NULL : choose(self, &image);
    if (array != NULL) {
        begin(self, now_us, &array->counts, false, &image);
    } else if (!self->failed && storage_imprint_due(self, now_us, &set, &image)) {
        const struct record_snapshot id = {
            .filter_id = set.filter_id, .slice = set.slice, .keyset = set.keyset};

        begin(self, now_us, &id, true, &image);
    }
}
