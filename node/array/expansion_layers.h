/* expansion_layers.h - a set of arrays while it moves from one layer to another, shard by shard.
 *
 *   expansion_layers_begin -> for each shard: reserve, touch until it stands, fill (by the caller),
 *   serve -> expansion_layers_finish
 *
 * From when a shard's new array stands every add goes to both arrays, whatever the old one says:
 * "present" there may be chance. Checks read the old one until the new one serves.
 *
 * The valve: once a group is at the capacity of the layer that it leaves, new keys of a shard whose
 * new array stands go to that array alone, and checks of that shard read both, until the new one
 * serves. Open, it is closed in no other way: the old array lacks what came through it.
 *
 * Capacity: a group takes what both layers may hold until all its shards are served from the new
 *   one, as each array must stay within its own rate: the keys of one shard can't make up for
 *   those of another. Beyond that a shard takes its own share of what the new layer holds more:
 *   all of it when the new one serves, and as much as the sum of both rates allows
 *   (map/history/expansion_mix.h) while both are read, here or by checks that ask several replicas.
 * Memory:  set->bytes counts arrays that take memory, and those that were reserved.
 * Errors:  STATUS_NOMEM: nothing was done.
 * Owner:   the set's; expansion_layers_finish(), _drop() or arrays_destroy() end it.
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_ARRAY_EXPANSION_LAYERS_H
#define ORBLOOM_NODE_ARRAY_EXPANSION_LAYERS_H

#include "node/array/replica.h"

enum { EXPANSION_OLD = 1 << 0, EXPANSION_NEW = 1 << 1 }; /* bit i: layer i */

/* Where keys of a shard are looked for, and where they are written. */
struct shard_route {
    uint8_t reads;
    uint8_t writes; /* 0: not hosted here */
};

struct expansion_group {
    uint32_t ngrown;     /* shards served from the new layer */
    uint64_t overflow;   /* keys that came through open valves */
    uint64_t valve_keys; /* ... and may */
    uint64_t full_keys;  /* capacity in the new layer */
};

struct expansion_layers {
    struct shard_route *routes;
    uint64_t *excess; /* by shard: keys beyond the capacity that counts for its group */
    struct expansion_group *groups;
    uint32_t nstanding; /* shards with two arrays */
    uint32_t ngrown;
    uint32_t nopen; /* valves, some of those standing */
    uint64_t valve; /* keys beyond the old capacity while both arrays are read, of all shards */
    uint64_t shard_valve;   /* excess of a shard while both arrays are read */
    uint64_t shard_excess;  /* ... and once the new one serves */
    uint32_t reserved;      /* the shard that is being touched, or DOCUMENT_MAX_SHARDS */
    uint64_t touched_bytes; /* of it */
};

MUST_USE enum status expansion_layers_begin(struct arrays *set,
                                            const struct filter_document *document,
                                            const struct generation *generation);

/* The document's rate may be another one. */
void expansion_layers_follow(struct arrays *set, const struct filter_document *document);

/* Memory for the new array of a shard that has none; one at a time. */
void expansion_layers_reserve(struct arrays *set, uint32_t shard);

/* At most so many bytes of the reserved one; true: it stands, and is written to from now on. */
bool expansion_layers_touch(struct arrays *set, uint64_t most);

/* The new array is given up, or the reserved one; not behind an open valve. */
void expansion_layers_unstand(struct arrays *set, uint32_t shard);

/* The new array serves and the old one is given back. Its group is done: true. */
bool expansion_layers_serve(struct arrays *set, const struct filter_document *document,
                            uint32_t shard);

/* The other way: to the layer that was left. Arrays that serve nobody are given up; no valve is
 * open. */
void expansion_layers_turn(struct arrays *set, const struct filter_document *document);

/* All shards are served from the new layer: it is the only one. */
void expansion_layers_finish(struct arrays *set);

/* No shard is served from it: the old layer is the only one. */
void expansion_layers_drop(struct arrays *set);

/* Called by arrays_destroy(). */
void expansion_layers_destroy(struct arrays *set);

/* ---- a shard ---- */

bool expansion_layers_hosts(const struct arrays *set, uint32_t shard);
bool expansion_layers_stands(const struct arrays *set, uint32_t shard); /* two arrays */
bool expansion_layers_serves(const struct arrays *set, uint32_t shard); /* the new one alone */
bool expansion_layers_is_open(const struct arrays *set, uint32_t shard);

/* ---- bits, expansion_bits.c: what arrays_*() do while there are two layers ---- */

void expansion_bits_check(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                          uint64_t *present);

/* Of one group, not bound by any capacity. */
void expansion_bits_fill(struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                         uint32_t count);

/* As the add of arrays_execute(); true: some were refused. */
bool expansion_bits_add(struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                        uint32_t count, uint64_t *present, uint64_t *accepted);

/* Would it be accepted if it were new? */
bool expansion_bits_has_room(const struct arrays *set, uint32_t group, uint64_t fingerprint);

/* Fingerprints of shards with two arrays, read from the log, into the new ones; others are left
 * out. */
void expansion_bits_backfill(struct arrays *set, const uint64_t *fingerprints, uint32_t count);

/* How many of them, of such shards, are not in the new arrays. */
uint64_t expansion_bits_missing(const struct arrays *set, const uint64_t *fingerprints,
                                uint32_t count);

/* Can so many bits be set by the keys that were counted? Each set one, and no more than 8 z. Goes
 * through the whole array. */
bool expansion_bits_plausible(const struct arrays *set, uint32_t shard);

#endif
