/* What comes first at a coordinator, and what is told that there is no room: by the bytes alone. */
#include "coordinator/intake.h"
#include "proto/codec.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { CORRELATION = 4711 };

static struct buffer bytes;
static struct buffer answer;

static struct span encode(const struct frame *frame)
{
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    return buffer_span(&bytes);
}

static struct span sync_of(enum sync_role role)
{
    const struct frame frame = {
        .correlation = CORRELATION,
        .kind = FRAME_SYNC_REQUEST,
        .body.sync_request = {.role = role, .name = "n", .endpoint = "", .host = "", .zone = ""},
    };

    return encode(&frame);
}

static struct span stats(enum frame_kind kind)
{
    const struct frame frame = {.correlation = CORRELATION, .kind = kind};

    return encode(&frame);
}

Test(coordinator_intake, nodes_come_first_and_nobody_else)
{
    cr_assert(coordinator_comes_first(sync_of(SYNC_NODE)));
    buffer_fini(&bytes);
    cr_assert_not(coordinator_comes_first(sync_of(SYNC_ROUTER)));
    buffer_fini(&bytes);
    cr_assert_not(coordinator_comes_first(stats(FRAME_STATS_REQUEST)));
    buffer_fini(&bytes);
}

static void expect_overloaded(struct span frame)
{
    struct codec_arena *arena = NULL;
    struct frame decoded;

    buffer_init(&answer, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_arena_create(1 << 20, &arena), STATUS_OK);
    cr_assert(coordinator_refuse_crowded(frame, &answer));
    cr_assert_eq(codec_decode(arena, buffer_span(&answer), &decoded), STATUS_OK);
    cr_assert_eq(decoded.kind, FRAME_ERROR);
    cr_assert_eq(decoded.correlation, CORRELATION);
    cr_assert_eq(decoded.body.error.status, STATUS_OVERLOADED);
    codec_arena_destroy(&arena);
    buffer_fini(&answer);
    buffer_fini(&bytes);
}

Test(coordinator_intake, requests_are_told_and_nothing_else_is)
{
    expect_overloaded(sync_of(SYNC_ROUTER));
    expect_overloaded(stats(FRAME_STATS_REQUEST));
    buffer_init(&answer, 1024);
    cr_assert_not(coordinator_refuse_crowded(span_text("garbage"), &answer));
    cr_assert_not(coordinator_refuse_crowded(span_text(""), &answer));
    cr_assert_not(coordinator_refuse_crowded(
        encode(&(struct frame){.kind = FRAME_ERROR,
                               .body.error = {.status = STATUS_OVERLOADED, .message = ""}}),
        &answer));
    cr_assert_eq(answer.size, 0);
    buffer_fini(&bytes);
    buffer_fini(&answer);
}

/* Every prefix of a report, and every byte of it changed: whatever is said, nothing is read beyond.
 */
Test(coordinator_intake, no_bytes_do_harm)
{
    struct span whole = sync_of(SYNC_NODE);
    uint8_t *copy;

    buffer_init(&answer, 1 << 20);
    for (size_t size = 0; size <= whole.size; size++) {
        copy = malloc(size > 0 ? size : 1); /* A sanitizer sees its end. */
        cr_assert_not_null(copy);
        memcpy(copy, whole.data, size);
        (void)coordinator_comes_first(span_of(copy, size));
        for (size_t i = 0; i < size; i++) {
            copy[i] ^= 0xff;
            (void)coordinator_comes_first(span_of(copy, size));
            (void)coordinator_refuse_crowded(span_of(copy, size), &answer);
            copy[i] ^= 0xff;
        }
        free(copy);
    }
    buffer_fini(&answer);
    buffer_fini(&bytes);
}
