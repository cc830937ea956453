/* How a router keeps to one epoch: it hands documents on, learns of newer ones, starts over
 * under them, and asks the store before it calls a filter unknown. */
#include "map/rename.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENT = 1, KEYS = 3, ALL = (1 << KEYS) - 1 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void open_and_ask(enum operation operation)
{
    struct client_request request = router_stage_request(operation, 1, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    router_stage_send(&stage, CLIENT, &request);
}

/* The cluster moves on to the next epoch, without the router. */
static void move_on(void)
{
    document_epoch_advance(&stage.document);
    stage.document.content.newest_slice = 0;
    stage.document.content.rule.read = 3;
}

Test(router_documents, a_node_that_lacks_the_document_is_handed_it_and_asked_again)
{
    open_and_ask(OPERATION_ADD);
    router_stage_vote(&stage, 1, 'N');
    cr_assert_eq(stage.nhanded, 1);
    cr_assert_eq(stage.handed[0], 1);
    cr_assert_not_null(router_stage_asked(&stage, 1), "asked again at once");
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).absent, ALL);
    cr_assert_eq(router_stage_counter(&stage, "need_doc_total"), 1);
    router_stage_fini(&stage);
}

/* A node that never has enough of it is not flooded. */
Test(router_documents, documents_are_handed_a_few_times_only)
{
    open_and_ask(OPERATION_ADD);
    for (int i = 0; i < 10 && router_stage_asked(&stage, 1) != NULL; i++) {
        router_stage_vote(&stage, 1, 'N');
    }
    cr_assert_null(router_stage_asked(&stage, 1));
    cr_assert_leq(stage.nhanded, 3);
    router_stage_fini(&stage);
}

Test(router_documents, stale_starts_the_operation_over_under_the_newer_document)
{
    struct router_told told;
    uint64_t epoch;

    open_and_ask(OPERATION_ADD);
    epoch = stage.document.epoch;
    router_stage_vote(&stage, 1, 'a');
    move_on();
    router_stage_vote(&stage, 2, 'S');
    cr_assert_eq(stage.ntold, 0);
    for (uint32_t node = 1; node <= 3; node++) {
        cr_assert_eq(router_stage_asked(&stage, node)->subrequests[0].epoch, epoch + 1);
    }
    cr_assert_eq(router_stage_asked(&stage, 1)->subrequests[0].attempt, 1);
    router_stage_vote(&stage, 1, 'd');
    cr_assert_eq(stage.ntold, 0, "node 1's first vote is of the former epoch");
    router_stage_vote(&stage, 2, 'd');
    router_stage_vote(&stage, 3, 'd');
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_eq(told.epoch, epoch + 1);
    cr_assert(told.present == ALL && told.absent == ALL, "its own first write may stand");
    cr_assert_eq(router_stage_counter(&stage, "restarts_total"), 1);
    cr_assert_eq(router_stage_counter(&stage, "stale_total"), 1);
    router_stage_fini(&stage);
}

/* Votes gathered under the former epoch are void: two of one and one of the other are none. */
Test(router_documents, votes_of_two_epochs_do_not_add_up)
{
    open_and_ask(OPERATION_CHECK);
    move_on();
    stage.document.content.rule.read = 2;
    router_stage_vote(&stage, stage.asked[0].node, 'a');
    router_stage_sync(&stage, stage.sync, true);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(router_stage_counter(&stage, "restarts_total"), 1);
    stage.asked[0].answered = stage.asked[1].answered = true;
    cr_assert_eq(router_stage_open(&stage), 2, "R replicas are asked anew");
    router_stage_vote(&stage, stage.asked[2].node, 'a');
    cr_assert_eq(stage.ntold, 0, "the former vote counted");
    router_stage_vote(&stage, stage.asked[3].node, 'a');
    cr_assert_eq(router_stage_told(&stage).absent, ALL);
    router_stage_fini(&stage);
}

/* Without the newer document the router fetches it; the old epoch never gets its quorum. */
Test(router_documents, stale_without_a_document_asks_the_coordinator)
{
    size_t nsyncs;

    open_and_ask(OPERATION_ADD);
    nsyncs = stage.nsyncs;
    stage.document.revision = 1;
    router_stage_vote(&stage, 1, 'S'); /* with a document that the router has */
    router_stage_pass(&stage, 1000);
    cr_assert_eq(stage.nsyncs, nsyncs + 1);
    router_stage_fini(&stage);
}

