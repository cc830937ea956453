/* What a replica answers about keys: what it holds, nothing while it is not ready, and never
 * "absent" where it can't know. */
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { LIMIT_BYTES = 1 << 30, COUNT = 130, WORDS = 3 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[STAGE_MAX_KEYS];

/* A node that holds one filter, ready or not. */
static void open_stage(uint32_t nnodes, bool built)
{
    node_stage_init(&stage, LIMIT_BYTES);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, nnodes, &document);
    node_stage_hand(&stage, &document);
    if (built) {
        node_stage_build(&stage);
    }
    sample_fingerprints(&document, 0, 1, COUNT, keys);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini(&stage);
}

static enum status ask(enum operation operation, uint64_t batch_number)
{
    struct subrequest subrequest = node_stage_subrequest(&document, operation, COUNT);

    subrequest.batch.number = batch_number;
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    return answer.subrequest.status;
}

static void expect_planes(uint64_t present, uint64_t absent)
{
    const uint64_t last = (UINT64_C(1) << COUNT % 64) - 1;

    cr_assert_eq(answer.subrequest.count, COUNT);
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t mask = i == WORDS - 1 ? last : UINT64_MAX;

        cr_assert_eq(answer.present[i], present & mask, "word %zu", i);
        cr_assert_eq(answer.absent[i], absent & mask, "word %zu", i);
    }
}

Test(node, says_absent_before_and_present_after_an_add)
{
    open_stage(3, true);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_FULL);
    cr_assert_eq(answer.subrequest.epoch, document.epoch);
    cr_assert_eq(answer.subrequest.epoch_hash, document.epoch_hash);
    expect_planes(0, UINT64_MAX);
    cr_assert_eq(ask(OPERATION_ADD, 1), STATUS_OK);
    cr_assert_not(answer.subrequest.repeated);
    expect_planes(0, UINT64_MAX);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_OK);
    expect_planes(UINT64_MAX, 0);
    cr_assert_eq(node_stage_counter(&stage, "keys_added_total"), COUNT);
    cr_assert_eq(node_stage_counter(&stage, "keys_checked_total"), 2 * COUNT);
    close_stage();
}

/* While arrays are being built nothing is known, not even that a key is absent. */
Test(node, answers_nothing_while_it_builds)
{
    open_stage(3, false);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_NOT_READY);
    cr_assert_eq(answer.subrequest.count, 0);
    cr_assert_eq(answer.subrequest.state, REPLICA_BUILDING);
    cr_assert_eq(ask(OPERATION_ADD, 1), STATUS_NOT_READY);
    cr_assert_eq(node_stage_counter(&stage, "not_ready_total"), 2);
    node_stage_build(&stage);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_OK);
    expect_planes(0, UINT64_MAX);
    close_stage();
}

/* A slot that names a former life of this node: it takes writes and counts for nothing. */
Test(node, takes_adds_and_refuses_checks_while_joining)
{
    node_stage_init(&stage, LIMIT_BYTES);
    node_stage_register(&stage);
    sample_document(5, "urls", &rule, 3, &document);
    cr_assert_neq(document.content.groups[0].slots[0].current.incarnation, stage.incarnation);
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_NOT_READY);
    cr_assert_eq(answer.subrequest.state, REPLICA_JOINING);
    cr_assert_eq(ask(OPERATION_ADD, 1), STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_JOINING);
    expect_planes(UINT64_MAX, UINT64_MAX);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_NOT_READY);
    cr_assert_eq(node_stage_counter(&stage, "keys_added_total"), COUNT);
    cr_assert_eq(node_stage_counter(&stage, "not_ready_total"), 2);
    close_stage();
}

/* Group 1 of four nodes is on nodes 2, 3 and 4. */
Test(node, does_not_answer_for_a_group_that_it_does_not_host)
{
    struct subrequest subrequest;

    open_stage(4, true);
    sample_fingerprints(&document, 1, 1, COUNT, keys);
    subrequest = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);
    subrequest.group = 1;
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
    cr_assert_eq(answer.subrequest.state, REPLICA_NONE);
    subrequest.group = UINT32_MAX;
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
    close_stage();
}

