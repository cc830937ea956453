/* Rates that nodes have measured are asked for of the filters that somebody looks at, a few at a
 * time, and told with all that has answered. */
#include "coordinator/private.h"
#include "coordinator/web/measured.h"
#include "coordinator/web/web.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3, FILTER = 5, MANY = 300, PAGE = 200 };

static struct memory_store store;
static struct coordinator_stage stage;

static void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_survey = true;
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, NODES, 0, 0, REPLICA_NONE);
}

static void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(coordinator_measured, .init = setup, .fini = teardown);

/* On nodes 1 to 3, as if the store had told of it. */
static void put_filter(uint64_t id)
{
    const struct quorum_rule rule = {.replicas = NODES, .write = 2, .read = 2};
    struct filter_document document;
    struct buffer bytes;
    char name[32];
    bool changed;

    (void)snprintf(name, sizeof name, "filter-%04u", (unsigned)id);
    sample_document(id, name, &rule, NODES, &document);
    sample_sign(&document, sample_key(), &bytes);
    cr_assert_eq(document_cache_take(&stage.coordinator->documents, &document, buffer_span(&bytes),
                                     &changed),
                 STATUS_OK);
    document_fini(&document);
    buffer_fini(&bytes);
}

/* Somebody asks for that page; the caller ends the buffer. */
static void tell(const char *page, struct buffer *body)
{
    const struct web_question question = {.page = page, .size = "200"};

    buffer_init(body, 1 << 20);
    cr_assert_eq(web_tell_filters(stage.coordinator, stage.now_us, &question, body), STATUS_OK);
}

static void look(const char *page)
{
    struct buffer body;

    tell(page, &body);
    buffer_fini(&body);
}

/* What is told of the first filter; -1: nothing. */
static void expect_of(const char *page, long long probes, double rate)
{
    struct buffer body;
    json_t *all;
    json_t *one;
    json_t *told;
    double low;
    double high;

    tell(page, &body);
    all = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    one = json_array_get(json_object_get(all, "filters"), 0);
    told = json_object_get(one, "probes");
    low = json_number_value(json_object_get(one, "measured_fpr_low"));
    high = json_number_value(json_object_get(one, "measured_fpr_high"));
    cr_assert_not_null(told);
    if (probes < 0) {
        cr_assert(json_is_null(told), "%lld", json_integer_value(told));
        cr_assert(json_is_null(json_object_get(one, "measured_fpr")));
        cr_assert(json_is_null(json_object_get(one, "measured_fpr_low")));
        cr_assert(json_is_null(json_object_get(one, "measured_fpr_high")));
    } else {
        cr_assert_eq(json_integer_value(told), probes);
        cr_assert_float_eq(json_number_value(json_object_get(one, "measured_fpr")), rate, 1e-9);
        cr_assert(low < rate && rate < high, "%g to %g", low, high);
    }
    json_decref(all);
    buffer_fini(&body);
}

static void expect(long long probes, double rate)
{
    expect_of("1", probes, rate);
}

/* All nodes live on. */
static void turn(uint64_t after_us)
{
    stage.now_us += after_us;
    stage.nquestions = 0;
    coordinator_stage_report(&stage, NODES, 0, 0, REPLICA_NONE);
    stage.actor.time(stage.actor.self, stage.now_us);
    coordinator_stage_collect(&stage);
}

static const struct coordinator_question *asked_of(uint32_t node)
{
    for (size_t i = 0; i < stage.nquestions; i++) {
        if (stage.questions[i].node == node) {
            return &stage.questions[i];
        }
    }
    cr_assert_fail("node %u was not asked", node);
    return NULL;
}

static void answer(const struct coordinator_question *question, uint64_t probes, uint64_t hits)
{
    const struct replica_report report = {.filter_id = question->filter_id,
                                          .node_id = question->node,
                                          .state = REPLICA_FULL,
                                          .probes = probes,
                                          .probe_hits = hits};

    coordinator_stage_answer(&stage, question, &report, 1);
}

/* As all three nodes do at once. */
static void answer_all(uint64_t probes, uint64_t hits)
{
    for (uint32_t node = 1; node <= NODES; node++) {
        answer(asked_of(node), probes, hits);
    }
}

/* ---- asking ---- */

Test(coordinator_measured, nodes_are_asked_while_somebody_looks)
{
    put_filter(FILTER);
    turn(1);
    cr_assert_eq(stage.nquestions, 0, "nobody looks");
    expect(-1, 0);
    turn(1);
    cr_assert_eq(stage.nquestions, NODES);
    cr_assert_eq(asked_of(2)->filter_id, FILTER);
    answer_all(1000, 10);
    expect(3000, 0.01);
    turn(MEASURED_AGAIN_US - 1);
    cr_assert_eq(stage.nquestions, 0);
    turn(1);
    cr_assert_eq(stage.nquestions, 0, "nobody looks any more");
}

