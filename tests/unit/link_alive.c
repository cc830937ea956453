/* What streams without traffic cost, and whether both sides know all the same that they are there,
 * and how far they are. Two sites of real nodes with their links. */
#include "link/private.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, MS = 1000, KEYS = 50 };

TestSuite(link_alive, .timeout = 120);

static struct site_pair *pair;
static uint64_t nbatches[2]; /* to that site, also those that only say that a stream goes on */
static uint64_t napplied[2];
static uint64_t nrested[2]; /* greetings that tell places */
static uint64_t room_told;  /* by eu, with what it has applied */
static uint64_t lose_opens; /* of eu */
static bool lose_closes;

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    nbatches[to] += frame->kind == FRAME_SITE_BATCH;
    napplied[to] += frame->kind == FRAME_SITE_APPLIED;
    if (frame->kind == FRAME_SITE_APPLIED && to == US) {
        room_told = frame->body.site_applied.room;
    }
    nrested[to] += frame->kind == FRAME_SITE_HELLO && frame->body.site_hello.nlogs > 0;
    if (frame->kind == FRAME_SITE_OPEN && to == US && lose_opens > 0) {
        lose_opens--;
        return false;
    }
    return frame->kind != FRAME_SITE_CLOSE || !lose_closes;
}

static void forget_counts(void)
{
    memset(nbatches, 0, sizeof nbatches);
    memset(napplied, 0, sizeof napplied);
    memset(nrested, 0, sizeof nrested);
}

static void begin(void)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, 3);
    pair->spy = watch;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_in"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* What the site receives, and sends. */
static struct inflow *inflow(uint32_t site)
{
    struct inflow *one = inflow_find(pair->sides[site].link, SITE_PAIR_FILTER, 0);

    cr_assert_not_null(one);
    return one;
}

static struct outflow *outflow(uint32_t site)
{
    struct outflow *one = TAILQ_FIRST(&pair->sides[site].link->outflows);

    cr_assert_not_null(one);
    return one;
}

static void add_keys(uint32_t site)
{
    static uint64_t number;
    uint64_t keys[KEYS];

    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = ++number * UINT64_C(0x9e3779b97f4a7c15);
    }
    site_pair_add(pair, site, 6, keys, KEYS);
}

/* ---- that they go on ---- */

Test(link_alive, streams_without_traffic_say_nothing_and_stay)
{
    uint64_t closed;

    begin();
    site_pair_run(pair, 60 * SECOND);
    closed = site_pair_counter(pair, EU, "site_closed_total");
    forget_counts();
    site_pair_run(pair, 60 * SECOND);
    cr_assert_eq(nbatches[EU] + nbatches[US] + napplied[EU] + napplied[US], 0);
    cr_assert_eq(site_pair_counter(pair, EU, "site_closed_total"), closed);
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_in"), 1);
    end();
}

/* Us has never heard of it. */
Test(link_alive, a_stream_that_was_never_opened_there_is_noticed)
{
    uint64_t stream;

    begin();
    lose_opens = 1;
    inflow_close(pair->sides[EU].link, inflow(EU), STATUS_STALE, "a test");
    site_pair_run(pair, SECOND);
    cr_assert_eq(lose_opens, 0);
    stream = inflow(EU)->stream;
    cr_assert_neq(stream, 0);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(inflow(EU)->stream, stream);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_neq(inflow(EU)->stream, stream);
    cr_assert_eq(inflow(EU)->stream, outflow(US)->stream);
    end();
}

/* Eu has closed it, and us has not heard of that. */
Test(link_alive, a_stream_that_nobody_receives_is_told_so)
{
    uint64_t stream;

    begin();
    stream = outflow(US)->stream;
    lose_closes = true;
    inflow_close(pair->sides[EU].link, inflow(EU), STATUS_STALE, "a test");
    inflow(EU)->open_us = ACTOR_NEVER;
    lose_closes = false;
    site_pair_run(pair, 500 * MS);
    cr_assert_eq(outflow(US)->stream, stream);
    forget_counts();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_geq(nbatches[EU], 1, "it says that it goes on");
    cr_assert(TAILQ_EMPTY(&pair->sides[US].link->outflows));
    end();
}

/* As if there were a thousand of them. */
static void run_beside_many(uint64_t us)
{
    for (uint64_t i = 0; i < us / MS; i++) {
        pair->sides[EU].link->ninflows = 1000;
        site_pair_run(pair, MS);
    }
}

Test(link_alive, others_without_traffic_do_not_slow_a_stream_down)
{
    struct link *eu;

    begin();
    eu = pair->sides[EU].link;
    eu->config.window = LINK_WINDOW_MAX;
    eu->config.held = 256 << 20;
    add_keys(US);
    run_beside_many(500 * MS);
    cr_assert_eq(eu->nreceiving, 1);
    cr_assert_gt(room_told, 60 << 20);
    forget_counts();
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(eu->nreceiving, 0);
    cr_assert_eq(napplied[US], 1, "it is told its part of what all may be sent");
    add_keys(US);
    run_beside_many(500 * MS);
    cr_assert_eq(eu->nreceiving, 1);
    inflow_close(eu, inflow(EU), STATUS_STALE, "a test");
    cr_assert_eq(eu->nreceiving, 0);
    end();
}

