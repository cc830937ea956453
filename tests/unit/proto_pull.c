/* What nodes take over from each other can't be undone: is every reply that is torn, bent or at
 * odds with itself refused before anybody could merge it?
 */
#include "proto/codec.h"
#include "proto/orbloom.pb-c.h"
#include "proto_compare.h"
#include "proto_samples.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct codec_arena *arena;
static struct buffer bytes;
static struct frame frame;

static void setup(void)
{
    if (codec_arena_create(SAMPLE_ARENA_BYTES, &arena) != STATUS_OK) {
        abort();
    }
    buffer_init(&bytes, 2 * CODEC_MAX_FRAME_BYTES);
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

TestSuite(proto_pull, .init = setup, .fini = teardown);

static enum status decode(Orbloom__V1__Frame *wire)
{
    uint8_t *at = NULL;
    size_t size;

    wire->version = CODEC_VERSION;
    size = orbloom__v1__frame__get_packed_size(wire);
    buffer_clear(&bytes);
    cr_assert_eq(buffer_extend(&bytes, size, &at), STATUS_OK);
    cr_assert_eq(orbloom__v1__frame__pack(wire, at), size);
    return codec_decode(arena, buffer_span(&bytes), &frame);
}

/* Wrap a message into a frame of that kind, and decode it. */
#define DECODE(UPPER, field, message)                                                              \
    decode(&(Orbloom__V1__Frame){.base = PROTOBUF_C_MESSAGE_INIT(&orbloom__v1__frame__descriptor), \
                                 .body_case = ORBLOOM__V1__FRAME__BODY_##UPPER,                    \
                                 .field = (message)})

/* A full reply as it stands on the wire, to be bent; freed by the caller. */
static Orbloom__V1__Frame *unpack_sample(enum sample_size size)
{
    Orbloom__V1__Frame *wire;

    sample_frame(FRAME_PULL_REPLY, size, &frame);
    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    wire = orbloom__v1__frame__unpack(NULL, bytes.size, bytes.data);
    cr_assert_not_null(wire);
    return wire;
}

/* Whatever number is changed, the sum does not match any more. */
#define BENT(field)                                                         \
    do {                                                                    \
        Orbloom__V1__Frame *wire = unpack_sample(SAMPLE_FULL);              \
                                                                            \
        cr_assert_eq(decode(wire), STATUS_OK);                              \
        wire->pull_reply->field ^= 1;                                       \
        cr_assert_eq(decode(wire), STATUS_MALFORMED, "%s is free", #field); \
        orbloom__v1__frame__free_unpacked(wire, NULL);                      \
    } while (0)

Test(proto_pull, a_bent_reply_is_refused)
{
    BENT(filter_id);
    BENT(epoch);
    BENT(epoch_hash);
    BENT(group);
    BENT(keyset);
    BENT(slice);
    BENT(from);
    BENT(source);
    BENT(source_incarnation);
    BENT(state);
    BENT(fence_epoch);
    BENT(fence_position);
    BENT(next);
    BENT(end);
    BENT(merged);
    BENT(durable);
    BENT(fingerprints[0]);
    BENT(fingerprints[4]);
    BENT(batches[0]->producer_id);
    BENT(batches[0]->epoch);
    BENT(batches[0]->numbers[1]);
    BENT(batches[0]->offsets[0]);
    BENT(checksum);
}

Test(proto_pull, bent_headers_are_refused)
{
    Orbloom__V1__Frame *wire = unpack_sample(SAMPLE_LARGE);

    cr_assert_eq(decode(wire), STATUS_OK);
    cr_assert_eq(frame.body.pull_reply.nintervals, PULL_MAX_INTERVALS);
    wire->pull_reply->intervals[77]->first ^= 1;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    wire->pull_reply->intervals[77]->first ^= 1;
    wire->pull_reply->intervals[77]->count ^= 1;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    wire->pull_reply->intervals[77]->count ^= 1;
    cr_assert_eq(decode(wire), STATUS_OK);
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

/* Two fingerprints that changed places, or one that went with its count: the sum covers order. */
Test(proto_pull, a_torn_payload_is_refused)
{
    Orbloom__V1__Frame *wire = unpack_sample(SAMPLE_FULL);
    Orbloom__V1__PullReply *reply = wire->pull_reply;
    uint64_t kept = reply->fingerprints[0];

    reply->fingerprints[0] = reply->fingerprints[1];
    reply->fingerprints[1] = kept;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    reply->fingerprints[1] = reply->fingerprints[0];
    reply->fingerprints[0] = kept;
    cr_assert_eq(decode(wire), STATUS_OK);
    reply->n_fingerprints--;
    reply->batches[2]->counts[0]--;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    reply->n_fingerprints++;
    reply->batches[2]->counts[0]++;
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

/* Encode with a right sum what contradicts itself: not even asserted shapes let it through. */
static enum status decode_reply(const struct pull_reply *reply, Orbloom__V1__PullReply *wire)
{
    wire->kind = (Orbloom__V1__PullKind)reply->kind;
    wire->n_fingerprints = reply->count;
    wire->fingerprints = (uint64_t *)reply->fingerprints;
    wire->checksum = pull_reply_sum(reply);
    return DECODE(PULL_REPLY, pull_reply, wire);
}

Test(proto_pull, batches_must_add_up_to_the_fingerprints)
{
    static const uint64_t fingerprints[] = {1, 2, 3};
    Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
    Orbloom__V1__PullBatches series = ORBLOOM__V1__PULL_BATCHES__INIT;
    Orbloom__V1__PullBatches *list[] = {&series};
    struct pull_batch batches[] = {{.producer_id = 5, .number = 7, .offset = 9, .count = 2},
                                   {.producer_id = 5, .number = 6, .offset = 19, .count = 1}};
    struct pull_reply reply = {.kind = PULL_LOG,
                               .batches = batches,
                               .nbatches = 2,
                               .fingerprints = fingerprints,
                               .count = 3};

    series.producer_id = 5;
    series.numbers = (int64_t[]){7, -1};
    series.offsets = (uint64_t[]){9, 10};
    series.counts = (uint32_t[]){2, 1};
    series.n_numbers = series.n_offsets = series.n_counts = 2;
    wire.batches = list;
    wire.n_batches = 1;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_OK);
    cr_assert_eq(frame.body.pull_reply.batches[1].number, 6);
    reply.count = 2;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED, "a batch without its keys");
    reply.count = 3;
    reply.kind = PULL_RUNS;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED, "runs have no batches");
    reply.kind = PULL_LOG;
    series.n_numbers = 1;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED, "a batch without a number");
    series.n_numbers = 2;
    series.offsets[1] = UINT64_MAX;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED, "an offset that wraps");
}

