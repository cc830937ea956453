/* Going through a cut: all its fingerprints in some ranges, ascending, each once. */
#include "base/heap.h"
#include "node/storage_cut_private.h"

#include <assert.h>
#include <string.h>

enum {
    STEP_KEYS = 256 << 10, /* 2 MiB, some milliseconds */
    STEP_SEEKS = 128,
    MOST_LEAVES = 1 << 18, /* of a survey: 4 MiB */
    LEVEL_BITS = RUN_DIGEST_LEVEL_BITS
};

/* ---- beginning ---- */

static struct cut_range range_of(uint32_t bits, uint64_t prefix)
{
    uint64_t first = bits == 0 ? 0 : prefix << (64 - bits);

    return (struct cut_range){.first = first,
                              .last = bits == 64 ? first : first | (UINT64_MAX >> bits)};
}

static enum status begin(struct storage_cut *self, enum cut_work work, uint32_t bits,
                         const uint64_t *prefixes, size_t count)
{
    struct cut_range *ranges = heap_realloc(self->ranges, count + 1, sizeof *ranges);

    assert(self->work == CUT_NOTHING && !self->busy);
    if (ranges == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        ranges[i] = range_of(bits, prefixes[i]);
    }
    self->ranges = ranges;
    self->nranges = count;
    self->at = 0;
    self->nkeys = 0;
    self->more = false;
    self->wanted_at = 0;
    self->work = work;
    return STATUS_OK;
}

static enum status make_trees(struct cut_trees *trees, uint32_t bits, const uint64_t *prefixes,
                              size_t count, uint32_t leaf_bits)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; trees->items != NULL && i < trees->count; i++) {
        run_digest_destroy(&trees->items[i]);
    }
    heap_free(trees->items);
    heap_free(trees->prefixes);
    *trees = (struct cut_trees){.bits = bits};
    trees->items = heap_zalloc(count + 1, sizeof(struct run_digest *));
    trees->prefixes = heap_alloc(count + 1, sizeof *trees->prefixes);
    if (trees->items == NULL || trees->prefixes == NULL) {
        return STATUS_NOMEM;
    }
    trees->count = count;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        trees->prefixes[i] = prefixes[i];
        status = run_digest_create(bits, prefixes[i], leaf_bits, &trees->items[i]);
    }
    return status;
}

/* As deep as is worth it for so many fingerprints. */
static uint32_t survey_bits(const struct storage_cut *self)
{
    uint64_t keys = self->log_to > self->log_from
                        ? (self->log_to - self->log_from) / sizeof(uint64_t)
                        : 0;
    uint32_t bits = 2 * LEVEL_BITS;

    for (size_t i = 0; i < self->nruns; i++) {
        keys += self->runs[i].count;
    }
    while (bits > 0 && ((uint64_t)self->nshards << bits > MOST_LEAVES ||
                        keys >> self->config.shard_bits <= UINT64_C(1) << bits)) {
        bits -= LEVEL_BITS;
    }
    return bits;
}

enum status storage_cut_survey(struct storage_cut *self)
{
    uint64_t *shards = heap_alloc(self->nshards + 1, sizeof *shards);
    uint32_t bits = self->config.shard_bits;
    enum status status;
    size_t count = 0;

    if (shards == NULL) {
        return STATUS_NOMEM;
    }
    for (uint64_t i = 0; i < UINT64_C(1) << bits; i++) {
        if (self->shards[i]) {
            shards[count++] = i;
        }
    }
    status = make_trees(&self->survey, bits, shards, count, survey_bits(self));
    if (status == STATUS_OK) {
        status = begin(self, CUT_SURVEY, bits, shards, count);
    }
    heap_free(shards);
    return status;
}

enum status storage_cut_split(struct storage_cut *self, uint32_t bits, const uint64_t *prefixes,
                              size_t count)
{
    enum status status = make_trees(&self->split, bits, prefixes, count, LEVEL_BITS);

    return status == STATUS_OK ? begin(self, CUT_SPLIT, bits, prefixes, count) : status;
}

static enum status make_keys(struct storage_cut *self, size_t room)
{
    uint64_t *keys = heap_realloc(self->keys, room + 1, sizeof *keys);

    self->keys = keys != NULL ? keys : self->keys;
    self->room = keys != NULL ? room : self->room;
    return keys != NULL ? STATUS_OK : STATUS_NOMEM;
}

enum status storage_cut_collect(struct storage_cut *self, uint32_t bits, const uint64_t *prefixes,
                                size_t count, uint64_t from, size_t room)
{
    enum status status = make_keys(self, room);

    if (status == STATUS_OK) {
        status = begin(self, CUT_COLLECT, bits, prefixes, count);
    }
    for (; status == STATUS_OK && self->at < count && self->ranges[self->at].first < from;
         self->at++) {
        if (self->ranges[self->at].last >= from) {
            self->ranges[self->at].first = from;
            break;
        }
    }
    return status;
}

enum status storage_cut_subtract(struct storage_cut *self, uint32_t bits, const uint64_t *prefixes,
                                 size_t count, const uint64_t *fingerprints, size_t nfingerprints)
{
    uint64_t *wanted = heap_realloc(self->wanted, nfingerprints + 1, sizeof *wanted);
    enum status status = wanted != NULL ? make_keys(self, nfingerprints) : STATUS_NOMEM;

    self->wanted = wanted != NULL ? wanted : self->wanted;
    if (status == STATUS_OK) {
        if (nfingerprints > 0) {
            memcpy(wanted, fingerprints, nfingerprints * sizeof *wanted);
        }
        self->nwanted = nfingerprints;
        status = begin(self, CUT_SUBTRACT, bits, prefixes, count);
    }
    return status;
}

