/* A node tells coordinators of its slot groups page by page: all of them, one page at a time. */
#include "node/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILTERS = 5, SECOND_US = 1000000 };

static struct node_stage stage;

static void host(uint32_t count)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

    for (uint32_t i = 1; i <= count; i++) {
        struct filter_document document;
        char name[] = "filter-a";

        name[7] = (char)('a' + i);
        node_stage_document(&stage, 10 * i, name, &rule, 3, &document);
        node_stage_hand(&stage, &document);
        document_fini(&document);
    }
    node_stage_build(&stage);
}

static void setup(void)
{
    node_stage_init(&stage, 1 << 30);
    node_stage_register(&stage);
}

static void teardown(void)
{
    node_stage_fini(&stage);
}

TestSuite(node_reports, .init = setup, .fini = teardown);

static void pass(uint64_t us)
{
    stage.now_us += us;
    stage.actor.time(stage.actor.self, stage.now_us);
}

static void answer(uint32_t link)
{
    const struct frame frame = {
        .kind = FRAME_SYNC_REPLY,
        .correlation = stage.incarnation,
        .body.sync_reply = {.status = STATUS_OK, .message = "", .change = 1, .node_id = 1},
    };

    fake_answer(&stage.actor, stage.now_us, link, &frame);
}

/* The next report that was sent, if any. */
static bool take(struct sync_request *out, uint32_t *link)
{
    struct fake_sent sent;

    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_SYNC_REQUEST) {
            *out = sent.frame.body.sync_request;
            *link = sent.link;
            return true;
        }
    }
    return false;
}

/* From the beginning to the end, each page as the one before is answered, without waiting. */
static uint32_t expect_round(uint32_t groups)
{
    struct report_place reached = {0};
    struct sync_request request;
    uint32_t link;
    uint32_t told = 0;

    for (uint32_t pages = 1;; pages++) {
        pass(0);
        cr_assert(take(&request, &link), "after %u pages", pages - 1);
        cr_assert_eq(report_place_compare(request.page.from, reached), 0);
        cr_assert_leq(request.nreplicas, groups);
        for (size_t i = 0; i < request.nreplicas; i++) {
            cr_assert_eq(request.replicas[i].filter_id, 10 * ++told);
        }
        reached = request.page.to;
        if (report_page_ends(&request.page)) {
            answer(link);
            cr_assert_eq(told, FILTERS);
            return pages;
        }
        pass(0);
        cr_assert_not(take(&request, &link), "one page is on its way at a time");
        answer(link);
    }
}

static void begin(uint32_t groups)
{
    struct sync_request request;
    uint32_t link;

    host(FILTERS);
    for (int i = 0; i < 3; i++) { /* What the documents have brought about. */
        pass(SECOND_US);
        while (take(&request, &link)) {
            answer(link);
            pass(0);
        }
    }
    stage.node->config.report_groups = groups;
    pass(SECOND_US);
    stage.node->next_sync_us = stage.now_us;
    fake_forget(&stage.fake);
    stage.node->reporting = (struct reporting){0};
}

Test(node_reports, page_by_page_all_are_told)
{
    begin(2);
    cr_assert_eq(expect_round(2), 3);
    pass(0);
    cr_assert_eq(stage.fake.nframes, stage.fake.ntaken, "the round is over");
    pass(SECOND_US);
    cr_assert_eq(expect_round(2), 3, "and begins anew");
}

Test(node_reports, one_group_a_page)
{
    begin(1);
    cr_assert_eq(expect_round(1), FILTERS);
}

Test(node_reports, what_fits_one_page_is_of_everything)
{
    begin(FILTERS);
    cr_assert_eq(expect_round(FILTERS), 1);
}

/* An answer that is lost holds up the round for an interval, not for good. */
Test(node_reports, without_an_answer_the_next_interval_goes_on)
{
    struct sync_request request;
    uint32_t link;

    begin(2);
    pass(0);
    cr_assert(take(&request, &link));
    pass(SECOND_US / 2);
    cr_assert_not(take(&request, &link));
    pass(SECOND_US);
    cr_assert(take(&request, &link));
    cr_assert_eq(request.page.from.filter_id, 30);
}