static struct pull_batch one_batch = {.producer_id = 5, .number = 7, .offset = 9, .count = 1};
static struct pull_targets told; /* on the wire, and what the sum is of */

/* One batch of the scope (slice 4, keyset 5), with those flags, written to those. */
static enum status decode_told(uint32_t flags, size_t nslices, size_t nkeysets)
{
    static const uint64_t fingerprints[] = {1};
    static uint64_t slices[PULL_MAX_TARGETS + 1];
    static uint32_t keysets[PULL_MAX_TARGETS + 1];
    Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
    Orbloom__V1__PullBatches series = ORBLOOM__V1__PULL_BATCHES__INIT;
    Orbloom__V1__PullBatches *list[] = {&series};
    struct pull_reply reply = {.kind = PULL_LOG,
                               .scope = {.slice = 4, .keyset = 5},
                               .batches = &one_batch,
                               .nbatches = 1,
                               .fingerprints = fingerprints,
                               .count = 1};

    for (size_t i = 0; i < PULL_MAX_TARGETS; i++) {
        slices[i] = told.items[i].slice;
        keysets[i] = told.items[i].keyset;
    }
    told.count = (uint32_t)(nslices < PULL_MAX_TARGETS ? nslices : PULL_MAX_TARGETS);
    one_batch.flags = flags;
    one_batch.targets = nslices > 0 ? &told : NULL;
    series.producer_id = 5;
    series.numbers = (int64_t[]){7};
    series.offsets = (uint64_t[]){9};
    series.counts = (uint32_t[]){1};
    series.n_numbers = series.n_offsets = series.n_counts = 1;
    series.flags = flags;
    series.slices = slices;
    series.n_slices = nslices;
    series.keysets = keysets;
    series.n_keysets = nkeysets;
    wire.slice = 4;
    wire.keyset = 5;
    wire.batches = list;
    wire.n_batches = 1;
    return decode_reply(&reply, &wire);
}

