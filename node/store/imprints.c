/* Imprints: which there are, when one is worth taking, and when one goes. They stand in for runs at
 * a start, and nothing depends on them; see docs/storage.md. */
#include "base/heap.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/number.h"
#include "node/store/private.h"

#include <xxhash.h>

enum {
    LOOK_US = 200000, /* between two looks, */
    LOOK_RUN_US = 10, /* ... and for each run, as it is done on the node's own thread */
    LOOK_AGAIN_US = 30000000,
    NO_ROOM_US = 600000000, /* after imprints had to make room */
    BUSY_PART = 2,          /* of the array's bytes: in runs besides it while the log grows, */
    REST_BYTES_A_US = 16,   /* of imprints taken for little: some MB/s on average */
    REST_PART = 16,         /* ... and at rest */
};

static struct storage_set set_of(const struct record_snapshot *id)
{
    return (struct storage_set){
        .filter_id = id->filter_id, .slice = id->slice, .keyset = id->keyset};
}

static bool is_of(const struct storage_imprint *imprint, const struct storage_set *set)
{
    return imprint->id.filter_id == set->filter_id && imprint->id.slice == set->slice &&
           imprint->id.keyset == set->keyset;
}

static struct storage_imprint *find(const struct storage *self, const struct storage_set *set)
{
    for (size_t i = 0; i < self->imprints.count; i++) {
        if (is_of(&self->imprints.items[i], set)) {
            return &self->imprints.items[i];
        }
    }
    return NULL;
}

bool storage_imprint(const struct storage *self, const struct storage_set *set,
                     struct record_snapshot *out)
{
    const struct storage_imprint *imprint = find(self, set);

    if (imprint != NULL) {
        *out = imprint->id;
    }
    return imprint != NULL;
}

/* ---- kept, and given up ---- */

/* Where there is no memory to remember it by, the next start removes the file. */
static void remove_later(struct storage *self, uint64_t number)
{
    struct storage_imprints *all = &self->imprints;

    if (heap_grow(&all->old, &all->old_capacity, all->nold + 1, sizeof *all->old)) {
        all->old[all->nold++] = number;
    }
}

static void forget(struct storage *self, struct storage_imprint *imprint)
{
    struct storage_imprints *all = &self->imprints;

    remove_later(self, imprint->id.number);
    *imprint = all->items[--all->count];
    all->looked = false;
}

/* Of a set of shards: their sum, in whichever order. */
static uint64_t shard_digest(uint32_t shard)
{
    return XXH3_64bits(&shard, sizeof shard);
}

bool storage_imprints_put(struct storage_imprints *self, const struct record_snapshot *id,
                          const struct snapshot_shape *shape)
{
    uint64_t shards = 0;

    for (uint32_t i = 0; i < shape->nshards; i++) {
        shards += shard_digest(shape->shards[i]);
    }
    if (!heap_grow(&self->items, &self->capacity, self->count + 1, sizeof *self->items)) {
        return false;
    }
    self->items[self->count++] = (struct storage_imprint){
        .id = *id, .geometry = shape->geometry, .shards = shards, .bytes = snapshot_bytes(shape)};
    return true;
}

void storage_imprint_taken(struct storage *self, uint64_t now_us, const struct record_snapshot *id,
                           const struct snapshot_shape *shape)
{
    const struct storage_set set = set_of(id);
    struct storage_imprint *former = find(self, &set);

    if (former != NULL) {
        forget(self, former);
    }
    self->imprints.written++;
    self->imprints.lacks_room = false;
    self->imprints.rest_us = now_us + snapshot_bytes(shape) / REST_BYTES_A_US;
    if (!storage_imprints_put(&self->imprints, id, shape)) {
        log_line(LOG_WARN,
                 "there is no memory for an imprint: the next start uses it all the same");
    }
}

void storage_imprint_refuse(struct storage *self, const struct record_snapshot *id, const char *why)
{
    const struct storage_set set = set_of(id);
    struct storage_imprint *imprint = find(self, &set);
    char name[DISK_NAME_BYTES];

    if (imprint != NULL && imprint->id.number == id->number) {
        imprint_name(id->number, name);
        log_line(LOG_WARN,
                 "%s is not used and goes: %s. Nothing is lost, the arrays are made from sorted "
                 "runs",
                 name, why);
        self->imprints.refused++;
        forget(self, imprint);
    }
}

void storage_imprint_remove(const struct storage *self, const char *name)
{
    const struct disk *disk = self->config.disk;
    enum status status = disk->remove(disk->context, name);

    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        log_line(LOG_WARN, "%s, which is not used, can't be removed: %s; the disk may be failing",
                 name, status_meaning(status));
    }
}

void storage_imprints_forget(struct storage *self)
{
    while (self->imprints.count > 0) {
        forget(self, &self->imprints.items[0]);
    }
}

void storage_imprints_keep(struct storage *self)
{
    for (size_t i = 0; i < self->imprints.count;) {
        const struct storage_set set = set_of(&self->imprints.items[i].id);

        if (self->config.wanted(self->config.context, &set)) {
            i++;
        } else {
            forget(self, &self->imprints.items[i]);
        }
    }
}

void storage_imprints_make_room(struct storage *self, uint64_t now_us)
{
    if (storage_snapshot_yield(self) || self->imprints.count > 0) {
        log_line(LOG_WARN,
                 "the disk of data_dir is nearly full: imprints of arrays are removed, so "
                 "a start of this node will take longer");
        storage_imprints_forget(self);
    }
    self->imprints.next_us = now_us + NO_ROOM_US;
}

