/* memory_store.h - the store contract of coordinator/store/store.h, in memory, shared by
 * coordinators.
 *
 * `before_swap` runs once before the next swap: another coordinator's write comes first. `broken`
 * makes every operation fail with STATUS_IO, `read_only` every swap.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_STORE_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_STORE_H

#include "coordinator/store/store.h"

enum { MEMORY_STORE_MAX = 256 };

struct memory_store {
    struct store store;
    struct {
        char key[STORE_KEY_BYTES];
        uint64_t version;
        uint8_t *value;
        size_t size;
    } records[MEMORY_STORE_MAX];
    size_t nrecords;
    uint64_t change;
    bool broken;
    bool read_only;
    void (*before_swap)(void *context);
    void *context;
};

void memory_store_init(struct memory_store *self);
void memory_store_fini(struct memory_store *self);

#endif