/* Not damage: what the batch is only that version knows. */
Test(proto_pull, an_unknown_flag_is_a_newer_version)
{
    const struct pull_batch *batch;

    cr_assert_eq(decode_told(PULL_BATCH_FLAGS, 0, 0), STATUS_OK);
    batch = frame.body.pull_reply.batches;
    cr_assert_eq(batch->flags, PULL_BATCH_FLAGS);
    cr_assert_null(batch->targets);
    cr_assert_eq(decode_told(32, 0, 0), STATUS_VERSION);
    cr_assert_eq(decode_told(1, 0, 0), STATUS_VERSION, "of the log alone");
    cr_assert_eq(decode_told(UINT32_MAX, 0, 0), STATUS_VERSION);
}

Test(proto_pull, targets_are_few_each_once_and_the_questions_among_them)
{
    told.items[0] = (struct pull_target){9, 2};
    told.items[1] = (struct pull_target){4, 5};
    cr_assert_eq(decode_told(0, 2, 2), STATUS_OK);
    cr_assert(pull_targets_equal(frame.body.pull_reply.batches[0].targets, &told));
    cr_assert_eq(decode_told(0, 1, 1), STATUS_MALFORMED, "the question's is not among them");
    cr_assert_eq(decode_told(0, 2, 1), STATUS_MALFORMED, "a slice without a keyset");
    told.items[2] = told.items[0];
    cr_assert_eq(decode_told(0, 3, 3), STATUS_MALFORMED, "one twice");
    for (uint32_t i = 2; i < PULL_MAX_TARGETS; i++) {
        told.items[i] = (struct pull_target){9, 10 + i};
    }
    cr_assert_eq(decode_told(0, PULL_MAX_TARGETS, PULL_MAX_TARGETS), STATUS_OK);
    cr_assert_eq(decode_told(0, PULL_MAX_TARGETS + 1, PULL_MAX_TARGETS + 1), STATUS_TOO_LARGE);
}

/* What decides where keys go, and what they are, is covered by the sum. */
Test(proto_pull, bent_flags_and_targets_are_refused)
{
    Orbloom__V1__Frame *wire = unpack_sample(SAMPLE_FULL);
    Orbloom__V1__PullBatches *fed = wire->pull_reply->batches[3];
    Orbloom__V1__PullBatches *series = wire->pull_reply->batches[6];

    cr_assert_eq(decode(wire), STATUS_OK);
    cr_assert_eq(fed->flags, PULL_BATCH_FED);
    fed->flags = PULL_BATCH_RELAYED;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    fed->flags = 0;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    fed->flags = PULL_BATCH_FED;
    cr_assert_eq(series->n_slices, 3);
    series->slices[2]--;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    series->slices[2]++;
    series->keysets[0] ^= 1;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    series->keysets[0] ^= 1;
    cr_assert_eq(decode(wire), STATUS_OK);
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

/* ---- pages of arrays ---- */

static uint8_t pages[2 * PULL_PAGE_BYTES];

static struct pull_reply lines_reply(void)
{
    static const uint64_t ids[] = {3, 900};

    pages[0] = 1;
    pages[sizeof pages - 1] = 2;
    return (struct pull_reply){.status = STATUS_OK,
                               .kind = PULL_PAGES,
                               .scope = {.filter_id = 5, .generation = 2, .geometry = 77},
                               .from = 3,
                               .next = 901,
                               .merged = 4000,
                               .page_ids = ids,
                               .pages = pages,
                               .npages = 2};
}

static Orbloom__V1__Frame *unpack_lines(void)
{
    struct frame lines = {.kind = FRAME_PULL_REPLY, .body.pull_reply = lines_reply()};

    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&lines, &bytes), STATUS_OK);
    return orbloom__v1__frame__unpack(NULL, bytes.size, bytes.data);
}

Test(proto_pull, pages_come_back)
{
    struct frame lines = {.kind = FRAME_PULL_REPLY, .body.pull_reply = lines_reply()};
    const struct pull_reply *reply = &frame.body.pull_reply;

    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&lines, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &frame), STATUS_OK);
    cr_assert_eq(reply->kind, PULL_PAGES);
    cr_assert_eq(reply->scope.generation, 2);
    cr_assert_eq(reply->scope.geometry, 77);
    cr_assert_eq(reply->npages, 2);
    cr_assert_eq(reply->page_ids[0], 3);
    cr_assert_eq(reply->page_ids[1], 900);
    cr_assert_arr_eq(reply->pages, pages, sizeof pages);
}

