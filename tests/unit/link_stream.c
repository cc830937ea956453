/* Keys travel from one site to another: two sites of three nodes each, with real nodes, routers'
 * cores and links, and a network between them that is late, cut, and loses what is on it. */
#include "link/way.h"
#include "node/private.h"
#include "site/batch.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8, ALL = 14, BATCH = 200 };

TestSuite(link_stream, .timeout = 120);

static struct site_pair *pair;

static void begin_on(uint32_t nnodes)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, nnodes);
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

/* ---- a filter that is full here ---- */

enum { FILLED = 999900, AT_ONCE = 50000, LEFT = BATCH - 100 }; /* there is room for a million */

static uint64_t filler[FILLED];

/* With what does not leave the site. */
static void fill(uint32_t site)
{
    make_keys(9, filler, FILLED);
    pair->sides[site].circle.relayed = true;
    for (uint32_t at = 0; at < FILLED; at += AT_ONCE) {
        site_pair_add(pair, site, ALL, filler + at, FILLED - at < AT_ONCE ? FILLED - at : AT_ONCE);
    }
    pair->sides[site].circle.relayed = false;
}

/* Nodes that are kept busy with what they have would be slow to make room for the rest. */
Test(link_stream, what_a_full_filter_has_taken_is_not_sent_to_it_again)
{
    uint64_t keys[BATCH];
    uint64_t relayed;

    begin();
    connect_both();
    make_keys(1, keys, BATCH);
    fill(US);
    relayed = circle_counter(&pair->sides[US].circle, 1, NODE_keys_relayed_total);
    site_pair_add(pair, EU, N1 | N2, keys, BATCH);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_applied_keys_total"), 0);
    cr_assert_geq(site_pair_counter(pair, US, "site_full_total"), 5);
    relayed = circle_counter(&pair->sides[US].circle, 1, NODE_keys_relayed_total) - relayed;
    cr_assert_leq(relayed, BATCH + 20 * LEFT, "%d keys", (int)relayed);
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

static bool hide_tails(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    return decoded->kind != FRAME_SITE_TAIL_REPLY || frame->from == 1;
}

/* Of the R that told their ends one is read, which has nothing of it. */
Test(link_stream, a_mark_waits_for_the_logs_of_enough_replicas)
{
    begin();
    pair->spy = watch;
    connect_both();
    make_keys(1, one_keys, BATCH);
    pair->sides[EU].circle.spy = hide_tails;
    site_pair_add(pair, EU, N2 | N3, one_keys, BATCH);
    ask_mark(1);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_eq(marked.mark, 0);
    pair->sides[EU].circle.spy = NULL;
    site_pair_run(pair, 15 * SECOND);
    cr_assert_eq(marked.mark, 1);
    expect_all(US, one_keys, BATCH);
    end();
}

/* What moves the end of a log may be another site's, of which nobody is told: a mark does not wait
 * until something else comes. */
Test(link_stream, a_mark_of_an_idle_site_is_prompt)
{
    begin();
    pair->spy = watch;
    connect_both();
    make_keys(2, other_keys, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, US, ALL, other_keys + i * BATCH, BATCH);
        site_pair_run(pair, 120000); /* Applied at EU, whose logs end elsewhere now. */
        ask_mark(i + 1);
        site_pair_run(pair, 200000);
        cr_assert_eq(marked.mark, i + 1, "mark %u is late", i + 1);
    }
    end();
}

/* While adds go on and on, the ends that were told first are the ones that are reached. */
Test(link_stream, a_mark_is_answered_while_adds_go_on)
{
    enum { FEW = 10, STEPS = 200 };
    uint32_t answered = 0;

    begin();
    pair->spy = watch;
    connect_both();
    make_keys(1, one_keys, MANY);
    ask_mark(1);
    for (uint32_t i = 0; i < STEPS; i++) {
        site_pair_add(pair, EU, ALL, one_keys + i * FEW, FEW);
        site_pair_run(pair, 5000);
        if (marked.mark == answered + 1) {
            answered++;
            ask_mark(answered + 1);
        }
    }
    cr_assert_geq(answered, 5, "%u marks", answered);
    end();
}

/* ---- several slot groups, so that a node's log is followed from several places ---- */

enum { GROUPS = 4, GROUP_ROUNDS = 10 };

