/* Several connections between two links: batches go by all of them, come in any order, and count in
 * their own; what a connection takes with it is sent again. */
#include "link/private.h"
#include "tests/unit/link_streams.h"

#include <stdio.h>

TestSuite(link_strands, .timeout = 120);

enum { SEVERAL = 4, FAR_US = 120000, LATE_US = 300000 };

static struct link *eu(void)
{
    return pair->sides[EU].link;
}

static struct link *us(void)
{
    return pair->sides[US].link;
}

/* ---- keys, none of them twice ---- */

static uint32_t nadded;

static void make_more(uint32_t which)
{
    make_keys(100 + 2 * which, one_keys, MANY);
    make_keys(101 + 2 * which, other_keys, MANY);
}

static void add_more(uint64_t pause_us)
{
    make_more(nadded++);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, i % 2 == 0 ? N1 | N2 : N2 | N3, one_keys + i * BATCH, BATCH);
        site_pair_add(pair, US, i % 2 == 0 ? ALL : N1 | N3, other_keys + i * BATCH, BATCH);
        site_pair_run(pair, pause_us);
    }
}

static void expect_added(void)
{
    for (uint32_t i = 0; i < nadded; i++) {
        make_more(i);
        expect_rounds(one_keys, other_keys);
    }
}

/* ---- two sites ---- */

/* So many at each side, wanted once so many bytes are under way; 0: as usual. */
static void begin_crowded(uint64_t at_eu, uint64_t at_us, uint64_t crowd)
{
    begin();
    nadded = 0;
    pair->connections[EU] = at_eu;
    pair->connections[US] = at_us;
    pair->crowd = crowd;
    pair->delay_us = FAR_US;
    for (uint32_t site = 0; site < 2; site++) {
        site_pair_link_stop(pair, site);
        site_pair_link_start(pair, site);
    }
    connect_both();
}

/* ... as soon as anything is. */
static void begin_with(uint64_t at_eu, uint64_t at_us)
{
    begin_crowded(at_eu, at_us, 1);
}

static uint32_t opened(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < SITE_MAX_CONNECTIONS; i++) {
        count += pair->opened[i];
    }
    return count;
}

static uint64_t counter(uint32_t site, const char *name)
{
    return site_pair_counter(pair, site, name);
}

static uint64_t closed(void)
{
    return counter(EU, "site_closed_total") + counter(US, "site_closed_total");
}

/* Until there are as many as may be, and batches have gone by each. */
static void crowd(void)
{
    add_more(20000);
    site_pair_run(pair, SECOND);
    add_more(20000);
}

/* ---- how many ---- */

Test(link_strands, one_is_enough_for_a_little)
{
    uint64_t keys[BATCH];

    begin_crowded(SEVERAL, SEVERAL, 0);
    make_keys(1, keys, BATCH);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    site_pair_run(pair, 3 * SECOND);
    expect_all(US, keys, BATCH);
    cr_assert_eq(opened(), 1);
    cr_assert_eq(counter(EU, "site_connections"), 0);
    end();
}

Test(link_strands, more_are_opened_where_one_is_too_few_and_all_are_used)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    cr_assert_eq(opened(), SEVERAL);
    for (uint32_t i = 0; i < SEVERAL; i++) {
        cr_assert_gt(pair->batches[i], 0, "none went by %u", i);
    }
    site_pair_run(pair, SECOND);
    cr_assert_eq(counter(EU, "site_connections"), SEVERAL - 1);
    cr_assert_eq(counter(US, "site_connections"), SEVERAL - 1);
    expect_added();
    cr_assert_eq(closed(), 0);
    end();
}

Test(link_strands, there_are_as_many_as_both_sides_let_be)
{
    static const uint64_t of_us[] = {1, 2, SITE_MAX_CONNECTIONS};
    static const uint32_t there[] = {1, 2, 3};

    for (size_t i = 0; i < 3; i++) {
        begin_with(3, of_us[i]);
        crowd();
        cr_assert_eq(opened(), there[i]);
        site_pair_run(pair, SECOND);
        expect_added();
        end();
    }
}

/* A link of a version that knows but one says nothing of others. */
static bool say_nothing_of_several(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    cr_assert(to != US || frame->kind != FRAME_SITE_HELLO ||
              frame->body.site_hello.connection == 0);
    return true;
}

