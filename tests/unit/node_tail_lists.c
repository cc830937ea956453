/* Which filters a link is told of: those it names, and is not behind with; of all others it hears
 * why not, and nothing is passed over unsaid. */
#include "node/sync/tail.h"
#include "proto/signed_document.h"
#include "tests/unit/node_tail.h"

TestSuite(node_tail_lists, .init = open_tail, .fini = close_circle);

static const struct site_tail_refusal *only_refusal(const struct site_tail_reply *reply)
{
    cr_assert_eq(reply->status, STATUS_OK, "%s", reply->message);
    cr_assert_eq(reply->nrecords, 0);
    cr_assert_eq(reply->nrefusals, 1);
    cr_assert_eq(reply->refusals[0].filter_id, 5);
    return &reply->refusals[0];
}

/* ---- named by a hash ---- */

Test(node_tail_lists, a_list_is_named_afterwards)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    add(0);
    frame.body.site_tail_request.nfilters = 0;
    cr_assert_eq(ask_tail(&frame)->status, STATUS_NOT_FOUND, "it was never sent");
    frame.body.site_tail_request.nfilters = 1;
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    frame.body.site_tail_request.nfilters = 0;
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    cr_assert_eq(tail_answer()->list, site_tail_list(&followed, 1));
    send_tail(&frame, 9);
    circle_run(circle, 1000);
    cr_assert_eq(tail_answer()->nrecords, 1, "any link may name it");
}

Test(node_tail_lists, the_list_of_none_tells_how_far_the_log_is)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    add(0);
    frame.body.site_tail_request.list = 0;
    frame.body.site_tail_request.nfilters = 0;
    cr_assert_eq(ask_tail(&frame)->status, STATUS_OK);
    cr_assert_eq(tail_answer()->nrecords, 0);
    cr_assert_eq(tail_answer()->next, storage_written(asked()->storage));
}

Test(node_tail_lists, lists_that_are_not_used_are_forgotten)
{
    struct frame frame = tail_question(log_end());
    struct site_tail_filter others[2];
    uint64_t list = frame.body.site_tail_request.list;

    cr_assert_eq(ask_tail(&frame)->status, STATUS_OK);
    for (uint64_t i = 0; i < TAIL_LISTS; i++) {
        others[0] = followed;
        others[1] = (struct site_tail_filter){100 + i, 1, 1};
        frame.body.site_tail_request.filters = others;
        frame.body.site_tail_request.nfilters = 2;
        frame.body.site_tail_request.list = site_tail_list(others, 2);
        cr_assert_eq(ask_tail(&frame)->nrefusals, 1);
    }
    frame.body.site_tail_request.list = list;
    frame.body.site_tail_request.nfilters = 0;
    cr_assert_eq(ask_tail(&frame)->status, STATUS_NOT_FOUND);
}

/* As many links wait as may, each with a list of its own: none is taken away from it. */
Test(node_tail_lists, a_list_in_use_stays)
{
    struct frame frame = tail_question(log_end());
    struct site_tail_filter mine;

    frame.body.site_tail_request.wait_ms = 5000;
    send_tail(&frame, 200);
    circle_run(circle, 1000);
    mine = followed;
    for (uint64_t i = 0; i < 2 * TAIL_LISTS; i++) {
        followed.filter_id = 1000 + i;
        frame.body.site_tail_request.list = site_tail_list(&followed, 1);
        send_tail(&frame, (uint8_t)(i % 8));
        circle_run(circle, 1);
    }
    circle->answered = false;
    add(0); /* the router's answer, and then the link's */
    for (int i = 0; i < 100 && circle->answer.kind != FRAME_SITE_TAIL_REPLY; i++) {
        circle_run(circle, 1000);
    }
    cr_assert_eq(tail_answer()->nrecords, 1);
    cr_assert_eq(tail_answer()->list, site_tail_list(&mine, 1));
}

/* ---- refusals ---- */

Test(node_tail_lists, who_is_behind_hears_of_it_at_once_with_the_document)
{
    struct frame frame = tail_question(log_end());
    const struct site_tail_reply *reply;

    document_epoch_advance(&document);
    circle_hand(circle, &document, 1);
    circle_run(circle, SECOND);
    add(0);
    frame.body.site_tail_request.wait_ms = 5000;
    reply = ask_tail(&frame);
    cr_assert_eq(only_refusal(reply)->status, STATUS_STALE);
    cr_assert_not(reply->refusals[0].compare);
    cr_assert_eq(reply->refusals[0].epoch, document.epoch);
    cr_assert_eq(reply->refusals[0].epoch_hash, document.epoch_hash);
    cr_assert_eq(reply->ndocuments, 1);
    cr_assert_gt(reply->documents[0].size, 0);
}

Test(node_tail_lists, who_is_ahead_hears_that_the_node_lacks_the_document)
{
    struct frame frame = tail_question(log_end());

    add(0);
    followed.epoch++;
    frame.body.site_tail_request.list = site_tail_list(&followed, 1);
    cr_assert_eq(only_refusal(ask_tail(&frame))->status, STATUS_NEED_DOC);
    cr_assert_eq(tail_answer()->ndocuments, 0);
    followed.epoch--;
    followed.epoch_hash++;
    frame.body.site_tail_request.list = site_tail_list(&followed, 1);
    cr_assert_eq(only_refusal(ask_tail(&frame))->status, STATUS_CONFLICT);
}

