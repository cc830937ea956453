/* What a view is asked, and what it answers. */
#include "base/heap.h"
#include "node/store/view_private.h"

#include <assert.h>
#include <string.h>

enum {
    MOST_LEAVES = 1 << 18, /* of a survey: 4 MiB */
    LEVEL_BITS = RUN_DIGEST_LEVEL_BITS
};

/* ---- beginning ---- */

static struct view_range range_of(uint32_t bits, uint64_t prefix)
{
    uint64_t first = bits == 0 ? 0 : prefix << (64 - bits);

    return (struct view_range){.first = first,
                               .last = bits == 64 ? first : first | (UINT64_MAX >> bits)};
}

static enum status begin(struct storage_view *self, enum view_work work, uint32_t bits,
                         const uint64_t *prefixes, size_t count)
{
    struct view_range *ranges = heap_realloc(self->ranges, count + 1, sizeof *ranges);

    assert(self->work == VIEW_IDLE && !self->busy);
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

static enum status make_trees(struct view_trees *trees, uint32_t bits, const uint64_t *prefixes,
                              size_t count, uint32_t leaf_bits)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; trees->items != NULL && i < trees->count; i++) {
        run_digest_destroy(&trees->items[i]);
    }
    heap_free(trees->items);
    heap_free(trees->prefixes);
    *trees = (struct view_trees){.bits = bits};
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
static uint32_t survey_bits(const struct storage_view *self)
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

enum status storage_view_survey(struct storage_view *self)
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
        status = begin(self, VIEW_SURVEY, bits, shards, count);
    }
    heap_free(shards);
    return status;
}

enum status storage_view_split(struct storage_view *self, uint32_t bits, const uint64_t *prefixes,
                               size_t count)
{
    enum status status = make_trees(&self->split, bits, prefixes, count, LEVEL_BITS);

    return status == STATUS_OK ? begin(self, VIEW_SPLIT, bits, prefixes, count) : status;
}

static enum status make_keys(struct storage_view *self, size_t room)
{
    uint64_t *keys = heap_realloc(self->keys, room + 1, sizeof *keys);

    self->keys = keys != NULL ? keys : self->keys;
    self->room = keys != NULL ? room : self->room;
    return keys != NULL ? STATUS_OK : STATUS_NOMEM;
}

enum status storage_view_collect(struct storage_view *self, uint32_t bits, const uint64_t *prefixes,
                                 size_t count, uint64_t from, size_t room)
{
    enum status status = make_keys(self, room);

    if (status == STATUS_OK) {
        status = begin(self, VIEW_COLLECT, bits, prefixes, count);
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

enum status storage_view_subtract(struct storage_view *self, uint32_t bits,
                                  const uint64_t *prefixes, size_t count,
                                  const uint64_t *fingerprints, size_t nfingerprints)
{
    uint64_t *wanted = heap_realloc(self->wanted, nfingerprints + 1, sizeof *wanted);
    enum status status = wanted != NULL ? make_keys(self, nfingerprints) : STATUS_NOMEM;

    self->wanted = wanted != NULL ? wanted : self->wanted;
    if (status == STATUS_OK) {
        if (nfingerprints > 0) {
            memcpy(wanted, fingerprints, nfingerprints * sizeof *wanted);
        }
        self->nwanted = nfingerprints;
        status = begin(self, VIEW_SUBTRACT, bits, prefixes, count);
    }
    return status;
}

/* ---- answers ---- */

size_t storage_view_nshards(const struct storage_view *self)
{
    return self->nshards;
}

struct run_digest_range storage_view_shard(const struct storage_view *self, size_t shard)
{
    struct run_digest_range range = {0};

    assert(shard < self->survey.count);
    (void)run_digest_node(self->survey.items[shard], 0, 0, &range);
    return range;
}

static struct run_digest *find(const struct view_trees *trees, uint64_t prefix)
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

static bool parts_of(const struct view_trees *trees, uint32_t bits, uint64_t prefix,
                     struct run_digest_range out[STORAGE_VIEW_PARTS])
{
    uint32_t below = bits - trees->bits;
    const struct run_digest *tree;

    if (trees->count == 0 || bits < trees->bits || below % LEVEL_BITS != 0) {
        return false;
    }
    tree = find(trees, prefix >> below);
    return tree != NULL &&
           run_digest_children(tree, below / LEVEL_BITS, prefix & ((UINT64_C(1) << below) - 1),
                               out) == STORAGE_VIEW_PARTS;
}

bool storage_view_parts(const struct storage_view *self, uint32_t bits, uint64_t prefix,
                        struct run_digest_range out[STORAGE_VIEW_PARTS])
{
    return parts_of(&self->survey, bits, prefix, out) || parts_of(&self->split, bits, prefix, out);
}

const uint64_t *storage_view_keys(const struct storage_view *self, size_t *count)
{
    *count = self->nkeys;
    return self->keys;
}

bool storage_view_more(const struct storage_view *self, uint64_t *next)
{
    *next = self->resume;
    return self->more;
}
