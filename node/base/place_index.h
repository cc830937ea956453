/* place_index.h - where things of a hash are: a hash table of places, touching nothing else.
 *
 * Open addressing with linear probing: what is not there is known after one or two cache lines,
 * without a look at the things themselves. Several things may have one hash.
 *
 * Errors:  place_index_init: STATUS_NOMEM.
 * Owner:   place_index_init()'s caller calls place_index_fini().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_BASE_PLACE_INDEX_H
#define ORBLOOM_NODE_BASE_PLACE_INDEX_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place_index {
    uint64_t *slots; /* hash above, place + 1 below; 0: empty */
    size_t mask;     /* number of slots - 1, a power of two - 1 */
};

/* For at most `most` places at a time. */
MUST_USE enum status place_index_init(struct place_index *self, size_t most);
void place_index_fini(struct place_index *self);

/* A place below 2^32 - 1. */
void place_index_put(struct place_index *self, uint32_t hash, uint32_t place);

/* It must be there. */
void place_index_remove(struct place_index *self, uint32_t hash, uint32_t place);

/* The next place of that hash, in any order; *at is 0 before the first. False: no more. */
bool place_index_next(const struct place_index *self, uint32_t hash, size_t *at, uint32_t *place);

#endif
