/* Ends of logs that go along with the question whether another site has what is acknowledged here:
 * they save the mark that it would be answered by. Two sites of real nodes with their links; "us"
 * asks, "eu" confirms. */
#include "tests/unit/link_questions.h"

enum { KEYS = 5, ROUND_TRIP_US = 80 * MS };

TestSuite(link_ends, .timeout = 120);

/* A question as it has left. */
struct asked {
    struct site_confirm question;
    struct site_source ends[SITE_PAIR_FILTER];
};

static struct asked asked[16]; /* by us, of eu, with ends ... */
static size_t nasked;
static size_t nbare; /* ... and without */
static size_t nyes;
static struct site_confirmed said;
static uint64_t nmarks; /* that eu has asked for */
static bool lose_marks;
static bool lose_asked;

static bool note_asked(const struct site_confirm *question)
{
    struct asked *one = &asked[nasked];

    nbare += question->nends == 0;
    if (question->nends > 0) {
        cr_assert_lt(nasked, sizeof asked / sizeof asked[0]);
        cr_assert_leq(question->nends, sizeof one->ends / sizeof one->ends[0]);
        one->question = *question;
        memcpy(one->ends, question->ends, question->nends * sizeof one->ends[0]);
        one->question.ends = one->ends;
        nasked++;
    }
    return !lose_asked;
}

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (frame->kind == FRAME_SITE_CONFIRM) {
        return note_asked(&frame->body.site_confirm);
    }
    if (frame->kind == FRAME_SITE_CONFIRMED) {
        said = frame->body.site_confirmed;
        nyes += said.status == STATUS_OK;
    }
    if (frame->kind == FRAME_SITE_MARK && to == US) {
        nmarks++;
        return !lose_marks;
    }
    return true;
}

static void begin(void)
{
    begin_with(watch);
    pair->sides[EU].link->config.mark_interval_us = 60 * SECOND; /* Only those that are needed. */
}

static struct inflow *inflow(void)
{
    struct inflow *one = inflow_find(pair->sides[EU].link, SITE_PAIR_FILTER, 0);

    cr_assert_not_null(one);
    return one;
}

static struct outflow *outflow(void)
{
    struct outflow *one = TAILQ_FIRST(&us()->outflows);

    cr_assert_not_null(one);
    return one;
}

static uint64_t ask(void)
{
    return ask_for(&(struct site_age_request){
        .filter_id = SITE_PAIR_FILTER, .wait_ms = 10000, .confirms = true});
}

static void add_keys(uint64_t keys[KEYS])
{
    static uint64_t number;

    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = ++number * UINT64_C(0x9e3779b97f4a7c15);
    }
    site_pair_add(pair, US, 6, keys, KEYS);
}

static bool is_there(const uint64_t keys[KEYS])
{
    return site_pair_copies(pair, EU, 0, keys, KEYS) >= 2;
}

/* ---- what it saves ---- */

/* Neither the mark nor the time in which keys are gathered is waited for. */
Test(link_ends, an_answer_takes_one_round_trip)
{
    begin();
    for (int i = 0; i < 5; i++) {
        uint64_t at_us = now();
        uint64_t keys[KEYS];

        add_keys(keys);
        run_until_answered(ask(), SECOND);
        cr_assert(heard[last].sites[0].after);
        cr_assert(is_there(keys));
        cr_assert_lt(heard[last].at_us - at_us, ROUND_TRIP_US + 10 * MS);
        site_pair_run(pair, 300 * MS);
    }
    cr_assert_eq(nmarks + nbare, 0);
    cr_assert_eq(nasked, 5);
    end();
}

/* What has moved nothing is asked about all the same. */
Test(link_ends, what_is_there_already_is_asked_about_once_more)
{
    uint64_t reached;

    begin();
    run_until_answered(ask(), SECOND);
    reached = inflow()->marked.proved;
    cr_assert_gt(reached, 0);
    run_until_answered(ask(), SECOND);
    cr_assert_gt(inflow()->marked.proved, reached);
    cr_assert_eq(nmarks, 0);
    end();
}