Test(router_documents, a_filter_dropped_meanwhile_tells_the_client_to_retry)
{
    struct router_told told;

    open_and_ask(OPERATION_ADD);
    document_epoch_advance(&stage.document);
    stage.document.content.state = FILTER_DROPPING;
    router_stage_vote(&stage, 1, 'S');
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_STALE);
    cr_assert_eq(told.op.sequence, 1);
    cr_assert_eq(told.count, 0, "nothing is acknowledged");
    router_stage_fini(&stage);
}

/* By the name that the client asked for it, there may be another filter by now. */
Test(router_documents, a_filter_renamed_meanwhile_tells_the_client_to_retry)
{
    open_and_ask(OPERATION_ADD);
    rename_begin(&stage.document, "other", 0);
    router_stage_vote(&stage, 1, 'S');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_STALE);
    cr_assert_eq(router_stage_open(&stage), 2, "nobody is asked anew");
    router_stage_fini(&stage);
}

static void ask_unknown(void)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 9, KEYS);

    request.filter = "nobody";
    router_stage_send(&stage, CLIENT, &request);
}

/* An answer of the coordinator to a question asked before the request came proves nothing. */
Test(router_documents, unknown_is_said_only_after_a_read_that_began_after_the_request)
{
    struct router_told told;
    uint64_t before;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    router_stage_pass(&stage, 1000000);
    before = stage.sync;
    ask_unknown();
    cr_assert_eq(stage.ntold, 0);
    router_stage_sync(&stage, before, false);
    cr_assert_eq(stage.ntold, 0, "that one was under way already");
    router_stage_pass(&stage, 1000);
    cr_assert_gt(stage.sync, before, "a fresh question is asked at once");
    router_stage_sync(&stage, stage.sync, false);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(told.message, "nobody"));
    cr_assert_eq(router_stage_counter(&stage, "unknown_filters_total"), 1);
    router_stage_fini(&stage);
}

static size_t told_not_found(void)
{
    size_t count = stage.ntold;

    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(stage.told[i].status, STATUS_NOT_FOUND);
    }
    stage.ntold = 0;
    return count;
}

/* However many come, one question is under way; who came during it shares the next one. */
Test(router_documents, one_question_is_under_way_and_the_next_is_for_all_who_wait)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.nsyncs = 0;
    ask_unknown();
    router_stage_pass(&stage, 1000);
    cr_assert_eq(stage.nsyncs, 1);
    for (int i = 0; i < 100; i++) {
        ask_unknown();
        router_stage_pass(&stage, 1000);
    }
    cr_assert_eq(stage.nsyncs, 1, "%zu questions for one name", stage.nsyncs);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(told_not_found(), 1, "it was sent for the first alone");
    router_stage_pass(&stage, 1000);
    cr_assert_eq(stage.nsyncs, 2);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(told_not_found(), 100);
    router_stage_fini(&stage);
}

/* Clients that ask for it again and again, with a coordinator that answers at once. */
Test(router_documents, an_unknown_name_asked_for_all_the_time_costs_few_reads_of_the_store)
{
    enum { SECONDS = 2, TURNS = 500, TURN_US = 1000000 / TURNS };

    size_t told = 0;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.nsyncs = 0;
    for (int i = 0; i < SECONDS * TURNS; i++) {
        uint64_t asked = stage.sync;

        ask_unknown();
        router_stage_pass(&stage, TURN_US);
        if (stage.sync != asked) {
            router_stage_sync(&stage, stage.sync, false);
        }
        told += told_not_found();
    }
    cr_assert_leq(stage.nsyncs, SECONDS * 100 + 26, "%zu questions", stage.nsyncs);
    cr_assert_geq(told, SECONDS * TURNS - 10, "%zu were told: nobody waits for long", told);
    router_stage_fini(&stage);
}

/* What is new is read at once: only who asks for what there is not waits. */
Test(router_documents, a_hint_is_not_held_up_by_the_rate)
{
    struct frame hint = {.kind = FRAME_HINT, .body.hint.change = 1000};

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    do {
        stage.nsyncs = 0;
        ask_unknown();
        router_stage_pass(&stage, 100);
        router_stage_sync(&stage, stage.sync, false);
        stage.ntold = 0;
    } while (stage.nsyncs > 0);
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &hint);
    router_stage_pass(&stage, 0);
    cr_assert_eq(stage.nsyncs, 1);
    router_stage_fini(&stage);
}