/* About no slot group: what names one is 0. */
Test(proto_pull, ids_of_filters_come_back)
{
    static const uint64_t ids[] = {3, UINT64_MAX};
    struct frame filters = {.kind = FRAME_PULL_REPLY,
                            .body.pull_reply = {.status = STATUS_OK,
                                                .kind = PULL_FILTERS,
                                                .source = {.node = 2, .incarnation = 9},
                                                .from = 100,
                                                .next = 200,
                                                .durable = 300,
                                                .end = true,
                                                .fingerprints = ids,
                                                .count = 2}};
    const struct pull_reply *reply = &frame.body.pull_reply;

    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&filters, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &frame), STATUS_OK);
    cr_assert_eq(reply->kind, PULL_FILTERS);
    cr_assert(reply->from == 100 && reply->next == 200 && reply->durable == 300 && reply->end);
    cr_assert_eq(reply->count, 2);
    cr_assert_arr_eq(reply->fingerprints, ids, sizeof ids);
}

Test(proto_pull, a_question_names_the_array)
{
    struct frame lines = {.kind = FRAME_PULL_REQUEST,
                          .body.pull_request = {.kind = PULL_PAGES,
                                                .scope = {.generation = 3, .geometry = 99},
                                                .from = 17}};

    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&lines, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &frame), STATUS_OK);
    cr_assert_eq(frame.body.pull_request.kind, PULL_PAGES);
    cr_assert_eq(frame.body.pull_request.scope.generation, 3);
    cr_assert_eq(frame.body.pull_request.scope.geometry, 99);
}

Test(proto_pull, a_question_names_the_pages_that_are_wanted)
{
    static const uint64_t wanted[] = {17, 18, UINT64_C(1) << 40};
    static const uint64_t back[] = {17, 17};
    struct frame lines = {
        .kind = FRAME_PULL_REQUEST,
        .body.pull_request = {.kind = PULL_PAGES, .prefixes = wanted, .nprefixes = 3}};

    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&lines, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &frame), STATUS_OK);
    cr_assert_eq(frame.body.pull_request.nprefixes, 3);
    cr_assert_arr_eq(frame.body.pull_request.prefixes, wanted, sizeof wanted);
    lines.body.pull_request.prefixes = back;
    lines.body.pull_request.nprefixes = 2;
    cr_assert_not(pull_prefixes_good(&lines.body.pull_request), "twice");
    lines.body.pull_request.nprefixes = PULL_MAX_PAGES + 1;
    cr_assert_not(pull_prefixes_good(&lines.body.pull_request), "too many");
    lines.body.pull_request.nprefixes = 1;
    lines.body.pull_request.view = 1;
    cr_assert_not(pull_prefixes_good(&lines.body.pull_request), "pages have no view");
}

Test(proto_pull, digests_of_an_array_are_of_that_array)
{
    static const uint64_t digest = 7;
    struct pull_reply reply = {.kind = PULL_DIGESTS,
                               .scope = {.generation = 2, .geometry = 77},
                               .digests = &digest,
                               .ndigests = 1};
    uint64_t sum = pull_reply_sum(&reply);

    reply.scope.geometry ^= 1;
    cr_assert_neq(pull_reply_sum(&reply), sum);
    reply.scope.geometry ^= 1;
    reply.scope.generation ^= 1;
    cr_assert_neq(pull_reply_sum(&reply), sum);
}