static uint64_t group_keys[GROUPS][GROUP_ROUNDS * BATCH];

static void make_group_keys(void)
{
    for (uint32_t group = 0; group < GROUPS; group++) {
        for (uint32_t i = 0; i < GROUP_ROUNDS; i++) {
            sample_fingerprints(&pair->sides[EU].document, group, 1000 * group + i + 1, BATCH,
                                group_keys[group] + i * BATCH);
        }
    }
}

static void add_groups(uint32_t round)
{
    for (uint32_t group = 0; group < GROUPS; group++) {
        site_pair_add_group(pair, EU, group, round, group_keys[group] + round * BATCH, BATCH);
    }
}

static void expect_groups(uint32_t rounds)
{
    for (uint32_t group = 0; group < GROUPS; group++) {
        for (uint32_t i = 0; i < rounds; i++) {
            cr_assert_geq(site_pair_copies(pair, US, group, group_keys[group] + i * BATCH, BATCH),
                          2, "round %u of group %u", i, group);
        }
    }
}

/* Groups are copied one after the other while the logs of their nodes are read for those before. */
Test(link_stream, adds_go_on_while_groups_are_copied)
{
    begin_on(4);
    make_group_keys();
    add_groups(0);
    for (uint32_t i = 1; i < GROUP_ROUNDS; i++) {
        site_pair_run(pair, 333000);
        add_groups(i);
    }
    site_pair_run(pair, 10 * SECOND);
    expect_groups(GROUP_ROUNDS);
    end();
}

/* A replica that can't be copied keeps no other group from being sent. */
Test(link_stream, a_node_that_is_down_delays_no_group)
{
    begin_on(4);
    make_group_keys();
    add_groups(0);
    circle_stop(&pair->sides[EU].circle, 1);
    site_pair_run(pair, 30 * SECOND);
    for (uint32_t group = 0; group < GROUPS; group++) {
        cr_assert_geq(site_pair_copies(pair, US, group, group_keys[group], BATCH), 2,
                      "group %u was not sent", group);
    }
    circle_start(&pair->sides[EU].circle, 1);
    site_pair_run(pair, 10 * SECOND);
    add_groups(1);
    site_pair_run(pair, 10 * SECOND);
    expect_groups(2);
    end();
}

/* ---- a small window, and words that are lost ---- */

static uint64_t words_lost;

static bool lose_applied(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    (void)to;
    if (frame->kind == FRAME_SITE_APPLIED && words_lost < 3) {
        words_lost++;
        return false;
    }
    return true;
}

Test(link_stream, a_full_window_opens_again_when_words_are_lost)
{
    enum { LARGE = 40000 };
    uint64_t *keys = malloc(LARGE * sizeof *keys);

    begin();
    pair->window = 1;
    for (uint32_t site = EU; site <= US; site++) {
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
    connect_both();
    make_keys(1, keys, LARGE);
    pair->spy = lose_applied;
    for (uint32_t i = 0; i < LARGE; i += LARGE / 4) {
        site_pair_add(pair, EU, N1 | N2, keys + i, LARGE / 4);
        site_pair_run(pair, SECOND);
    }
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(words_lost, 3);
    for (uint32_t i = 0; i < LARGE; i += LARGE / 4) {
        expect_all(US, keys + i, LARGE / 4);
    }
    free(keys);
    end();
}

static struct {
    size_t largest;
    size_t all;
} unapplied; /* bytes of batches */

static bool hold_applied(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_BATCH && to == US) {
        size_t size = frame->body.site_batch.batch.size;

        unapplied.largest = size > unapplied.largest ? size : unapplied.largest;
        unapplied.all += size;
    }
    return frame->kind != FRAME_SITE_APPLIED;
}

/* Behind it nothing gets through, and while a batch comes nothing is heard: neither may take long
 * by a slow line. */
