/* What a node tells a link is applied at other sites and can't be undone: is every answer that is
 * torn, bent or at odds with itself refused? And is no question too large?
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

TestSuite(proto_site_tail, .init = setup, .fini = teardown);

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

/* A full frame as it stands on the wire, to be bent; freed by the caller. */
static Orbloom__V1__Frame *unpack_sample(enum frame_kind kind, enum sample_size size)
{
    Orbloom__V1__Frame *wire;

    sample_frame(kind, size, &frame);
    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    wire = orbloom__v1__frame__unpack(NULL, bytes.size, bytes.data);
    cr_assert_not_null(wire);
    return wire;
}

/* ---- answers ---- */

/* Whatever number is changed, the sum does not match any more. */
#define BENT(field)                                                                   \
    do {                                                                              \
        Orbloom__V1__Frame *wire = unpack_sample(FRAME_SITE_TAIL_REPLY, SAMPLE_FULL); \
                                                                                      \
        cr_assert_eq(decode(wire), STATUS_OK);                                        \
        wire->site_tail_reply->field ^= 1;                                            \
        cr_assert_eq(decode(wire), STATUS_MALFORMED, "%s is free", #field);           \
        orbloom__v1__frame__free_unpacked(wire, NULL);                                \
    } while (0)

Test(proto_site_tail, a_bent_answer_is_refused)
{
    BENT(source);
    BENT(source_incarnation);
    BENT(source_boot);
    BENT(list);
    BENT(from);
    BENT(next);
    BENT(durable);
    BENT(headers_only);
    BENT(fingerprints[0]);
    BENT(fingerprints[8]);
    BENT(records[0]->filter_id);
    BENT(records[0]->epoch);
    BENT(records[0]->producer_id);
    BENT(records[0]->slices[0]);
    BENT(records[0]->keysets[0]);
    BENT(records[0]->numbers[1]);
    BENT(records[0]->offsets[1]);
    BENT(records[0]->groups[2]);
    BENT(records[0]->counts[0]);
    BENT(records[0]->digests[1]);
    BENT(refusals[1]->filter_id);
    BENT(refusals[0]->status);
    BENT(refusals[0]->compare);
    BENT(refusals[1]->epoch);
    BENT(refusals[1]->epoch_hash);
    BENT(checksum);
}

/* Those that decide where keys go, and what they are. */
Test(proto_site_tail, bent_flags_are_refused)
{
    Orbloom__V1__Frame *wire = unpack_sample(FRAME_SITE_TAIL_REPLY, SAMPLE_FULL);
    Orbloom__V1__SiteTailRecords *fed = wire->site_tail_reply->records[4];

    cr_assert_eq(fed->flags, PULL_BATCH_FED);
    fed->flags = 0;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    fed->flags = PULL_BATCH_PARTIAL;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    fed->flags = 32;
    cr_assert_eq(decode(wire), STATUS_VERSION, "a newer version's");
    fed->flags = PULL_BATCH_RELAYED;
    cr_assert_eq(decode(wire), STATUS_VERSION, "that is never told");
    fed->flags = PULL_BATCH_FED;
    cr_assert_eq(decode(wire), STATUS_OK);
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

Test(proto_site_tail, columns_are_of_one_length)
{
    Orbloom__V1__Frame *wire = unpack_sample(FRAME_SITE_TAIL_REPLY, SAMPLE_FULL);
    Orbloom__V1__SiteTailRecords *series = wire->site_tail_reply->records[0];
    size_t *const lengths[] = {&series->n_numbers, &series->n_offsets, &series->n_groups,
                               &series->n_counts,  &series->n_digests, &series->n_slices,
                               &series->n_keysets};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        --*lengths[i];
        cr_assert_eq(decode(wire), STATUS_MALFORMED, "column %zu", i);
        ++*lengths[i];
    }
    cr_assert_eq(decode(wire), STATUS_OK);
    wire->site_tail_reply->n_fingerprints--;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    wire->site_tail_reply->n_fingerprints++;
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

/* Encoded with a right sum, an answer that contradicts itself is refused all the same. */
static enum status decode_reply(const struct site_tail_reply *reply)
{
    Orbloom__V1__SiteTailReply wire = ORBLOOM__V1__SITE_TAIL_REPLY__INIT;
    Orbloom__V1__SiteTailRecords series = ORBLOOM__V1__SITE_TAIL_RECORDS__INIT;
    Orbloom__V1__SiteTailRecords *list[] = {&series};
    Orbloom__V1__Frame whole = ORBLOOM__V1__FRAME__INIT;
    uint64_t offsets[2];
    const struct site_tail_record *records = reply->records;

    wire.status = (Orbloom__V1__Status)reply->status;
    wire.from = reply->from;
    wire.next = reply->next;
    wire.headers_only = reply->headers_only;
    wire.fingerprints = (uint64_t *)reply->fingerprints;
    wire.n_fingerprints = reply->count;
    wire.records = list;
    wire.n_records = reply->nrecords > 0;
    offsets[0] = records[0].offset - reply->from;
    offsets[1] = records[1].offset - records[0].offset;
    series.flags = records[0].flags;
    series.slices = (uint64_t[]){records[0].targets->items[0].slice, 9};
    series.keysets = (uint32_t[]){records[0].targets->items[0].keyset, 0};
    series.n_slices = series.n_keysets = records[0].targets->count;
    series.numbers = (int64_t[]){0, 0};
    series.offsets = offsets;
    series.groups = (uint32_t[]){0, 0};
    series.counts = (uint32_t[]){records[0].count, records[1].count};
    series.digests = (uint64_t[]){0, 0};
    series.n_numbers = series.n_offsets = series.n_groups = series.n_counts = series.n_digests =
        reply->nrecords;
    wire.checksum = site_tail_reply_sum(reply);
    whole.body_case = ORBLOOM__V1__FRAME__BODY_SITE_TAIL_REPLY;
    whole.site_tail_reply = &wire;
    return decode(&whole);
}

Test(proto_site_tail, an_answer_at_odds_with_itself_is_refused)
{
    static const uint64_t fingerprints[] = {1, 2, 3};
    struct pull_targets targets = {1, {{.slice = 9}}};
    struct site_tail_record records[] = {{.offset = 100, .count = 2, .targets = &targets},
                                         {.offset = 200, .count = 1, .targets = &targets}};
    struct site_tail_reply reply = {.from = 100,
                                    .next = 300,
                                    .records = records,
                                    .nrecords = 2,
                                    .fingerprints = fingerprints,
                                    .count = 3};

    cr_assert_eq(decode_reply(&reply), STATUS_OK);
    cr_assert_eq(frame.body.site_tail_reply.records[1].offset, 200);
    reply.count = 2;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "a record without its keys");
    reply.headers_only = true;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "headers with keys");
    reply.count = 0;
    cr_assert_eq(decode_reply(&reply), STATUS_OK);
    reply.headers_only = false;
    reply.count = 3;
    reply.status = STATUS_STALE;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "records of what was refused");
    reply.status = STATUS_OK;
    reply.next = 99;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "back");
    reply.next = 300;
    records[1].offset = 100;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "two at one place");
    records[1].offset = 50;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "an offset that wraps");
    records[1].offset = 200;
    targets.count = 2;
    targets.items[1] = (struct pull_target){.slice = 9};
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "one target twice");
    targets.count = 0;
    cr_assert_eq(decode_reply(&reply), STATUS_MALFORMED, "a record of nothing");
}

