/* The allocation seam: what other tests rely on to fail and to count. */
#include "base/heap.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KINDS = 5 };

/* One allocation of each kind. */
static void *allocate(int kind)
{
    switch (kind) {
    case 0:
        return heap_alloc(3, 8);
    case 1:
        return heap_zalloc(3, 8);
    case 2:
        return heap_realloc(NULL, 3, 8);
    case 3:
        return heap_strdup("text");
    default:
        return heap_pages_alloc(8192, false);
    }
}

static void release(int kind, void *pointer)
{
    if (kind == 4) {
        heap_pages_free(pointer, 8192);
    } else {
        heap_free(pointer);
    }
}

Test(heap, each_allocation_is_counted_once)
{
    size_t before = heap_live();

    for (int kind = 0; kind < KINDS; kind++) {
        void *pointer = allocate(kind);

        cr_assert_not_null(pointer);
        cr_assert_eq(heap_live(), before + 1, "kind %d", kind);
        release(kind, pointer);
        cr_assert_eq(heap_live(), before, "kind %d", kind);
    }
}

Test(heap, freeing_null_is_fine)
{
    size_t before = heap_live();

    heap_free(NULL);
    heap_pages_free(NULL, 4096);
    cr_assert_eq(heap_live(), before);
}

/* After n successes every allocation fails, of whatever kind, until cleared. */
Test(heap, faults_begin_after_the_count_and_last_until_cleared)
{
    for (unsigned n = 0; n < 4; n++) {
        void *pointers[4] = {NULL};
        size_t before = heap_live();

        heap_fault_after(n);
        for (unsigned i = 0; i < n; i++) {
            pointers[i] = allocate((int)(i % KINDS));
            cr_assert_not_null(pointers[i], "allocation %u of %u", i, n);
        }
        for (int kind = 0; kind < KINDS; kind++) {
            cr_assert_null(allocate(kind), "kind %d after %u", kind, n);
        }
        heap_fault_clear();
        cr_assert_eq(heap_live(), before + n);
        for (unsigned i = 0; i < n; i++) {
            release((int)(i % KINDS), pointers[i]);
        }
        cr_assert_eq(heap_live(), before);
    }
}

Test(heap, arming_again_starts_the_count_anew)
{
    void *pointer;

    heap_fault_after(0);
    heap_fault_after(1);
    pointer = heap_alloc(1, 1);
    cr_assert_not_null(pointer);
    cr_assert_null(heap_alloc(1, 1));
    heap_fault_clear();
    heap_free(pointer);
}

Test(heap, zalloc_and_pages_are_zeroed)
{
    static const uint8_t zeros[8192];
    uint8_t *bytes = heap_zalloc(sizeof zeros, 1);
    uint8_t *pages = heap_pages_alloc(sizeof zeros, false);

    cr_assert_not_null(bytes);
    cr_assert_not_null(pages);
    cr_assert_eq(memcmp(bytes, zeros, sizeof zeros), 0);
    cr_assert_eq(memcmp(pages, zeros, sizeof zeros), 0);
    heap_free(bytes);
    heap_pages_free(pages, sizeof zeros);
}

/* Asking for huge pages is a hint: it works on any machine. Any size will do, and all of it. */
Test(heap, pages_are_aligned_and_writable_whether_huge_or_not)
{
    static const size_t sizes[] = {1, 4096, 65536, (2 << 20) - 1, 2 << 20, (4 << 20) + 4097};

    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i / 2];
        bool huge = i % 2 == 1;
        uint8_t *pages = heap_pages_alloc(size, huge);
        uint8_t *others = heap_pages_alloc(size, huge);

        cr_assert_not_null(pages);
        cr_assert_not_null(others);
        cr_assert_eq((uintptr_t)pages % (huge ? 2 << 20 : (uintptr_t)sysconf(_SC_PAGESIZE)), 0);
        memset(pages, 1, size);
        memset(others, 2, size);
        cr_assert(pages[0] == 1 && pages[size - 1] == 1, "two of %zu bytes overlap", size);
        heap_pages_free(pages, size);
        cr_assert_eq(others[size - 1], 2, "freeing one took of the other");
        heap_pages_free(others, size);
    }
}

