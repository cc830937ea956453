/* Which epochs a node serves, how its documents and fences move, and what moves nothing. */
#include "base/heap.h"
#include "proto/signed_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { LIMIT_BYTES = 1 << 30, COUNT = 10, COORDINATOR_PEER = 3 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[COUNT];

static void open_stage(uint64_t epoch)
{
    node_stage_init(&stage, LIMIT_BYTES);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    document.revision = epoch;
    document.epoch = epoch;
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini(&stage);
}

static enum status check_epoch(uint64_t epoch, uint64_t hash)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);

    subrequest.epoch = epoch;
    subrequest.epoch_hash = hash;
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    if (answer.subrequest.status != STATUS_OK) {
        cr_assert_eq(answer.subrequest.count, 0, "a refusal carries no votes");
    }
    return answer.subrequest.status;
}

Test(node_documents, a_request_behind_the_fence_is_stale_and_gets_the_document)
{
    struct filter_document taken;
    struct fake_sent sent;

    open_stage(4);
    cr_assert_eq(check_epoch(3, document.epoch_hash), STATUS_STALE);
    cr_assert_eq(answer.ndocuments, 1);
    cr_assert_eq(answer.subrequest.epoch, 4);
    cr_assert_eq(answer.subrequest.epoch_hash, document.epoch_hash);
    cr_assert_eq(node_stage_counter(&stage, "stale_total"), 1);
    stage.fake.ntaken -= 2; /* The reply that was taken before the stats. */
    cr_assert(fake_take(&stage.fake, &sent));
    cr_assert_eq(
        codec_filter_document_open(sent.frame.body.node_reply.documents[0], sample_key(), &taken),
        STATUS_OK, "handed on with its MAC");
    cr_assert_eq(taken.epoch, 4);
    document_fini(&taken);
    close_stage();
}

Test(node_documents, a_request_ahead_needs_the_document_and_is_served_with_it)
{
    uint64_t old_hash;

    open_stage(4);
    cr_assert_eq(check_epoch(5, 1), STATUS_NEED_DOC);
    cr_assert_eq(answer.subrequest.epoch, 4, "what is held");
    cr_assert_eq(answer.ndocuments, 0);
    cr_assert_eq(node_stage_counter(&stage, "need_doc_total"), 1);
    old_hash = document.epoch_hash;
    document_epoch_advance(&document);
    document.content.rule.read = 3;
    node_stage_hand(&stage, &document);
    cr_assert_eq(check_epoch(5, document.epoch_hash), STATUS_OK);
    cr_assert_eq(check_epoch(4, old_hash), STATUS_STALE, "the fence rose with the document");
    close_stage();
}

Test(node_documents, an_unknown_filter_needs_its_document)
{
    struct subrequest subrequest;

    open_stage(1);
    subrequest = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);
    subrequest.filter_id = 6;
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_NEED_DOC);
    cr_assert_eq(answer.subrequest.epoch, 0);
    close_stage();
}

Test(node_documents, another_hash_under_the_epoch_is_a_conflict)
{
    open_stage(4);
    cr_assert_eq(check_epoch(4, document.epoch_hash ^ 1), STATUS_CONFLICT);
    cr_assert_eq(node_stage_counter(&stage, "conflict_total"), 1);
    cr_assert_eq(check_epoch(4, document.epoch_hash), STATUS_OK, "that was the request's fault");
    close_stage();
}

/* Two valid documents of one number: the filter is not served any more, under either. */
Test(node_documents, two_contents_under_one_number_are_never_served_again)
{
    uint64_t first;

    open_stage(4);
    first = document.epoch_hash;
    document_epoch_advance(&document);
    document.revision = 4;
    document.epoch = 4;
    document.content.rule.read = 3;
    node_stage_hand(&stage, &document);
    cr_assert_eq(check_epoch(4, first), STATUS_CONFLICT);
    cr_assert_eq(check_epoch(4, document.epoch_hash), STATUS_CONFLICT);
    cr_assert_eq(node_stage_counter(&stage, "documents_refused_total"), 1);
    close_stage();
}

Test(node_documents, a_dropped_filter_is_not_served_and_its_memory_is_free)
{
    open_stage(4);
    cr_assert_gt(node_stage_counter(&stage, "memory_used_bytes"), 0);
    document_epoch_advance(&document);
    document.content.state = FILTER_DROPPING;
    node_stage_hand(&stage, &document);
    cr_assert_eq(check_epoch(5, document.epoch_hash), STATUS_DROPPED);
    cr_assert_eq(answer.ndocuments, 1, "the router learns of it");
    cr_assert_eq(check_epoch(4, document.epoch_hash), STATUS_STALE);
    cr_assert_eq(node_stage_counter(&stage, "dropped_total"), 1);
    cr_assert_eq(node_stage_counter(&stage, "memory_used_bytes"), 0);
    close_stage();
}

