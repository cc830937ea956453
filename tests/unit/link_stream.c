/* Keys travel from one site to another: two sites of three nodes each, with real nodes, routers'
 * cores and links, and a network between them that is late, cut, and loses what is on it. */
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8, ALL = 14, BATCH = 200 };

TestSuite(link_stream, .timeout = 120);

static struct site_pair *pair;

static void begin(void)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* Keys that no other seed has. */
static void make_keys(uint64_t seed, uint64_t *keys, uint32_t count)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

/* At W of the site's nodes, so that every check finds them. */
static void expect_all(uint32_t site, const uint64_t *keys, uint32_t count)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += site_pair_count(pair, site, node, keys, count) == (int)count;
    }
    cr_assert_geq(found, 2, "%d of 3 replicas have all", found);
}

static uint32_t have_none(uint32_t site, const uint64_t *keys, uint32_t count)
{
    uint32_t none = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        none += site_pair_count(pair, site, node, keys, count) == 0;
    }
    return none;
}

/* Until both have greeted, and opened both streams. */
static void connect_both(void)
{
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_channels"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_channels"), 1);
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_out"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

Test(link_stream, what_is_added_at_one_site_is_found_at_the_other)
{
    uint64_t one[BATCH];
    uint64_t other[BATCH];

    begin();
    make_keys(1, one, BATCH);
    make_keys(2, other, BATCH);
    connect_both();
    site_pair_add(pair, EU, N1 | N2, one, BATCH);
    site_pair_add(pair, US, N2 | N3, other, BATCH);
    site_pair_run(pair, SECOND);
    expect_all(US, one, BATCH);
    expect_all(EU, other, BATCH);
    end();
}

/* What was there before the sites met is copied. */
Test(link_stream, what_was_added_before_is_copied)
{
    uint64_t keys[BATCH];

    begin();
    make_keys(1, keys, BATCH);
    site_pair_add(pair, EU, N1 | N3, keys, BATCH);
    cr_assert_eq(have_none(US, keys, BATCH), 3);
    connect_both();
    site_pair_run(pair, SECOND);
    expect_all(US, keys, BATCH);
    end();
}

/* ---- what is lost on the way ---- */

enum { ROUNDS = 12, MANY = ROUNDS * BATCH };

/* A batch a round at each site, the nodes that get it changing. */
static void add_rounds(uint64_t *one, uint64_t *other, uint64_t pause_us)
{
    static const unsigned nodes[] = {N1 | N2, N2 | N3, N1 | N3, ALL};

    make_keys(1, one, MANY);
    make_keys(2, other, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, nodes[i % 4], one + i * BATCH, BATCH);
        site_pair_add(pair, US, nodes[(i + 1) % 4], other + i * BATCH, BATCH);
        site_pair_run(pair, pause_us);
    }
}

static void expect_rounds(const uint64_t *one, const uint64_t *other)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        expect_all(US, one + i * BATCH, BATCH);
        expect_all(EU, other + i * BATCH, BATCH);
    }
}

static uint64_t one_keys[MANY];
static uint64_t other_keys[MANY];

