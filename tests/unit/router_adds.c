/* Adds: all slots are asked, W votes of FULL replicas acknowledge, and the verdict says NEW only
 * where that is proved and PRESENT only where it can't be the add's own doing. */
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENT = 1, KEYS = 3, ALL = (1 << KEYS) - 1, SOON_US = 1000000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void add(uint64_t sequence, uint32_t attempt)
{
    struct client_request request = router_stage_request(OPERATION_ADD, sequence, KEYS);

    request.attempt = attempt;
    router_stage_send(&stage, CLIENT, &request);
}

static void open_and_add(void)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    add(1, 0);
    cr_assert_eq(router_stage_open(&stage), 3, "all replicas are asked");
}

static void expect_told(enum status status, uint64_t present, uint64_t absent)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, status, "status %s, %s", status_code(told.status), told.message);
    cr_assert_eq(told.present, present);
    cr_assert_eq(told.absent, absent);
    cr_assert_eq(told.copies, rule.write);
}

/* Vote as three letters say, '-' is silence, then let a little time pass: the verdict. */
static void expect_verdict(const char *letters, enum status status, uint64_t present,
                           uint64_t absent)
{
    for (uint32_t node = 1; node <= 3; node++) {
        if (letters[node - 1] != '-') {
            router_stage_vote(&stage, node, letters[node - 1]);
        }
    }
    router_stage_pass(&stage, SOON_US);
    cr_assert_eq(stage.ntold, 1, "%s: no answer", letters);
    expect_told(status, present, absent);
}

Test(router_adds, two_of_three_acknowledge_and_prove_new)
{
    open_and_add();
    router_stage_vote(&stage, 1, 'a');
    cr_assert_eq(stage.ntold, 0, "one is not enough");
    router_stage_vote(&stage, 2, 'a');
    expect_told(STATUS_OK, 0, ALL);
    cr_assert_eq(router_stage_counter(&stage, "keys_added_total"), KEYS);
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0);
    router_stage_fini(&stage);
}

/* The fingerprint of the key 'a' as the nodes are asked about it. */
static uint64_t fingerprint_sent(enum hash_kind kind)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 1);
    uint64_t fingerprint;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.document.hash = kind;
    stage.document.revision++;
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, true);
    router_stage_send(&stage, CLIENT, &request);
    fingerprint = router_stage_asked(&stage, 1)->fingerprint;
    cr_assert_eq(router_stage_asked(&stage, 3)->fingerprint, fingerprint);
    router_stage_fini(&stage);
    return fingerprint;
}

Test(router_adds, keys_are_hashed_as_the_document_says_with_its_secret)
{
    static const enum hash_kind kinds[] = {HASH_SIPHASH24, HASH_XXH3};
    struct hash_secret secret;
    uint32_t length = 1;

    sample_secret(&secret);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t expected;

        fingerprint_batch(kinds[i], &secret, (const uint8_t *)"a", &length, 1, &expected);
        cr_assert_eq(fingerprint_sent(kinds[i]), expected, "%s", hash_kind_name(kinds[i]));
    }
}

