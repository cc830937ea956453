/* Do the memories of decoding and encoding keep their bounds, and never lose any? */
#include "base/heap.h"
#include "proto/arena.h"
#include "proto/codec.h"

#include <criterion/criterion.h>
#include <string.h>

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

/* Every size of a first piece, so that the second meets the end of the stack part at every
 * distance. Written full: AddressSanitizer sees what reaches too far. */
Test(scratch, pieces_are_aligned_and_within_bounds)
{
    for (size_t first = 0; first <= CODEC_SCRATCH_STACK_BYTES + 32; first++) {
        struct codec_scratch scratch;
        size_t live = heap_live();
        uint8_t *a;
        uint8_t *b;

        codec_scratch_init(&scratch);
        a = codec_scratch_take(&scratch, 1, first);
        b = codec_scratch_take(&scratch, 8, 8);
        cr_assert(a != NULL && b != NULL);
        cr_assert_eq((uintptr_t)a % 16, 0);
        cr_assert_eq((uintptr_t)b % 16, 0);
        memset(a, 1, first);
        memset(b, 2, 64);
        for (size_t i = 0; i < first; i++) {
            cr_assert_eq(a[i], 1, "%zu", first);
        }
        codec_scratch_fini(&scratch);
        cr_assert_eq(heap_live(), live);
    }
}

Test(scratch, absurd_sizes_are_refused)
{
    struct codec_scratch scratch;

    codec_scratch_init(&scratch);
    cr_assert_null(codec_scratch_take(&scratch, SIZE_MAX / 4, 8));
    cr_assert_null(codec_scratch_take(&scratch, 1, SIZE_MAX - 8));
    codec_scratch_fini(&scratch);
}
