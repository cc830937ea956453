/* layer.h - the arrays of one generation of a filter: one for each shard that is hosted here.
 *
 * They are places in stretches of pages, one for all shards that came at a time. A place takes
 * memory from when it is touched until it is dropped, and is all zeros in between: so a set of
 * arrays can move from one layer to another shard by shard. Shards of less than a page share pages.
 *
 * Shape:   shards[] has one pointer a shard, NULL for those not hosted here.
 * Errors:  STATUS_NOMEM.
 * Owner:   layer_create()'s caller calls layer_destroy().
 * Threads: none; plain stores, one thread.
 */
#ifndef ORBLOOM_NODE_ARRAY_LAYER_H
#define ORBLOOM_NODE_ARRAY_LAYER_H

#include "map/document.h"

#include <stdbool.h>

struct layer_pages;

struct layer {
    struct generation generation;
    uint64_t shard_bytes;
    uint32_t nshards; /* of the filter */
    uint32_t nhosted; /* of them here */
    struct layer_pages *pages;
    uint8_t **shards;
    uint64_t *keys; /* by shard: those that set a bit since the array was begun anew */
};

/* Reserved; nothing is touched. hosted[i]: shard i is. */
MUST_USE enum status layer_create(const struct generation *generation, const bool *hosted,
                                  struct layer **out);
void layer_destroy(struct layer **layer);

/* Places for shards that were not hosted here so far, reserved as above. On an error nothing has
 * changed. */
MUST_USE enum status layer_host(struct layer *self, const bool *added);

/* Hosted elsewhere from now on. */
void layer_leave(struct layer *self, uint32_t shard);

/* Memory of all shards hosted here. */
uint64_t layer_bytes(const struct layer *self);

struct lines_view layer_view(const struct layer *self);

/* Take memory for at most `most` bytes of a shard from byte `from` on; returns how many, 0: none
 * are left. */
uint64_t layer_touch(struct layer *self, uint32_t shard, uint64_t from, uint64_t most);

/* Give a shard's memory back: its place is all zeros. */
void layer_drop(struct layer *self, uint32_t shard);

/* How many keys `nshards` of its shards may hold: shards fill binomially around their share; the
 * sum over a group is closer to its mean, and three standard deviations more than the mean change
 * the rate of a full filter by less than the tenth that sizing keeps back. */
uint64_t layer_capacity(const struct layer *self, uint32_t nshards);
uint64_t layer_share(uint64_t capacity, uint32_t nshards, uint32_t nshards_all);

#endif
