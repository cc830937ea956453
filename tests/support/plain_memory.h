/* plain_memory.h - memory for what tests are made of: it is there, or the program aborts.
 *
 * None of it is from base/heap.h: heap_live() counts what is tried, not what tries it, and
 * heap_fault_after() strikes there alone. The leak sanitizer sees both.
 *
 * Owner:   the caller, with free().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_PLAIN_MEMORY_H
#define ORBLOOM_TESTS_SUPPORT_PLAIN_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

/* Zeroed. */
static inline void *plain_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* `array` with room for `needed` items, at least twice as many as before where it grows;
 * *capacity follows. */
static inline void *plain_reserve(void *array, size_t *capacity, size_t needed, size_t size)
{
    size_t grown = 2 * *capacity > needed ? 2 * *capacity : needed;

    if (needed > *capacity) {
        array = realloc(array, grown * size);
        if (array == NULL) {
            abort();
        }
        *capacity = grown;
    }
    return array;
}

#endif