/* Nobody there knows when they were gathered. */
Test(link_ends, they_are_no_mark)
{
    begin();
    run_until_answered(ask(), SECOND);
    cr_assert(heard[last].sites[0].after);
    cr_assert_eq(inflow()->marked.marks.begun, 0);
    cr_assert_eq(inflow()->marked.confirmed, 0);
    cr_assert_eq(inflow()->evidence.marked_us, 0);
    cr_assert_eq(inflow()->evidence.noted_us, 0);
    cr_assert_not(inflow()->evidence.copied);
    end();
}

/* ---- which ends ---- */

/* Those that are gathered are of before the second question came. */
Test(link_ends, a_question_goes_with_ends_that_are_gathered_after_it_came)
{
    uint64_t keys[KEYS];
    uint64_t more[KEYS];
    uint64_t room;
    uint64_t second;

    begin();
    room = outflow()->room;
    outflow()->room = 0; /* Nothing leaves. */
    add_keys(keys);
    (void)ask();
    site_pair_run(pair, 20 * MS);
    cr_assert(outflow()->marks[OUTFLOW_OWN].read);
    add_keys(more);
    second = ask();
    outflow()->room = room;
    run_until_answered(second, SECOND);
    cr_assert(is_there(more));
    cr_assert_eq(nasked, 2);
    cr_assert_neq(asked[0].question.number, asked[1].question.number);
    for (size_t i = 0; i < asked[0].question.nends; i++) {
        cr_assert_eq(asked[0].ends[i].node, asked[1].ends[i].node);
    }
    cr_assert_gt(asked[1].ends[0].offset, asked[0].ends[0].offset);
    end();
}

/* All that wait when they are gathered share them. */
Test(link_ends, they_are_gathered_once_for_all_who_wait)
{
    uint64_t first;

    begin();
    first = ask();
    for (int i = 1; i < 8; i++) {
        (void)ask();
    }
    for (int i = 0; i < 8; i++) {
        run_until_answered(first + (uint64_t)i, SECOND);
    }
    cr_assert_eq(nasked, 8);
    cr_assert_eq(asked[0].question.batch, asked[7].question.batch);
    cr_assert_eq(inflow()->marked.marks.begun, 0);
    end();
}

/* ---- what they have to wait for ---- */

static bool lose_adds(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    return decoded->kind != FRAME_NODE_REQUEST || frame->to == 1 ||
           decoded->body.node_request.subrequests[0].operation != OPERATION_ADD;
}

static bool lose_boots(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_NODE_REQUEST ||
           decoded->body.node_request.subrequests[0].operation != OPERATION_ENDS;
}

static bool lose_places(struct circle *circle, struct circle_frame *frame, struct frame *decoded)
{
    (void)circle;
    (void)frame;
    return decoded->kind != FRAME_SITE_CURSOR_REQUEST;
}

/* Applied with W replicas, noted by them, and none of them has started again. */
Test(link_ends, nothing_is_confirmed_before_nodes_there_have_said_what_it_takes)
{
    static bool (*const spies[])(struct circle *, struct circle_frame *,
                                 struct frame *) = {lose_adds, lose_boots, lose_places};

    begin();
    lose_marks = true;
    for (size_t i = 0; i < sizeof spies / sizeof spies[0]; i++) {
        uint64_t keys[KEYS];
        uint64_t question;

        pair->sides[EU].circle.spy = spies[i];
        add_keys(keys);
        question = ask();
        site_pair_run(pair, 3 * SECOND);
        cr_assert_eq(nasked, i + 1);
        cr_assert_eq(nyes, i);
        pair->sides[EU].circle.spy = NULL;
        run_until_answered(question, 6 * SECOND);
        cr_assert(heard[question].sites[0].after);
        cr_assert(is_there(keys));
    }
    end();
}

/* ---- when they are of no use ---- */

/* What has come may be lost; the mark is of the stream that follows. */
Test(link_ends, with_their_stream_they_end_and_a_mark_is_begun)
{
    uint64_t keys[KEYS];
    uint64_t question;
    size_t left;

    begin();
    pair->sides[EU].circle.spy = lose_adds;
    add_keys(keys);
    question = ask();
    site_pair_run(pair, 60 * MS);
    left = pair->sides[EU].link->confirms.nends;
    cr_assert_gt(left, 0);
    inflow_close(pair->sides[EU].link, inflow(), STATUS_STALE, "a test");
    site_pair_run(pair, MS);
    cr_assert_eq(pair->sides[EU].link->confirms.nends, 0);
    cr_assert(inflow()->marked.at_once);
    pair->sides[EU].circle.spy = NULL;
    run_until_answered(question, 6 * SECOND);
    cr_assert(heard[question].sites[0].after);
    cr_assert(is_there(keys));
    cr_assert_gt(nmarks, 0);
    end();
}

