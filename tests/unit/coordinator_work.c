/* A store that takes its time: one piece of work after the other, and what does not wait for it. */
#include "base/heap.h"
#include "coordinator/private.h"
#include "proto/registration.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 1, SECOND_US = 1000000, ROUTER_PEER = 500, MANY = 20, TRIES = 1000 };

static struct memory_store store;
static struct job_lanes lanes;
static struct coordinator_stage stage;

static void answer_all(void)
{
    job_lanes_drain(&lanes, stage.now_us);
    coordinator_stage_collect(&stage);
}

/* A coordinator with filter 1, at rest. */
static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_lanes = NULL;
    coordinator_stage_init(&stage, &store.store);
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    coordinator_stage_fini(&stage);
    job_lanes_init(&lanes);
    coordinator_stage_lanes = &lanes;
    coordinator_stage_init(&stage, &store.store);
    for (uint32_t n = 1; n <= 3; n++) {
        struct sync_request request = coordinator_stage_node(n);

        (void)coordinator_stage_sync(&stage, n, &request);
        answer_all();
        cr_assert_eq(stage.synced.status, STATUS_OK, "%s", stage.synced.message);
    }
    lanes.submitted = 0;
}

static void close_stage(void)
{
    job_lanes_stop(&lanes);
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
    cr_assert_eq(heap_live(), 0);
}

/* One question to the store, and its answer. */
static bool answer_one(void)
{
    bool answered = job_lanes_run(&lanes, JOB_COMMIT);

    (void)job_lanes_finish(&lanes, JOB_COMMIT, stage.now_us);
    coordinator_stage_collect(&stage);
    return answered;
}

static void pass(uint64_t duration_us)
{
    stage.now_us += duration_us;
    stage.actor.time(stage.actor.self, stage.now_us);
    coordinator_stage_collect(&stage);
}

static void ask(enum admin_action action, uint64_t correlation)
{
    const struct admin_request request = {.action = action,
                                          .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
                                          .name = "urls",
                                          .successor = "",
                                          .filter_id = FIRST};

    coordinator_stage_ask(&stage, correlation, &request);
}

/* `since`: the change that the router has; more than the store has: it wants all. */
static void router_asks(uint32_t peer, uint64_t since)
{
    struct sync_request request = {.role = SYNC_ROUTER,
                                   .name = "r",
                                   .endpoint = "",
                                   .host = "",
                                   .zone = "",
                                   .since = since,
                                   .number = peer,
                                   .features = features_known()};
    struct frame frame = {.kind = FRAME_SYNC_REQUEST, .body.sync_request = request};

    registration_sign(sample_key(), &frame.body.sync_request);
    fake_request(&stage.actor, stage.now_us, peer, &frame);
    coordinator_stage_collect(&stage);
}

static void node_reports(uint32_t n)
{
    struct sync_request request = coordinator_stage_node(n);

    (void)coordinator_stage_send(&stage, n, &request);
}

static const struct heard *heard(uint32_t node)
{
    return coordinator_heard(stage.coordinator, node);
}

/* ---- what waits ---- */

Test(coordinator_work, nothing_is_begun_while_something_stands_still)
{
    open_stage();
    ask(ADMIN_LOOK, 7);
    cr_assert_eq(lanes.submitted, 1);
    ask(ADMIN_LOOK, 8);
    router_asks(ROUTER_PEER, 0);
    stage.actor.turn(stage.actor.self, stage.now_us);
    cr_assert_eq(lanes.submitted, 1, "one question to the store at a time");
    cr_assert_eq(stage.ntold, 0);
    answer_all();
    cr_assert_eq(stage.ntold, 2);
    cr_assert_eq(stage.told[0].correlation, 7);
    cr_assert_eq(stage.told[1].correlation, 8);
    close_stage();
}

/* What nodes say is served before what others ask for. */
Test(coordinator_work, nodes_come_first)
{
    uint64_t number;

    open_stage();
    ask(ADMIN_LOOK, 7);
    ask(ADMIN_LOOK, 8);
    number = heard(1)->number;
    node_reports(1);
    while (stage.ntold < 1) {
        cr_assert(answer_one());
    }
    cr_assert_eq(heard(1)->number, number);
    while (stage.ntold < 2) {
        cr_assert(answer_one());
    }
    cr_assert_gt(heard(1)->number, number, "before the second look");
    close_stage();
}