Test(link_strands, who_tells_of_one_alone_is_dialed_by_one)
{
    begin_with(SEVERAL, 0);
    us()->config.connections = 0;
    pair->spy = say_nothing_of_several;
    crowd();
    site_pair_run(pair, SECOND);
    cr_assert_eq(opened(), 1);
    expect_added();
    end();
}

/* Each of them costs something to keep; nothing is lost by closing them. */
Test(link_strands, those_that_are_not_used_any_more_are_closed)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    site_pair_run(pair, SECOND);
    cr_assert_eq(opened(), SEVERAL);
    site_pair_run(pair, 14 * SECOND);
    cr_assert_eq(opened(), 1);
    cr_assert_eq(counter(US, "site_connections"), 0);
    cr_assert_eq(closed(), 0);
    crowd();
    cr_assert_eq(opened(), SEVERAL);
    site_pair_run(pair, SECOND);
    expect_added();
    cr_assert_eq(closed(), 0);
    end();
}

/* While batches go by them, which are few enough for one. */
Test(link_strands, nothing_is_lost_when_one_is_closed)
{
    begin_crowded(SEVERAL, SEVERAL, 6000);
    add_more(10000);
    add_more(10000);
    cr_assert_geq(opened(), 2);
    memset(pair->batches, 0, sizeof pair->batches);
    for (int i = 0; i < 6; i++) {
        add_more(120000);
    }
    cr_assert_eq(opened(), 1);
    cr_assert_gt(pair->batches[1], 10, "they are used to the end");
    site_pair_run(pair, 2 * SECOND);
    expect_added();
    cr_assert_eq(closed(), 0);
    end();
}

/* What went by it before it was closed comes later than what goes by the first one since. */
Test(link_strands, nothing_is_lost_when_a_slow_one_is_closed)
{
    begin_with(2, 2);
    crowd();
    site_pair_run(pair, SECOND);
    cr_assert_eq(opened(), 2);
    eu()->config.crowd = us()->config.crowd = 1 << 20; /* One is enough now. */
    pair->late_us[1] = LATE_US;
    for (int i = 0; i < 12; i++) {
        add_more(60000);
    }
    cr_assert_eq(opened(), 1);
    site_pair_run(pair, 2 * SECOND);
    expect_added();
    cr_assert_eq(closed(), 0);
    end();
}

/* Streams may stay with the channel that was there first. */
Test(link_strands, there_are_several_too_where_both_sides_dial)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    (void)snprintf(us()->config.peers[0].endpoint, sizeof us()->config.peers[0].endpoint,
                   "tcp://us:7420");
    for (int i = 0; i < 20; i++) {
        add_more(50000);
    }
    cr_assert_gt(counter(EU, "site_connections"), 0);
    cr_assert_eq(closed(), 0);
    end();
}

/* ---- in another order ---- */

Test(link_strands, what_comes_in_another_order_is_put_in_its_own)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    pair->late_us[1] = LATE_US;
    pair->late_us[2] = LATE_US / 2;
    add_more(20000);
    site_pair_run(pair, 2 * SECOND);
    expect_added();
    cr_assert_gt(counter(US, "site_overtaken_total"), 0);
    cr_assert_gt(counter(EU, "site_overtaken_total"), 0);
    cr_assert_eq(closed(), 0);
    end();
}

/* What has come by the others is no more under way, though it does not count yet. */
Test(link_strands, one_that_stalls_gets_no_more_and_the_others_go_on)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    site_pair_run(pair, SECOND);
    memset(pair->batches, 0, sizeof pair->batches);
    pair->late_us[1] = 4 * SECOND;
    for (int i = 0; i < 5; i++) {
        add_more(50000);
    }
    cr_assert_lt(4 * pair->batches[1], pair->batches[2], "%d and %d", (int)pair->batches[1],
                 (int)pair->batches[2]);
    site_pair_run(pair, 6 * SECOND);
    expect_added();
    cr_assert_eq(closed(), 0);
    end();
}

static const struct inflow *inflow(void)
{
    const struct inflow *found = inflow_find(us(), SITE_PAIR_FILTER, 0);

    cr_assert_not_null(found);
    return found;
}