/* Nodes there may have lost it since: what is counted then is counted from the beginning. */
Test(link_ends, what_was_reached_before_it_began_anew_does_not_count)
{
    uint64_t first;

    begin();
    lose_marks = true;
    pair->sides[EU].circle.spy = lose_boots;
    first = ask();
    site_pair_run(pair, 100 * MS);
    cr_assert_eq(inflow()->marked.reached, 1);
    cr_assert_eq(inflow()->marked.proved, 0);
    inflow()->own.doubted = true;
    pair->sides[EU].circle.spy = NULL;
    site_pair_run(pair, SECOND);
    cr_assert_eq(inflow()->marked.reached, 0);
    run_until_answered(ask(), SECOND);
    cr_assert_geq(inflow()->marked.proved, 1);
    cr_assert_not(heard[first].answered);
    end();
}

static void bend(int how, struct site_confirm *question, struct site_source *ends)
{
    switch (how) {
    case 0:
        question->nends--; /* R replicas have not told. */
        break;
    case 1:
        question->groups++;
        break;
    case 2:
        question->read = 0;
        break;
    case 3:
        ends[0].offset++;
        break;
    case 4:
        ends[1].node = ends[0].node;
        break;
    case 5:
        ends[0].boot = 0;
        break;
    case 6:
        question->stream++;
        break;
    case 7:
        question->nends = 0;
        break;
    default:
        cr_assert(false);
        break;
    }
}

Test(link_ends, those_that_make_no_sense_or_are_of_another_stream_are_left_out)
{
    const struct site_age_request request = {
        .filter_id = SITE_PAIR_FILTER, .wait_ms = 200, .confirms = true};
    uint64_t keys[KEYS];

    begin();
    lose_asked = true;
    add_keys(keys);
    run_until_answered(ask_for(&request), SECOND);
    cr_assert_eq(nasked, 1);
    cr_assert_geq(asked[0].question.nends, 2);
    lose_asked = false;
    for (int how = 0; how < 8; how++) {
        struct site_source ends[SITE_PAIR_FILTER];
        struct site_confirm question = asked[0].question;

        memcpy(ends, asked[0].ends, sizeof ends);
        question.nends = 2;
        question.read = 2;
        question.ends = ends;
        question.number = BY_HAND + (uint64_t)how;
        bend(how, &question, ends);
        hand(&question);
        cr_assert_eq(pair->sides[EU].link->confirms.nends, 0, "%d", how);
        site_pair_run(pair, 200 * MS);
        cr_assert_eq(said.number, question.number, "%d", how);
        cr_assert_eq(said.status, STATUS_OK, "%d", how);
        cr_assert_eq(nmarks, (uint64_t)how + 1, "%d", how);
    }
    end();
}

Test(link_ends, where_there_is_no_room_for_them_a_mark_is_begun)
{
    struct confirms *confirms;

    begin();
    confirms = &pair->sides[EU].link->confirms;
    confirms->nends = CONFIRMS_MAX_ENDS - 1;
    run_until_answered(ask(), SECOND);
    cr_assert(heard[last].sites[0].after);
    cr_assert_eq(nasked, 1);
    cr_assert_eq(nmarks, 1);
    cr_assert_eq(confirms->nends, CONFIRMS_MAX_ENDS - 1);
    confirms->nends = 0;
    end();
}

/* As if replicas were being copied. */
static void set_fills(bool fills)
{
    for (size_t i = 0; i < outflow()->nfollows; i++) {
        outflow()->follows[i].fills = fills;
    }
}

Test(link_ends, who_can_not_tell_ends_asks_without)
{
    uint64_t question;

    begin();
    set_fills(true);
    question = ask();
    set_fills(false);
    run_until_answered(question, SECOND);
    cr_assert_eq(nasked, 0);
    cr_assert_eq(nbare, 1);
    cr_assert_eq(nmarks, 1);
    end();
}
