/* Can a frame of any version be told apart, answered by number, and refused without harm? */
#include "proto/arena.h"
#include "proto/codec.h"
#include "proto/codec_wire.h"
#include "proto_samples.h"

#include <criterion/criterion.h>

static struct codec_arena *arena;
static struct frame frame;

static void setup(void)
{
    if (codec_arena_create(SAMPLE_ARENA_BYTES, &arena) != STATUS_OK) {
        abort();
    }
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
}

TestSuite(envelope, .init = setup, .fini = teardown);

/* A literal of bytes, NULs and all. */
#define DECODE(literal) codec_decode(arena, span_of(literal, sizeof literal - 1), &frame)

#define VERSION_1   "\x08\x01"
#define CORRELATION "\x11\x39\x30\x00\x00\x00\x00\x00\x00" /* 12345 */
#define HINT_9      "\xba\x01\x02\x08\x09"
#define FIELD_200   "\xc0\x0c\x07"             /* varint */
#define BODY_130    "\x92\x08\x03\xff\xff\xff" /* bytes that are no message */

Test(envelope, a_frame_is_read)
{
    cr_assert_eq(DECODE(VERSION_1 CORRELATION HINT_9), STATUS_OK);
    cr_assert_eq(frame.version, 1);
    cr_assert_eq(frame.correlation, 12345);
    cr_assert_eq(frame.kind, FRAME_HINT);
    cr_assert_eq(frame.body.hint.change, 9);
}

Test(envelope, fields_come_in_any_order_and_the_last_one_counts)
{
    cr_assert_eq(DECODE(HINT_9 "\x08\x63" CORRELATION VERSION_1), STATUS_OK);
    cr_assert_eq(frame.version, 1);
    cr_assert_eq(frame.body.hint.change, 9);
}

/* Newer peers add fields: in the envelope and in messages. */
Test(envelope, unknown_fields_are_ignored)
{
    cr_assert_eq(DECODE(VERSION_1 FIELD_200 CORRELATION HINT_9 BODY_130), STATUS_OK);
    cr_assert_eq(frame.body.hint.change, 9);
    cr_assert_eq(DECODE(VERSION_1 "\xba\x01\x07\x08\x09\x7a\x03"
                                  "new"),
                 STATUS_OK);
    cr_assert_eq(frame.body.hint.change, 9);
}

/* The asker must be told the version, so its number must be readable. */
Test(envelope, other_versions_are_named_whatever_their_bodies)
{
    cr_assert_eq(DECODE("\x08\x02" CORRELATION BODY_130), STATUS_VERSION);
    cr_assert_eq(frame.version, 2);
    cr_assert_eq(frame.correlation, 12345);
    cr_assert_eq(frame.kind, FRAME_NONE);
    cr_assert_eq(DECODE("\x08\x02" CORRELATION HINT_9), STATUS_VERSION);
    cr_assert_eq(DECODE("\x08\x02" CORRELATION "\xba\x01\x01\xff"), STATUS_VERSION,
                 "not unpacked before the version is known");
    cr_assert_eq(DECODE(CORRELATION HINT_9), STATUS_VERSION, "version 0");
    cr_assert_eq(DECODE("\x08\x81\x80\x80\x80\x10" CORRELATION HINT_9), STATUS_VERSION,
                 "2^32 + 1 is not 1");
    cr_assert_eq(frame.version, UINT32_MAX);
}

Test(envelope, unknown_bodies_are_of_another_version)
{
    cr_assert_eq(DECODE(VERSION_1 CORRELATION BODY_130), STATUS_VERSION);
    cr_assert_eq(frame.correlation, 12345);
    cr_assert_eq(frame.kind, FRAME_NONE);
}

Test(envelope, frames_have_one_body)
{
    cr_assert_eq(DECODE(VERSION_1 CORRELATION), STATUS_MALFORMED);
    cr_assert_eq(DECODE(VERSION_1 HINT_9 HINT_9), STATUS_MALFORMED);
    cr_assert_eq(DECODE(VERSION_1 HINT_9 "\x52\x00"), STATUS_MALFORMED);
    cr_assert_eq(frame.kind, FRAME_NONE);
}

