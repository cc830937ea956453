/* Keys of a copy that the other site has are not sent: two sites of real nodes with their links,
 * and a network that loses, repeats and forges what they offer and answer. Whatever it does, all
 * that is at one site gets to the other. */
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
    N3 = 8,
    ALL = 14,
    KEYS = 40000,
    FEW = 7,
    PART = 20000, /* added at once */
};

TestSuite(link_held, .timeout = 120);

static struct site_pair *pair;
static uint64_t keys[KEYS];

/* Of the stream from eu to us. */
static struct {
    uint64_t stream;
    uint64_t offers;
    uint64_t answers;
    uint64_t number; /* of the last offer ... */
    size_t ranges;
    uint32_t closed;
    uint64_t held; /* parts in all answers */
    size_t nheld;  /* ... ranges in the last one */
} seen;

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_OPEN && to == EU) {
        seen.stream = frame->body.site_open.stream;
    } else if (frame->kind == FRAME_SITE_OFFER && to == US) {
        seen.offers++;
        seen.number = frame->body.site_offer.number;
        seen.ranges = frame->body.site_offer.nprefixes;
    } else if (frame->kind == FRAME_SITE_HELD && to == EU) {
        seen.answers++;
        seen.nheld = frame->body.site_held.nheld;
        for (size_t i = 0; i < frame->body.site_held.nheld; i++) {
            seen.held += (uint64_t)__builtin_popcountll(frame->body.site_held.held[i]);
        }
    } else if (frame->kind == FRAME_SITE_CLOSE) {
        seen.closed++;
    }
    return true;
}