Test(router_adds, verdicts_of_mixed_votes)
{
    open_and_add();
    expect_verdict("pp-", STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
    open_and_add();
    expect_verdict("pa-", STATUS_OK, ALL, ALL);
    cr_assert_eq(router_stage_counter(&stage, "keys_maybe_new_total"), KEYS);
    router_stage_fini(&stage);
    open_and_add();
    expect_verdict("paa", STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* An unsure verdict waits a moment for the third vote, an answer that is sure does not. */
Test(router_adds, an_unsure_verdict_waits_for_the_vote_that_may_settle_it)
{
    open_and_add();
    router_stage_vote(&stage, 1, 'p');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(stage.ntold, 0);
    router_stage_vote(&stage, 3, 'a');
    expect_told(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

static void expect_not_acknowledged(const char *letters)
{
    open_and_add();
    for (uint32_t node = 1; node <= 3; node++) {
        if (letters[node - 1] != '-') {
            router_stage_vote(&stage, node, letters[node - 1]);
        }
    }
    router_stage_pass(&stage, 5100000);
    cr_assert_eq(stage.ntold, 1, "%s", letters);
    expect_told(STATUS_UNAVAILABLE, 0, 0);
    router_stage_fini(&stage);
}

Test(router_adds, votes_that_do_not_count_acknowledge_nothing)
{
    expect_not_acknowledged("a--");
    expect_not_acknowledged("aj-");
    expect_not_acknowledged("ai-");
    expect_not_acknowledged("ae-");
    expect_not_acknowledged("ah-");
    expect_not_acknowledged("aR-");
    expect_not_acknowledged("aC-");
    expect_not_acknowledged("jj-");
    expect_not_acknowledged("a0-");
}

/* When too few can ever vote that is said at once, not at the deadline. */
Test(router_adds, replicas_that_all_voted_in_vain_end_the_add_at_once)
{
    open_and_add();
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'j');
    router_stage_vote(&stage, 3, 'i');
    expect_told(STATUS_UNAVAILABLE, 0, 0);
    router_stage_fini(&stage);
}

Test(router_adds, a_full_filter_says_so)
{
    struct router_told told;

    open_and_add();
    router_stage_vote(&stage, 1, 'F');
    router_stage_vote(&stage, 2, 'F');
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_FULL);
    cr_assert_not_null(strstr(told.message, "capacity"), "%s", told.message);
    cr_assert_eq(told.present | told.absent, 0);
    cr_assert_geq(router_stage_counter(&stage, "full_total"), 2);
    router_stage_fini(&stage);
}

/* Clients try again. Nothing is promised: some may have been written. */
Test(router_adds, a_full_filter_that_grows_asks_for_patience)
{
    struct router_told told;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.document.revision++;
    stage.document.durability = DURABILITY_SYNC;
    stage.document.when_full = WHEN_FULL_EXPAND;
    router_stage_sync(&stage, stage.sync, true);
    add(1, 0);
    cr_assert_eq(router_stage_open(&stage), 3);
    router_stage_vote(&stage, 1, 'F');
    router_stage_vote(&stage, 2, 'F');
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "until it has grown"), "%s", told.message);
    cr_assert_eq(told.present | told.absent, 0);
    router_stage_fini(&stage);
}

/* We have heard that it is over, as a filter of one generation is told; a node has not. */
Test(router_adds, a_node_that_takes_a_filter_for_growing_is_waited_for)
{
    struct router_told told;

    open_and_add();
    router_stage_vote(&stage, 1, 'F');
    router_stage_vote(&stage, 2, 'G');
    cr_assert_eq(stage.ntold, 0, "the two that are left may still take it");
    router_stage_pass(&stage, 5100000);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "until it has grown"), "%s", told.message);
    router_stage_fini(&stage);
}

static uint32_t attempt_told(uint32_t node)
{
    return router_stage_asked(&stage, node)->subrequests[0].attempt;
}

/* The client hears nothing of it: nodes that had no room are asked again until they have. */
Test(router_adds, an_add_is_held_until_there_is_room)
{
    open_and_add();
    for (int round = 0; round < 8; round++) {
        router_stage_vote(&stage, 1, 'G');
        router_stage_vote(&stage, 2, 'G');
        cr_assert_eq(stage.ntold, 0);
        stage.nasked = 0;
        router_stage_pass(&stage, 80000);
        cr_assert_gt(attempt_told(1), 0, "it may have taken some of them");
        cr_assert_gt(attempt_told(2), 0);
    }
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    expect_told(STATUS_OK, 0, ALL);
    cr_assert_eq(router_stage_counter(&stage, "held_total"), 16);
    router_stage_fini(&stage);
}

/* One that should grow, and does not, can't: nobody waits for it until the deadline. */
Test(router_adds, an_add_is_not_held_for_a_expansion_that_does_not_begin)
{
    struct router_told told;

    open_and_add();
    router_stage_pass(&stage, 1000000);
    for (uint32_t node = 1; node <= 3; node++) {
        router_stage_vote(&stage, node, 'G');
    }
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    router_stage_fini(&stage);
}

/* Nodes know a retry by its attempt: whoever sent the earlier one, and however it was lost. */
Test(router_adds, nodes_are_told_what_may_have_been_sent_before)
{
    open_and_add();
    cr_assert_eq(attempt_told(1), 0);
    stage.nasked = 0;
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US + 10000);
    cr_assert_eq(attempt_told(1), 1, "asked again by this router");
    router_stage_fini(&stage);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    add(1, 3);
    cr_assert_eq(attempt_told(1), 3, "sent again by the client");
    router_stage_vote(&stage, 1, 'N');
    cr_assert_eq(attempt_told(1), 3, "not executed, for want of a document");
    add(2, UINT32_MAX);
    stage.nasked = 0;
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US + 10000);
    cr_assert_neq(attempt_told(2), 0, "counted past the end");
    router_stage_fini(&stage);
}

