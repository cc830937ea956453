/* What a link measures and bounds: round trips between sites, and the bytes that it sends. */
#include "link/private.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    EU = 0,
    US = 1,
    SECOND = 1000000,
    N1_N2 = 6,
    BATCH = 200,
    ROUNDS = 40,
    RATE = 4096,
    SAVED_US = 250000, /* that a bucket may save up */
};

TestSuite(link_rate, .timeout = 120);

static struct site_pair *pair;

/* The link of that site sends no more than this. */
static void begin(uint32_t site, uint64_t rate)
{
    pair = calloc(1, sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, 3);
    site_pair_link_stop(pair, site);
    pair->rate = rate;
    site_pair_link_start(pair, site);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* ---- round trips ---- */

static uint64_t told_us;

static bool hear_greetings(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (to == US && frame->kind == FRAME_SITE_HELLO) {
        told_us = frame->body.site_hello.round_trip_us;
    }
    return true;
}

/* By who dials, who tells the other side; each way takes so long, and a step of this network. */
Test(link_rate, who_dials_measures_the_round_trip_and_tells_it)
{
    begin(EU, 0);
    pair->spy = hear_greetings;
    pair->delay_us = 40000;
    told_us = 0;
    site_pair_run(pair, 4 * SECOND);
    cr_assert_geq(told_us, 80000);
    cr_assert_leq(told_us, 80000 + 4 * SITE_PAIR_STEP_US);
    pair->delay_us = 10000;
    site_pair_run(pair, 60 * SECOND);
    cr_assert_geq(told_us, 20000);
    cr_assert_leq(told_us, 21000 + 4 * SITE_PAIR_STEP_US, "it forgets how it was");
    end();
}

/* ---- the rate ---- */

static uint64_t begun_us;
static uint64_t sent_bytes;

/* A batch leaves only once those before it are paid for. */
static bool watch_rate(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    size_t size = frame->kind == FRAME_SITE_BATCH ? frame->body.site_batch.batch.size : 0;

    if (to == US && size > 0) {
        begun_us = begun_us == 0 ? self->now_us : begun_us;
        cr_assert_leq(sent_bytes * SECOND,
                      RATE * (self->now_us - begun_us + SAVED_US + SITE_PAIR_STEP_US),
                      "%d bytes within %d us", (int)sent_bytes, (int)(self->now_us - begun_us));
        sent_bytes += size;
    }
    return true;
}

static void make_keys(uint64_t *keys, uint32_t count)
{
    uint64_t state = 1;

    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

Test(link_rate, batches_wait_for_the_rate_and_none_is_lost)
{
    static uint64_t keys[ROUNDS * BATCH];
    uint32_t have = 0;

    begin(EU, RATE);
    site_pair_run(pair, 4 * SECOND);
    pair->spy = watch_rate;
    make_keys(keys, ROUNDS * BATCH);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, N1_N2, keys + i * BATCH, BATCH);
        site_pair_run(pair, SECOND / 10);
    }
    cr_assert_gt(site_pair_counter(pair, EU, "site_rate_waits_total"), 0);
    site_pair_run(pair, 40 * SECOND);
    for (uint32_t node = 1; node <= 3; node++) {
        have += site_pair_count(pair, US, node, keys, ROUNDS * BATCH) == ROUNDS * BATCH;
    }
    cr_assert_geq(have, 2, "%d of 3 replicas have all", (int)have);
    end();
}

/* ---- two streams ---- */

enum { OTHER_STREAM = 77, OTHER_PEER = 9, FOR_S = 20 };

static uint64_t stream_bytes[2]; /* of the site's own stream, of the other one */

static bool watch_streams(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    bool other = frame->kind == FRAME_SITE_BATCH && frame->body.site_batch.stream == OTHER_STREAM;

    (void)self;
    if (to == EU && frame->kind == FRAME_SITE_BATCH) {
        stream_bytes[other] += frame->body.site_batch.batch.size;
    }
    return !other;
}

/* As a second link of eu, of which nothing else is here. */
static void say(const struct frame *frame)
{
    struct site_pair_side *side = &pair->sides[US];
    const struct peer from = {.size = 1, .id = {OTHER_PEER}, .user = 1};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    side->face.on_request(side->face.self, side->circle.now_us, &from, buffer_span(&bytes));
    buffer_fini(&bytes);
}

static void greet(void)
{
    struct frame frame = {
        .kind = FRAME_SITE_HELLO,
        .body.site_hello = {.version = SITE_LINK_VERSION, .id = sample_site_id(EU), .boot = 4711}};

    strcpy(frame.body.site_hello.site, sample_site_name(EU));
    say(&frame);
}

static void open_other(void)
{
    const struct filter_document *document = &pair->sides[US].document;
    const struct frame frame = {.kind = FRAME_SITE_OPEN,
                                .body.site_open = {.stream = OTHER_STREAM,
                                                   .uid = document->content.uid,
                                                   .source_life = {1, 11},
                                                   .own_life = {1, 10},
                                                   .keyset = document->content.keysets[0].id,
                                                   .room = 1 << 20}};

    say(&frame);
}

/* More is added all the time than the rate lets go. */
Test(link_rate, a_stream_with_too_much_to_send_leaves_others_their_share)
{
    static uint64_t keys[10 * FOR_S * BATCH];

    begin(US, RATE);
    site_pair_run(pair, 4 * SECOND);
    greet();
    open_other();
    pair->spy = watch_streams;
    make_keys(keys, 10 * FOR_S * BATCH);
    for (uint32_t i = 0; i < 10 * FOR_S; i++) {
        site_pair_add(pair, US, N1_N2, keys + i * BATCH, BATCH);
        site_pair_run(pair, SECOND / 10);
        if (i % 10 == 0) {
            greet();
        }
    }
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_out"), 2);
    cr_assert_gt(stream_bytes[0] + stream_bytes[1], (uint64_t)RATE * FOR_S / 2);
    cr_assert_gt(stream_bytes[0], (uint64_t)RATE * FOR_S / 4);
    cr_assert_gt(stream_bytes[1], (uint64_t)RATE * FOR_S / 4);
    end();
}

/* What goes last waits for batches that the rate holds back, and not for such as have no room at
 * the other side, which may be so for long. */
Test(link_rate, a_line_is_free_where_nobody_waits_for_it)
{
    struct link *link = calloc(1, sizeof *link);
    struct outflow *outflow = calloc(1, sizeof *outflow);

    cr_assert(link != NULL && outflow != NULL);
    TAILQ_INIT(&link->outflows);
    link->config.rate = RATE;
    cr_assert(section_line_is_free(link, SECOND));
    TAILQ_INSERT_TAIL(&link->outflows, outflow, link);
    outflow->room = 1 << 16;
    way_begin(&outflow->way);
    cr_assert(section_line_is_free(link, SECOND));
    outflow->held_back = true;
    cr_assert_not(section_line_is_free(link, SECOND));
    outflow->flying = 1 << 16;
    cr_assert(section_line_is_free(link, SECOND));
    token_bucket_take(&link->rate, SECOND, 2 * RATE, RATE);
    cr_assert_not(section_line_is_free(link, SECOND));
    free(outflow);
    free(link);
}