Test(link_stream, a_cut_delays_and_loses_nothing)
{
    begin();
    connect_both();
    pair->cut[EU] = pair->cut[US] = true;
    add_rounds(one_keys, other_keys, SECOND);
    cr_assert_eq(have_none(US, one_keys, BATCH), 3);
    pair->cut[EU] = pair->cut[US] = false;
    site_pair_run(pair, 10 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}

Test(link_stream, a_cut_of_one_way_delays_and_loses_nothing)
{
    begin();
    connect_both();
    pair->cut[US] = true;
    add_rounds(one_keys, other_keys, SECOND);
    pair->cut[US] = false;
    site_pair_run(pair, 10 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}

static uint64_t seen;

/* Every fifth frame of those that carry the streams. */
static bool lose_some(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    (void)to;
    return frame->kind == FRAME_SITE_HELLO || ++seen % 5 != 0;
}

Test(link_stream, frames_that_are_lost_are_noticed)
{
    begin();
    connect_both();
    pair->spy = lose_some;
    add_rounds(one_keys, other_keys, SECOND);
    pair->spy = NULL;
    site_pair_run(pair, 10 * SECOND);
    expect_rounds(one_keys, other_keys);
    cr_assert_gt(site_pair_counter(pair, EU, "site_closed_total") +
                     site_pair_counter(pair, US, "site_closed_total"),
                 0);
    end();
}

/* ---- who is killed ---- */

Test(link_stream, a_link_that_is_killed_finds_its_place)
{
    begin();
    connect_both();
    add_rounds(one_keys, other_keys, 20000);
    site_pair_link_stop(pair, EU);
    site_pair_run(pair, SECOND);
    site_pair_link_start(pair, EU);
    site_pair_run(pair, 12 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}

Test(link_stream, both_links_are_killed_again_and_again)
{
    begin();
    make_keys(1, one_keys, MANY);
    make_keys(2, other_keys, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t site = i % 2;

        site_pair_add(pair, EU, N1 | N2, one_keys + i * BATCH, BATCH);
        site_pair_add(pair, US, N2 | N3, other_keys + i * BATCH, BATCH);
        site_pair_run(pair, 2300000);
        site_pair_link_stop(pair, site);
        site_pair_run(pair, 300000);
        site_pair_link_start(pair, site);
    }
    site_pair_run(pair, 12 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}

/* A node of the source, whose log goes on in another boot, and one of the receiver. */
Test(link_stream, nodes_that_start_again_are_followed_on)
{
    begin();
    connect_both();
    make_keys(1, one_keys, MANY);
    make_keys(2, other_keys, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t site = i % 2;
        uint32_t node = i % 3 + 1;

        site_pair_add(pair, EU, ALL, one_keys + i * BATCH, BATCH);
        site_pair_add(pair, US, ALL, other_keys + i * BATCH, BATCH);
        site_pair_run(pair, 30000);
        circle_stop(&pair->sides[site].circle, node);
        site_pair_run(pair, 500000);
        circle_start(&pair->sides[site].circle, node);
        site_pair_run(pair, 8 * SECOND);
    }
    site_pair_run(pair, 10 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}

/* ---- what goes over the wire ---- */

/* A batch is in the logs of all replicas, and what came from another site goes no further. */
Test(link_stream, what_all_replicas_have_is_sent_once_and_not_back)
{
    begin();
    connect_both();
    add_rounds(one_keys, other_keys, 200000);
    site_pair_run(pair, 2 * SECOND);
    expect_rounds(one_keys, other_keys);
    cr_assert_eq(site_pair_counter(pair, EU, "site_keys_total"), MANY);
    cr_assert_eq(site_pair_counter(pair, US, "site_keys_total"), MANY);
    cr_assert_eq(site_pair_counter(pair, US, "site_applied_keys_total"), MANY);
    end();
}

Test(link_stream, an_idle_stream_says_little)
{
    uint64_t before;

    begin();
    connect_both();
    site_pair_run(pair, 2 * SECOND);
    before = pair->sent_bytes[EU] + pair->sent_bytes[US];
    site_pair_run(pair, 10 * SECOND);
    cr_assert_lt(pair->sent_bytes[EU] + pair->sent_bytes[US] - before, 5000);
    end();
}

/* ---- marks ---- */

static uint64_t stream_seen; /* that US has opened at EU */
static struct site_marked marked;
static uint64_t applied_seen;

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_OPEN && to == EU) {
        stream_seen = frame->body.site_open.stream;
    } else if (frame->kind == FRAME_SITE_MARKED && to == US) {
        marked = frame->body.site_marked;
    } else if (frame->kind == FRAME_SITE_APPLIED && to == EU) {
        applied_seen = frame->body.site_applied.number;
    }
    return true;
}

/* As the link of US would. */
static void ask_mark(uint64_t mark)
{
    struct site_pair_side *eu = &pair->sides[EU];
    struct frame frame = {.kind = FRAME_SITE_MARK,
                          .body.site_mark = {.stream = stream_seen, .mark = mark}};
    struct buffer bytes;

    marked = (struct site_marked){0};
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    eu->face.on_answer(eu->face.self, eu->circle.now_us, 7, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* Once the batch that a mark names is applied, each check finds all that was acknowledged before.
 */
Test(link_stream, a_mark_names_the_batch_that_has_all)
{
    begin();
    pair->spy = watch;
    connect_both();
    make_keys(1, one_keys, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, i % 2 == 0 ? N1 | N2 : N2 | N3, one_keys + i * BATCH, BATCH);
        ask_mark(i + 1);
        for (int steps = 0; marked.mark != i + 1 || applied_seen < marked.number; steps++) {
            cr_assert_lt(steps, 5000, "the mark is not answered, or its batch not applied");
            site_pair_run(pair, 1000);
        }
        expect_all(US, one_keys + i * BATCH, BATCH);
    }
    end();
}

/* With one node down R of three still tell; with two, nobody promises anything. */
Test(link_stream, a_mark_takes_enough_replicas)
{
    begin();
    pair->spy = watch;
    connect_both();
    make_keys(1, one_keys, MANY);
    circle_stop(&pair->sides[EU].circle, 1);
    site_pair_add(pair, EU, N2 | N3, one_keys, BATCH);
    ask_mark(1);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(marked.mark, 1);
    expect_all(US, one_keys, BATCH);
    circle_stop(&pair->sides[EU].circle, 2);
    ask_mark(2);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(marked.mark, 0);
    circle_start(&pair->sides[EU].circle, 2);
    site_pair_run(pair, 15 * SECOND);
    cr_assert_eq(marked.mark, 2, "it is answered once they are back");
    end();
}
