/* The seam over malloc and mmap: it counts what is alive, makes the n-th allocation fail when a
 * test asks for that, and aligns large arrays to huge pages. */
#include "base/heap.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20, FIRST_ITEMS = 8 };

static atomic_size_t live;
static bool fault_armed; /* Tests only: set before and cleared after the code under test. */
static unsigned fault_left;

static bool fault_due(void)
{
    if (!fault_armed) {
        return false;
    }
    if (fault_left > 0) {
        fault_left--;
        return false;
    }
    return true;
}

static void *counted(void *pointer)
{
    if (pointer != NULL) {
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    }
    return pointer;
}

void *heap_alloc(size_t count, size_t size)
{
    size_t bytes;

    if (fault_due() || __builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return counted(malloc(bytes > 0 ? bytes : 1));
}

void *heap_zalloc(size_t count, size_t size)
{
    size_t bytes;

    if (fault_due() || __builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return counted(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *heap_realloc(void *old, size_t count, size_t size)
{
    size_t bytes;

    if (old == NULL) {
        return heap_alloc(count, size);
    }
    if (fault_due() || __builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return realloc(old, bytes > 0 ? bytes : 1);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The pointer is copied, as its type is not known here. A double that wraps around is less than
 * what is wanted. */
bool heap_grow(void *items, size_t *capacity, size_t wanted, size_t size)
{
    size_t room = larger(larger(wanted, 2 * *capacity), FIRST_ITEMS);
    void *grown;

    if (wanted <= *capacity) {
        return true;
    }
    memcpy(&grown, items, sizeof grown);
    grown = heap_realloc(grown, room, size);
    if (grown == NULL) {
        return false;
    }
    memcpy(items, &grown, sizeof grown);
    *capacity = room;
    return true;
}

char *heap_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = heap_alloc(size, 1);

    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

void heap_free(void *pointer)
{
    if (pointer != NULL) {
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        free(pointer);
    }
}

void heap_trim(void)
{
    (void)malloc_trim(0);
}

static void *map(size_t size_bytes)
{
    void *pages = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);

    return pages != MAP_FAILED ? pages : NULL;
}

/* Only what is aligned to a huge page can become one, and not every kernel sees to that: map more
 * and give the ends back. */
static void *map_huge(size_t size_bytes)
{
    size_t whole = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    size_t more = whole + HUGE_PAGE_BYTES;
    uint8_t *pages = whole >= size_bytes && more > whole ? map(more) : NULL;
    size_t head;

    if (pages == NULL) {
        return NULL;
    }
    head = (HUGE_PAGE_BYTES - (uintptr_t)pages % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    if (head > 0) {
        (void)munmap(pages, head);
    }
    (void)munmap(pages + head + whole, HUGE_PAGE_BYTES - head);
    pages += head;
    (void)madvise(pages, size_bytes, MADV_HUGEPAGE); /* A hint: refused means small pages. */
    return pages;
}

void *heap_pages_alloc(size_t size_bytes, bool huge)
{
    void *pages;

    if (fault_due()) {
        return NULL;
    }
    pages = huge ? map_huge(size_bytes) : map(size_bytes);
    return pages != NULL ? counted(pages) : NULL;
}

void heap_pages_free(void *pages, size_t size_bytes)
{
    if (pages != NULL) {
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        (void)munmap(pages, size_bytes);
    }
}

void heap_pages_drop(void *pages, size_t size_bytes)
{
    if (madvise(pages, size_bytes, MADV_DONTNEED) != 0) {
        memset(pages, 0, size_bytes); /* Locked, by whatever: what counts is that they are zero. */
    }
}

void heap_pages_populate(void *pages, size_t size_bytes)
{
    uint8_t *at = pages;

    for (size_t left = size_bytes; left > 0;) { /* Others map memory between two of them. */
        size_t step = left < HUGE_PAGE_BYTES ? left : HUGE_PAGE_BYTES;

        (void)madvise(at, step, MADV_POPULATE_WRITE); /* A hint, too. */
        at += step;
        left -= step;
    }
}

void heap_fault_after(unsigned count)
{
    fault_armed = true;
    fault_left = count;
}

void heap_fault_clear(void)
{
    fault_armed = false;
}

size_t heap_live(void)
{
    return atomic_load_explicit(&live, memory_order_relaxed);
}
