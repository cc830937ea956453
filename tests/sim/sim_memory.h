/* sim_memory.h - memory for the simulator itself: it is there, or the run aborts.
 *
 * All of it comes from base/heap.h, so that heap_live() after a seed shows leaks of the
 * cores and of the simulator alike.
 */
#ifndef ORBLOOM_TESTS_SIM_MEMORY_H
#define ORBLOOM_TESTS_SIM_MEMORY_H

#include <stddef.h>

/* Zeroed. */
void *sim_memory_alloc(size_t count, size_t size);

/* `array` grown to hold `needed` items; *capacity follows. */
void *sim_memory_reserve(void *array, size_t *capacity, size_t needed, size_t size);

#endif