Test(node_tail_lists, what_the_node_does_not_know_needs_a_document)
{
    struct frame frame = tail_question(log_end());
    struct site_tail_filter two[2];
    const struct site_tail_reply *reply;

    add(0);
    two[0] = followed;
    two[1] = (struct site_tail_filter){6, 1, 1};
    frame.body.site_tail_request.filters = two;
    frame.body.site_tail_request.nfilters = 2;
    frame.body.site_tail_request.list = site_tail_list(two, 2);
    reply = ask_tail(&frame);
    cr_assert_eq(reply->nrecords, 1, "others are told of");
    cr_assert_eq(reply->nrefusals, 1);
    cr_assert_eq(reply->refusals[0].filter_id, 6);
    cr_assert_eq(reply->refusals[0].status, STATUS_NEED_DOC);
    cr_assert_eq(reply->refusals[0].epoch, 0);
}

Test(node_tail_lists, a_longest_list_is_judged_and_told_of)
{
    static struct site_tail_filter many[SITE_TAIL_MAX_FILTERS];
    uint64_t from = log_end();
    struct frame frame = tail_question(from);
    const struct site_tail_reply *reply;

    add(0);
    for (size_t i = 0; i < SITE_TAIL_MAX_FILTERS; i++) {
        many[i] = (struct site_tail_filter){5 + i, 1, 1};
    }
    many[0] = followed;
    frame.body.site_tail_request.filters = many;
    frame.body.site_tail_request.nfilters = SITE_TAIL_MAX_FILTERS;
    frame.body.site_tail_request.list = site_tail_list(many, SITE_TAIL_MAX_FILTERS);
    reply = ask_tail(&frame);
    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert_eq(reply->nrecords, 1);
    cr_assert_eq(reply->nrefusals, SITE_TAIL_MAX_FILTERS - 1);
    cr_assert_eq(reply->refusals[SITE_TAIL_MAX_FILTERS - 2].filter_id, many[4095].filter_id);
}

Test(node_tail_lists, a_filter_without_key_log_is_in_no_other_site)
{
    struct frame frame;
    struct filter_document *entry;

    entry = &document_cache_find(&circle_node(circle, 1)->documents, 5)->document;
    entry->keylog = KEYLOG_OFF;
    frame = tail_question(log_end());
    cr_assert_eq(only_refusal(ask_tail(&frame))->status, STATUS_NOT_FOUND);
    entry->keylog = KEYLOG_ON;
}

Test(node_tail_lists, a_dropped_filter_is_dropped)
{
    struct frame frame;

    document.content.state = FILTER_DROPPED;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 1);
    frame = tail_question(log_end());
    cr_assert_eq(only_refusal(ask_tail(&frame))->status, STATUS_DROPPED);
    cr_assert_eq(tail_answer()->ndocuments, 1);
}

/* What a question waited for is told under what holds when it is. */
Test(node_tail_lists, an_epoch_that_comes_while_a_link_waits_is_heard_of)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    frame.body.site_tail_request.wait_ms = 5000;
    send_tail(&frame, 0);
    circle_run(circle, 1000);
    document_epoch_advance(&document);
    circle_hand(circle, &document, 1);
    circle_run(circle, SECOND);
    cr_assert_not(circle->answered);
    cr_assert_eq(only_refusal(await_tail(5 * SECOND))->status, STATUS_STALE);
    cr_assert_eq(tail_answer()->next, from, "nothing of it was looked at");
}

/* It was passed over while it was refused; that it is well when the answer goes must not make that
 * count. */
Test(node_tail_lists, what_gets_well_while_it_is_read_is_not_said_to_be_told)
{
    struct circle_node *one = &circle->nodes[0];
    struct hosted_filter *hosted = document_cache_find(&one->node->documents, 5)->attachment;
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    add(0);
    hosted->doubted = true;
    one->node->exchange->changes++;
    send_tail(&frame, 0); /* a job reads: nothing, as nothing is served */
    hosted->doubted = false;
    one->node->exchange->changes++;
    circle_run(circle, 1000);
    cr_assert(circle->answered);
    cr_assert_eq(tail_answer()->status, STATUS_OK);
    cr_assert(tail_answer()->nrefusals == 1 || tail_answer()->next == from);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
}

Test(node_tail_lists, a_replica_in_doubt_says_nothing_yet)
{
    struct hosted_filter *hosted =
        document_cache_find(&circle_node(circle, 1)->documents, 5)->attachment;
    struct frame frame = tail_question(log_end());

    cr_assert_eq(ask_tail(&frame)->nrefusals, 0);
    hosted->doubted = true;
    circle_node(circle, 1)->exchange->changes++;
    cr_assert_eq(only_refusal(ask_tail(&frame))->status, STATUS_NOT_READY);
    hosted->doubted = false;
}
