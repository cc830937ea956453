/* Memory of a layer: many small shards lie in one stretch of mapped pages, which goes with the
 * last of them. */
#include "node/array/layer.h"

#include "base/heap.h"
#include "base/mutant.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

/* Lookups are random: with small pages nearly each of them misses the TLB as well. Measured, three
 * nodes of 6 MB on two cores: a tenth more keys a second by huge ones. */
#define HUGE_FROM_BYTES (UINT64_C(2) << 20)

/* One after the other, as most shards are smaller than a huge page. */
struct layer_pages {
    struct layer_pages *next;
    uint8_t *bytes;
    uint64_t mapped_bytes; /* those of shards that were left included */
    uint32_t nshards;      /* that have their place here */
};

static uint32_t count(const struct layer *self, const bool *shards)
{
    uint32_t sum = 0;

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        sum += shards[shard];
    }
    return sum;
}

static struct layer_pages *map_pages(uint64_t size, uint32_t nshards)
{
    struct layer_pages *pages = heap_zalloc(1, sizeof *pages);

    if (pages == NULL) {
        return NULL;
    }
    *pages = (struct layer_pages){.mapped_bytes = size, .nshards = nshards};
    pages->bytes = heap_pages_alloc(size, size >= HUGE_FROM_BYTES);
    if (pages->bytes == NULL) {
        heap_free(pages);
        return NULL;
    }
    return pages;
}

static void unmap_pages(struct layer_pages *pages)
{
    heap_pages_free(pages->bytes, pages->mapped_bytes);
    heap_free(pages);
}

enum status layer_host(struct layer *self, const bool *added)
{
    uint32_t nadded = count(self, added);
    struct layer_pages *pages = map_pages(nadded * self->shard_bytes, nadded);
    uint8_t *next;

    if (pages == NULL) {
        return STATUS_NOMEM;
    }
    next = pages->bytes;
    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (added[shard]) {
            assert(self->shards[shard] == NULL);
            self->shards[shard] = next;
            self->keys[shard] = 0;
            next += self->shard_bytes;
        }
    }
    pages->next = self->pages;
    self->pages = pages;
    self->nhosted += nadded;
    return STATUS_OK;
}

enum status layer_create(const struct generation *generation, const bool *hosted,
                         struct layer **out)
{
    struct layer *self = heap_zalloc(1, sizeof *self);

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->generation = *generation;
    self->shard_bytes = lines_shard_bytes(&generation->geometry);
    self->nshards = 1u << generation->geometry.shard_bits;
    self->shards = heap_zalloc(self->nshards, sizeof *self->shards);
    self->keys = heap_zalloc(self->nshards, sizeof *self->keys);
    if (self->shards == NULL || self->keys == NULL || layer_host(self, hosted) != STATUS_OK) {
        layer_destroy(&self);
        return STATUS_NOMEM;
    }
    *out = self;
    return STATUS_OK;
}

void layer_destroy(struct layer **layer)
{
    struct layer *self = *layer;

    *layer = NULL;
    if (self == NULL) {
        return;
    }
    while (self->pages != NULL) {
        struct layer_pages *pages = self->pages;

        self->pages = pages->next;
        unmap_pages(pages);
    }
    heap_free(self->shards);
    heap_free(self->keys);
    heap_free(self);
}

struct lines_view layer_view(const struct layer *self)
{
    return (struct lines_view){.geometry = self->generation.geometry, .shards = self->shards};
}

uint64_t layer_touch(struct layer *self, uint32_t shard, uint64_t from, uint64_t most)
{
    uint8_t *array = self->shards[shard];
    uint64_t left = array != NULL ? self->shard_bytes - from : 0;
    uint64_t step = left < most ? left : most;

    for (uint64_t at = 0; at < step; at += PAGE_BYTES) {
        /* A store makes the kernel give the page now; the array stays as it is. */
        volatile uint8_t *byte = array + from + at;

        *byte = MUTANT(TOUCH_CLEARS) ? 0 : *byte;
    }
    return step;
}

/* What is in a page with others is cleared, as dropping it would take theirs along. */
void layer_drop(struct layer *self, uint32_t shard)
{
    if (self->shard_bytes % PAGE_BYTES != 0) {
        memset(self->shards[shard], 0, self->shard_bytes);
    } else {
        heap_pages_drop(self->shards[shard], self->shard_bytes);
    }
    self->keys[shard] = 0;
}

static bool is_of(const struct layer_pages *pages, const uint8_t *place)
{
    uintptr_t first = (uintptr_t)pages->bytes;

    return (uintptr_t)place >= first && (uintptr_t)place - first < pages->mapped_bytes;
}

/* With the last shard that has its place there the stretch goes. */
void layer_leave(struct layer *self, uint32_t shard)
{
    struct layer_pages **at = &self->pages;
    struct layer_pages *pages;

    layer_drop(self, shard);
    while (!is_of(*at, self->shards[shard])) {
        at = &(*at)->next;
    }
    pages = *at;
    if (--pages->nshards == 0) {
        *at = pages->next;
        unmap_pages(pages);
    }
    self->shards[shard] = NULL;
    self->nhosted--;
}

uint64_t layer_bytes(const struct layer *self)
{
    return self->nhosted * self->shard_bytes;
}

uint64_t layer_share(uint64_t capacity, uint32_t nshards, uint32_t nshards_all)
{
    double share = (double)capacity * nshards / nshards_all;
    double deviation = sqrt(share * (1 - (double)nshards / nshards_all));

    return (uint64_t)ceil(share + 3 * deviation);
}

uint64_t layer_capacity(const struct layer *self, uint32_t nshards)
{
    return layer_share(self->generation.capacity, nshards, self->nshards);
}
