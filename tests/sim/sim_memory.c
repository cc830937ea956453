#include "tests/sim/sim_memory.h"

#include "base/heap.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 64 };

void *sim_memory_alloc(size_t count, size_t size)
{
    void *memory = heap_zalloc(count, size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

void *sim_memory_reserve(void *array, size_t *capacity, size_t needed, size_t size)
{
    void *grown;

    if (needed <= *capacity) {
        return array;
    }
    *capacity = *capacity > 0 ? *capacity * 2 : FIRST_ITEMS;
    *capacity = *capacity < needed ? needed : *capacity;
    grown = heap_realloc(array, *capacity, size);
    if (grown == NULL) {
        abort();
    }
    return grown;
}