Test(coordinator_work, many_share_one_look_at_the_store)
{
    open_stage();
    router_asks(ROUTER_PEER, store.change);
    for (uint32_t i = 1; i <= MANY; i++) {
        router_asks(ROUTER_PEER + i, store.change);
    }
    answer_all();
    cr_assert_leq(lanes.submitted, 2 + 1, "the first one's, one for all others, and the turn's");
    cr_assert_eq(coordinator_stage_counter(&stage, "syncs_total"), 3 + 1 + MANY);
    close_stage();
}

/* Else a filter that was made in between would be unknown. */
Test(coordinator_work, a_look_that_was_begun_before_is_not_shared)
{
    struct store_swap swap = {.key = "name/other", .value = span_text("12345678")};
    uint64_t change;

    open_stage();
    router_asks(ROUTER_PEER, store.change);
    cr_assert(job_lanes_run(&lanes, JOB_COMMIT)); /* It has read; ... */
    cr_assert_eq(store.store.swap(store.store.self, &swap, 1, &change), STATUS_OK);
    router_asks(ROUTER_PEER + 1, change - 1); /* ... this one comes after both. */
    cr_assert(job_lanes_finish(&lanes, JOB_COMMIT, stage.now_us));
    answer_all();
    cr_assert_eq(stage.synced.change, change);
    close_stage();
}

/* However much comes meanwhile, duties have their turn. */
Test(coordinator_work, a_turn_comes_between)
{
    struct admin_request drop = coordinator_stage_drop();
    unsigned tries = 0;

    open_stage();
    ask(ADMIN_LOOK, 1);
    answer_all();
    admin_take_seen(&drop, &stage.told[0].seen);
    coordinator_stage_ask(&stage, 2, &drop);
    while (stage.nfences == 0 && ++tries < TRIES) {
        router_asks(ROUTER_PEER + tries % 2, 0);
        stage.actor.turn(stage.actor.self, stage.now_us);
        (void)answer_one();
    }
    cr_assert_gt(stage.nfences, 0, "the drop was looked at");
    answer_all();
    close_stage();
}

static void ask_create(const char *name)
{
    struct admin_request create = coordinator_stage_create();

    create.name = name;
    coordinator_stage_ask(&stage, 7, &create);
}

/* What is told meanwhile is read elsewhere. */
Test(coordinator_work, what_stands_still_keeps_its_request)
{
    open_stage();
    ask_create("other");
    ask(ADMIN_STATUS, 8);
    pass(SECOND_US);
    cr_assert_eq(stage.ntold, 1);
    answer_all();
    cr_assert_not_null(memory_store_find(&store, "name/other"));
    close_stage();
}

/* Nodes that were heard of after it came are no dead ones. */
Test(coordinator_work, what_stood_still_finds_nodes_alive)
{
    open_stage();
    ask_create("other");
    pass(SECOND_US);
    for (uint32_t n = 1; n <= 3; n++) {
        node_reports(n);
    }
    answer_all();
    cr_assert_not_null(memory_store_find(&store, "filter/2"));
    close_stage();
}

/* ---- what does not ---- */

Test(coordinator_work, counters_are_told_at_once)
{
    open_stage();
    ask(ADMIN_LOOK, 7);
    (void)coordinator_stage_counter(&stage, "syncs_total"); /* Asserts that there is an answer. */
    answer_all();
    close_stage();
}

static void expect_status_from_memory(void)
{
    pass(SECOND_US);
    cr_assert_eq(stage.ntold, 1);
    cr_assert_eq(stage.told[0].status, STATUS_OK);
    cr_assert_eq(stage.told[0].nfilters, 1);
    cr_assert_eq(stage.told[0].nnodes, 3);
    cr_assert_not_null(strstr(stage.told[0].message, "the store has not answered for 1"), "%s",
                       stage.told[0].message);
    answer_all();
    cr_assert_eq(stage.ntold, 1, "it is not told twice");
}

Test(coordinator_work, status_is_told_as_it_was_known)
{
    open_stage();
    ask(ADMIN_STATUS, 7);
    cr_assert_leq(stage.actor.next_us(stage.actor.self), stage.now_us + SECOND_US);
    expect_status_from_memory();
    close_stage();
}

Test(coordinator_work, status_does_not_wait_for_what_stands_still)
{
    open_stage();
    router_asks(ROUTER_PEER, 0);
    ask(ADMIN_STATUS, 7);
    expect_status_from_memory();
    close_stage();
}

