/* proto_golden.h - what is encoded has these very bytes; shared by the golden tests only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_GOLDEN_H
#define ORBLOOM_TESTS_UNIT_PROTO_GOLDEN_H

#include "map/acks.h"
#include "proto/codec.h"
#include "proto/signed_document.h"
#include "proto_compare.h"
#include "proto_document_samples.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { GOLDEN_MAX_BYTES = 1024 };

static struct codec_arena *arena;
static struct buffer bytes;

static inline void setup(void)
{
    if (codec_arena_create(1 << 20, &arena) != STATUS_OK) {
        abort();
    }
    buffer_init(&bytes, GOLDEN_MAX_BYTES);
}

static inline void teardown(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

static inline void assert_bytes(struct span actual, const char *expected)
{
    char hex[2 * GOLDEN_MAX_BYTES + 1] = "";

    for (size_t i = 0; i < actual.size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", actual.data[i]);
    }
    cr_assert_str_eq(hex, expected);
}

/* Both directions: it is written so, and what is written so is read. */
static inline void assert_golden(const struct frame *frame, const char *expected)
{
    struct frame back;

    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    assert_bytes(buffer_span(&bytes), expected);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    compare_frames(frame, &back);
}

#endif