/* What has changed behind the page that is due is told by one more round, at once. */
Test(node_reports, a_change_in_the_midst_of_a_round_brings_another_one)
{
    struct sync_request request;
    uint32_t link;

    begin(3);
    pass(0);
    cr_assert(take(&request, &link));
    node_report_soon(stage.node, stage.now_us, 1);
    pass(0);
    cr_assert(take(&request, &link));
    cr_assert(report_page_ends(&request.page));
    answer(link);
    answer(link);
    cr_assert_eq(expect_round(3), 2);
}

/* Each has to hear the whole round. */
Test(node_reports, every_coordinator_is_told_each_page)
{
    static const uint64_t from[] = {0, 0, 30, 30, 50, 50};
    struct sync_request request;
    uint32_t links[2] = {0};

    begin(2);
    stage.node->coordinators.endpoints[1] = "tcp://other:7400";
    stage.node->coordinators.count = 2;
    for (size_t i = 0; i < 6; i++) {
        pass(0);
        cr_assert(take(&request, &links[i % 2]), "%zu", i);
        cr_assert_eq(request.page.from.filter_id, from[i], "%zu", i);
        cr_assert_neq(links[0], links[1]);
        if (i % 2 == 1) {
            answer(links[0]);
            pass(0);
            cr_assert_eq(stage.fake.nframes, stage.fake.ntaken, "the other one has not answered");
            answer(links[1]);
        }
    }
    pass(0);
    cr_assert_eq(stage.fake.nframes, stage.fake.ntaken);
}

/* ---- news ---- */

static bool has_held(const struct sync_request *request, uint64_t filter_id)
{
    for (size_t i = 0; i < request->nheld; i++) {
        if (request->held[i].filter_id == filter_id) {
            return true;
        }
    }
    return false;
}

static void tell_news(uint64_t filter_id)
{
    node_report_news(stage.node, filter_id);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
}

/* A whole round has just been told. */
static void begin_told(void)
{
    begin(FILTERS);
    cr_assert_eq(expect_round(FILTERS), 1);
    pass(0);
}

static void expect_news(uint64_t first, uint64_t beyond, size_t count)
{
    struct sync_request request;
    uint32_t link;

    cr_assert(take(&request, &link), "%llu", (unsigned long long)first);
    cr_assert_eq(request.page.from.filter_id, first);
    cr_assert_eq(request.page.to.filter_id, beyond);
    cr_assert_eq(request.nreplicas, count);
    cr_assert_eq(request.held_after, first - 1);
    for (uint64_t id = 10; id <= 10 * FILTERS; id += 10) {
        bool told = id >= first && (beyond == 0 || id < beyond);

        cr_assert_eq(has_held(&request, id), told, "%llu", (unsigned long long)id);
    }
    cr_assert_eq(request.held_to, beyond == 0 ? 0 : beyond - 1);
}

Test(node_reports, what_is_new_is_told_alone)
{
    begin_told();
    tell_news(30);
    expect_news(30, 31, 1);
    answer(stage.node->coordinators.links[0]);
    pass(SECOND_US);
    cr_assert_eq(expect_round(FILTERS), 1, "the round goes on");
    tell_news(50);
    expect_news(50, 0, 1);
}

Test(node_reports, news_are_gathered_while_some_are_under_way)
{
    struct sync_request request;
    uint32_t link = stage.node->coordinators.links[0];

    begin_told();
    tell_news(20);
    expect_news(20, 21, 1);
    tell_news(40);
    tell_news(30);
    cr_assert_not(take(&request, &link), "the ones before were not answered");
    answer(stage.node->coordinators.links[0]);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
    expect_news(30, 41, 2);
}

/* Of reports that come together a coordinator looks at the newest. */
Test(node_reports, news_that_nobody_answers_are_told_again)
{
    begin_told();
    tell_news(30);
    expect_news(30, 31, 1);
    pass(SECOND_US);
    cr_assert_eq(expect_round(FILTERS), 1);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
    expect_news(30, 31, 1);
    answer(stage.node->coordinators.links[0]);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
    cr_assert_eq(stage.fake.nframes, stage.fake.ntaken, "once is enough");
}