/* Its operator is told in time, and it is not carried out later. */
static void expect_refusal(bool behind_another)
{
    struct admin_request drop = coordinator_stage_drop();

    open_stage();
    ask(ADMIN_LOOK, 1);
    answer_all();
    admin_take_seen(&drop, &stage.told[0].seen);
    stage.ntold = 0;
    if (behind_another) {
        router_asks(ROUTER_PEER, 0);
    }
    coordinator_stage_ask(&stage, 7, &drop);
    pass(COORDINATOR_STAGE_TIMEOUT_MS * 1000 * UINT64_C(9) / 10);
    cr_assert_eq(stage.ntold, 1);
    cr_assert_eq(stage.told[0].status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(stage.told[0].message, "nothing was changed"));
    answer_all();
    cr_assert_eq(stage.ntold, 1);
    cr_assert_eq(document_cache_find(&stage.coordinator->documents, FIRST)->document.content.state,
                 FILTER_ACTIVE);
    close_stage();
}

Test(coordinator_work, a_command_that_has_not_begun_is_refused_in_time)
{
    expect_refusal(false);
}

Test(coordinator_work, a_command_that_waits_is_refused_in_time)
{
    expect_refusal(true);
}

Test(coordinator_work, who_does_not_say_for_how_long_waits)
{
    const struct admin_request look = {.action = ADMIN_LOOK, .name = "urls", .successor = ""};

    open_stage();
    coordinator_stage_ask(&stage, 7, &look);
    pass(60 * (uint64_t)SECOND_US);
    cr_assert_eq(stage.ntold, 0);
    answer_all();
    cr_assert_eq(stage.told[0].status, STATUS_OK, "%s", stage.told[0].message);
    close_stage();
}

/* Whether it is written is not known then: its operator is told what became of it, and nothing
 * before. */
Test(coordinator_work, a_command_that_has_begun_is_not_refused)
{
    struct admin_request drop = coordinator_stage_drop();

    open_stage();
    ask(ADMIN_LOOK, 1);
    answer_all();
    admin_take_seen(&drop, &stage.told[0].seen);
    stage.ntold = 0;
    coordinator_stage_ask(&stage, 7, &drop);
    cr_assert(answer_one()); /* The look; the swap is on its way. */
    pass(COORDINATOR_STAGE_TIMEOUT_MS * 1000 * UINT64_C(9) / 10);
    cr_assert_eq(stage.ntold, 0);
    answer_all();
    cr_assert_eq(stage.ntold, 0, "it waits for fences");
    cr_assert_eq(document_cache_find(&stage.coordinator->documents, FIRST)->document.content.state,
                 FILTER_DROPPING);
    close_stage();
}

/* It is looked at where the store gets to it, which may be long after it was handed over. */
Test(coordinator_work, a_swap_that_comes_late_writes_nothing)
{
    struct admin_request drop = coordinator_stage_drop();
    uint64_t change;

    open_stage();
    ask(ADMIN_LOOK, 1);
    answer_all();
    admin_take_seen(&drop, &stage.told[0].seen);
    stage.ntold = 0;
    change = store.change;
    coordinator_stage_ask(&stage, 7, &drop);
    cr_assert(answer_one()); /* The look; the swap is on its way. */
    stage.fake.clock_us = stage.now_us + COORDINATOR_STAGE_TIMEOUT_MS * UINT64_C(1000);
    answer_all();
    cr_assert_eq(store.change, change);
    cr_assert_eq(stage.told[0].status, STATUS_DEADLINE, "%s", stage.told[0].message);
    close_stage();
}

/* A node that reports while the store is silent is not taken for gone. */
Test(coordinator_work, nodes_are_heard_of_meanwhile)
{
    open_stage();
    router_asks(ROUTER_PEER, 0);
    for (int i = 0; i < 30; i++) {
        pass(SECOND_US);
        node_reports(1);
        cr_assert_eq(heard(1)->last_us, stage.now_us);
    }
    cr_assert(heard_alive(stage.coordinator, stage.now_us, 1));
    cr_assert_not(heard_alive(stage.coordinator, stage.now_us, 2));
    cr_assert_eq(lanes.submitted, 1);
    answer_all();
    close_stage();
}

/* It was there when it reported, and may be gone by the time that this is looked at. */
Test(coordinator_work, a_report_that_waits_is_of_when_it_came)
{
    uint64_t came_us;

    open_stage();
    router_asks(ROUTER_PEER, 0);
    node_reports(1);
    came_us = stage.now_us;
    pass(30 * SECOND_US);
    answer_all();
    cr_assert_eq(heard(1)->last_us, came_us);
    cr_assert_eq(age_claim(stage.coordinator, "node-1")->last_us, came_us);
    cr_assert_not(heard_alive(stage.coordinator, stage.now_us, 1));
    close_stage();
}