/* One key of another group spoils its subrequest: nothing of it is written. */
Test(node, refuses_a_fingerprint_of_another_group)
{
    struct subrequest subrequest;

    open_stage(4, true);
    sample_fingerprints(&document, 1, 1, 1, &keys[COUNT - 1]);
    cr_assert_eq(ask(OPERATION_ADD, 1), STATUS_INVALID);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_INVALID);
    subrequest = node_stage_subrequest(&document, OPERATION_CHECK, COUNT - 1);
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.present[0], 0, "nothing was written");
    close_stage();
}

/* How many keys of a batch of new ones were accepted. */
static uint32_t add_fresh(uint64_t batch, uint32_t count)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_ADD, count);
    uint32_t accepted = 0;

    subrequest.batch.number = batch;
    sample_fingerprints(&document, 0, 100 + batch, count, keys);
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    for (uint32_t i = 0; i < (count + 63) / 64; i++) {
        accepted += (uint32_t)__builtin_popcountll(answer.present[i] ^ answer.absent[i]);
    }
    return accepted;
}

/* The bound on the rate holds because no new key passes the capacity, however large the batch. */
Test(node, stops_at_its_capacity_within_a_batch_and_goes_on_checking)
{
    uint32_t total = 0;

    open_stage(3, true);
    for (uint64_t batch = 1; batch <= 20; batch++) {
        total += add_fresh(batch, 1000);
    }
    cr_assert(answer.subrequest.at_capacity);
    cr_assert_geq(total, 9900, "%u", total);
    cr_assert_leq(total, 10000 + 300 + 20 * 10, "%u: capacity, its margin, false positives", total);
    cr_assert_gt(node_stage_counter(&stage, "full_total"), 0);
    sample_fingerprints(&document, 0, 101, COUNT, keys);
    cr_assert_eq(ask(OPERATION_CHECK, 0), STATUS_OK);
    expect_planes(UINT64_MAX, 0);
    close_stage();
}

/* A key twice in the batch that fills the filter is new once. */
Test(node, a_repeated_key_is_new_once_at_capacity)
{
    struct subrequest subrequest;

    open_stage(3, true);
    for (uint64_t batch = 1; batch <= 9; batch++) {
        (void)add_fresh(batch, 1000);
    }
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, 1024);
    subrequest.batch.number = 10;
    sample_fingerprints(&document, 0, 7, 1024, keys);
    keys[1] = keys[0];
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.absent[0] & 3, 1);
    cr_assert_eq(answer.present[0] & 3, 2);
    close_stage();
}

/* What is there already costs nothing: a full filter still deduplicates. */
Test(node, takes_known_keys_at_capacity)
{
    open_stage(3, true);
    for (uint64_t batch = 1; batch <= 20; batch++) {
        (void)add_fresh(batch, 1000);
    }
    cr_assert_eq(add_fresh(1, 1000), 1000);
    cr_assert_not(answer.subrequest.at_capacity);
    close_stage();
}

/* Each subrequest of a message has a fate of its own. */
Test(node, one_bad_subrequest_does_not_fail_the_others)
{
    struct subrequest subrequests[4];
    struct node_answer answers[4];
    uint64_t all[4 * 10];

    open_stage(3, true);
    for (uint32_t i = 0; i < 4; i++) {
        subrequests[i] = node_stage_subrequest(&document, OPERATION_ADD, 10);
        subrequests[i].batch.number = i + 1;
        sample_fingerprints(&document, 0, i, 10, &all[10 * (size_t)i]);
    }
    subrequests[1].filter_id = 999;
    subrequests[2].epoch_hash ^= 1;
    node_stage_ask(&stage, subrequests, 4, all, answers);
    cr_assert_eq(answers[0].subrequest.status, STATUS_OK);
    cr_assert_eq(answers[1].subrequest.status, STATUS_NEED_DOC);
    cr_assert_eq(answers[2].subrequest.status, STATUS_CONFLICT);
    cr_assert_eq(answers[3].subrequest.status, STATUS_OK);
    subrequests[3].operation = OPERATION_CHECK;
    subrequests[3].batch = (struct batch_id){0};
    node_stage_ask(&stage, &subrequests[3], 1, &all[30], answers);
    cr_assert_eq(answers[0].present[0], (1u << 10) - 1, "its own fingerprints were added");
    node_stage_ask(&stage, &subrequests[3], 1, &all[20], answers);
    cr_assert_eq(answers[0].present[0], 0, "those of the refused subrequest were not");
    close_stage();
}

Test(node, an_empty_subrequest_is_answered)
{
    struct subrequest subrequest;

    open_stage(3, true);
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, 0);
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.subrequest.count, 0);
    close_stage();
}
