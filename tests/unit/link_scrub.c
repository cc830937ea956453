/* All of a filter is compared with the other site once in a while: what got lost there without
 * anybody's knowing is sent again, beside the stream, and where nothing is lost nothing is sent. */
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
    N1 = 2,
    N2 = 4,
    ALL = 14,
    KEYS = 20000,
    LOST = 2000,
    SCRUB_S = 20,
    FEW = 700,        /* so few a shard that they are sent without an offer */
    FEW_NEW = 20,     /* ... to which come so many */
    SLOW_RATE = 1024, /* bytes a second: seconds for these */
};

TestSuite(link_scrub, .timeout = 120);

static struct site_pair *pair;
static uint64_t keys[KEYS];

/* Of the stream from eu to us. */
static struct {
    uint64_t stream;
    uint64_t offers;
    size_t ranges; /* of the largest one */
    uint32_t closed;
    bool robs; /* the next batch loses its keys on the way, and nobody knows */
    uint64_t number;
    uint8_t *robbed;
    size_t size;
} seen;

/* Of a batch all but its keys. */
static void rob(const struct site_batch_message *message)
{
    static uint64_t some[SITE_BATCH_MAX_KEYS];
    static struct site_batch_cursor cursors[SITE_BATCH_MAX_SOURCES];
    struct site_batch batch;

    cr_assert_eq(site_batch_open(message->batch, &batch), STATUS_OK);
    cr_assert_eq(site_batch_keys(message->batch, some), STATUS_OK);
    cr_assert_eq(site_batch_cursors(message->batch, cursors), STATUS_OK);
    batch.nkeys = 0;
    seen.robbed = malloc(site_batch_room(&batch));
    cr_assert_not_null(seen.robbed);
    seen.size = site_batch_encode(&batch, some, cursors, seen.robbed);
    seen.number = message->number;
    seen.robs = false;
}

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_OPEN && to == EU) {
        seen.stream = frame->body.site_open.stream;
    } else if (frame->kind == FRAME_SITE_OFFER && to == US) {
        seen.offers++;
        seen.ranges = frame->body.site_offer.nprefixes > seen.ranges
                          ? frame->body.site_offer.nprefixes
                          : seen.ranges;
    } else if (frame->kind == FRAME_SITE_CLOSE) {
        seen.closed++;
    } else if (frame->kind == FRAME_SITE_BATCH && to == US && seen.robs) {
        rob(&frame->body.site_batch);
        return false;
    }
    return true;
}

static void begin(void)
{
    uint64_t state = 1;

    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    memset(&seen, 0, sizeof seen);
    site_pair_init(pair, 3);
    pair->spy = watch;
    pair->scrub_us = (uint64_t)SCRUB_S * SECOND;
    for (uint32_t site = 0; site < 2; site++) {
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

static void end(void)
{
    free(seen.robbed);
    site_pair_fini(pair);
    free(pair);
}

static uint64_t counted(const char *name)
{
    return site_pair_counter(pair, EU, name);
}

static void expect_all(uint32_t site, uint32_t count)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += site_pair_count(pair, site, node, keys, count) == (int)count;
    }
    cr_assert_geq(found, 2, "%d of 3 replicas have all", found);
}

/* Until the stream is open and all of both sites has been told. */
static void settle(uint32_t count)
{
    site_pair_add(pair, EU, N1 | N2, keys, count);
    site_pair_run(pair, 3 * SECOND);
    expect_all(US, count);
}