/* A store that takes its time for each of many must not keep nodes and duties waiting for all. */
Test(coordinator_work, what_comes_meanwhile_waits_for_some_of_many)
{
    const struct work_list *rest;
    const struct work_item *second;
    uint64_t number;

    open_stage();
    rest = &stage.coordinator->work.rest.items;
    for (uint32_t i = 0; i < MANY; i++) {
        router_asks(ROUTER_PEER + i, 0); /* Each wants secrets read. */
    }
    for (second = TAILQ_FIRST(rest); TAILQ_FIRST(rest) == second;) {
        cr_assert(answer_one());
    }
    number = heard(1)->number;
    node_reports(1); /* While the second of them is served. */
    for (unsigned tries = 0; heard(1)->number == number; tries++) {
        cr_assert_lt(tries, MANY);
        stage.now_us += SECOND_US / 10;
        stage.actor.turn(stage.actor.self, stage.now_us);
        cr_assert(answer_one());
    }
    cr_assert_not(TAILQ_EMPTY(rest));
    answer_all();
    cr_assert(TAILQ_EMPTY(rest));
    close_stage();
}

/* ---- bounds ---- */

/* Else one that reports before each of its reports is served would never be heard. */
Test(coordinator_work, a_newer_report_has_the_place_of_the_older)
{
    const struct work_item *item;
    struct peer first = fake_peer(1);

    open_stage();
    router_asks(ROUTER_PEER, 0);
    node_reports(1);
    node_reports(2);
    node_reports(1);
    item = TAILQ_FIRST(&stage.coordinator->work.first.items);
    cr_assert_eq(memcmp(item->from.id, first.id, first.size), 0);
    cr_assert_eq(item->number, stage.coordinator->work.arrivals);
    answer_all();
    cr_assert_eq(heard(1)->number, stage.sent);
    close_stage();
}

Test(coordinator_work, of_a_node_the_newest_report_waits)
{
    open_stage();
    router_asks(ROUTER_PEER, 0);
    for (int i = 0; i < MANY; i++) {
        node_reports(1);
        node_reports(2);
    }
    cr_assert_leq(stage.coordinator->work.first.bytes, 2 * 2048);
    answer_all();
    cr_assert_eq(heard(1)->number, stage.sent - 1);
    cr_assert_eq(heard(2)->number, stage.sent);
    close_stage();
}

static void flood(struct span frame, uint32_t peer, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct peer from = fake_peer(peer);

        stage.actor.on_request(stage.actor.self, stage.now_us, &from, frame);
    }
}