/* ---- on the lane ---- */

void cut_walk_end(struct storage_cut *self)
{
    run_merge_destroy(&self->merge);
}

/* From the range's beginning on. */
static enum status seek(struct storage_cut *self, uint64_t from)
{
    const struct storage_config *config = &self->storage->config;
    struct run_array tail = {.fingerprints = self->tail, .count = self->ntail};
    enum status status = STATUS_OK;
    size_t low = 0;

    run_merge_destroy(&self->merge);
    for (size_t i = 0; i < self->nruns && status == STATUS_OK; i++) {
        if (self->readers[i] == NULL) {
            status = run_reader_create(config->disk, config->cluster, &self->runs[i],
                                       &self->readers[i]);
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

/* What is wanted below `limit` is not in the cut: nothing of the cut lies before it any more. */
static void lacks_below(struct storage_cut *self, uint64_t limit, bool all)
{
    while (self->wanted_at < self->nwanted && (all || self->wanted[self->wanted_at] < limit)) {
        self->keys[self->nkeys++] = self->wanted[self->wanted_at++];
    }
}

/* False: there is no room for more. */
static bool collect(struct storage_cut *self, const uint64_t *keys, size_t count)
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
static bool visit(struct storage_cut *self, const uint64_t *keys, size_t count)
{
    switch (self->work) {
    case CUT_SURVEY:
        run_digest_add(self->survey.items[self->at], keys, count);
        break;
    case CUT_SPLIT:
        run_digest_add(self->split.items[self->at], keys, count);
        break;
    case CUT_COLLECT:
        return collect(self, keys, count);
    case CUT_SUBTRACT:
        for (size_t i = 0; i < count; i++) {
            lacks_below(self, keys[i], false);
            self->wanted_at += self->wanted_at < self->nwanted &&
                               self->wanted[self->wanted_at] == keys[i];
        }
        break;
    case CUT_NOTHING:
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
static bool share(struct storage_cut *self, const uint64_t *keys, size_t count)
{
    size_t done = 0;

    while (self->at < self->nranges) {
        const struct cut_range *range = &self->ranges[self->at];
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

static void finish(struct storage_cut *self)
{
    struct cut_trees *trees = self->work == CUT_SURVEY ? &self->survey : &self->split;

    self->finished = true;
    if (self->work == CUT_SURVEY || self->work == CUT_SPLIT) {
        for (size_t i = 0; i < trees->count; i++) {
            run_digest_finish(trees->items[i]);
        }
    } else if (self->work == CUT_SUBTRACT) {
        lacks_below(self, 0, true);
    }
}

/* The range under way begins beyond what was read: go there, unless it is near. */
static bool is_far(const struct storage_cut *self)
{
    return self->merge == NULL || (self->at > 0 && self->ranges[self->at].first > self->place &&
                                   self->ranges[self->at].first - self->place >
                                       self->ranges[self->at].last - self->ranges[self->at].first);
}

void cut_walk(struct storage_cut *self)
{
    size_t keys = 0;
    size_t seeks = 0;

    while (self->at < self->nranges && keys < STEP_KEYS && seeks < STEP_SEEKS) {
        size_t count = 0;

        if (is_far(self)) {
            seeks++;
            self->place = self->ranges[self->at].first;
            self->status = seek(self, self->place);
        }
        if (self->status == STATUS_OK) {
            self->status = run_merge_next(self->merge, self->chunk, CUT_CHUNK_KEYS, &count);
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

/* ---- answers ---- */

size_t storage_cut_nshards(const struct storage_cut *self)
{
    return self->nshards;
}

struct run_digest_range storage_cut_shard(const struct storage_cut *self, size_t shard)
{
    struct run_digest_range range = {0};

    assert(shard < self->survey.count);
    (void)run_digest_node(self->survey.items[shard], 0, 0, &range);
    return range;
}

static struct run_digest *find(const struct cut_trees *trees, uint64_t prefix)
{
    size_t low = 0;

    for (size_t high = trees->count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (trees->prefixes[middle] < prefix) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < trees->count && trees->prefixes[low] == prefix ? trees->items[low] : NULL;
}

static bool parts_of(const struct cut_trees *trees, uint32_t bits, uint64_t prefix,
                     struct run_digest_range out[STORAGE_CUT_PARTS])
{
    uint32_t below = bits - trees->bits;
    const struct run_digest *tree;

    if (trees->count == 0 || bits < trees->bits || below % LEVEL_BITS != 0) {
        return false;
    }
    tree = find(trees, prefix >> below);
    return tree != NULL &&
           run_digest_children(tree, below / LEVEL_BITS, prefix & ((UINT64_C(1) << below) - 1),
                               out) == STORAGE_CUT_PARTS;
}

bool storage_cut_parts(const struct storage_cut *self, uint32_t bits, uint64_t prefix,
                       struct run_digest_range out[STORAGE_CUT_PARTS])
{
    return parts_of(&self->survey, bits, prefix, out) || parts_of(&self->split, bits, prefix, out);
}

const uint64_t *storage_cut_keys(const struct storage_cut *self, size_t *count)
{
    *count = self->nkeys;
    return self->keys;
}

bool storage_cut_more(const struct storage_cut *self, uint64_t *next)
{
    *next = self->resume;
    return self->more;
}