/* The highest number there is, under a key that is not the cluster's, by every way in. */
Test(node_documents, a_forged_document_changes_nothing)
{
    struct filter_document forged;
    struct buffer bytes;
    struct span span;
    uint64_t good_hash;

    open_stage(4);
    good_hash = document.epoch_hash;
    node_stage_document(&stage, 5, "urls", &rule, 3, &forged);
    forged.revision = UINT64_MAX;
    forged.epoch = UINT64_MAX;
    sample_sign(&forged, sample_foreign_key(), &bytes);
    span = buffer_span(&bytes);
    node_stage_hand_signed(&stage, span);
    fake_request(&stage.actor, stage.now_us, COORDINATOR_PEER,
                 &(struct frame){.kind = FRAME_FENCE_REQUEST,
                                 .body.fence_request = {.filter_id = 5,
                                                        .epoch = UINT64_MAX,
                                                        .epoch_hash = forged.epoch_hash,
                                                        .document = span}});
    fake_answer(
        &stage.actor, stage.now_us, STAGE_COORDINATOR,
        &(struct frame){
            .kind = FRAME_SYNC_REPLY,
            .correlation = stage.incarnation,
            .body.sync_reply = {
                .message = "", .change = 2, .node_id = 1, .documents = &span, .ndocuments = 1}});
    cr_assert_eq(node_stage_counter(&stage, "documents_refused_total"), 3);
    cr_assert_eq(check_epoch(4, good_hash), STATUS_OK);
    cr_assert_eq(check_epoch(UINT64_MAX, forged.epoch_hash), STATUS_NEED_DOC);
    document_fini(&forged);
    buffer_fini(&bytes);
    close_stage();
}

static struct fence_reply fence(uint64_t epoch, uint64_t hash, struct span bytes)
{
    struct frame frame = {
        .kind = FRAME_FENCE_REQUEST,
        .correlation = 12,
        .body.fence_request = {.filter_id = 5,
                               .epoch = epoch,
                               .epoch_hash = hash,
                               .document = bytes},
    };
    struct fake_sent sent;

    fake_forget(&stage.fake);
    fake_request(&stage.actor, stage.now_us, COORDINATOR_PEER, &frame);
    cr_assert(fake_take(&stage.fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_FENCE_REPLY);
    cr_assert_eq(sent.frame.correlation, 12);
    return sent.frame.body.fence_reply;
}

/* A fence is confirmed for what is held, and never rises to a bare number. */
Test(node_documents, a_fence_takes_a_document_not_a_number)
{
    struct fence_reply reply;

    open_stage(4);
    reply = fence(4, document.epoch_hash, span_of("", 0));
    cr_assert_eq(reply.status, STATUS_OK);
    cr_assert_eq(reply.epoch, 4);
    cr_assert_eq(reply.node_id, 1);
    cr_assert_eq(reply.incarnation, stage.incarnation);
    cr_assert_eq(fence(3, 99, span_of("", 0)).status, STATUS_OK, "past it already");
    cr_assert_eq(fence(4, document.epoch_hash ^ 1, span_of("", 0)).status, STATUS_NEED_DOC);
    cr_assert_eq(fence(1000, 1, span_of("", 0)).status, STATUS_NEED_DOC);
    cr_assert_eq(check_epoch(4, document.epoch_hash), STATUS_OK, "still served");
    cr_assert_eq(node_stage_counter(&stage, "fences_total"), 2);
    close_stage();
}

Test(node_documents, a_fence_request_brings_the_document_along)
{
    struct buffer bytes;
    uint64_t old_hash;

    open_stage(4);
    old_hash = document.epoch_hash;
    document_epoch_advance(&document);
    document.content.state = FILTER_DROPPING;
    sample_sign(&document, sample_key(), &bytes);
    cr_assert_eq(fence(5, document.epoch_hash, buffer_span(&bytes)).status, STATUS_OK);
    cr_assert_eq(check_epoch(4, old_hash), STATUS_STALE);
    buffer_fini(&bytes);
    close_stage();
}

/* Before it has an id a node can't know its slots. */
Test(node_documents, an_unregistered_node_serves_nothing_and_hosts_once_it_has_an_id)
{
    node_stage_init(&stage, LIMIT_BYTES);
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    node_stage_hand(&stage, &document);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
    cr_assert_eq(check_epoch(1, document.epoch_hash), STATUS_NOT_READY);
    node_stage_register(&stage);
    node_stage_build(&stage);
    cr_assert_eq(check_epoch(1, document.epoch_hash), STATUS_OK);
    close_stage();
}
