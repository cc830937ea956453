/* Growable bytes: what was appended is there, and no failure changes it. */
#include "base/buffer.h"
#include "base/heap.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MAX_BYTES = 1000 };

Test(buffer, appended_bytes_are_kept_in_order)
{
    struct buffer buffer;
    uint8_t *tail = NULL;

    buffer_init(&buffer, MAX_BYTES);
    cr_assert_eq(buffer.size, 0);
    cr_assert_eq(buffer_append(&buffer, span_of("a\0b", 3)), STATUS_OK);
    cr_assert_eq(buffer_append(&buffer, span_of(NULL, 0)), STATUS_OK);
    cr_assert_eq(buffer_extend(&buffer, 2, &tail), STATUS_OK);
    memcpy(tail, "cd", 2);
    cr_assert(span_equal(buffer_span(&buffer), span_of("a\0bcd", 5)));
    buffer_fini(&buffer);
}

/* Byte by byte up to the maximum, then one more: the full case. */
Test(buffer, the_maximum_is_reached_and_never_passed)
{
    struct buffer buffer;
    uint8_t expected[MAX_BYTES];
    uint8_t *tail = NULL;

    buffer_init(&buffer, MAX_BYTES);
    for (size_t i = 0; i < MAX_BYTES; i++) {
        expected[i] = (uint8_t)(i * 7);
        cr_assert_eq(buffer_append(&buffer, span_of(&expected[i], 1)), STATUS_OK, "%zu", i);
        cr_assert_leq(buffer.capacity, MAX_BYTES);
    }
    cr_assert_eq(buffer_append(&buffer, span_of("x", 1)), STATUS_TOO_LARGE);
    cr_assert_eq(buffer_extend(&buffer, 1, &tail), STATUS_TOO_LARGE);
    cr_assert(span_equal(buffer_span(&buffer), span_of(expected, MAX_BYTES)));
    buffer_fini(&buffer);
}

/* A size that would wrap around must not pass as a small one. */
Test(buffer, a_huge_size_is_too_large)
{
    struct buffer buffer;
    uint8_t *tail = NULL;

    buffer_init(&buffer, MAX_BYTES);
    cr_assert_eq(buffer_append(&buffer, span_of("kept", 4)), STATUS_OK);
    cr_assert_eq(buffer_extend(&buffer, SIZE_MAX, &tail), STATUS_TOO_LARGE);
    cr_assert_eq(buffer_extend(&buffer, SIZE_MAX - 3, &tail), STATUS_TOO_LARGE);
    cr_assert_eq(buffer_extend(&buffer, MAX_BYTES - 3, &tail), STATUS_TOO_LARGE);
    cr_assert(span_equal(buffer_span(&buffer), span_of("kept", 4)));
    buffer_fini(&buffer);
}

Test(buffer, clearing_keeps_the_memory)
{
    struct buffer buffer;
    size_t capacity;

    buffer_init(&buffer, MAX_BYTES);
    cr_assert_eq(buffer_append(&buffer, span_of("0123456789", 10)), STATUS_OK);
    capacity = buffer.capacity;
    buffer_clear(&buffer);
    cr_assert_eq(buffer.size, 0);
    cr_assert_eq(buffer.capacity, capacity);
    cr_assert_eq(buffer_append(&buffer, span_of("new", 3)), STATUS_OK);
    cr_assert(span_equal(buffer_span(&buffer), span_of("new", 3)));
    buffer_fini(&buffer);
}

/* Every allocation fails once; the content and the count of allocations stay what they were. */
Test(buffer, a_failed_allocation_changes_nothing)
{
    size_t before = heap_live();
    enum status status = STATUS_NOMEM;
    struct buffer buffer;

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        uint8_t *tail = NULL;

        buffer_init(&buffer, MAX_BYTES);
        cr_assert_eq(buffer_append(&buffer, span_of("kept", 4)), STATUS_OK);
        heap_fault_after(n);
        status = buffer_extend(&buffer, MAX_BYTES - 4, &tail);
        heap_fault_clear();
        cr_assert_lt(n, 10);
        if (status == STATUS_NOMEM) {
            cr_assert_null(tail);
            cr_assert(span_equal(buffer_span(&buffer), span_of("kept", 4)));
        }
        buffer_fini(&buffer);
        cr_assert_eq(heap_live(), before);
    }
    cr_assert_eq(status, STATUS_OK);
}

Test(buffer, it_may_be_inited_again_after_fini)
{
    struct buffer buffer;

    buffer_init(&buffer, MAX_BYTES);
    cr_assert_eq(buffer_append(&buffer, span_of("old", 3)), STATUS_OK);
    buffer_fini(&buffer);
    buffer_init(&buffer, 2);
    cr_assert_eq(buffer_append(&buffer, span_of("old", 3)), STATUS_TOO_LARGE);
    cr_assert_eq(buffer_append(&buffer, span_of("ok", 2)), STATUS_OK);
    buffer_fini(&buffer);
}

Test(span, equality_looks_at_all_bytes_and_the_size)
{
    cr_assert(span_equal(span_of("a\0b", 3), span_of("a\0b", 3)));
    cr_assert_not(span_equal(span_of("a\0b", 3), span_of("a\0c", 3)));
    cr_assert_not(span_equal(span_of("ab", 2), span_of("ab", 1)));
    cr_assert(span_equal(span_of(NULL, 0), span_of("x", 0)));
    cr_assert(span_equal(span_text("text"), span_of("text", 4)));
    cr_assert_eq(span_text("").size, 0);
}