/* Lengths get shorter: there is nothing behind what they count. */
#define CHANGED_LINES(field, change)                                        \
    do {                                                                    \
        Orbloom__V1__Frame *wire = unpack_lines();                          \
                                                                            \
        cr_assert_eq(decode(wire), STATUS_OK);                              \
        wire->pull_reply->field change 1;                                   \
        cr_assert_eq(decode(wire), STATUS_MALFORMED, "%s is free", #field); \
        orbloom__v1__frame__free_unpacked(wire, NULL);                      \
    } while (0)

#define BENT_LINES(field) CHANGED_LINES(field, ^=)

Test(proto_pull, bent_pages_are_refused)
{
    BENT_LINES(generation);
    BENT_LINES(geometry);
    BENT_LINES(page_ids[0]);
    BENT_LINES(page_ids[1]);
    BENT_LINES(pages.data[0]);
    BENT_LINES(pages.data[PULL_PAGE_BYTES]);
    BENT_LINES(pages.data[2 * PULL_PAGE_BYTES - 1]);
    BENT_LINES(merged);
    BENT_LINES(next);
    BENT_LINES(checksum);
    CHANGED_LINES(pages.len, -=);
    CHANGED_LINES(n_page_ids, -=);
}

Test(proto_pull, pages_come_only_where_they_were_asked_for)
{
    const struct pull_reply reply = lines_reply();
    static const enum pull_kind kinds[] = {PULL_RUNS, PULL_LOG, PULL_HEADERS, PULL_BODIES};
    static const uint64_t key = 1;

    for (size_t i = 0; i < 4; i++) {
        Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
        struct pull_reply other = reply;

        other.kind = kinds[i];
        wire.kind = (Orbloom__V1__PullKind)kinds[i];
        wire.n_page_ids = 2;
        wire.page_ids = (uint64_t *)reply.page_ids;
        wire.pages = (ProtobufCBinaryData){.len = sizeof pages, .data = pages};
        wire.checksum = pull_reply_sum(&other);
        cr_assert_eq(DECODE(PULL_REPLY, pull_reply, &wire), STATUS_MALFORMED);
    }
    {
        Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
        struct pull_reply keys = {.kind = PULL_PAGES, .fingerprints = &key, .count = 1};

        cr_assert_eq(decode_reply(&keys, &wire), STATUS_MALFORMED, "keys among pages");
        wire.n_fingerprints = 0;
        wire.n_page_ids = PULL_MAX_PAGES + 1;
        wire.page_ids = calloc(PULL_MAX_PAGES + 1, sizeof *wire.page_ids);
        cr_assert_eq(DECODE(PULL_REPLY, pull_reply, &wire), STATUS_TOO_LARGE);
        free(wire.page_ids);
    }
}

Test(proto_pull, a_refusal_carries_nothing_to_merge)
{
    static const uint64_t fingerprints[] = {1};
    Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
    struct pull_reply reply = {.kind = PULL_RUNS, .fingerprints = fingerprints, .count = 1};

    cr_assert_eq(decode_reply(&reply, &wire), STATUS_OK);
    wire.status = ORBLOOM__V1__STATUS__STATUS_STALE;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED);
    wire.status = (Orbloom__V1__Status)99;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED);
    reply.count = 0;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_OK);
    cr_assert_eq(frame.body.pull_reply.status, STATUS_INTERNAL);
}

Test(proto_pull, replies_are_bounded)
{
    static uint64_t fingerprints[PULL_MAX_KEYS + 1];
    Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
    struct pull_reply reply = {.kind = PULL_RUNS, .fingerprints = fingerprints};

    reply.count = PULL_MAX_KEYS;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_OK);
    reply.count++;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_TOO_LARGE);
    reply.count = 0;
    for (int kind = -1; kind < 10; kind++) {
        reply.kind = (enum pull_kind)kind;
        cr_assert_eq(decode_reply(&reply, &wire),
                     kind >= 1 && kind <= 8 ? STATUS_OK : STATUS_MALFORMED, "kind %d", kind);
    }
    reply.kind = PULL_RUNS;
    reply.state = (enum replica_state)4;
    wire.state = (Orbloom__V1__ReplicaState)4;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_MALFORMED);
}

Test(proto_pull, a_flood_of_batches_is_refused)
{
    enum { EACH = 1024, NSERIES = PULL_MAX_BATCHES / EACH + 1 };
    static int64_t numbers[EACH];
    static uint64_t offsets[EACH];
    static uint32_t counts[EACH];
    Orbloom__V1__PullReply wire = ORBLOOM__V1__PULL_REPLY__INIT;
    Orbloom__V1__PullBatches series = ORBLOOM__V1__PULL_BATCHES__INIT;
    Orbloom__V1__PullBatches *list[NSERIES];
    static struct pull_batch batches[PULL_MAX_BATCHES];
    struct pull_reply reply = {.kind = PULL_LOG, .batches = batches, .nbatches = PULL_MAX_BATCHES};

    series.numbers = numbers;
    series.offsets = offsets;
    series.counts = counts;
    series.n_numbers = series.n_offsets = series.n_counts = EACH;
    for (size_t i = 0; i < NSERIES; i++) {
        list[i] = &series;
    }
    wire.batches = list;
    wire.n_batches = NSERIES - 1;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_OK);
    wire.n_batches = NSERIES;
    cr_assert_eq(decode_reply(&reply, &wire), STATUS_TOO_LARGE);
}