/* ---- and how far ---- */

static bool is_even(void)
{
    bool even = inflow(EU)->nsources == outflow(US)->nfollows;

    for (size_t i = 0; i < inflow(EU)->nsources && even; i++) {
        const struct site_source *source = &inflow(EU)->sources[i];

        even = outflow_follow(outflow(US), source->group, source->node)->source.offset ==
               source->offset;
    }
    return even;
}

/* What eu sends moves the logs of us, which tell eu nothing by that. */
Test(link_alive, where_logs_are_is_told_without_batches)
{
    uint64_t before;

    begin();
    site_pair_run(pair, 30 * SECOND);
    before = inflow(EU)->sources[0].offset;
    forget_counts();
    add_keys(EU);
    site_pair_run(pair, 14 * SECOND);
    cr_assert_gt(inflow(EU)->sources[0].offset, before);
    cr_assert(is_even());
    cr_assert_eq(nbatches[EU], 0);
    cr_assert_geq(nrested[EU], 1);
    for (size_t i = 0; i < outflow(US)->nfollows; i++) {
        cr_assert_eq(outflow(US)->follows[i].taken, outflow(US)->follows[i].source.offset);
    }
    end();
}

/* A mark is of what nodes have noted. */
Test(link_alive, what_was_told_so_is_not_noted_at_once_but_for_marks)
{
    begin();
    site_pair_run(pair, 30 * SECOND);
    add_keys(EU);
    site_pair_run(pair, 14 * SECOND);
    cr_assert(is_even());
    cr_assert_not(places_are_noted(inflow(EU), inflow(EU)->places.version));
    cr_assert(inflow_want_marks(pair->sides[EU].link, SITE_PAIR_FILTER, 0, pair->now_us + SECOND));
    site_pair_run(pair, 2 * SECOND);
    cr_assert_gt(inflow(EU)->evidence.noted_us, 0);
    cr_assert(places_are_noted(inflow(EU), inflow(EU)->places.version));
    end();
}

/* The second batch was too small, and too soon, to say how far it goes. */
Test(link_alive, how_far_the_last_keys_go_is_noted)
{
    begin();
    site_pair_run(pair, 30 * SECOND);
    forget_counts();
    add_keys(US);
    site_pair_run(pair, 300 * MS);
    add_keys(US);
    site_pair_run(pair, 16 * SECOND);
    cr_assert_eq(nbatches[EU], 2);
    cr_assert(is_even());
    cr_assert_not(inflow(EU)->unplaced);
    cr_assert_geq(inflow(EU)->places.noted, inflow(EU)->places.keyed);
    end();
}

/* Its keys have not left. */
Test(link_alive, of_a_stream_with_traffic_nothing_is_told_so)
{
    uint64_t offsets[3];
    uint64_t room;

    begin();
    site_pair_run(pair, 30 * SECOND);
    cr_assert_eq(inflow(EU)->nsources, 3);
    for (size_t i = 0; i < 3; i++) {
        offsets[i] = inflow(EU)->sources[i].offset;
    }
    room = outflow(US)->room;
    outflow(US)->room = 0;
    add_keys(US);
    site_pair_run(pair, 25 * SECOND);
    cr_assert_gt(outflow(US)->npending, 0);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(inflow(EU)->sources[i].offset, offsets[i]);
    }
    outflow(US)->room = room;
    site_pair_run(pair, 15 * SECOND);
    cr_assert(is_even());
    end();
}

/* As of what is not all applied, which us can't know. */
Test(link_alive, what_waits_here_is_left_out)
{
    struct link *eu;
    struct site_source log;
    struct site_hello hello = {.logs = &log, .nlogs = 1};
    struct channel *channel;
    struct arrived_batch waits = {0};

    begin();
    site_pair_run(pair, 30 * SECOND);
    eu = pair->sides[EU].link;
    channel = channel_find(eu, inflow(EU)->channel);
    log = inflow(EU)->sources[0];
    log.offset += 8;
    TAILQ_INSERT_TAIL(&inflow(EU)->arrivals, &waits, link);
    rest_heard(eu, channel, &hello);
    cr_assert_eq(inflow(EU)->sources[0].offset, log.offset - 8);
    TAILQ_REMOVE(&inflow(EU)->arrivals, &waits, link);
    log.boot++;
    rest_heard(eu, channel, &hello);
    cr_assert_eq(inflow(EU)->sources[0].offset, log.offset - 8);
    log.boot--;
    hello.busy = &inflow(EU)->stream;
    hello.nbusy = 1;
    rest_heard(eu, channel, &hello);
    cr_assert_eq(inflow(EU)->sources[0].offset, log.offset - 8);
    hello.nbusy = 0;
    rest_heard(eu, channel, &hello);
    cr_assert_eq(inflow(EU)->sources[0].offset, log.offset);
    end();
}

/* By another stream than this one. */
Test(link_alive, a_site_that_was_put_back_sends_by_no_stream)
{
    const struct site_source lost = {.node = 1, .boot = 7, .offset = 8};

    begin();
    cr_assert_eq(put_back_note(pair->sides[US].link, outflow(US), &lost), STATUS_OK);
    site_pair_run(pair, MS);
    cr_assert(TAILQ_EMPTY(&pair->sides[US].link->outflows));
    end();
}