Test(link_stream, of_an_unknown_way_not_much_is_under_way)
{
    enum { LARGE = 240000, PART = 10000 };
    uint64_t *keys = malloc(LARGE * sizeof *keys);

    begin();
    connect_both();
    make_keys(1, keys, LARGE);
    memset(&unapplied, 0, sizeof unapplied);
    pair->spy = hold_applied;
    for (uint32_t i = 0; i < LARGE; i += PART) {
        site_pair_add(pair, EU, N1 | N2, keys + i, PART);
    }
    site_pair_run(pair, SECOND);
    cr_assert_gt(unapplied.all, WAY_LEAST_BYTES / 2);
    cr_assert_lt(unapplied.largest, WAY_LEAST_BYTES / 12);
    cr_assert_lt(unapplied.all, WAY_LEAST_BYTES + unapplied.largest);
    pair->spy = NULL;
    site_pair_run(pair, 30 * SECOND);
    for (uint32_t i = 0; i < LARGE; i += PART) {
        expect_all(US, keys + i, PART);
    }
    free(keys);
    end();
}

/* Who receives says that a stream is over; that is lost, and the source goes on sending. */
static bool lose_closes(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    return watch(self, to, frame) &&
           !(to == EU && frame->kind == FRAME_SITE_CLOSE &&
             frame->body.site_close.stream == stream_seen && words_lost++ < 1);
}

/* By its document US is not to receive the filter any more; EU has not heard of that. */
Test(link_stream, a_stream_that_is_over_is_not_sent_for_ever)
{
    struct filter_document *document;
    struct site_set *set;

    begin();
    pair->spy = lose_closes;
    connect_both();
    document = &pair->sides[US].document;
    set = document->content.sites;
    set->entries[1 - set->own].state = SITE_GONE;
    document_epoch_advance(document);
    site_pair_hand(pair, US);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 0);
    cr_assert_geq(words_lost, 2, "it was said again");
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_out"), 0);
    end();
}

/* ---- what a peer may say ---- */

/* To a link's outer face, as its peer. */
static void say(uint32_t site, const struct frame *frame)
{
    struct site_pair_side *side = &pair->sides[site];
    const struct peer from = {.size = 1, .id = {1}, .user = 1};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    if (site == EU) {
        side->face.on_answer(side->face.self, side->circle.now_us, 7, buffer_span(&bytes));
    } else {
        side->face.on_request(side->face.self, side->circle.now_us, &from, buffer_span(&bytes));
    }
    buffer_fini(&bytes);
}

/* Places that nobody can have been told are taken for unknown ones, also while the node that would
 * refuse them is down. */
Test(link_stream, places_that_can_not_be_are_copied)
{
    const struct filter_document *document;
    struct site_source sources[3] = {{.node = 1, .offset = 7, .boot = 1, .epoch = 1},
                                     {.node = 2, .offset = UINT64_MAX - 7, .boot = 1, .epoch = 1},
                                     {.node = 3, .offset = 8, .boot = 0, .epoch = UINT64_MAX}};
    struct frame frame = {.kind = FRAME_SITE_OPEN};
    struct site_open *open = &frame.body.site_open;

    begin();
    connect_both();
    document = &pair->sides[EU].document;
    for (uint32_t i = 0; i < 3; i++) {
        sources[i].incarnation = slot_reader(&document->content.groups[0].slots[i])->incarnation;
    }
    *open = (struct site_open){.stream = 77,
                               .uid = document->content.uid,
                               .source_life = {1, 10},
                               .own_life = {1, 11},
                               .keyset = document->content.keysets[0].id,
                               .room = UINT64_MAX,
                               .sources = sources,
                               .nsources = 3};
    circle_stop(&pair->sides[EU].circle, 3);
    say(EU, &frame);
    site_pair_run(pair, 5 * SECOND);
    make_keys(1, one_keys, BATCH);
    site_pair_add(pair, EU, N1 | N2, one_keys, BATCH);
    site_pair_run(pair, 5 * SECOND);
    expect_all(US, one_keys, BATCH);
    end();
}

static uint64_t last_batch; /* number of the last one that EU has sent */
static uint64_t nclosed;

static bool watch_batches(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    if (frame->kind == FRAME_SITE_BATCH && to == US) {
        last_batch = frame->body.site_batch.number;
    }
    nclosed += frame->kind == FRAME_SITE_CLOSE && to == EU;
    return watch(self, to, frame);
}

/* What a batch names is not what its stream is of: one thing each. */
static void bend(int how, struct site_batch *batch)
{
    batch->uid.low += how == 0;
    batch->sender.number += how == 1;
    batch->sender.tag += how == 2;
    batch->receiver.number += how == 3;
    batch->receiver.tag += how == 4;
    batch->keysets[0] += how == 5;
    batch->flags |= how == 6 ? SITE_BATCH_FED : 0;
}