Test(envelope, wrong_wire_types_are_malformed)
{
    cr_assert_eq(DECODE("\x0a\x01\x01" HINT_9), STATUS_MALFORMED, "version as bytes");
    cr_assert_eq(DECODE(VERSION_1 "\x10\x05" HINT_9), STATUS_MALFORMED, "correlation as varint");
    cr_assert_eq(DECODE(VERSION_1 "\xb8\x01\x05"), STATUS_MALFORMED, "body as varint");
    cr_assert_eq(DECODE(VERSION_1 HINT_9 "\xc3\x0c\xc4\x0c"), STATUS_MALFORMED, "a group");
    cr_assert_eq(DECODE(VERSION_1 HINT_9 "\xc6\x0c"), STATUS_MALFORMED, "no type at all");
    cr_assert_eq(DECODE(VERSION_1 HINT_9 "\x02\x00"), STATUS_MALFORMED, "field 0");
}

Test(envelope, what_ends_too_early_is_malformed)
{
    cr_assert_eq(codec_decode(arena, span_of(NULL, 0), &frame), STATUS_VERSION, "no version");
    cr_assert_eq(DECODE("\x08"), STATUS_MALFORMED);
    cr_assert_eq(DECODE("\x08\x80"), STATUS_MALFORMED);
    cr_assert_eq(DECODE(VERSION_1 "\xba\x01\x7f\x08\x09"), STATUS_MALFORMED);
    cr_assert_eq(DECODE(VERSION_1 "\xba\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                 STATUS_MALFORMED, "a length of 2^64 - 1");
    cr_assert_eq(DECODE("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01" HINT_9),
                 STATUS_MALFORMED, "a varint of 11 bytes");
    cr_assert_eq(DECODE(VERSION_1 "\x11\x39\x30"), STATUS_MALFORMED);
}

Test(envelope, frames_over_the_limit_are_refused_unread)
{
    static uint8_t bytes[CODEC_MAX_FRAME_BYTES + 1];

    cr_assert_eq(codec_decode(arena, span_of(bytes, sizeof bytes), &frame), STATUS_TOO_LARGE);
    cr_assert_eq(frame.kind, FRAME_NONE);
    cr_assert_eq(codec_decode(arena, span_of(bytes, sizeof bytes - 1), &frame), STATUS_MALFORMED);
}

/* 8 MiB of empty subrequests would become gigabytes: the arena's cap holds. */
Test(envelope, frames_that_blow_up_are_refused)
{
    static uint8_t bytes[CODEC_MAX_FRAME_BYTES - 64];
    uint8_t head[32] = {0x08, 0x01, 0x62};
    size_t size = 3 + codec_wire_put_varint(head + 3, sizeof bytes - 32);

    memcpy(bytes, head, size);
    for (size_t i = size; i + 1 < sizeof bytes; i += 2) {
        bytes[i] = 0x0a; /* subrequests, length 0 */
    }
    cr_assert_eq(codec_decode(arena, span_of(bytes, size + sizeof bytes - 32), &frame),
                 STATUS_TOO_LARGE);
    cr_assert_leq(arena->used, SAMPLE_ARENA_BYTES);
    cr_assert_eq(DECODE(VERSION_1 HINT_9), STATUS_OK, "the next frame is served");
}

Test(envelope, varints_of_every_size_come_back)
{
    for (unsigned bits = 0; bits < 64; bits++) {
        uint64_t value = (uint64_t)1 << bits;
        uint8_t bytes[1 + CODEC_WIRE_VARINT_BYTES] = {0x08};
        size_t size = 1 + codec_wire_put_varint(bytes + 1, value);
        struct span rest = span_of(bytes, size);
        struct codec_wire_field field;

        cr_assert_eq(size, 2 + bits / 7);
        cr_assert_eq(codec_wire_next(&rest, &field), STATUS_OK);
        cr_assert_eq(rest.size, 0);
        cr_assert_eq(field.value, value);
    }
}
