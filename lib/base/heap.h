/* heap.h - the allocation seam: all memory of lib/ and the programs' cores comes from here.
 *
 * Tests make the n-th allocation fail (heap_fault_after) and count what is alive, so
 * every failure path runs at least once. Large arrays use pages: zeroed, page-aligned,
 * backed by huge pages where asked.
 *
 * Units:   sizes in bytes.
 * Errors:  NULL when memory is out or a fault is injected; never aborts.
 * Owner:   the caller frees with the matching function; freeing NULL is fine.
 * Threads: allocation is thread-safe; fault injection is for single-threaded tests.
 */
#ifndef ORBLOOM_BASE_HEAP_H
#define ORBLOOM_BASE_HEAP_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Uninitialised. count * size must not overflow, else NULL. Sizes of 0 give a unique pointer. */
MUST_USE void *heap_alloc(size_t count, size_t size);

/* Zeroed. */
MUST_USE void *heap_zalloc(size_t count, size_t size);

/* Grow or shrink; on failure NULL and `old` stays valid. */
MUST_USE void *heap_realloc(void *old, size_t count, size_t size);

/* Room for `wanted` items of `size` bytes in an array that grows. `items` is the address of the
 * pointer to the first one, of any type: NULL while there is none; *capacity is how many it has
 * room for. What it is given is at least double of that, so that adding one by one stays cheap.
 * False, and nothing has changed: memory is out, or sizes overflow. */
MUST_USE bool heap_grow(void *items, size_t *capacity, size_t wanted, size_t size);

/* A copy of a C string. */
MUST_USE char *heap_strdup(const char *text);

/* Give memory that was freed back to the system, as far as whole pages are free. Milliseconds. */
void heap_trim(void);

void heap_free(void *pointer);

/* Zeroed pages, not yet backed by memory; `huge` asks for transparent huge pages. */
MUST_USE void *heap_pages_alloc(size_t size_bytes, bool huge);

void heap_pages_free(void *pages, size_t size_bytes);

/* Give the memory of some whole pages back: they stay, all zeros and not backed again. */
void heap_pages_drop(void *pages, size_t size_bytes);

/* Have them backed now, what they hold unchanged, a huge page at a time: each may take milliseconds
 * where the host of a virtual machine has to find it. On any thread; what has been freed meanwhile,
 * or can't be had, is left out. */
void heap_pages_populate(void *pages, size_t size_bytes);

/* Let `count` allocations succeed, then fail every one until heap_fault_clear(). */
void heap_fault_after(unsigned count);
void heap_fault_clear(void);

/* Allocations now alive (pages count as one each). */
size_t heap_live(void);

#endif
