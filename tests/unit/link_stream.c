/* Keys travel from one site to another: two sites of three nodes each, with real nodes, routers'
 * cores and links, and a network between them that is late, cut, and loses what is on it. */
#include "link/sent/way.h"
#include "node/private.h"
#include "site/batch.h"
#include "tests/unit/link_streams.h"

TestSuite(link_stream, .timeout = 120);

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