Test(coordinator_work, what_is_too_much_is_refused_and_nodes_are_not)
{
    const struct frame look = {
        .kind = FRAME_ADMIN_REQUEST,
        .correlation = 4711,
        .body.admin_request = {
            .action = ADMIN_LOOK, .timeout_ms = 60000, .name = "urls", .successor = ""}};
    struct fake_sent sent;
    struct buffer bytes;
    size_t fits;

    open_stage();
    buffer_init(&bytes, 1 << 20);
    cr_assert_eq(codec_encode(&look, &bytes), STATUS_OK);
    fits = WORK_MAX_BYTES / (bytes.size + WORK_ITEM_BYTES);
    router_asks(ROUTER_PEER, 0);
    fake_forget(&stage.fake);
    flood(buffer_span(&bytes), ROUTER_PEER, fits);
    cr_assert_not(fake_take(&stage.fake, &sent));
    flood(buffer_span(&bytes), ROUTER_PEER, 1);
    cr_assert(fake_take(&stage.fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_ERROR);
    cr_assert_eq(sent.frame.correlation, 4711);
    cr_assert_eq(sent.frame.body.error.status, STATUS_OVERLOADED);
    node_reports(1);
    cr_assert_not(TAILQ_EMPTY(&stage.coordinator->work.first.items));
    buffer_fini(&bytes);
    close_stage();
}

/* Whatever comes while something stands still is refused once it has its turn. */
Test(coordinator_work, garbage_waits_and_is_refused)
{
    struct sync_request request = coordinator_stage_node(1);
    struct frame frame = {.kind = FRAME_SYNC_REQUEST, .body.sync_request = request};
    struct buffer bytes;

    open_stage();
    buffer_init(&bytes, 1 << 20);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    router_asks(ROUTER_PEER, 0);
    for (size_t size = 0; size <= bytes.size; size += 1 + size / 8) {
        uint8_t *copy = malloc(size > 0 ? size : 1); /* A sanitizer sees its end. */

        cr_assert_not_null(copy);
        memcpy(copy, bytes.data, size);
        flood(span_of(copy, size), 1, 1);
        for (size_t i = 0; i < size; i++) {
            copy[i] ^= 0xff;
            flood(span_of(copy, size), 2, 1);
            copy[i] ^= 0xff;
        }
        stage.actor.on_answer(stage.actor.self, stage.now_us, 1, span_of(copy, size));
        free(copy);
        stage.fake.deaf = true; /* Thousands of refusals. */
        answer_all();
        router_asks(ROUTER_PEER, 0);
    }
    answer_all();
    cr_assert_gt(stage.coordinator->counters[COORDINATOR_malformed_total], bytes.size / 2);
    buffer_fini(&bytes);
    close_stage();
}

/* ---- others write meanwhile ---- */

static void write_swap(const struct store_swap *swaps, size_t count)
{
    uint64_t change;

    cr_assert_eq(store.store.swap(store.store.self, swaps, count, &change), STATUS_OK);
}

/* The record of dropped filters, with this one in it. */
static void sign_dropped(uint64_t id, struct buffer *value)
{
    struct dropped_record record = {.revision = 1};

    buffer_init(value, 1 << 20);
    cr_assert_eq(id_set_add(&record.ids, id), STATUS_OK);
    cr_assert_eq(codec_dropped_sign(&record, sample_key(), value), STATUS_OK);
    dropped_record_fini(&record);
}

/* As another coordinator does at the end of a drop: see duty/dropped.c. */
static void forget_second_filter(void)
{
    struct buffer value;

    sign_dropped(FIRST + 1, &value);
    const struct store_swap swaps[] = {
        {.key = "dropped", .value = buffer_span(&value)},
        {.key = "filter/2", .expected = store.change, .remove = true},
        {.key = "secret/2", .expected = store.change, .remove = true},
        {.key = "name/other", .expected = store.change, .remove = true},
    };
    write_swap(swaps, sizeof swaps / sizeof swaps[0]);
    buffer_fini(&value);
}

/* The store is slow enough for all of that to happen before it is read back. */
Test(coordinator_work, what_was_created_may_be_forgotten_before_it_is_read)
{
    open_stage();
    ask_create("other");
    while (memory_store_find(&store, "filter/2") == NULL) {
        cr_assert(answer_one());
    }
    forget_second_filter();
    answer_all();
    cr_assert_eq(stage.ntold, 1);
    cr_assert_eq(stage.told[0].status, STATUS_DROPPED, "%s", stage.told[0].message);
    close_stage();
}

/* More than is gathered at once; `together`: by one swap, which has one version. */
static void expect_last_of_much_news(bool together)
{
    static const uint8_t much[STORE_MAX_VALUE_BYTES];
    struct buffer value;

    open_stage();
    sign_dropped(4711, &value);
    const struct store_swap swaps[] = {
        {.key = "a", .value = span_of(much, sizeof much)},
        {.key = "b", .value = span_of(much, sizeof much)},
        {.key = "c", .value = span_of(much, sizeof much)},
        {.key = "dropped", .value = buffer_span(&value)},
    };
    for (size_t i = 0; i < 4; i += together ? 4 : 1) {
        write_swap(&swaps[i], together ? 4 : 1);
    }
    router_asks(ROUTER_PEER, store.change);
    answer_all();
    cr_assert(document_cache_is_dropped(&stage.coordinator->documents, 4711));
    buffer_fini(&value);
    close_stage();
}

Test(coordinator_work, much_news_is_read_to_its_end)
{
    expect_last_of_much_news(false);
    expect_last_of_much_news(true);
}

/* ---- the end ---- */

/* At each question that a create asks, asked, answered or not. */
Test(coordinator_work, it_may_end_at_any_time)
{
    bool over = false;

    for (unsigned n = 0; !over; n++) {
        struct admin_request create = coordinator_stage_create();

        cr_assert_lt(n, 100);
        open_stage();
        create.name = "other";
        ask(ADMIN_LOOK, 1);
        answer_all();
        create.seen = stage.told[0].seen;
        create.seen.binding = 0;
        stage.ntold = 0;
        coordinator_stage_ask(&stage, 7, &create);
        router_asks(ROUTER_PEER, 0);
        for (unsigned i = 0; i < n && !over; i++) {
            over = !answer_one();
        }
        (void)job_lanes_run(&lanes, JOB_COMMIT); /* Done, and nobody hears of it. */
        fake_forget(&stage.fake);
        close_stage();
    }
}