/* A coordinator that is stuck is not piled with questions, however many wait. */
Test(router_documents, questions_that_stay_without_an_answer_become_fewer)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.nsyncs = 0;
    for (int i = 0; i < 320; i++) {
        ask_unknown();
        router_stage_pass(&stage, 100000);
        stage.ntold = 0;
    }
    cr_assert_leq(stage.nsyncs, 19, "%zu questions in 32 s", stage.nsyncs);
    cr_assert_geq(stage.nsyncs, 16, "%zu questions in 32 s", stage.nsyncs);
    router_stage_fini(&stage);
}

/* Then it is asked for again, and whichever answer comes will do. */
Test(router_documents, a_question_whose_answer_is_lost_is_asked_again)
{
    uint64_t first;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.nsyncs = 0;
    ask_unknown();
    router_stage_pass(&stage, 1000);
    first = stage.sync;
    router_stage_pass(&stage, 240000);
    cr_assert_eq(stage.nsyncs, 1);
    router_stage_pass(&stage, 20000);
    cr_assert_eq(stage.nsyncs, 2);
    router_stage_sync(&stage, first, false);
    cr_assert_eq(told_not_found(), 1);
    ask_unknown();
    router_stage_pass(&stage, 1000);
    cr_assert_eq(stage.nsyncs, 2, "the second is still under way");
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(told_not_found(), 0, "which began before this one came");
    router_stage_pass(&stage, 1000);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(told_not_found(), 1);
    router_stage_fini(&stage);
}

/* Time spent waiting for the coordinator is part of the deadline. */
Test(router_documents, a_request_that_waited_keeps_its_deadline)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 9, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.filter = "fresh";
    request.timeout_ms = 1000;
    router_stage_send(&stage, CLIENT, &request);
    router_stage_pass(&stage, 800000);
    document_fini(&stage.document);
    sample_document(6, "fresh", &rule, 3, &stage.document);
    router_stage_sync(&stage, stage.sync, true);
    cr_assert_eq(router_stage_open(&stage), 2);
    router_stage_pass(&stage, 300000);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAVAILABLE);
    router_stage_fini(&stage);
}

/* And what the fresh read brings is served. */
Test(router_documents, a_filter_created_meanwhile_is_served)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 9, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.filter = "fresh";
    router_stage_send(&stage, CLIENT, &request);
    router_stage_pass(&stage, 1000);
    document_fini(&stage.document);
    sample_document(6, "fresh", &rule, 3, &stage.document);
    router_stage_sync(&stage, stage.sync, true);
    cr_assert_eq(router_stage_open(&stage), 2);
    router_stage_vote(&stage, stage.asked[0].node, 'a');
    router_stage_vote(&stage, stage.asked[1].node, 'a');
    cr_assert_eq(router_stage_told(&stage).absent, ALL);
    router_stage_fini(&stage);
}

Test(router_documents, without_a_coordinator_an_unknown_filter_is_unavailable)
{
    struct router_told told;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    ask_unknown();
    router_stage_pass(&stage, 5100000);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "coordinator"));
    router_stage_fini(&stage);
}

Test(router_documents, a_forged_document_changes_nothing)
{
    struct filter_document forged;
    struct buffer bytes;
    struct span item;
    struct frame frame = {.kind = FRAME_NODE_REPLY};

    open_and_ask(OPERATION_ADD);
    sample_document(ROUTER_STAGE_FILTER, "urls", &rule, 3, &forged);
    forged.revision = UINT64_MAX;
    forged.epoch = UINT64_MAX;
    sample_sign(&forged, sample_foreign_key(), &bytes);
    item = buffer_span(&bytes);
    frame.body.node_reply = (struct node_reply){.node_id = 1, .documents = &item, .ndocuments = 1};
    fake_answer(&stage.actor, stage.now_us, router_stage_asked(&stage, 1)->link, &frame);
    cr_assert_eq(router_stage_counter(&stage, "documents_refused_total"), 1);
    cr_assert_eq(router_stage_counter(&stage, "restarts_total"), 0);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    document_fini(&forged);
    buffer_fini(&bytes);
    router_stage_fini(&stage);
}

/* Two valid documents under one number: neither may be right, so neither is served. */
Test(router_documents, a_filter_in_conflict_is_not_served)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 2, KEYS);

    open_and_ask(OPERATION_ADD);
    document_epoch_advance(&stage.document);
    stage.document.revision = 1;
    stage.document.epoch = 1;
    stage.document.content.rule.read = 3;
    router_stage_sync(&stage, stage.sync, true);
    router_stage_vote(&stage, 1, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_CONFLICT, "the one under way");
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_CONFLICT, "a new one");
    router_stage_fini(&stage);
}
