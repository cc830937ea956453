/* Do the messages of backups, and of what nodes hold, come through as they were? */
#include "proto/codec.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ARENA_BYTES = 4 << 20 };

static struct codec_arena *arena;
static struct buffer bytes;

/* Decoded anew; finish() when it is looked at. */
static struct frame travel(const struct frame *frame)
{
    struct frame read = {0};

    cr_assert_eq(codec_arena_create(ARENA_BYTES, &arena), STATUS_OK);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &read), STATUS_OK);
    cr_assert_eq(read.kind, frame->kind);
    return read;
}

static void finish(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

Test(proto_map, what_a_node_holds_comes_through)
{
    const struct held_document held[] = {{0, 7, 0, 1ull << 63}, {9, 8, 3, 5}};
    const struct span documents[] = {span_text("signed")};
    struct frame frame = {.kind = FRAME_SYNC_REQUEST};
    struct frame read;

    frame.body.sync_request = (struct sync_request){
        .role = SYNC_NODE,
        .name = "node-1",
        .endpoint = "",
        .host = "",
        .zone = "",
        .store = 77,
        .held = held,
        .nheld = 2,
        .held_count = 3,
        .documents = documents,
        .ndocuments = 1,
    };
    read = travel(&frame);
    cr_assert_eq(read.body.sync_request.store, 77);
    cr_assert_eq(read.body.sync_request.nheld, 2);
    cr_assert_eq(read.body.sync_request.held_count, 3);
    cr_assert_arr_eq(read.body.sync_request.held, held, sizeof held);
    cr_assert_eq(read.body.sync_request.ndocuments, 1);
    cr_assert(span_equal(read.body.sync_request.documents[0], documents[0]));
    finish();
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

Test(proto_map, no_node_holds_fewer_than_it_names)
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
Test(proto_map, a_page_of_what_is_held_is_in_order_and_within_its_bounds)
{
    cr_assert_eq(held_refusal(4, 9, 3, 9), STATUS_OK);
    cr_assert_eq(held_refusal(4, 9, 3, 0), STATUS_OK);
    cr_assert_eq(held_refusal(0, DROPPED_RECORD_ID, 3, 9), STATUS_OK, "records are of no page");
    cr_assert_eq(held_refusal(9, 4, 3, 9), STATUS_MALFORMED);
    cr_assert_eq(held_refusal(4, 4, 3, 9), STATUS_MALFORMED);
    cr_assert_eq(held_refusal(3, 9, 3, 9), STATUS_MALFORMED, "below");
    cr_assert_eq(held_refusal(4, 10, 3, 9), STATUS_MALFORMED, "beyond");
    cr_assert_eq(held_refusal(4, 9, 9, 9), STATUS_MALFORMED, "a page of nothing");
}

Test(proto_map, a_coordinator_wants_so_many_at_once)
{
    static const uint64_t wanted[CODEC_MAX_WANTED + 1];
    struct frame frame = {.kind = FRAME_SYNC_REPLY};

    frame.body.sync_reply = (struct sync_reply){
        .status = STATUS_UNAVAILABLE, .message = "", .wanted = wanted, .nwanted = CODEC_MAX_WANTED};
    cr_assert_eq(refusal(&frame), STATUS_OK);
    frame.body.sync_reply.nwanted = CODEC_MAX_WANTED + 1;
    cr_assert_eq(refusal(&frame), STATUS_MALFORMED);
}

Test(proto_map, what_a_coordinator_wants_comes_through)
{
    const uint64_t wanted[] = {0, 1ull << 63, 5};
    struct frame frame = {.kind = FRAME_SYNC_REPLY};
    struct frame read;

    frame.body.sync_reply = (struct sync_reply){
        .status = STATUS_UNAVAILABLE, .message = "", .store = 77, .wanted = wanted, .nwanted = 3};
    read = travel(&frame);
    cr_assert_eq(read.body.sync_reply.store, 77);
    cr_assert_eq(read.body.sync_reply.nwanted, 3);
    cr_assert_arr_eq(read.body.sync_reply.wanted, wanted, sizeof wanted);
    finish();
}

Test(proto_map, a_restore_comes_through)
{
    static const char *const off[] = {"node-3"};
    const struct map_record records[] = {{"filter/1", span_text("value")}};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct frame read;
    const struct map_parameters *map;

    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_MAP_FINISH,
        .name = "",
        .map = {.since = 5,
                .key = 6,
                .records = records,
                .nrecords = 1,
                .confirmed_off = off,
                .nconfirmed_off = 1,
                .accept_losses = true},
    };
    read = travel(&frame);
    map = &read.body.admin_request.map;
    cr_assert_eq(read.body.admin_request.action, ADMIN_MAP_FINISH);
    cr_assert(map->since == 5 && map->key == 6 && map->accept_losses);
    cr_assert_str_eq(map->records[0].key, "filter/1");
    cr_assert(span_equal(map->records[0].value, span_text("value")));
    cr_assert_str_eq(map->confirmed_off[0], "node-3");
    finish();
}

Test(proto_map, a_page_comes_through)
{
    const struct map_record records[] = {{"nodes", span_text("")}};
    struct frame frame = {.kind = FRAME_ADMIN_REPLY};
    struct frame read;

    frame.body.admin_reply = (struct admin_reply){
        .status = STATUS_OK,
        .message = "",
        .map = {.key = 1,
                .cluster = {{7}},
                .store = 2,
                .change = 3,
                .more = true,
                .records = records,
                .nrecords = 1},
    };
    read = travel(&frame);
    cr_assert(read.body.admin_reply.map.key == 1 &&
              read.body.admin_reply.map.cluster.bytes[0] == 7 &&
              read.body.admin_reply.map.store == 2 && read.body.admin_reply.map.change == 3 &&
              read.body.admin_reply.map.more);
    cr_assert_str_eq(read.body.admin_reply.map.records[0].key, "nodes");
    finish();
}

Test(proto_map, what_processes_know_comes_through)
{
    const struct process_features processes[] = {
        {.kind = PROCESS_COORDINATOR, .name = "coordinator-1", .features = 3, .heard = true},
        {.kind = PROCESS_ROUTER, .name = "router-1", .features = UINT64_MAX},
    };
    struct frame frame = {.kind = FRAME_ADMIN_REPLY};
    struct frame read;
    const struct upgrade_page *page;

    frame.body.admin_reply = (struct admin_reply){
        .status = STATUS_OK,
        .message = "",
        .upgrade = {.known = 7, .in_use = 1, .processes = processes, .nprocesses = 2},
    };
    read = travel(&frame);
    page = &read.body.admin_reply.upgrade;
    cr_assert(page->known == 7 && page->in_use == 1 && page->nprocesses == 2);
    cr_assert_eq(page->processes[0].kind, PROCESS_COORDINATOR);
    cr_assert_str_eq(page->processes[1].name, "router-1");
    cr_assert_eq(page->processes[1].features, UINT64_MAX);
    cr_assert(page->processes[0].heard && !page->processes[1].heard);
    finish();
}

Test(proto_map, the_commands_of_an_upgrade_come_through)
{
    static const enum admin_action actions[] = {ADMIN_UPGRADE_STATUS, ADMIN_UPGRADE_FINALIZE};

    for (size_t i = 0; i < 2; i++) {
        struct frame frame = {.kind = FRAME_ADMIN_REQUEST};

        frame.body.admin_request = (struct admin_request){
            .action = actions[i], .name = "", .successor = ""};
        cr_assert_eq(travel(&frame).body.admin_request.action, actions[i]);
        finish();
    }
}
