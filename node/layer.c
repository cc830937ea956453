#include "node/layer.h"

#include "base/heap.h"

#include <math.h>

enum { PAGE_BYTES = 4096 };

/* Lookups are random: with small pages nearly each of them misses the TLB as well. Measured, three
 * nodes of 6 MB on two cores: a tenth more keys a second by huge ones. */
#define HUGE_FROM_BYTES (UINT64_C(2) << 20)

/* One after the other in one stretch of pages, as most are smaller than a huge page. */
static bool map_shards(struct layer *self, const bool *hosted)
{
    uint8_t *next;

    self->mapped_bytes = self->nhosted * self->shard_bytes;
    next = heap_pages_alloc(self->mapped_bytes, self->mapped_bytes >= HUGE_FROM_BYTES);
    self->pages = next;
    for (uint32_t shard = 0; next != NULL && shard < self->nshards; shard++) {
        if (hosted[shard]) {
            self->shards[shard] = next;
            next += self->shard_bytes;
        }
    }
    return self->pages != NULL;
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
    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        self->nhosted += hosted[shard];
    }
    self->shards = heap_zalloc(self->nshards, sizeof *self->shards);
    self->keys = heap_zalloc(self->nshards, sizeof *self->keys);
    if (self->shards == NULL || self->keys == NULL || !map_shards(self, hosted)) {
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
    heap_pages_free(self->pages, self->mapped_bytes);
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

        *byte = *byte;
    }
    return step;
}

void layer_drop(struct layer *self, uint32_t shard)
{
    heap_pages_drop(self->shards[shard], self->shard_bytes);
    self->keys[shard] = 0;
}

void layer_leave(struct layer *self, uint32_t shard)
{
    layer_drop(self, shard);
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