Test(link_stream, batches_of_something_else_are_not_applied)
{
    enum { NBENT = 7 };

    for (int how = 0; how < NBENT; how++) {
        struct site_batch batch = {
            .sender = {1, 10}, .receiver = {1, 11}, .nkeysets = 1, .nkeys = BATCH};
        struct frame frame = {.kind = FRAME_SITE_BATCH};
        uint8_t bytes[16 * BATCH];
        uint64_t keys[BATCH];

        begin();
        pair->spy = watch_batches;
        connect_both();
        for (uint64_t i = 0; i < BATCH; i++) {
            keys[i] = (i + 1) << 50;
        }
        batch.uid = pair->sides[EU].document.content.uid;
        batch.keysets[0] = pair->sides[EU].document.content.keysets[0].id;
        bend(how, &batch);
        cr_assert_leq(site_batch_room(&batch), sizeof bytes);
        frame.body.site_batch = (struct site_batch_message){
            .stream = stream_seen,
            .number = last_batch + 1,
            .batch = span_of(bytes, site_batch_encode(&batch, keys, NULL, bytes))};
        nclosed = 0;
        say(US, &frame);
        site_pair_run(pair, 20000);
        cr_assert_eq(nclosed, 1, "%d: it was not said", how);
        site_pair_run(pair, 2 * SECOND);
        cr_assert_eq(have_none(US, keys, BATCH), 3, "%d", how);
        end();
    }
}

static uint64_t room_told; /* by US, last */

static bool watch_room(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    if (frame->kind == FRAME_SITE_OPEN && to == EU) {
        room_told = frame->body.site_open.room;
    }
    return watch_batches(self, to, frame);
}

static void say_full_batch(uint64_t number, const uint64_t *keys, uint32_t count, uint8_t *bytes)
{
    struct site_batch batch = {
        .sender = {1, 10}, .receiver = {1, 11}, .nkeysets = 1, .nkeys = count};
    struct frame frame = {.kind = FRAME_SITE_BATCH};

    batch.uid = pair->sides[EU].document.content.uid;
    batch.keysets[0] = pair->sides[EU].document.content.keysets[0].id;
    frame.body.site_batch = (struct site_batch_message){
        .stream = stream_seen,
        .number = number,
        .batch = span_of(bytes, site_batch_encode(&batch, keys, NULL, bytes))};
    say(US, &frame);
}

/* Less is asked for than of one stream alone, and who sends more all the same is not listened to:
 * here nothing is applied, as nodes are down. */
Test(link_stream, what_waits_of_all_streams_is_bounded)
{
    enum { COUNT = 8192, HELD = 1 << 20 };
    static uint64_t keys[COUNT];
    static uint8_t bytes[16 * COUNT];
    uint64_t sent = 0;

    begin();
    pair->window = 16 << 20;
    pair->held = HELD;
    for (uint32_t site = EU; site <= US; site++) {
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
    pair->spy = watch_room;
    connect_both();
    cr_assert_eq(room_told, HELD / 4);
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = (i + 1) << 48;
    }
    for (uint32_t node = 1; node <= 3; node++) {
        circle_stop(&pair->sides[US].circle, node);
    }
    nclosed = 0;
    while (nclosed == 0) {
        cr_assert_lt(sent, 64, "four times as much as may wait");
        say_full_batch(last_batch + ++sent, keys, COUNT, bytes);
    }
    cr_assert_geq(sent, HELD / sizeof keys);
    end();
}

/* By version, id, name, and a link that would be its own peer. */
Test(link_stream, greetings_that_do_not_fit_are_refused)
{
    const struct site_id id = sample_site_id(EU);
    const struct site_hello hellos[] = {
        {.version = SITE_LINK_VERSION + 1, .site = "eu", .id = id, .boot = 3},
        {.version = SITE_LINK_VERSION, .site = "eu", .id = {id.high, id.low + 1}, .boot = 3},
        {.version = SITE_LINK_VERSION, .site = "asia", .id = id, .boot = 3},
    };

    begin();
    connect_both();
    for (size_t i = 0; i < sizeof hellos / sizeof hellos[0]; i++) {
        const struct frame frame = {.kind = FRAME_SITE_HELLO, .body.site_hello = hellos[i]};

        say(US, &frame);
        cr_assert_eq(site_pair_counter(pair, US, "site_refused_total"), i + 1);
    }
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1, "the stream goes on");
    end();
}