/* A node that may have executed the add before, and does not know its vote, can't say PRESENT. */
Test(router_adds, a_batch_that_nodes_had_before_is_never_present)
{
    open_and_add();
    expect_verdict("dd-", STATUS_OK, ALL, ALL);
    router_stage_fini(&stage);
    open_and_add();
    expect_verdict("dpp", STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

/* Silence is answered by asking again: the same batch under the same number. */
Test(router_adds, a_silent_node_is_asked_again_with_the_same_batch)
{
    struct batch_id batch;

    open_and_add();
    batch = router_stage_asked(&stage, 3)->subrequests[0].batch;
    stage.nasked = 0;
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US + 10000);
    cr_assert_not_null(router_stage_asked(&stage, 3));
    cr_assert_eq(router_stage_asked(&stage, 3)->subrequests[0].batch.producer_id,
                 batch.producer_id);
    cr_assert_eq(router_stage_asked(&stage, 3)->subrequests[0].batch.number, batch.number);
    cr_assert_geq(router_stage_counter(&stage, "retries_total"), 3);
    router_stage_vote(&stage, 3, 'a');
    router_stage_vote(&stage, 2, 'a');
    expect_told(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* One that can't keep up gets no more to do for it. */
Test(router_adds, a_node_that_stays_silent_is_asked_ever_less_often)
{
    enum { NODES = 3, SECOND_US = 1000000, STEP_US = 10000 };

    open_and_add();
    for (uint32_t passed_us = 0; passed_us < 4 * SECOND_US; passed_us += STEP_US) {
        router_stage_pass(&stage, STEP_US);
    }
    cr_assert_geq(router_stage_counter(&stage, "retries_total"), 3 * NODES);
    cr_assert_leq(router_stage_counter(&stage, "retries_total"),
                  NODES * (3 + 4 * SECOND_US / (4 * ROUTER_STAGE_RETRY_US)));
    router_stage_fini(&stage);
}

/* A node is NOT_READY for milliseconds, as when it has got more of the filter, or for minutes. */
Test(router_adds, a_node_that_is_not_ready_is_asked_again_soon_and_then_less_often)
{
    open_and_add();
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'R');
    router_stage_vote(&stage, 3, 'R');
    for (uint64_t soon_us = 10000; soon_us < ROUTER_STAGE_RETRY_US; soon_us *= 2) {
        uint64_t start_us = stage.now_us;

        stage.nasked = 0;
        while (router_stage_asked(&stage, 2) == NULL) {
            cr_assert_leq(stage.now_us - start_us, soon_us + 6000, "a tick is 5 ms");
            router_stage_pass(&stage, 1000);
        }
        cr_assert_geq(stage.now_us - start_us, soon_us - 1000, "not before %lu us",
                      (unsigned long)soon_us);
        router_stage_vote(&stage, 2, 'R');
        router_stage_vote(&stage, 3, 'R');
    }
    stage.nasked = 0;
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US + 10000);
    router_stage_vote(&stage, 2, 'a');
    router_stage_vote(&stage, 3, 'a');
    expect_told(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* Batch numbers of a group are contiguous, as the nodes' memory of them relies on it. */
Test(router_adds, batches_are_numbered_without_gaps)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    for (uint64_t sequence = 1; sequence <= 5; sequence++) {
        add(sequence, 0);
        cr_assert_eq(router_stage_asked(&stage, 1)->subrequests[0].batch.number, sequence);
    }
    router_stage_fini(&stage);
}

/* The part of each slot group goes to its nodes, and the verdict comes back in the client's
 * order. */
Test(router_adds, a_batch_over_many_groups_is_gathered_in_order)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 40);
    uint32_t keys = 0;

    router_stage_init(&stage, &rule, 4, WHEN_UNAVAILABLE_ERROR);
    router_stage_send(&stage, CLIENT, &request);
    for (size_t i = 0; i < stage.nasked; i++) {
        for (size_t k = 0; k < stage.asked[i].nsubrequests; k++) {
            keys += stage.asked[i].subrequests[k].count;
        }
    }
    cr_assert_eq(keys, 3 * 40, "each key to three nodes");
    for (uint32_t node = 1; node <= 4; node++) {
        router_stage_vote(&stage, node, 'a');
    }
    expect_told(STATUS_OK, 0, (UINT64_C(1) << 40) - 1);
    router_stage_fini(&stage);
}

/* What comes late would get into the next filter of that name. */
Test(router_adds, an_add_by_name_alone_is_told_which_filter_it_is_to_name)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);
    struct router_told told;

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.filter_id = 0;
    router_stage_send(&stage, CLIENT, &request);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_STALE);
    cr_assert_eq(told.filter_id, ROUTER_STAGE_FILTER);
    request.filter_id = ROUTER_STAGE_FILTER + 1;
    router_stage_send(&stage, CLIENT, &request);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_NOT_FOUND);
    cr_assert_eq(told.filter_id, ROUTER_STAGE_FILTER);
    cr_assert_eq(router_stage_open(&stage), 0, "no node was asked");
    router_stage_fini(&stage);
}