static enum status decode_wanted(uint64_t first, uint64_t count, size_t n,
                                 enum _Orbloom__V1__PullKind kind)
{
    static Orbloom__V1__PullInterval *list[PULL_MAX_WANTED + 1];
    Orbloom__V1__PullInterval interval = ORBLOOM__V1__PULL_INTERVAL__INIT;
    Orbloom__V1__PullRequest wire = ORBLOOM__V1__PULL_REQUEST__INIT;

    interval.first = first;
    interval.count = count;
    for (size_t i = 0; i < n; i++) {
        list[i] = &interval;
    }
    wire.kind = kind;
    wire.wanted = list;
    wire.n_wanted = n;
    return DECODE(PULL_REQUEST, pull_request, &wire);
}

Test(proto_pull, what_is_wanted_is_bounded_and_does_not_wrap)
{
    const enum _Orbloom__V1__PullKind bodies = ORBLOOM__V1__PULL_KIND__PULL_BODIES;

    cr_assert_eq(decode_wanted(1, 1, PULL_MAX_WANTED, bodies), STATUS_OK);
    cr_assert_eq(decode_wanted(1, 1, PULL_MAX_WANTED + 1, bodies), STATUS_TOO_LARGE);
    cr_assert_eq(decode_wanted(1, 1, 1, ORBLOOM__V1__PULL_KIND__PULL_HEADERS), STATUS_MALFORMED);
    cr_assert_eq(decode_wanted(1, 0, 1, bodies), STATUS_MALFORMED);
    cr_assert_eq(decode_wanted(UINT64_MAX, 1, 1, bodies), STATUS_OK);
    cr_assert_eq(decode_wanted(UINT64_MAX, 2, 1, bodies), STATUS_MALFORMED);
    cr_assert_eq(decode_wanted(2, UINT64_MAX, 1, bodies), STATUS_MALFORMED);
}

/* ---- views: digests and ranges ---- */