static void begin_on(uint32_t nnodes)
{
    uint64_t state = 1;

    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    memset(&seen, 0, sizeof seen);
    site_pair_init(pair, nnodes);
    pair->spy = watch;
    for (uint32_t i = 0; i < KEYS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

static void begin(void)
{
    begin_on(3);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* Those from `from` on. */
static void add(uint32_t site, unsigned nodes, uint32_t from)
{
    for (uint32_t at = from; at < KEYS; at += PART) {
        site_pair_add(pair, site, nodes, keys + at, KEYS - at < PART ? KEYS - at : PART);
    }
}

static void expect_all(uint32_t site)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += site_pair_count(pair, site, node, keys, KEYS) == KEYS;
    }
    cr_assert_geq(found, 2, "%d of 3 replicas have all", found);
}

static uint64_t counted(uint32_t site, const char *name)
{
    return site_pair_counter(pair, site, name);
}

/* ---- what is there, and what is not ---- */

Test(link_held, what_both_sites_have_is_not_sent)
{
    begin();
    add(EU, N1 | N2, 0);
    add(US, N2 | N3, 0);
    site_pair_run(pair, 8 * SECOND);
    expect_all(US);
    cr_assert_eq(counted(EU, "site_keys_total"), 0);
    cr_assert_eq(counted(EU, "site_skipped_keys_total"), KEYS);
    cr_assert_gt(counted(EU, "site_copies_total"), 0, "the logs are followed from there");
    cr_assert_lt(counted(EU, "site_wire_bytes_total"), KEYS);
    end();
}

Test(link_held, what_the_other_site_lacks_is_sent)
{
    begin();
    add(EU, N1 | N2, 0);
    add(US, N2 | N3, FEW);
    site_pair_run(pair, 8 * SECOND);
    expect_all(US);
    cr_assert_geq(counted(EU, "site_keys_total"), FEW);
    cr_assert_lt(counted(EU, "site_keys_total"), 100 * FEW);
    cr_assert_eq(counted(EU, "site_keys_total") + counted(EU, "site_skipped_keys_total"), KEYS);
    end();
}

/* Copies to another site, which does not answer, have all that may be offered. */
Test(link_held, others_that_wait_hold_up_no_copy)
{
    begin();
    pair->sides[EU].link->offered = 1 << 23;
    add(EU, N1 | N2, 0);
    add(US, N2 | N3, FEW);
    site_pair_run(pair, 8 * SECOND);
    expect_all(US);
    cr_assert_gt(counted(EU, "site_copies_total"), 0);
    end();
}

/* us has keys that eu lacks, in some of the ranges: these are sent, and the others are not. */
Test(link_held, what_only_the_other_site_has_does_no_harm)
{
    begin();
    add(EU, N1 | N2, FEW);
    add(US, N1 | N3, 0);
    site_pair_run(pair, 10 * SECOND);
    expect_all(US);
    expect_all(EU);
    cr_assert_lt(counted(EU, "site_keys_total"), 100 * FEW);
    end();
}

/* One replica of us has all, the others nothing, and they can't ask each other. */
static bool cut_gossip(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_PULL_REPLY || decoded->body.pull_reply.kind == PULL_DIGESTS ||
           decoded->body.pull_reply.kind == PULL_RANGES;
}

Test(link_held, what_one_replica_has_is_sent)
{
    begin();
    pair->sides[US].circle.spy = cut_gossip;
    add(EU, N1 | N2, 0);
    add(US, N1, 0);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(seen.offers, 0);
    cr_assert_eq(seen.held, 0);
    cr_assert_eq(counted(EU, "site_keys_total"), KEYS);
    expect_all(US);
    end();
}

/* Slot groups of their own at both sites. */
Test(link_held, sites_of_several_slot_groups_are_compared)
{
    begin_on(5);
    for (uint32_t site = 0; site < 2; site++) {
        const struct epoch_content *content = &pair->sides[site].document.content;

        for (uint32_t group = 0; group < content->ngroups; group++) {
            static uint64_t some[KEYS];
            uint32_t count = 0;

            for (uint32_t i = 0; i < KEYS; i++) {
                if (content->group_of_shard[keys[i] >> (64 - content->shard_bits)] == group) {
                    some[count++] = keys[i];
                }
            }
            site_pair_add_group(pair, site, group, 0, some, count);
        }
    }
    site_pair_run(pair, 15 * SECOND);
    cr_assert_eq(counted(EU, "site_keys_total"), 0);
    cr_assert_eq(counted(EU, "site_skipped_keys_total"), KEYS);
    end();
}

/* ---- what goes wrong ---- */

static bool lose_offers(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    return watch(self, to, frame) && frame->kind != FRAME_SITE_OFFER;
}

static bool lose_answers(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    return watch(self, to, frame) && frame->kind != FRAME_SITE_HELD;
}

static void expect_sent_without_answer(bool (*spy)(struct site_pair *self, uint32_t to,
                                                   const struct frame *frame))
{
    begin();
    pair->spy = spy;
    add(EU, N1 | N2, 0);
    site_pair_run(pair, 25 * SECOND);
    cr_assert_gt(seen.offers, 0);
    expect_all(US);
    cr_assert_eq(counted(EU, "site_skipped_keys_total"), 0);
    end();
}

Test(link_held, what_is_not_answered_is_sent)
{
    expect_sent_without_answer(lose_offers);
    expect_sent_without_answer(lose_answers);
}

/* To the link of eu, from that of us; or the other way round. */
static void hand(uint32_t to, const struct frame *frame)
{
    static const struct peer from = {.size = 1, .id = {1}, .user = 1};
    struct site_pair_side *side = &pair->sides[to];
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    if (to == EU) {
        side->face.on_answer(side->face.self, side->circle.now_us, 7, buffer_span(&bytes));
    } else {
        side->face.on_request(side->face.self, side->circle.now_us, &from, buffer_span(&bytes));
    }
    buffer_fini(&bytes);
}

static struct site_open opened; /* by us, which is held up */

static bool hold_opens(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    bool is_held = frame->kind == FRAME_SITE_OPEN && to == EU;

    if (is_held) {
        cr_assert(frame->body.site_open.compares);
        cr_assert_eq(frame->body.site_open.nsources, 0);
        opened = frame->body.site_open;
        opened.sources = NULL;
    }
    return watch(self, to, frame) && !is_held;
}

/* As a link of a version before this one opens it. */
Test(link_held, a_link_that_answers_no_offers_is_sent_all)
{
    struct frame frame = {.kind = FRAME_SITE_OPEN};

    begin();
    pair->spy = hold_opens;
    add(EU, N1 | N2, 0);
    add(US, N2 | N3, FEW);
    while (opened.stream == 0) {
        site_pair_run(pair, 1000);
    }
    frame.body.site_open = opened;
    frame.body.site_open.compares = false;
    hand(EU, &frame);
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(seen.offers, 0);
    cr_assert_eq(counted(EU, "site_keys_total"), KEYS);
    expect_all(US);
    end();
}

static void hand_held(uint64_t stream, uint64_t number, size_t count)
{
    static uint64_t all[SITE_MAX_OFFERED];
    const struct frame frame = {
        .kind = FRAME_SITE_HELD,
        .body.site_held = {.stream = stream, .number = number, .held = all, .nheld = count}};

    memset(all, 0xff, sizeof all);
    hand(EU, &frame);
}

/* Until an offer has left, which nobody answers. */
static void await_offer(void)
{
    pair->spy = lose_offers;
    add(EU, N1 | N2, 0);
    for (int steps = 0; seen.offers == 0; steps++) {
        cr_assert_lt(steps, 10000, "nothing is offered");
        site_pair_run(pair, 1000);
    }
}

/* "All of it is here", by answers to what was not asked, or to what is over. */
Test(link_held, answers_to_other_offers_say_nothing)
{
    begin();
    await_offer();
    hand_held(seen.stream, seen.number - 1, seen.ranges);
    hand_held(seen.stream, seen.number + 1, seen.ranges);
    hand_held(seen.stream + 1, seen.number, seen.ranges);
    site_pair_run(pair, 12 * SECOND);
    hand_held(seen.stream, seen.number, seen.ranges); /* It has been sent by now. */
    site_pair_run(pair, 5 * SECOND);
    expect_all(US);
    cr_assert_eq(counted(EU, "site_skipped_keys_total"), 0);
    end();
}

Test(link_held, an_answer_of_other_ranges_ends_the_stream)
{
    begin();
    await_offer();
    hand_held(seen.stream, seen.number, seen.ranges - 1);
    pair->spy = watch;
    site_pair_run(pair, 10 * SECOND);
    cr_assert_gt(counted(EU, "site_closed_total"), 0);
    expect_all(US);
    end();
}

static void hand_offer(struct site_offer offer)
{
    const struct frame frame = {.kind = FRAME_SITE_OFFER, .body.site_offer = offer};

    seen.held = seen.answers = seen.closed = 0;
    hand(US, &frame);
    site_pair_run(pair, 3 * SECOND);
}

/* Ranges that are none of the filter's, and in no order, are held by nobody; what has no form ends
 * the stream. */
Test(link_held, offers_that_make_no_sense_are_answered_with_nothing)
{
    static uint64_t prefixes[SITE_MAX_OFFERED];
    static uint64_t digests[SITE_MAX_OFFERED * PULL_PARTS];
    struct site_offer offer = {.number = UINT64_MAX,
                               .bits = 8,
                               .prefixes = prefixes,
                               .nprefixes = 2,
                               .digests = digests,
                               .ndigests = 2 * PULL_PARTS};
    struct site_offer bent;

    begin();
    add(US, ALL, 0);
    site_pair_run(pair, 5 * SECOND);
    offer.stream = seen.stream;
    prefixes[0] = 9;
    prefixes[1] = 5;
    hand_offer(offer);
    cr_assert_eq(seen.answers, 1);
    prefixes[1] = 9;
    hand_offer(offer);
    cr_assert_eq(seen.answers, 1, "one twice");
    prefixes[1] = 256;
    hand_offer(offer);
    cr_assert_eq(seen.answers, 1, "not of 8 bits");
    prefixes[1] = UINT64_MAX;
    hand_offer(offer);
    cr_assert_eq(seen.answers, 1);
    prefixes[1] = 10;
    bent = offer;
    bent.bits = pair->sides[US].document.content.shard_bits - 1;
    hand_offer(bent);
    cr_assert_eq(seen.answers, 1, "of two shards");
    bent.bits = UINT32_MAX;
    hand_offer(bent);
    cr_assert_eq(seen.answers, 1);
    cr_assert_eq(seen.held, 0);
    for (uint64_t i = 0; i < SITE_MAX_OFFERED; i++) {
        prefixes[i] = i;
    }
    bent = offer;
    bent.bits = 11;
    bent.nprefixes = SITE_MAX_OFFERED;
    bent.ndigests = SITE_MAX_OFFERED * PULL_PARTS;
    hand_offer(bent);
    cr_assert_eq(seen.answers, 1, "as many as may be");
    cr_assert_eq(seen.nheld, SITE_MAX_OFFERED);
    cr_assert_eq(seen.held, 0, "of other digests");
    cr_assert_eq(seen.closed, 0);
    bent.ndigests--;
    hand_offer(bent);
    cr_assert_eq(seen.answers, 0);
    cr_assert_eq(seen.closed, 1);
    bent = offer;
    bent.stream = seen.stream;
    bent.nprefixes = bent.ndigests = 0;
    hand_offer(bent);
    cr_assert_eq(seen.closed, 1);
    bent = offer;
    bent.stream = seen.stream + 1;
    hand_offer(bent);
    cr_assert_eq(seen.answers + seen.closed, 0, "of no stream");
    end();
}

/* ---- who is killed meanwhile ---- */

static uint64_t frames;

static bool lose_some(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    return watch(self, to, frame) && (frame->kind == FRAME_SITE_HELLO || ++frames % 4 != 0);
}

Test(link_held, links_are_killed_and_frames_lost)
{
    begin();
    pair->spy = lose_some;
    add(EU, N1 | N2, 0);
    add(US, N2 | N3, 1000);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t site = i % 2;

        site_pair_run(pair, 1100000 + i * 50000);
        site_pair_link_stop(pair, site);
        site_pair_run(pair, 200000);
        site_pair_link_start(pair, site);
    }
    pair->spy = watch;
    site_pair_run(pair, 30 * SECOND);
    expect_all(US);
    end();
}

/* What a node of us has told in one boot says nothing of the next one. */
Test(link_held, nodes_that_start_again_are_asked_again)
{
    begin();
    add(EU, ALL, 0);
    add(US, ALL, 1000);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t node = i % 3 + 1;

        site_pair_run(pair, 1500000 + i * 40000);
        circle_stop(&pair->sides[US].circle, node);
        site_pair_run(pair, 100000);
        circle_start(&pair->sides[US].circle, node);
    }
    site_pair_run(pair, 30 * SECOND);
    expect_all(US);
    end();
}
