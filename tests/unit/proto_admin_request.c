/* Do the parameters that belong to single actions come through as they were? */
#include "map/access/seal.h"
#include "proto/codec.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ARENA_BYTES = 4 << 20 };

static struct codec_arena *arena;
static struct buffer bytes;
static struct frame frame;

static void setup(void)
{
    cr_assert_eq(codec_arena_create(ARENA_BYTES, &arena), STATUS_OK);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    frame = (struct frame){.kind = FRAME_ADMIN_REQUEST};
    frame.body.admin_request = (struct admin_request){.name = "f"};
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

TestSuite(proto_admin_request, .init = setup, .fini = teardown);

/* Decoded anew. */
static struct admin_request travel(void)
{
    struct frame read = {0};

    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &read), STATUS_OK);
    cr_assert_eq(read.kind, FRAME_ADMIN_REQUEST);
    cr_assert_eq(read.body.admin_request.action, frame.body.admin_request.action);
    return read.body.admin_request;
}

Test(proto_admin_request, a_rebuild_comes_through)
{
    struct admin_request read;

    frame.body.admin_request.action = ADMIN_REBUILD;
    frame.body.admin_request.rebuild = (struct rebuild_parameters){
        .step = REBUILD_COMMIT, .keyset = 7, .fed_keys = UINT64_MAX, .empty = true};
    read = travel();
    cr_assert_eq(read.rebuild.step, REBUILD_COMMIT);
    cr_assert_eq(read.rebuild.keyset, 7);
    cr_assert_eq(read.rebuild.fed_keys, UINT64_MAX);
    cr_assert(read.rebuild.empty);
}

Test(proto_admin_request, a_load_comes_through)
{
    static const uint8_t secret[SEAL_SECRET_BYTES] = {1, 2, 3};
    struct admin_request read;

    frame.body.admin_request.action = ADMIN_LOAD;
    frame.body.admin_request.load = (struct load_parameters){
        .step = LOAD_MOVE, .source = 5, .from = 6, .to = UINT64_MAX};
    read = travel();
    cr_assert_eq(read.load.step, LOAD_MOVE);
    cr_assert(read.load.source == 5 && read.load.from == 6 && read.load.to == UINT64_MAX);
    cr_assert_eq(read.load.secret.size, 0);

    buffer_clear(&bytes);
    frame.body.admin_request.load.step = LOAD_BEGIN;
    frame.body.admin_request.load.secret = span_of(secret, sizeof secret);
    frame.body.admin_request.create = (struct create_parameters){
        .capacity = 1000,
        .rate = 0.01,
        .rule = {.replicas = 3, .write = 2, .read = 2},
        .hash = HASH_XXH3,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .max_staleness = 7,
        .acks = 8};
    read = travel();
    cr_assert_eq(read.load.step, LOAD_BEGIN);
    cr_assert(span_equal(read.load.secret, span_of(secret, sizeof secret)));
    cr_assert_eq(read.create.capacity, 1000);
    cr_assert(read.create.max_staleness == 7 && read.create.acks == 8);
}

Test(proto_admin_request, an_accepted_loss_comes_through)
{
    static const struct vouched_life off[] = {{{1, 7}, true}, {{UINT32_MAX, UINT64_MAX}, false}};
    struct admin_request read;

    frame.body.admin_request.action = ADMIN_ACCEPT_LOSS;
    frame.body.admin_request.loss = (struct loss_parameters){.shard = 9};
    frame.body.admin_request.confirmed_off = off;
    frame.body.admin_request.nconfirmed_off = 2;
    read = travel();
    cr_assert(!read.loss.all);
    cr_assert_eq(read.loss.shard, 9);
    cr_assert_eq(read.nconfirmed_off, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(member_equal(&read.confirmed_off[i].life, &off[i].life));
        cr_assert_eq(read.confirmed_off[i].runs, off[i].runs);
    }
}

/* It was taken for a lack of memory. */
Test(proto_admin_request, a_name_that_may_not_travel_is_called_invalid)
{
    static const char *const names[] = {"\xff"};

    frame.body.admin_request.action = ADMIN_MAP_FINISH;
    frame.body.admin_request.map = (struct map_parameters){.confirmed_off = names,
                                                           .nconfirmed_off = 1};
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_INVALID);
    cr_assert_eq(bytes.size, 0);
}