Test(coordinator_measured, it_asks_again_for_who_still_looks)
{
    put_filter(FILTER);
    expect(-1, 0);
    turn(1);
    answer_all(1000, 10);
    turn(MEASURED_AGAIN_US / 2);
    expect(3000, 0.01);
    turn(MEASURED_AGAIN_US / 2);
    cr_assert_eq(stage.nquestions, NODES);
    answer_all(2000, 10);
    expect(6000, 0.005);
    turn(MEASURED_KNOWN_US);
    expect(-1, 0);
}

/* The nodes see one question after the other, and no more than so many a second. */
Test(coordinator_measured, filters_have_their_turns)
{
    bool seen[PAGE + 1] = {false};

    for (uint64_t id = 1; id <= PAGE; id++) {
        put_filter(id);
    }
    for (unsigned i = 0; i < PAGE; i++) {
        look("1");
        turn(MEASURED_EACH_US);
        cr_assert_eq(stage.nquestions, NODES, "%u", i);
        cr_assert_not(seen[asked_of(1)->filter_id], "%u again", (unsigned)asked_of(1)->filter_id);
        seen[asked_of(1)->filter_id] = true;
        answer_all(1000, 10);
        turn(MEASURED_EACH_US - 1);
        cr_assert_eq(stage.nquestions, 0);
    }
}

/* No loop without an end: what is not looked at wants no timer. */
Test(coordinator_measured, it_rests_while_nobody_looks)
{
    for (uint64_t id = 1; id <= PAGE; id++) {
        put_filter(id);
    }
    look("1");
    for (unsigned i = 0; i < 20; i++) {
        turn(MEASURED_PATIENCE_US);
        cr_assert_gt(measured_next_us(stage.coordinator), stage.now_us);
    }
    cr_assert_eq(measured_next_us(stage.coordinator), ACTOR_NEVER);
}

/* The first ones that are wanted have their place as long as they are; then others take it. */
Test(coordinator_measured, more_filters_than_fit_wait_for_a_place)
{
    for (uint64_t id = 1; id <= MANY; id++) {
        put_filter(id);
    }
    look("1");
    turn(1);
    cr_assert_eq(asked_of(1)->filter_id, 1);
    answer_all(1000, 10);
    expect_of("2", -1, 0);
    expect(3000, 0.01);
    turn(MEASURED_WANTED_US);
    for (unsigned i = 0; i < MANY - PAGE; i++) {
        look("2");
        turn(MEASURED_EACH_US);
        cr_assert_gt(asked_of(1)->filter_id, PAGE);
        answer_all(500, 10);
    }
    expect_of("2", 1500, 0.02);
}

/* ---- answers ---- */

/* Others are not kept waiting for it, nor is it asked on and on. */
Test(coordinator_measured, of_a_silent_node_the_others_speak)
{
    put_filter(FILTER);
    put_filter(FILTER + 1);
    expect(-1, 0);
    turn(1);
    answer(asked_of(1), 1000, 10);
    answer(asked_of(2), 1000, 30);
    expect(-1, 0);
    turn(MEASURED_PATIENCE_US);
    expect(2000, 0.02);
    cr_assert_eq(stage.nquestions, NODES - 1, "it owes an answer");
    cr_assert_eq(asked_of(1)->filter_id, FILTER + 1);
    answer(asked_of(1), 1, 0);
    answer(asked_of(2), 1, 0);
    expect(2000, 0.02);
    turn(MEASURED_SILENT_US - MEASURED_PATIENCE_US);
    cr_assert_eq(stage.nquestions, NODES);
}

Test(coordinator_measured, a_late_answer_does_not_count)
{
    struct coordinator_question late;

    put_filter(FILTER);
    put_filter(FILTER + 1);
    expect(-1, 0);
    turn(1);
    late = *asked_of(3);
    answer(asked_of(1), 1000, 10);
    answer(asked_of(2), 1000, 10);
    turn(MEASURED_PATIENCE_US);
    answer(&late, 5000, 5000);
    answer(asked_of(1), 100, 1);
    answer(asked_of(2), 100, 1);
    expect(2000, 0.01);
    cr_assert_eq(measured_of(stage.coordinator->measured, stage.now_us, FILTER + 1)->probes, 200);
    turn(MEASURED_AGAIN_US / 2);
    expect(2000, 0.01);
    turn(MEASURED_AGAIN_US / 2);
    (void)asked_of(3); /* It has answered, so it may be asked. */
}

