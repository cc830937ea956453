/* Allocates by base/heap.h, and aborts the run where there is nothing. */
#include "tests/sim/sim_memory.h"

#include "base/heap.h"

#include <stdlib.h>

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
    if (!heap_grow(&array, capacity, needed, size)) {
        abort();
    }
    return array;
}
