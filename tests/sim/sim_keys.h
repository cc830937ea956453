/* sim_keys.h - a set of numbers, for the fingerprints that a file holds.
 *
 * Owner:   sim_keys_fini() frees it; a zeroed set is empty.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_KEYS_H
#define ORBLOOM_TESTS_SIM_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_keys {
    uint64_t *places; /* open addressing, a power of two of them; 0: free */
    size_t nplaces;
    size_t count;
};

void sim_keys_fini(struct sim_keys *self);

/* Any number but 0. */
void sim_keys_add(struct sim_keys *self, uint64_t key);
bool sim_keys_has(const struct sim_keys *self, uint64_t key);

#endif