/* Nor does one of a node that was not asked, a second one, or one of another filter. */
Test(coordinator_measured, only_what_was_asked_for_counts)
{
    const struct replica_report reports[] = {
        {.filter_id = FILTER, .state = REPLICA_FULL, .probes = 100, .probe_hits = 1},
        {.filter_id = FILTER, .group = 1, .state = REPLICA_JOINING, .probes = 100},
        {.filter_id = FILTER + 1, .state = REPLICA_FULL, .probes = 100},
    };
    struct coordinator_question question;

    put_filter(FILTER);
    coordinator_stage_report(&stage, NODES + 1, 0, 0, REPLICA_NONE);
    expect(-1, 0);
    turn(1);
    coordinator_stage_answer(&stage, asked_of(1), reports, 3);
    answer(asked_of(1), 100, 100);
    question = *asked_of(2);
    question.link = asked_of(1)->link;
    answer(&question, 100, 100);
    question = *asked_of(2);
    question.correlation++;
    answer(&question, 100, 100);
    coordinator_stage_answer(&stage, asked_of(2), NULL, 0);
    coordinator_stage_answer(&stage, asked_of(3), NULL, 0);
    expect(100, 0.01);
}

/* Refused as it is decoded; the largest counts there are come to no more than fits. */
Test(coordinator_measured, senseless_counts_harm_nothing)
{
    uint64_t before = coordinator_stage_counter(&stage, "malformed_total");
    const struct frame impossible = {
        .kind = FRAME_INFO_REPLY,
        .correlation = 1,
        .body.info_reply = {.message = "",
                            .replicas = &(const struct replica_report){.filter_id = FILTER,
                                                                       .state = REPLICA_FULL,
                                                                       .probes = 1,
                                                                       .probe_hits = 2},
                            .nreplicas = 1}};

    put_filter(FILTER);
    expect(-1, 0);
    turn(1);
    fake_answer(&stage.actor, stage.now_us, asked_of(1)->link, &impossible);
    cr_assert_eq(coordinator_stage_counter(&stage, "malformed_total"), before + 1);
    answer(asked_of(1), UINT64_MAX, UINT64_MAX / 2);
    answer(asked_of(2), UINT64_MAX, UINT64_MAX);
    answer(asked_of(3), 1000, 0);
    look("1");
    cr_assert_eq(measured_of(stage.coordinator->measured, stage.now_us, FILTER)->probes,
                 UINT64_MAX);
}

/* Nobody who answers at all is no reason to forget what is known. */
Test(coordinator_measured, without_an_answer_what_was_known_stays)
{
    put_filter(FILTER);
    expect(-1, 0);
    turn(1);
    answer_all(1000, 10);
    turn(MEASURED_AGAIN_US / 2);
    expect(3000, 0.01);
    turn(MEASURED_AGAIN_US / 2);
    cr_assert_eq(stage.nquestions, NODES);
    turn(MEASURED_PATIENCE_US);
    expect(3000, 0.01);
}

Test(coordinator_measured, a_filter_that_goes_meanwhile_is_forgotten)
{
    struct document_entry *entry;

    put_filter(FILTER);
    expect(-1, 0);
    entry = document_cache_find(&stage.coordinator->documents, FILTER);
    turn(1);
    cr_assert_eq(stage.nquestions, NODES);
    entry->document.content.state = FILTER_DROPPED;
    answer_all(1000, 10);
    measured_want(stage.coordinator->measured, stage.now_us + MEASURED_AGAIN_US / 2, FILTER);
    turn(MEASURED_AGAIN_US);
    cr_assert_eq(stage.nquestions, 0);
    cr_assert_null(measured_of(stage.coordinator->measured, stage.now_us, FILTER));
}

Test(coordinator_measured, who_is_not_heard_of_is_not_asked)
{
    put_filter(FILTER);
    expect(-1, 0);
    stage.now_us += 2 * stage.coordinator->config.node_timeout_us;
    coordinator_stage_report(&stage, 2, 0, 0, REPLICA_NONE);
    stage.nquestions = 0;
    expect(-1, 0);
    stage.actor.time(stage.actor.self, stage.now_us);
    coordinator_stage_collect(&stage);
    cr_assert_eq(stage.nquestions, 2);
    answer(asked_of(1), 1000, 10);
    answer(asked_of(2), 1000, 10);
    expect(2000, 0.01);
}

/* A link to a node may not be there yet. */
Test(coordinator_measured, who_could_not_be_asked_is_soon_again)
{
    put_filter(FILTER);
    stage.fake.deaf = true;
    expect(-1, 0);
    turn(1);
    stage.fake.deaf = false;
    turn(MEASURED_PATIENCE_US);
    cr_assert_eq(stage.nquestions, NODES);
    answer_all(1000, 10);
    expect(3000, 0.01);
}
