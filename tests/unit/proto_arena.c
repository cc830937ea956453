/* Does the arena keep its cap, whatever came before, and never lose memory? */
#include "base/heap.h"
#include "proto/arena.h"
#include "proto/codec.h"

#include <criterion/criterion.h>

Test(arena, cuts_are_aligned_and_apart)
{
    struct codec_arena *arena = NULL;
    uint8_t *before = NULL;

    cr_assert_eq(codec_arena_create(100000, &arena), STATUS_OK);
    for (size_t size = 0; size < 200; size++) {
        uint8_t *cut = arena_take(arena, 1, size);

        cr_assert_not_null(cut);
        cr_assert_eq((uintptr_t)cut % 16, 0);
        if (size > 0) {
            cr_assert(before == NULL || cut >= before + size - 1);
            memset(cut, 1, size);
            before = cut;
        }
    }
    codec_arena_destroy(&arena);
    cr_assert_null(arena);
    codec_arena_destroy(&arena);
}

Test(arena, the_cap_is_reached_and_never_passed)
{
    struct codec_arena *arena = NULL;

    cr_assert_eq(codec_arena_create(64, &arena), STATUS_OK);
    cr_assert_not_null(arena_take(arena, 4, 8));
    cr_assert_null(arena_take(arena, 33, 1));
    cr_assert(arena->exhausted);
    cr_assert_not_null(arena_take(arena, 32, 1));
    cr_assert_null(arena_take(arena, 1, 1));
    cr_assert_null(arena_take(arena, SIZE_MAX / 2, 4), "the product overflows");
    cr_assert_null(arena_take(arena, 1, SIZE_MAX));
    arena_reset(arena);
    cr_assert(!arena->exhausted);
    cr_assert_not_null(arena_take(arena, 64, 1));
    codec_arena_destroy(&arena);
}

Test(arena, every_allocation_fails_once)
{
    struct codec_arena *arena = NULL;
    enum status status = STATUS_NOMEM;
    size_t live = heap_live();
    unsigned n;

    for (n = 0; status == STATUS_NOMEM; n++) {
        heap_fault_after(n);
        status = codec_arena_create(1 << 20, &arena);
        heap_fault_clear();
        cr_assert_eq(arena == NULL, status == STATUS_NOMEM);
        cr_assert_eq(heap_live() == live, status == STATUS_NOMEM);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(n, 3);
    codec_arena_destroy(&arena);
    cr_assert_eq(heap_live(), live);
}