static void bend_view(enum pull_kind kind, void (*bend)(Orbloom__V1__PullReply *reply))
{
    Orbloom__V1__Frame *wire;

    sample_frame(FRAME_PULL_REPLY, SAMPLE_FULL, &frame);
    sample_view_reply(kind, &frame.body.pull_reply);
    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    wire = orbloom__v1__frame__unpack(NULL, bytes.size, bytes.data);
    cr_assert_not_null(wire);
    cr_assert_eq(decode(wire), STATUS_OK);
    bend(wire->pull_reply);
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

static void bend_name(Orbloom__V1__PullReply *reply)
{
    reply->view ^= 1;
}

static void bend_end(Orbloom__V1__PullReply *reply)
{
    reply->view_end ^= 1;
}

static void bend_digest(Orbloom__V1__PullReply *reply)
{
    reply->digests[1] ^= 1;
}

static void bend_count(Orbloom__V1__PullReply *reply)
{
    reply->counts[1] ^= 1;
}

static void view_digests(Orbloom__V1__PullReply *reply)
{
    reply->n_digests--;
    reply->n_counts--;
}

static void view_counts(Orbloom__V1__PullReply *reply)
{
    reply->n_counts--;
}

static void bend_key(Orbloom__V1__PullReply *reply)
{
    reply->fingerprints[0] ^= 1;
}

static void call_it_runs(Orbloom__V1__PullReply *reply)
{
    reply->kind = ORBLOOM__V1__PULL_KIND__PULL_RUNS;
}

Test(proto_pull, bent_digests_and_ranges_are_refused)
{
    bend_view(PULL_DIGESTS, bend_name);
    bend_view(PULL_DIGESTS, bend_end);
    bend_view(PULL_DIGESTS, bend_digest);
    bend_view(PULL_DIGESTS, bend_count);
    bend_view(PULL_DIGESTS, view_digests);
    bend_view(PULL_DIGESTS, view_counts);
    bend_view(PULL_DIGESTS, call_it_runs);
    bend_view(PULL_RANGES, bend_name);
    bend_view(PULL_RANGES, bend_key);
    bend_view(PULL_RANGES, call_it_runs);
}

Test(proto_pull, digests_and_ranges_come_back_field_by_field)
{
    static struct frame back;

    for (int kind = PULL_DIGESTS; kind <= PULL_RANGES; kind++) {
        sample_frame(FRAME_PULL_REPLY, SAMPLE_FULL, &frame);
        sample_view_reply((enum pull_kind)kind, &frame.body.pull_reply);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
        compare_frames(&frame, &back);
        sample_frame(FRAME_PULL_REQUEST, SAMPLE_FULL, &frame);
        sample_view_request((enum pull_kind)kind, &frame.body.pull_request);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
        compare_frames(&frame, &back);
    }
}

static enum status decode_prefixes(enum _Orbloom__V1__PullKind kind, uint64_t view, uint32_t bits,
                                   size_t count, uint64_t first, uint64_t step)
{
    static uint64_t differences[PULL_MAX_PREFIXES + 1];
    Orbloom__V1__PullRequest wire = ORBLOOM__V1__PULL_REQUEST__INIT;

    for (size_t i = 0; i < count; i++) {
        differences[i] = i == 0 ? first : step;
    }
    wire.kind = kind;
    wire.view = view;
    wire.prefix_bits = bits;
    wire.prefixes = differences;
    wire.n_prefixes = count;
    return DECODE(PULL_REQUEST, pull_request, &wire);
}

Test(proto_pull, prefixes_are_bounded_and_ascend)
{
    const enum _Orbloom__V1__PullKind digests = ORBLOOM__V1__PULL_KIND__PULL_DIGESTS;
    const enum _Orbloom__V1__PullKind ranges = ORBLOOM__V1__PULL_KIND__PULL_RANGES;
    const enum _Orbloom__V1__PullKind runs = ORBLOOM__V1__PULL_KIND__PULL_RUNS;

    cr_assert_eq(decode_prefixes(digests, 0, 0, 0, 0, 0), STATUS_OK, "the roots");
    cr_assert_eq(decode_prefixes(digests, 1, 0, 0, 0, 0), STATUS_MALFORMED, "of nothing");
    cr_assert_eq(decode_prefixes(digests, 0, 4, 1, 0, 1), STATUS_OK, "of a view for just these");
    cr_assert_eq(decode_prefixes(ranges, 1, 4, 0, 0, 0), STATUS_MALFORMED);
    cr_assert_eq(decode_prefixes(digests, 1, 11, PULL_MAX_PARENTS, 0, 1), STATUS_OK);
    cr_assert_eq(decode_prefixes(digests, 1, 12, PULL_MAX_PARENTS + 1, 0, 1), STATUS_MALFORMED);
    cr_assert_eq(decode_prefixes(ranges, 1, 12, PULL_MAX_PREFIXES, 0, 1), STATUS_OK);
    cr_assert_eq(decode_prefixes(ranges, 1, 13, PULL_MAX_PREFIXES + 1, 0, 1), STATUS_TOO_LARGE);
    cr_assert_eq(decode_prefixes(ranges, 1, 12, PULL_MAX_PREFIXES, 1, 1), STATUS_MALFORMED);
    cr_assert_eq(decode_prefixes(ranges, 1, 12, 2, 0, 0), STATUS_MALFORMED, "one twice");
    cr_assert_eq(decode_prefixes(ranges, 1, 12, 3, 5, UINT64_MAX - 2), STATUS_MALFORMED, "wraps");
    cr_assert_eq(decode_prefixes(digests, 1, 33, 1, 0, 1), STATUS_MALFORMED);
    cr_assert_eq(decode_prefixes(ranges, 1, 38, 1, 0, 1), STATUS_OK);
    cr_assert_eq(decode_prefixes(ranges, 1, 39, 1, 0, 1), STATUS_MALFORMED);
    cr_assert_eq(decode_prefixes(runs, 0, 4, 1, 0, 1), STATUS_MALFORMED);
    cr_assert_eq(decode_prefixes(runs, 1, 0, 0, 0, 1), STATUS_MALFORMED);
}