/* Whatever comes first: the answer to the mark goes by another connection than the last keys. */
Test(link_strands, a_mark_waits_for_what_is_late_by_another_connection)
{
    uint64_t since_us;

    begin_with(SEVERAL, SEVERAL);
    crowd();
    site_pair_run(pair, SECOND);
    pair->late_us[1] = SECOND;
    make_keys(3, one_keys, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, N1 | N2, one_keys + i * BATCH, BATCH);
        site_pair_run(pair, 20000);
    }
    since_us = us()->now_us;
    while (inflow()->evidence.marked_us <= since_us) {
        cr_assert(inflow_want_marks(us(), SITE_PAIR_FILTER, 0, us()->now_us + SECOND));
        site_pair_run(pair, 1000);
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        expect_all(US, one_keys + i * BATCH, BATCH);
    }
    cr_assert_gt(counter(US, "site_overtaken_total"), 0);
    end();
}

/* ---- one breaks ---- */

/* What was under way by it is lost: later ones that came do not count for it. */
Test(link_strands, what_was_lost_with_a_connection_is_sent_again)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    for (uint32_t i = 0; i < 4; i++) {
        add_more(10000);
        pair->hangs[1 + i % 3] = true;
        add_more(10000);
        pair->hangs[1 + i % 3] = false;
        site_pair_break(pair, 1 + i % 3);
        site_pair_run(pair, 4 * SECOND);
        expect_added();
    }
    cr_assert_gt(closed(), 0);
    end();
}

Test(link_strands, one_that_is_silent_is_given_up_and_the_others_go_on)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    pair->hangs[2] = true;
    add_more(20000);
    site_pair_run(pair, 10 * SECOND);
    expect_added();
    crowd();
    site_pair_run(pair, 2 * SECOND);
    expect_added();
    cr_assert_eq(counter(US, "site_connections"), SEVERAL - 2);
    pair->hangs[2] = false;
    crowd();
    site_pair_run(pair, 2 * SECOND);
    cr_assert_eq(counter(US, "site_connections"), SEVERAL - 1);
    end();
}

/* All of them go with it. */
Test(link_strands, the_first_one_breaks)
{
    begin_with(SEVERAL, SEVERAL);
    crowd();
    site_pair_break(pair, 0);
    crowd();
    site_pair_run(pair, 12 * SECOND);
    expect_added();
    end();
}

Test(link_strands, either_link_starts_again)
{
    begin_with(SEVERAL, SEVERAL);
    for (uint32_t i = 0; i < 4; i++) {
        crowd();
        site_pair_link_stop(pair, i % 2);
        site_pair_run(pair, 100000);
        site_pair_link_start(pair, i % 2);
        site_pair_run(pair, 12 * SECOND);
        expect_added();
    }
    end();
}

/* ---- what does not belong there ---- */

static struct frame hello_by(uint32_t connection)
{
    struct frame frame = hello_frame(eu(), false, 77);

    frame.body.site_hello.connection = connection;
    frame.body.site_hello.connections = SITE_MAX_CONNECTIONS;
    frame.body.site_hello.wants_connections = true;
    return frame;
}

static uint32_t nrefused;
static uint32_t nanswered;

static bool count_answers(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    if (to == EU && self->posted == 9) {
        nrefused += frame->kind == FRAME_SITE_CLOSE;
        nanswered += frame->kind == FRAME_SITE_HELLO;
        return false; /* Who has dialed by that one is not the link here. */
    }
    return true;
}

Test(link_strands, more_than_there_may_be_are_refused)
{
    struct frame frame;

    begin_crowded(SEVERAL, SEVERAL, 0);
    nrefused = nanswered = 0;
    pair->spy = count_answers;
    for (uint32_t i = SEVERAL; i <= 4 * SITE_MAX_CONNECTIONS; i *= 2) {
        frame = hello_by(i);
        site_pair_say(pair, 9, &frame);
        site_pair_run(pair, 2 * FAR_US);
    }
    cr_assert_eq(nrefused, 5);
    cr_assert_eq(nanswered, 0);
    cr_assert_eq(counter(US, "site_refused_total"), 5);
    frame = hello_by(UINT32_MAX);
    site_pair_say(pair, 9, &frame);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nrefused, 6);
    cr_assert_eq(counter(US, "site_connections"), 0);
    end();
}

