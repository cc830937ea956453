/* memory_store.h - the coordinators' store in memory, with the contract of
 * coordinator/store/store.h, for unit tests and the simulator.
 *
 * It outlives coordinators, as a disk does. `broken` makes every operation fail with STATUS_IO,
 * `read_only` every swap. `before_swap` runs once before the next swap: another coordinator's write
 * comes first. `written` is told of each record that a swap writes.
 *
 * Errors:  none of its own; where memory is out it aborts. It is not of the seam that tests let
 * fail. Owner:   memory_store_init()'s caller calls memory_store_fini(). Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_STORE_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_STORE_H

#include "coordinator/store/store.h"

enum { MEMORY_STORE_MAX = 256 };

struct memory_store_record {
    char key[STORE_KEY_BYTES];
    uint64_t version;
    uint8_t *value;
    size_t size;
};

struct memory_store {
    struct store store;
    bool broken;
    bool read_only;
    void (*before_swap)(void *context);
    void *context;
    void (*written)(void *context, const char *key, struct span value);
    void *written_context;
    uint64_t change;
    size_t nrecords;
    struct memory_store_record records[MEMORY_STORE_MAX]; /* ascending versions */
};

void memory_store_init(struct memory_store *self);
void memory_store_fini(struct memory_store *self);

/* Its records become those of the other one, as when a copy is put back; nobody is told. */
void memory_store_restore(struct memory_store *self, const struct memory_store *copy);

/* NULL when there is none; of a broken store too: tests see through it. */
const struct memory_store_record *memory_store_find(const struct memory_store *self,
                                                    const char *key);

#endif
