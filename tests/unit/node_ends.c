/* Where a node's log ends, as it is told to who asks for it: by whom a check would be answered too,
 * and once all that the log held is durable. */
#include "node/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 100 };

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answers[STAGE_MAX_SUBREQUESTS];
static uint64_t keys[STAGE_MAX_KEYS];
static uint64_t correlation;

static void open_with(enum durability durability)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, durability, &document);
    sample_fingerprints(&document, 0, 1, STAGE_MAX_KEYS, keys);
    fake_forget(&stage.fake);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
}

static void send(enum operation operation, uint64_t number)
{
    struct subrequest subrequest = node_stage_subrequest(&document, operation,
                                                         operation == OPERATION_ENDS ? 0 : COUNT);

    subrequest.batch.number = operation == OPERATION_ADD ? number : 0;
    node_stage_send(&stage, &subrequest, 1, keys, number);
}

static size_t take(void)
{
    return node_stage_take(&stage, answers, &correlation);
}

/* The status of a question for the document as it is now. */
static enum status ask(void)
{
    send(OPERATION_ENDS, 77);
    node_stage_settle(&stage);
    cr_assert_eq(take(), 1, "no answer");
    cr_assert_eq(correlation, 77);
    return answers[0].subrequest.status;
}

static uint64_t log_end(void)
{
    return node_stage_counter(&stage, "log_end");
}

Test(node_ends, it_is_told_once_all_that_was_there_is_durable)
{
    uint64_t end;

    open_with(DURABILITY_SYNC);
    send(OPERATION_ADD, 1);
    end = log_end();
    send(OPERATION_ENDS, 2);
    send(OPERATION_ADD, 3);
    fake_forget(&stage.fake); /* Counters were answered. */
    cr_assert_eq(take(), 0, "nothing is durable");
    while (node_stage_counter(&stage, "log_synced") < end) {
        fake_forget(&stage.fake);
        node_stage_turn(&stage);
        cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
        cr_assert_eq(take(), 0, "the disk has not said so");
        cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, stage.now_us));
    }
    cr_assert_eq(answers[0].subrequest.status, STATUS_OK);
    close_stage();
}

/* What came after the question is no part of it. */
Test(node_ends, it_is_the_end_when_the_question_came)
{
    uint64_t end;

    open_with(DURABILITY_SYNC);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    end = log_end();
    fake_forget(&stage.fake);
    cr_assert_eq(ask(), STATUS_OK);
    cr_assert_eq(answers[0].subrequest.state, REPLICA_FULL);
    cr_assert_eq(answers[0].subrequest.epoch, document.epoch);
    cr_assert_eq(answers[0].subrequest.count, 0);
    cr_assert_eq(answers[0].subrequest.position, end);
    cr_assert_eq(answers[0].subrequest.boot, stage.node->life.identity.boot);
    cr_assert_eq(log_end(), end, "asking writes nothing");
    close_stage();
}

/* Adds of such a filter don't wait for that. */
Test(node_ends, it_is_durable_where_adds_are_not)
{
    uint64_t end;

    open_with(DURABILITY_OS);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    end = log_end();
    cr_assert_lt(node_stage_counter(&stage, "log_synced"), end);
    fake_forget(&stage.fake);
    cr_assert_eq(ask(), STATUS_OK);
    cr_assert_eq(answers[0].subrequest.position, end);
    cr_assert_geq(node_stage_counter(&stage, "log_synced"), end);
    close_stage();
}

/* Checks that came along are answered at once. */
Test(node_ends, checks_do_not_wait_for_it)
{
    struct subrequest subrequests[2];

    open_with(DURABILITY_SYNC);
    send(OPERATION_ADD, 1);
    subrequests[0] = node_stage_subrequest(&document, OPERATION_ENDS, 0);
    subrequests[1] = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);
    node_stage_send(&stage, subrequests, 2, keys, 9);
    cr_assert_eq(take(), 1);
    cr_assert_eq(answers[0].subrequest.tag, 101);
    node_stage_settle(&stage);
    cr_assert_eq(take(), 1, "the add");
    cr_assert_eq(take(), 1);
    cr_assert_eq(answers[0].subrequest.tag, 100);
    cr_assert_eq(correlation, 9);
    close_stage();
}

Test(node_ends, another_epoch_is_refused_as_of_a_check)
{
    open_with(DURABILITY_SYNC);
    document.epoch++;
    cr_assert_eq(ask(), STATUS_NEED_DOC);
    document.epoch--;
    document.epoch_hash++;
    cr_assert_eq(ask(), STATUS_CONFLICT);
    document.epoch_hash--;
    cr_assert_eq(ask(), STATUS_OK);
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    fake_forget(&stage.fake);
    cr_assert_eq(ask(), STATUS_OK);
    document.epoch--;
    cr_assert_eq(ask(), STATUS_STALE);
    cr_assert_eq(answers[0].ndocuments, 1);
    close_stage();
}

/* A replica that is named by another life has not all keys, and its log neither. */
Test(node_ends, only_a_full_replica_tells)
{
    open_with(DURABILITY_SYNC);
    document.content.groups[0].slots[0].current.incarnation++;
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    fake_forget(&stage.fake);
    cr_assert_eq(ask(), STATUS_NOT_READY);
    cr_assert_eq(answers[0].subrequest.position, 0);
    close_stage();
}

/* The log may have lost its end: other nodes are to say what is missing first. */
Test(node_ends, a_node_in_doubt_does_not_tell)
{
    struct document_entry *entry;

    open_with(DURABILITY_SYNC);
    entry = document_cache_find(&stage.node->documents, document.id);
    node_set_doubted(entry->attachment, true);
    cr_assert_eq(ask(), STATUS_NOT_READY);
    node_set_doubted(entry->attachment, false);
    cr_assert_eq(ask(), STATUS_OK);
    close_stage();
}

Test(node_ends, what_is_not_logged_has_none)
{
    struct document_entry *entry;

    open_with(DURABILITY_SYNC);
    entry = document_cache_find(&stage.node->documents, document.id);
    entry->document.keylog = KEYLOG_OFF;
    cr_assert_eq(ask(), STATUS_INVALID);
    close_stage();
}

Test(node_ends, a_node_without_a_disk_has_none)
{
    struct subrequest subrequest;

    node_stage_init(&stage, UINT64_MAX);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "f", &(struct quorum_rule){3, 2, 2}, 3, &document);
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    subrequest = node_stage_subrequest(&document, OPERATION_ENDS, 0);
    node_stage_ask(&stage, &subrequest, 1, keys, answers);
    cr_assert_eq(answers[0].subrequest.status, STATUS_INVALID);
    document_fini(&document);
    node_stage_fini(&stage);
}