Test(proto_site_tail, headers_of_as_many_records_as_may_be_come_back)
{
    static struct frame back;

    sample_frame(FRAME_SITE_TAIL_REPLY, SAMPLE_LARGE, &frame);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    compare_frames(&frame, &back);
}

Test(proto_site_tail, too_many_records_are_too_large)
{
    Orbloom__V1__Frame *wire = unpack_sample(FRAME_SITE_TAIL_REPLY, SAMPLE_LARGE);
    Orbloom__V1__SiteTailReply *reply = wire->site_tail_reply;
    size_t count = reply->n_records;
    Orbloom__V1__SiteTailRecords **more = calloc(count + 1, sizeof(void *));
    Orbloom__V1__SiteTailRecords **kept = reply->records;

    memcpy((void *)more, (void *)kept, count * sizeof(void *));
    more[count] = more[0];
    reply->records = more;
    reply->n_records = count + 1;
    cr_assert_eq(decode(wire), STATUS_TOO_LARGE);
    reply->records = kept;
    reply->n_records = count;
    free((void *)more);
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

/* ---- questions ---- */

Test(proto_site_tail, a_list_is_what_its_name_says)
{
    Orbloom__V1__Frame *wire = unpack_sample(FRAME_SITE_TAIL_REQUEST, SAMPLE_FULL);
    Orbloom__V1__SiteTailRequest *request = wire->site_tail_request;

    cr_assert_eq(decode(wire), STATUS_OK);
    request->list ^= 1;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    request->list ^= 1;
    request->epochs[1] ^= 1;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    request->epochs[1] ^= 1;
    request->epoch_hashes[1] ^= 1;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    request->epoch_hashes[1] ^= 1;
    request->n_epochs--;
    cr_assert_eq(decode(wire), STATUS_MALFORMED);
    request->n_epochs++;
    cr_assert_eq(decode(wire), STATUS_OK);
    orbloom__v1__frame__free_unpacked(wire, NULL);
}

static enum status decode_request(size_t nfilters, uint64_t first, uint64_t step, size_t nwanted,
                                  uint64_t from, uint64_t gap)
{
    static struct site_tail_filter filters[SITE_TAIL_MAX_FILTERS + 1];
    static uint64_t columns[3][SITE_TAIL_MAX_FILTERS + 1];
    static uint64_t wanted[SITE_TAIL_MAX_WANTED + 1];
    Orbloom__V1__SiteTailRequest wire = ORBLOOM__V1__SITE_TAIL_REQUEST__INIT;
    Orbloom__V1__Frame whole = ORBLOOM__V1__FRAME__INIT;

    for (size_t i = 0; i < nfilters; i++) {
        filters[i] = (struct site_tail_filter){.filter_id = first + i * step};
        columns[0][i] = filters[i].filter_id;
        columns[1][i] = columns[2][i] = 0;
    }
    for (size_t i = 0; i < nwanted; i++) {
        wanted[i] = i == 0 ? 0 : gap;
    }
    wire.filter_ids = columns[0];
    wire.epochs = columns[1];
    wire.epoch_hashes = columns[2];
    wire.n_filter_ids = wire.n_epochs = wire.n_epoch_hashes = nfilters;
    wire.list = site_tail_list(filters, nfilters);
    wire.from = from;
    wire.wanted = wanted;
    wire.n_wanted = nwanted;
    whole.body_case = ORBLOOM__V1__FRAME__BODY_SITE_TAIL_REQUEST;
    whole.site_tail_request = &wire;
    return decode(&whole);
}

Test(proto_site_tail, filters_and_places_are_bounded_and_ascend)
{
    cr_assert_eq(decode_request(0, 0, 0, 0, 0, 0), STATUS_OK);
    cr_assert_eq(decode_request(SITE_TAIL_MAX_FILTERS, 1, 1, 0, 0, 0), STATUS_OK);
    cr_assert_eq(decode_request(SITE_TAIL_MAX_FILTERS + 1, 1, 1, 0, 0, 0), STATUS_TOO_LARGE);
    cr_assert_eq(decode_request(2, 5, 0, 0, 0, 0), STATUS_MALFORMED, "one twice");
    cr_assert_eq(decode_request(2, 5, UINT64_MAX, 0, 0, 0), STATUS_MALFORMED, "descending");
    cr_assert_eq(decode_request(1, 1, 1, SITE_TAIL_MAX_WANTED, 64, 8), STATUS_OK);
    cr_assert_eq(decode_request(1, 1, 1, SITE_TAIL_MAX_WANTED + 1, 64, 8), STATUS_TOO_LARGE);
    cr_assert_eq(decode_request(1, 1, 1, 2, 64, 0), STATUS_MALFORMED, "one place twice");
    cr_assert_eq(decode_request(1, 1, 1, 2, 64, UINT64_MAX - 64), STATUS_OK);
    cr_assert_eq(decode_request(1, 1, 1, 2, 64, UINT64_MAX - 63), STATUS_MALFORMED, "it wraps");
}
