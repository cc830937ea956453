/* Is what a node says that it holds refused where it is at odds with itself? */
#include "proto/codec.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ARENA_BYTES = 4 << 20 };

static struct codec_arena *arena;
static struct buffer bytes;

static void finish(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

/* Encoded as it is told, and refused when it is read. */
static enum status refusal(const struct frame *frame)
{
    struct frame read = {0};
    enum status status;

    cr_assert_eq(codec_arena_create(ARENA_BYTES, &arena), STATUS_OK);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    status = codec_decode(arena, buffer_span(&bytes), &read);
    finish();
    return status;
}

Test(proto_held, no_node_holds_fewer_than_it_names)
{
    static const struct held_document held[2] = {{.filter_id = 1}, {.filter_id = 2}};
    struct frame frame = {.kind = FRAME_SYNC_REQUEST};

    frame.body.sync_request = (struct sync_request){.role = SYNC_NODE,
                                                    .name = "node-1",
                                                    .endpoint = "",
                                                    .host = "",
                                                    .zone = "",
                                                    .held = held,
                                                    .nheld = 2,
                                                    .held_count = 2};
    cr_assert_eq(refusal(&frame), STATUS_OK);
    frame.body.sync_request.held_count = 1;
    cr_assert_eq(refusal(&frame), STATUS_MALFORMED);
}

static enum status held_refusal(uint64_t first, uint64_t second, uint64_t after, uint64_t to)
{
    const struct held_document held[2] = {{.filter_id = first}, {.filter_id = second}};
    struct frame frame = {.kind = FRAME_SYNC_REQUEST};

    frame.body.sync_request = (struct sync_request){.role = SYNC_NODE,
                                                    .name = "node-1",
                                                    .endpoint = "",
                                                    .host = "",
                                                    .zone = "",
                                                    .held = held,
                                                    .nheld = 2,
                                                    .held_count = 2,
                                                    .held_after = after,
                                                    .held_to = to};
    return refusal(&frame);
}

/* What is out of order or beyond would be looked for where it is not. */
Test(proto_held, a_page_of_what_is_held_is_in_order_and_within_its_bounds)
{
    cr_assert_eq(held_refusal(4, 9, 3, 9), STATUS_OK);
    cr_assert_eq(held_refusal(4, 9, 3, 0), STATUS_OK);
    cr_assert_eq(held_refusal(0, DROPPED_RECORD_ID, 3, 9), STATUS_OK, "records are of no page");
    cr_assert_eq(held_refusal(USER_LIST_ID, 4, 3, 9), STATUS_OK);
    cr_assert_eq(held_refusal(9, 4, 3, 9), STATUS_MALFORMED);
    cr_assert_eq(held_refusal(4, 4, 3, 9), STATUS_MALFORMED);
    cr_assert_eq(held_refusal(3, 9, 3, 9), STATUS_MALFORMED, "below");
    cr_assert_eq(held_refusal(4, 10, 3, 9), STATUS_MALFORMED, "beyond");
    cr_assert_eq(held_refusal(4, 9, 9, 9), STATUS_MALFORMED, "a page of nothing");
}