/* Of a link that has not greeted by its first, or of one that is gone. */
Test(link_strands, one_of_a_link_that_is_not_there_is_not_answered)
{
    struct frame frame;

    begin_crowded(SEVERAL, SEVERAL, 0);
    nrefused = nanswered = 0;
    pair->spy = count_answers;
    frame = hello_by(1);
    frame.body.site_hello.boot++;
    site_pair_say(pair, 9, &frame);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nanswered + nrefused, 0);
    cr_assert_eq(counter(US, "site_connections"), 0);
    frame.body.site_hello.boot--;
    strcpy(frame.body.site_hello.site, "asia");
    site_pair_say(pair, 9, &frame);
    site_pair_run(pair, SECOND);
    cr_assert_eq(nanswered, 0);
    cr_assert_eq(nrefused, 1, "another name is told why");
    end();
}

/* Only batches go by them: what keeps an order with others would lose it. */
Test(link_strands, only_batches_are_taken_by_them)
{
    const struct outflow *outflow;
    struct frame frame = {.kind = FRAME_SITE_OPEN, .body.site_open = {.stream = 6}};
    uint64_t refused;

    begin_with(SEVERAL, SEVERAL);
    crowd();
    site_pair_run(pair, SECOND);
    refused = counter(US, "site_refused_total");
    site_pair_say(pair, 1, &frame);
    outflow = TAILQ_FIRST(&us()->outflows);
    frame = (struct frame){.kind = FRAME_SITE_CLOSE,
                           .body.site_close = {.stream = outflow->stream, .message = "a test"}};
    site_pair_say(pair, 2, &frame);
    site_pair_run(pair, SECOND);
    cr_assert_eq(counter(US, "site_refused_total"), refused + 2);
    cr_assert_eq(closed(), 0);
    cr_assert_eq(counter(US, "site_streams_out"), 1);
    end();
}

static struct site_batch_message spied;
static uint8_t spied_bytes[65536];

static bool keep_batch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (to == US && frame->kind == FRAME_SITE_BATCH && frame->body.site_batch.batch.size > 0 &&
        spied.number == 0) {
        spied = frame->body.site_batch;
        cr_assert_leq(spied.batch.size, sizeof spied_bytes);
        memcpy(spied_bytes, spied.batch.data, spied.batch.size);
        spied.batch = span_of(spied_bytes, spied.batch.size);
    }
    return true;
}

/* By another connection; then one of a number far ahead, and by connections that there are none of.
 */
Test(link_strands, a_batch_that_comes_twice_ends_its_stream)
{
    struct frame frame = {.kind = FRAME_SITE_BATCH};

    begin_with(SEVERAL, SEVERAL);
    crowd();
    pair->spy = keep_batch;
    spied.number = 0;
    add_more(20000);
    frame.body.site_batch = spied;
    site_pair_say(pair, 3, &frame);
    site_pair_run(pair, SECOND);
    cr_assert_eq(counter(US, "site_closed_total"), 1);
    frame.body.site_batch.stream = inflow()->stream;
    frame.body.site_batch.number = UINT64_MAX;
    frame.body.site_batch.connections = UINT32_MAX;
    site_pair_say(pair, 3, &frame);
    site_pair_run(pair, 12 * SECOND);
    crowd();
    site_pair_run(pair, 12 * SECOND);
    expect_added();
    end();
}

static enum status take_nothing(void *context, const struct peer *to, struct span bytes)
{
    (void)context;
    (void)to;
    (void)bytes;
    return STATUS_UNAVAILABLE;
}

/* It has a number, and has not left. */
Test(link_strands, what_was_not_sent_cannot_be_applied)
{
    const struct outflow *outflow;
    struct frame frame = {.kind = FRAME_SITE_APPLIED};

    begin_with(1, 1);
    outflow = TAILQ_FIRST(&us()->outflows);
    us()->outer.reply = take_nothing;
    make_keys(7, one_keys, BATCH);
    site_pair_add(pair, US, ALL, one_keys, BATCH);
    site_pair_run(pair, 300000);
    cr_assert_gt(outflow->kept.size, 0);
    frame.body.site_applied = (struct site_applied){
        .stream = outflow->stream, .number = outflow->number, .room = 1 << 20};
    site_pair_say(pair, 0, &frame);
    site_pair_run(pair, 400000);
    cr_assert_eq(counter(US, "site_closed_total"), 1);
    end();
}