/* To the link of us. */
static void hand_robbed(void)
{
    static const struct peer from = {.size = 1, .id = {1}, .user = 1};
    struct site_pair_side *side = &pair->sides[US];
    const struct frame frame = {.kind = FRAME_SITE_BATCH,
                                .body.site_batch = {.stream = seen.stream,
                                                    .number = seen.number,
                                                    .batch = span_of(seen.robbed, seen.size)}};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    side->face.on_request(side->face.self, side->circle.now_us, &from, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* The last LOST keys of all: eu believes that us has them. */
static void lose_some(void)
{
    uint32_t closed = seen.closed;
    uint32_t without = 0;

    seen.robs = true;
    site_pair_add(pair, EU, N1 | N2, keys + KEYS - LOST, LOST);
    for (int steps = 0; seen.robs; steps++) {
        cr_assert_lt(steps, 1000, "no batch has come");
        site_pair_run(pair, 1000);
    }
    hand_robbed();
    site_pair_run(pair, SECOND);
    cr_assert_eq(seen.closed, closed);
    for (uint32_t node = 1; node <= 3; node++) {
        without += site_pair_count(pair, US, node, keys + KEYS - LOST, LOST) == 0;
    }
    cr_assert_eq(without, 3);
}

static void await_scrubs(uint64_t count)
{
    for (int s = 0; counted("site_scrubs_total") < count; s++) {
        cr_assert_lt(s, 5 * SCRUB_S, "%d s without", s);
        site_pair_run(pair, SECOND);
    }
}

Test(link_scrub, what_got_lost_there_is_sent_again)
{
    begin();
    settle(KEYS - LOST);
    lose_some();
    await_scrubs(1);
    site_pair_run(pair, SECOND);
    expect_all(US, KEYS);
    cr_assert_geq(counted("site_scrub_keys_total"), LOST);
    end();
}

Test(link_scrub, where_nothing_is_lost_nothing_is_sent)
{
    uint64_t sent;
    uint64_t bytes;

    begin();
    settle(KEYS);
    sent = counted("site_keys_total");
    bytes = counted("site_wire_bytes_total");
    await_scrubs(2);
    cr_assert_geq(seen.offers, 2);
    cr_assert_eq(counted("site_keys_total"), sent);
    cr_assert_eq(counted("site_scrub_keys_total"), 0);
    cr_assert_lt(counted("site_wire_bytes_total") - bytes, KEYS);
    end();
}

static bool lose_answers(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    return watch(self, to, frame) && frame->kind != FRAME_SITE_HELD;
}

/* It need not be lacking; and later there may be an answer. */
Test(link_scrub, what_is_not_answered_is_not_sent)
{
    uint64_t sent;

    begin();
    settle(KEYS - LOST);
    lose_some();
    sent = counted("site_keys_total");
    pair->spy = lose_answers;
    site_pair_run(pair, (uint64_t)4 * SCRUB_S * SECOND);
    cr_assert_geq(seen.offers, 2);
    cr_assert_eq(counted("site_scrubs_total"), 0);
    cr_assert_eq(counted("site_keys_total"), sent);
    pair->spy = watch;
    await_scrubs(1);
    site_pair_run(pair, SECOND);
    expect_all(US, KEYS);
    end();
}

/* Nobody answers the offer, and what is added meanwhile is there at once. */
Test(link_scrub, the_stream_goes_on_meanwhile)
{
    uint64_t offers;
    uint32_t closed;

    begin();
    settle(KEYS - LOST);
    pair->spy = lose_answers;
    offers = seen.offers;
    closed = seen.closed;
    for (int s = 0; seen.offers == offers; s++) {
        cr_assert_lt(s, 5 * SCRUB_S);
        site_pair_run(pair, SECOND);
    }
    site_pair_add(pair, EU, N1 | N2, keys + KEYS - LOST, LOST);
    site_pair_run(pair, SECOND);
    expect_all(US, KEYS);
    cr_assert_eq(seen.closed, closed);
    cr_assert_eq(counted("site_scrubs_total"), 0);
    end();
}

/* Its turn ends with its stream, and comes again. */
Test(link_scrub, a_stream_that_breaks_is_compared_later)
{
    uint64_t offers;

    begin();
    settle(KEYS);
    pair->spy = lose_answers;
    offers = seen.offers;
    for (int s = 0; seen.offers == offers; s++) {
        cr_assert_lt(s, 5 * SCRUB_S);
        site_pair_run(pair, SECOND);
    }
    site_pair_link_stop(pair, US);
    pair->spy = watch;
    site_pair_link_start(pair, US);
    site_pair_run(pair, 10 * SECOND);
    await_scrubs(1);
    cr_assert_null(pair->sides[EU].link->scrubbed);
    end();
}

/* The log of a node of eu does not go on: what it has is copied, and that goes first. */
Test(link_scrub, what_is_to_be_copied_goes_first)
{
    uint64_t offers;
    uint64_t copies;
    uint32_t closed;
    struct link *link;

    begin();
    settle(KEYS);
    pair->spy = lose_answers;
    offers = seen.offers;
    for (int s = 0; seen.offers == offers; s++) {
        cr_assert_lt(s, 5 * SCRUB_S);
        site_pair_run(pair, SECOND);
    }
    link = pair->sides[EU].link;
    cr_assert_eq(link->scrubbed, TAILQ_FIRST(&link->outflows));
    pair->spy = watch;
    copies = counted("site_copies_total");
    closed = seen.closed;
    outflow_lost(&TAILQ_FIRST(&link->outflows)->readings[0]);
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(seen.closed, closed);
    cr_assert_null(link->scrubbed);
    cr_assert_gt(counted("site_copies_total"), copies);
    await_scrubs(1);
    end();
}

/* Two of three are down there: of what is with the third one nobody knows whether it is held. */
Test(link_scrub, what_the_other_site_cannot_tell_of_is_not_sent)
{
    uint64_t sent;

    begin();
    settle(KEYS);
    sent = counted("site_keys_total");
    circle_stop(&pair->sides[US].circle, 1);
    circle_stop(&pair->sides[US].circle, 2);
    site_pair_run(pair, (uint64_t)2 * SCRUB_S * SECOND);
    cr_assert_gt(seen.offers, 0);
    cr_assert_eq(counted("site_keys_total"), sent);
    cr_assert_eq(counted("site_scrubs_total"), 0);
    circle_start(&pair->sides[US].circle, 1);
    circle_start(&pair->sides[US].circle, 2);
    await_scrubs(1);
    end();
}

static void slow_down(void)
{
    site_pair_link_stop(pair, EU);
    pair->rate = SLOW_RATE;
    site_pair_link_start(pair, EU);
    site_pair_run(pair, 3 * SECOND);
}

/* What is new would wait for seconds behind digests of all. */
Test(link_scrub, by_a_slow_line_little_is_offered_at_once)
{
    begin();
    settle(KEYS);
    slow_down();
    seen.ranges = 0;
    await_scrubs(1);
    cr_assert_eq(seen.ranges, 1);
    end();
}

/* The line is slow, and nothing is offered of so few. */
Test(link_scrub, what_is_new_overtakes_it)
{
    uint64_t sent;
    const struct link *link;

    begin();
    settle(FEW);
    slow_down();
    sent = counted("site_keys_total");
    for (int s = 0; counted("site_keys_total") == sent; s++) {
        cr_assert_lt(s, 50 * SCRUB_S);
        site_pair_run(pair, SECOND / 10);
    }
    site_pair_add(pair, EU, N1 | N2, keys + FEW, FEW_NEW);
    site_pair_run(pair, 3 * SECOND);
    expect_all(US, FEW + FEW_NEW);
    link = pair->sides[EU].link;
    cr_assert_not_null(link->scrubbed);
    cr_assert_lt(counted("site_keys_total") - sent, FEW);
    await_scrubs(1);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_geq(counted("site_keys_total") - sent, FEW + FEW_NEW);
    cr_assert_eq(counted("site_scrub_keys_total"), 0, "nobody knows whether they were missing");
    end();
}

/* W = 2 have what was acknowledged, so two of three tell of all that was. */
Test(link_scrub, one_node_that_is_down_here_is_no_matter)
{
    begin();
    settle(KEYS - LOST);
    lose_some();
    circle_stop(&pair->sides[EU].circle, 2);
    await_scrubs(1);
    site_pair_run(pair, SECOND);
    expect_all(US, KEYS);
    end();
}

/* A turn in which too few tell of all is none; nor does it last. */
Test(link_scrub, what_too_few_here_have_told_is_left_out)
{
    begin();
    settle(KEYS);
    circle_stop(&pair->sides[EU].circle, 1);
    circle_stop(&pair->sides[EU].circle, 2);
    for (int s = 0; s < 3 * SCRUB_S; s++) {
        site_pair_run(pair, SECOND);
    }
    cr_assert_eq(counted("site_scrubs_total"), 0);
    circle_start(&pair->sides[EU].circle, 1);
    circle_start(&pair->sides[EU].circle, 2);
    await_scrubs(1);
    end();
}

/* Whatever it waits for: others have their turn. */
Test(link_scrub, a_turn_in_which_nothing_moves_ends)
{
    struct link *link;

    begin();
    settle(KEYS);
    link = pair->sides[EU].link;
    pair->spy = lose_answers;
    for (int s = 0; link->scrubbed == NULL; s++) {
        cr_assert_lt(s, 5 * SCRUB_S);
        site_pair_run(pair, SECOND);
    }
    cr_assert(TAILQ_FIRST(&link->outflows)->scrub.begun);
    TAILQ_FIRST(&link->outflows)->scrub.moved_us -= 60 * SECOND;
    site_pair_run(pair, SECOND);
    cr_assert_null(link->scrubbed);
    pair->spy = watch;
    await_scrubs(1);
    end();
}