Test(heap, pages_that_cannot_be_had_are_null)
{
    size_t before = heap_live();

    cr_assert_null(heap_pages_alloc(SIZE_MAX / 2, false));
    cr_assert_null(heap_pages_alloc(SIZE_MAX / 2, true));
    cr_assert_null(heap_pages_alloc(SIZE_MAX, true));
    cr_assert_null(heap_pages_alloc(SIZE_MAX - 4096, true));
    cr_assert_eq(heap_live(), before);
}

Test(heap, sizes_of_zero_give_unique_pointers)
{
    void *a = heap_alloc(0, 8);
    void *b = heap_alloc(8, 0);
    void *c = heap_zalloc(0, 0);

    cr_assert(a != NULL && b != NULL && c != NULL);
    cr_assert(a != b && b != c && a != c);
    heap_free(a);
    heap_free(b);
    heap_free(c);
}

/* count * size beyond size_t must not become a small allocation. */
Test(heap, an_overflowing_product_is_refused)
{
    size_t half = SIZE_MAX / 2 + 1;
    size_t before = heap_live();
    char *old;

    cr_assert_null(heap_alloc(half, 2));
    cr_assert_null(heap_zalloc(half, 2));
    cr_assert_null(heap_realloc(NULL, half, 2));
    old = heap_strdup("kept");
    cr_assert_not_null(old);
    cr_assert_null(heap_realloc(old, half, 2));
    cr_assert_str_eq(old, "kept");
    heap_free(old);
    cr_assert_eq(heap_live(), before);
}

Test(heap, realloc_keeps_the_content_and_counts_once)
{
    size_t before = heap_live();
    char *text = heap_strdup("0123456");
    char *grown;

    cr_assert_not_null(text);
    grown = heap_realloc(text, 1000, 100);
    cr_assert_not_null(grown);
    cr_assert_str_eq(grown, "0123456");
    grown = heap_realloc(grown, 8, 1);
    cr_assert_not_null(grown);
    cr_assert_str_eq(grown, "0123456");
    cr_assert_eq(heap_live(), before + 1);
    heap_free(grown);
    cr_assert_eq(heap_live(), before);
}

Test(heap, a_failed_realloc_leaves_the_old_block)
{
    char *text = heap_strdup("still here");

    cr_assert_not_null(text);
    heap_fault_after(0);
    cr_assert_null(heap_realloc(text, 100, 1));
    heap_fault_clear();
    cr_assert_str_eq(text, "still here");
    heap_free(text);
}

/* Added one by one: all are kept, and the array moves seldom. */
Test(heap, a_growing_array_keeps_its_items_and_doubles)
{
    enum { ITEMS = 1000, MOST_STEPS = 10 };
    size_t before = heap_live();
    uint64_t *items = NULL;
    size_t capacity = 0;
    unsigned steps = 0;

    for (uint64_t i = 0; i < ITEMS; i++) {
        size_t had = capacity;

        cr_assert(heap_grow(&items, &capacity, i + 1, sizeof *items));
        cr_assert(capacity > i && capacity >= had);
        cr_assert(capacity == had || capacity >= 2 * had, "%zu after %zu", capacity, had);
        steps += capacity != had;
        items[i] = i;
    }
    cr_assert_leq(steps, MOST_STEPS);
    cr_assert_eq(heap_live(), before + 1);
    for (uint64_t i = 0; i < ITEMS; i++) {
        cr_assert_eq(items[i], i);
    }
    heap_free(items);
    cr_assert_eq(heap_live(), before);
}

Test(heap, a_growing_array_has_room_for_all_that_is_wanted)
{
    uint8_t *items = NULL;
    size_t capacity = 0;

    cr_assert(heap_grow(&items, &capacity, 5000, 3));
    cr_assert_geq(capacity, 5000);
    memset(items, 1, 3 * capacity);
    cr_assert(heap_grow(&items, &capacity, 1000000, 3));
    cr_assert_geq(capacity, 1000000);
    memset(items, 1, 3 * capacity);
    heap_free(items);
}