Test(node_reports, a_hint_waits_for_the_report_under_way)
{
    const struct frame hint = {.kind = FRAME_HINT, .body.hint = {.change = 1000}};
    uint32_t link = 0;

    begin_told();
    link = stage.node->coordinators.links[0];
    tell_news(20);
    expect_news(20, 21, 1);
    fake_answer(&stage.actor, stage.now_us, link, &hint);
    pass(0);
    cr_assert_eq(stage.fake.nframes, stage.fake.ntaken);
    answer(link);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
    expect_news(10 * FILTERS + 1, 0, 0);
}

Test(node_reports, what_does_not_fit_is_news_still)
{
    begin_told();
    stage.node->config.report_groups = 2;
    node_report_news(stage.node, 10);
    tell_news(30);
    expect_news(10, 30, 2);
    answer(stage.node->coordinators.links[0]);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
    expect_news(30, 31, 1);
}

/* Only that the node is there is told while a round would say the same; but a round comes at its
 * time, and whenever something has changed, or was perhaps not heard. */
Test(node_reports, a_round_that_would_say_the_same_waits)
{
    uint32_t link;

    begin_told();
    link = stage.node->coordinators.links[0];
    cr_assert(stage.node->life.refetched);
    stage.node->reporting.round_us = stage.now_us + 100 * SECOND_US;
    pass(SECOND_US);
    expect_news(10 * FILTERS + 1, 0, 0);
    answer(link);
    pass(SECOND_US);
    expect_news(10 * FILTERS + 1, 0, 0);
    answer(link);
    stage.node->counters[NODE_keys_added_total]++;
    pass(SECOND_US);
    cr_assert_eq(expect_round(FILTERS), 1, "something was added");
    stage.node->reporting.round_us = stage.now_us + 2 * SECOND_US;
    pass(SECOND_US);
    expect_news(10 * FILTERS + 1, 0, 0);
    pass(SECOND_US);
    cr_assert_eq(expect_round(FILTERS), 1, "nobody answered");
    stage.node->reporting.round_us = stage.now_us + SECOND_US;
    pass(SECOND_US);
    cr_assert_eq(expect_round(FILTERS), 1, "it is time");
}

/* One filter may have more groups than fit: told once, that is no news any more. */
Test(node_reports, a_filter_of_several_pages_is_told_once)
{
    const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct filter_document document;
    struct sync_request request;
    uint32_t link;
    unsigned told = 0;

    begin_told();
    node_stage_document(&stage, 60, "several-groups", &rule, 4, &document);
    node_stage_hand(&stage, &document);
    document_fini(&document);
    node_stage_build(&stage);
    fake_forget(&stage.fake);
    stage.node->config.report_groups = 1;
    stage.node->reporting = (struct reporting){.whole_us = UINT64_MAX};
    tell_news(60);
    while (take(&request, &link)) {
        cr_assert_lt(++told, 5, "again and again");
        cr_assert_eq(request.nreplicas, 1);
        answer(link);
        stage.actor.turn(stage.actor.self, stage.now_us);
        pass(0);
    }
    cr_assert_eq(told, 3, "as many as it has here");
}

/* With no coordinator connected a turn comes to nothing: the next one must not try at once. */
Test(node_reports, news_that_cannot_be_sent_wait)
{
    begin_told();
    stage.fake.deaf = true;
    tell_news(30);
    stage.actor.turn(stage.actor.self, stage.now_us);
    cr_assert_gt(stage.actor.next_us(stage.actor.self), stage.now_us + 1000, "it would never rest");
    stage.fake.deaf = false;
    fake_forget(&stage.fake);
    stage.now_us = stage.actor.next_us(stage.actor.self);
    stage.actor.turn(stage.actor.self, stage.now_us);
    pass(0);
    expect_news(30, 31, 1);
}

/* It asks for the news, and has none. */
Test(node_reports, a_hint_brings_no_round)
{
    const struct frame hint = {.kind = FRAME_HINT, .body.hint = {.change = 1000}};

    begin_told();
    fake_answer(&stage.actor, stage.now_us, stage.node->coordinators.links[0], &hint);
    pass(0);
    expect_news(10 * FILTERS + 1, 0, 0);
}