/* Streams that nobody opened, numbers out of order, batches of nothing: said, and harmless. */
Test(link_stream, words_out_of_place_do_no_harm)
{
    static const uint8_t garbage[200] = {1, 2, 3};
    const struct frame frames[] = {
        {.kind = FRAME_SITE_BATCH,
         .body.site_batch = {.stream = 5, .number = 1, .batch = {garbage, sizeof garbage}}},
        {.kind = FRAME_SITE_APPLIED,
         .body.site_applied = {.stream = 5, .number = UINT64_MAX, .room = UINT64_MAX}},
        {.kind = FRAME_SITE_MARK, .body.site_mark = {.stream = 5, .mark = 1}},
        {.kind = FRAME_SITE_MARKED, .body.site_marked = {.stream = 5, .mark = 1, .number = 9}},
        {.kind = FRAME_SITE_CLOSE, .body.site_close = {.stream = 5, .message = "no"}},
        {.kind = FRAME_SITE_OPEN, .body.site_open = {.stream = 6}},
        {.kind = FRAME_SITE_HELLO, .body.site_hello = {.version = 2, .site = "eu", .boot = 3}},
        {.kind = FRAME_SITE_HELLO, .body.site_hello = {.version = 1, .site = "asia", .boot = 3}},
        {.kind = FRAME_STATS_REQUEST},
    };

    begin();
    connect_both();
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        say(EU, &frames[i]);
        say(US, &frames[i]);
    }
    add_rounds(one_keys, other_keys, 100000);
    site_pair_run(pair, 5 * SECOND);
    expect_rounds(one_keys, other_keys);
    end();
}

/* ---- replicas that are late ---- */

/* What one replica has durably only later was told by another one before, under the same number. */
Test(link_stream, what_a_late_replica_tells_is_not_sent_again)
{
    begin();
    connect_both();
    pair->sides[EU].circle.nodes[2].frozen = true;
    make_keys(1, one_keys, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct circle *circle = &pair->sides[EU].circle;

        pair->sides[EU].batch++;
        for (uint32_t node = 1; node <= 2; node++) {
            cr_assert_eq(circle_add(circle, node, &pair->sides[EU].document, pair->sides[EU].batch,
                                    one_keys + i * BATCH, BATCH),
                         STATUS_OK);
        }
        circle->nodes[2].frozen = false;
        cr_assert_eq(circle_add(circle, 3, &pair->sides[EU].document, pair->sides[EU].batch,
                                one_keys + i * BATCH, BATCH),
                     STATUS_OK);
        circle->nodes[2].frozen = true;
        site_pair_run(pair, 300000);
    }
    pair->sides[EU].circle.nodes[2].frozen = false;
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_keys_total"), MANY);
    cr_assert_gt(site_pair_counter(pair, EU, "site_repeats_total"), 0);
    end();
}

/* ---- more than one batch at once ---- */

static uint64_t batches_seen;

/* Only the first batch of EU arrives. */
static bool lose_later_batches(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    return !(to == US && frame->kind == FRAME_SITE_BATCH && frame->body.site_batch.batch.size > 0 &&
             batches_seen++ > 0);
}

/* Places are told with the last of the batches that they cover: whoever has only the first one does
 * not go on behind all of them. */
Test(link_stream, a_section_that_breaks_off_is_begun_again)
{
    enum { PART = 40000, PARTS = 3 };
    uint64_t *keys = malloc((size_t)PART * PARTS * sizeof *keys);

    begin();
    connect_both();
    make_keys(1, keys, PART * PARTS);
    pair->spy = lose_later_batches;
    for (uint32_t i = 0; i < PARTS; i++) {
        site_pair_add(pair, EU, N1 | N2, keys + i * PART, PART);
    }
    site_pair_run(pair, 2 * SECOND);
    cr_assert_gt(batches_seen, 1);
    site_pair_link_stop(pair, EU);
    pair->spy = NULL;
    site_pair_link_start(pair, EU);
    site_pair_run(pair, 20 * SECOND);
    for (uint32_t i = 0; i < PARTS; i++) {
        expect_all(US, keys + i * PART, PART);
    }
    free(keys);
    end();
}
