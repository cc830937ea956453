/* sim_store.h - the coordinators' store in memory, with the contract of coordinator/store/store.h.
 *
 * It outlives coordinators, as a disk does. While `broken`, every call answers STATUS_IO.
 *
 * Owner:   sim_store_fini() frees the records.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_STORE_H
#define ORBLOOM_TESTS_SIM_STORE_H

#include "coordinator/store/store.h"

enum { SIM_STORE_RECORDS = 256 };

struct sim_store_record {
    char key[STORE_KEY_BYTES];
    uint64_t version;
    uint8_t *value;
    size_t size;
};

struct sim_store {
    struct store interface;
    void (*written)(void *context, const char *key, struct span value); /* NULL: nobody looks */
    void *written_context;
    bool broken;
    uint64_t change;
    uint32_t count;
    struct sim_store_record records[SIM_STORE_RECORDS]; /* ascending versions */
};

void sim_store_init(struct sim_store *self);
void sim_store_fini(struct sim_store *self);

/* NULL when there is none; works on a broken store too: the simulator sees through it. */
const struct sim_store_record *sim_store_find(const struct sim_store *self, const char *key);

#endif