Test(heap, an_array_with_room_is_left_as_it_is)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    uint32_t *same;
    size_t had;

    cr_assert(heap_grow(&items, &capacity, 0, sizeof *items));
    cr_assert(items == NULL && capacity == 0, "nothing is wanted");
    cr_assert(heap_grow(&items, &capacity, 1, sizeof *items));
    same = items;
    had = capacity;
    heap_fault_after(0);
    for (size_t wanted = 0; wanted <= had; wanted++) {
        cr_assert(heap_grow(&items, &capacity, wanted, sizeof *items), "no memory is needed");
    }
    heap_fault_clear();
    cr_assert(items == same && capacity == had);
    heap_free(items);
}

/* Out of memory, or more than a size_t holds: the next attempt finds it as it was. */
Test(heap, an_array_that_cannot_grow_stays)
{
    static const size_t wanted[] = {SIZE_MAX, SIZE_MAX / 4 + 1, SIZE_MAX / 2};
    uint32_t *items = NULL;
    size_t capacity = 0;
    uint32_t *same;
    size_t had;

    cr_assert(heap_grow(&items, &capacity, 1, sizeof *items));
    items[0] = 7;
    same = items;
    had = capacity;
    heap_fault_after(0);
    cr_assert_not(heap_grow(&items, &capacity, had + 1, sizeof *items));
    heap_fault_clear();
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        cr_assert_not(heap_grow(&items, &capacity, wanted[i], sizeof *items), "%zu", wanted[i]);
        cr_assert(items == same && capacity == had && items[0] == 7);
    }
    heap_free(items);
}

/* Doubling must not wrap around to less than is wanted. */
Test(heap, a_capacity_that_cannot_double_is_not_made_smaller)
{
    uint8_t *items = NULL;
    size_t capacity = SIZE_MAX / 2 + 2;

    cr_assert_not(heap_grow(&items, &capacity, SIZE_MAX / 2 + 3, 2));
    cr_assert(items == NULL && capacity == SIZE_MAX / 2 + 2);
}

Test(heap, strdup_copies_the_empty_text_too)
{
    char *empty = heap_strdup("");

    cr_assert_not_null(empty);
    cr_assert_str_eq(empty, "");
    heap_free(empty);
}

Test(heap, dropped_pages_are_zeros_and_the_others_stay)
{
    enum { PAGE = 4096 };
    uint8_t *pages = heap_pages_alloc(3 * PAGE, false);
    size_t live = heap_live();

    cr_assert_not_null(pages);
    memset(pages, 7, 3 * PAGE);
    heap_pages_drop(pages + PAGE, PAGE);
    cr_assert_eq(heap_live(), live, "they are still there");
    for (unsigned i = 0; i < 3 * PAGE; i++) {
        cr_assert_eq(pages[i], i / PAGE == 1 ? 0 : 7);
    }
    pages[PAGE] = 1;
    heap_pages_free(pages, 3 * PAGE);
}

Test(heap, pages_can_be_backed_ahead_and_keep_what_they_hold)
{
    enum { PAGES = 700, PAGE = 4096 };
    unsigned char backed[PAGES];
    uint8_t *pages = heap_pages_alloc((size_t)PAGES * PAGE, true);

    pages[5 * PAGE] = 7;
    heap_pages_populate(pages, (size_t)PAGES * PAGE);
    cr_assert_eq(mincore(pages, (size_t)PAGES * PAGE, backed), 0);
    for (int i = 0; i < PAGES; i++) {
        cr_assert(backed[i] & 1, "page %d", i);
        cr_assert_eq(pages[i * PAGE], i == 5 ? 7 : 0);
    }
    heap_pages_free(pages, (size_t)PAGES * PAGE);
    heap_pages_populate(pages, (size_t)PAGES * PAGE); /* Nothing is there any more. */
}
