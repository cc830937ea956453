/* id_set.h - a set of numbers as intervals: small where most of those between two of it are in it.
 *
 * Bounds:  ID_SET_MAX_INTERVALS. Numbers from 1 on; 0 is none.
 * Errors:  STATUS_NOMEM, STATUS_TOO_LARGE (one interval more than may be); the set is as before
 *          then.
 * Owner:   id_set_fini() frees what it owns; a zeroed set is empty and ready.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_ID_SET_H
#define ORBLOOM_MAP_ID_SET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ID_SET_MAX_INTERVALS = 65536 };

struct id_interval {
    uint64_t first;
    uint64_t last; /* in it, too */
};

struct id_set {
    struct id_interval *intervals; /* ascending; between two of them at least one is not in it */
    size_t count;
    size_t capacity;
};

void id_set_fini(struct id_set *self);

bool id_set_has(const struct id_set *self, uint64_t id);

/* The highest; 0: it is empty. */
uint64_t id_set_highest(const struct id_set *self);

/* How many numbers are in it. */
uint64_t id_set_size(const struct id_set *self);

MUST_USE enum status id_set_add(struct id_set *self, uint64_t id);

/* One that is not in it: nothing changes. */
MUST_USE enum status id_set_remove(struct id_set *self, uint64_t id);

MUST_USE enum status id_set_add_interval(struct id_set *self, struct id_interval interval);

/* The lowest from `id` on that is not in it. */
uint64_t id_set_next_gap(const struct id_set *self, uint64_t id);

/* All of `other`, too. Where that fails part of it may be in already. */
MUST_USE enum status id_set_join(struct id_set *self, const struct id_set *other);

MUST_USE enum status id_set_copy(const struct id_set *self, struct id_set *out);

/* Is all of `other` in it? */
bool id_set_covers(const struct id_set *self, const struct id_set *other);

/* Are the intervals as said above? For what was decoded. */
bool id_set_valid(const struct id_set *self);

#endif