static void say_no_room(struct storage *self, uint64_t bytes)
{
    char text[NUMBER_TEXT_BYTES];

    if (!self->imprints.lacks_room) {
        log_line(LOG_WARN,
                 "there is no room in data_dir for an imprint of an array, %s twice: a start of "
                 "this node will take longer. Make room, or turn imprints off (imprint_size = 0)",
                 number_show_bytes(bytes, text));
    }
    self->imprints.lacks_room = true;
}

void storage_imprint_given_up(struct storage *self, uint64_t now_us, enum status why,
                              uint64_t number, uint64_t bytes)
{
    if (number != 0) {
        remove_later(self, number);
    }
    if (why == STATUS_NO_SPACE) {
        say_no_room(self, bytes);
    } else if (why != STATUS_STALE && !storage_may_wait(why)) {
        log_line(LOG_WARN, "an imprint of an array can't be written: %s; the disk may be failing",
                 status_meaning(why));
        self->imprints.next_us = now_us + NO_ROOM_US;
    }
}

void storage_imprints_fini(struct storage_imprints *self)
{
    heap_free(self->items);
    heap_free(self->old);
    *self = (struct storage_imprints){0};
}

/* ---- which one is due ---- */

/* Would a start that ends with these arrays use it? */
static bool suits(const struct storage_imprint *imprint, const struct storage_image *image)
{
    uint64_t shards = 0;

    for (uint32_t i = 0; i < image->nshards; i++) {
        shards += image->shards[i] != NULL ? shard_digest(i) : 0;
    }
    return imprint->id.generation == image->generation && imprint->shards == shards &&
           snapshot_geometry_equal(&imprint->geometry, &image->geometry);
}

/* The imprint of these arrays; one of others goes. */
static const struct storage_imprint *
find_suiting(struct storage *self, const struct storage_set *set, const struct storage_image *image)
{
    struct storage_imprint *imprint = find(self, set);
    char name[DISK_NAME_BYTES];

    if (imprint == NULL || suits(imprint, image)) {
        return imprint;
    }
    imprint_name(imprint->id.number, name);
    log_line(LOG_INFO, "%s goes: the array is another one by now", name);
    forget(self, imprint);
    return NULL;
}

/* What a start would have to read of these runs besides the imprint, if there is one. */
static uint64_t left_bytes(const struct record_run *runs, size_t count,
                           const struct storage_imprint *imprint)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (imprint == NULL || !run_is_below(&runs[i], imprint->id.from)) {
            bytes += run_bytes(runs[i].count);
        }
    }
    return bytes;
}

/* What runs may have besides an imprint before there is another one. Without one they are the
 * quicker way as long as they are no more than the array. */
static uint64_t bearable_bytes(const struct storage *self, const struct storage_imprint *imprint,
                               uint64_t array_bytes, bool rests)
{
    if (imprint == NULL) {
        return self->config.imprint_eager ? 0 : array_bytes;
    }
    return array_bytes / (rests ? REST_PART : BUSY_PART);
}

/* `runs`: all of one set. *later: it may be due soon, without anything having changed. */
static bool is_due(struct storage *self, uint64_t now_us, const struct record_run *runs,
                   size_t count, struct storage_image *image, bool *later)
{
    const uint64_t least = self->config.imprint_bytes / REST_PART;
    const struct storage_set set = {
        .filter_id = runs[0].filter_id, .slice = runs[0].slice, .keyset = runs[0].keyset};
    const struct storage_imprint *imprint;
    bool rests = !self->grows && now_us >= self->imprints.rest_us;
    uint64_t bytes;
    uint64_t left;

    if (left_bytes(runs, count, NULL) < least) {
        return false; /* Most sets of most nodes: small ones. */
    }
    imprint = find(self, &set);
    if (!self->config.image(self->config.context, &set, image)) {
        *later = *later || left_bytes(runs, count, imprint) >= least;
        return false;
    }
    imprint = find_suiting(self, &set, image);
    bytes = image->nhosted * snapshot_shard_pages(image->geometry.lines) *
            snapshot_page_bytes(image->geometry.lines);
    left = left_bytes(runs, count, imprint);
    if (left < least || bytes == 0 || bytes < self->config.imprint_bytes) {
        return false;
    }
    *later = *later || left > bearable_bytes(self, imprint, bytes, true);
    return left > bearable_bytes(self, imprint, bytes, rests);
}

static bool choose(struct storage *self, uint64_t now_us, struct storage_set *set,
                   struct storage_image *image, bool *later)
{
    const struct record_run *runs = self->runs;
    size_t end;

    for (size_t i = 0; i < self->nruns; i = end) {
        end = storage_runs_end(runs, self->nruns, i);
        if (is_due(self, now_us, runs + i, end - i, image, later)) {
            *set = (struct storage_set){
                .filter_id = runs[i].filter_id, .slice = runs[i].slice, .keyset = runs[i].keyset};
            return true;
        }
    }
    return false;
}

bool storage_imprint_due(struct storage *self, uint64_t now_us, struct storage_set *set,
                         struct storage_image *image)
{
    struct storage_imprints *all = &self->imprints;
    bool later = false;
    bool due;

    if (self->config.imprint_bytes == 0 || self->nruns == 0 || now_us < all->next_us ||
        (all->looked && now_us < all->then_us + LOOK_AGAIN_US)) {
        return false;
    }
    due = choose(self, now_us, set, image, &later);
    all->looked = !due && !later;
    all->then_us = now_us;
    all->next_us = due ? all->next_us : now_us + LOOK_US + self->nruns * LOOK_RUN_US;
    return due;
}
