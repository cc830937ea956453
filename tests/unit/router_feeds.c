/* Feeds: adds to the keyset that does not serve yet, under an epoch that has it, and under no
 * other one. A router that has not heard of the rebuild asks before it refuses. */
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENT = 1, KEYS = 3, ALL = (1 << KEYS) - 1, SOON_US = 1000000, NEXT = 9 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void edit(uint32_t nkeysets, uint32_t next)
{
    stage.document.content.keysets[1] = (struct keyset){.id = next};
    stage.document.content.nkeysets = nkeysets;
    if (next > stage.document.content.last_keyset) {
        stage.document.content.last_keyset = next;
    }
    stage.document.durability = DURABILITY_SYNC;
    document_epoch_advance(&stage.document);
}

static void hand_in_document(void)
{
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, true);
}

static void open_stage(bool rebuilding)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    if (rebuilding) {
        edit(2, NEXT);
        hand_in_document();
    }
}

static void send(enum operation operation, uint32_t keyset)
{
    struct client_request request = router_stage_request(operation, 1, KEYS);

    request.keyset = keyset;
    router_stage_send(&stage, CLIENT, &request);
}

static void expect_asked(enum operation operation, uint32_t keyset)
{
    for (uint32_t node = 1; node <= 3; node++) {
        const struct router_asked *asked = router_stage_asked(&stage, node);

        cr_assert_not_null(asked, "node %u", node);
        cr_assert_eq(asked->subrequests[0].operation, operation);
        cr_assert_eq(asked->subrequests[0].keyset, keyset);
        cr_assert_eq(asked->subrequests[0].epoch, stage.document.epoch);
    }
}

static void expect_refusal(enum status status)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, status, "%s: %s", status_code(told.status), told.message);
    cr_assert_eq(told.count, 0, "nothing is acknowledged");
    if (status == STATUS_INVALID) {
        cr_assert_not_null(strstr(told.message, "begin first"), "%s", told.message);
    }
}

Test(router_feeds, are_adds_to_one_keyset_and_take_w_votes)
{
    open_stage(true);
    send(OPERATION_FEED, NEXT);
    expect_asked(OPERATION_ADD, NEXT);
    router_stage_vote(&stage, 1, 'a');
    cr_assert_eq(stage.ntold, 0, "one is not enough");
    router_stage_vote(&stage, 3, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    router_stage_fini(&stage);
}

Test(router_feeds, without_a_number_mean_the_one_that_is_open)
{
    open_stage(true);
    send(OPERATION_FEED, 0);
    expect_asked(OPERATION_ADD, NEXT);
    router_stage_fini(&stage);
}

Test(router_feeds, adds_go_to_all_keysets)
{
    open_stage(true);
    send(OPERATION_ADD, 0);
    expect_asked(OPERATION_ADD, 0);
    router_stage_fini(&stage);
}

/* `begin` has returned, and this router is the last to hear of it. */
Test(router_feeds, wait_for_the_store_when_no_rebuild_is_known)
{
    open_stage(false);
    send(OPERATION_FEED, NEXT);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(router_stage_open(&stage), 0);
    edit(2, NEXT);
    hand_in_document();
    expect_asked(OPERATION_ADD, NEXT);
    router_stage_fini(&stage);
}

Test(router_feeds, are_refused_when_the_store_has_no_rebuild)
{
    open_stage(false);
    send(OPERATION_FEED, 0);
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, false);
    expect_refusal(STATUS_INVALID);
    cr_assert_eq(router_stage_open(&stage), 0);
    router_stage_fini(&stage);
}

/* That of a rebuild which was aborted must not get into the next one. */
Test(router_feeds, for_another_rebuild_are_refused)
{
    open_stage(true);
    send(OPERATION_FEED, NEXT - 1);
    cr_assert_eq(router_stage_open(&stage), 0);
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, false);
    expect_refusal(STATUS_INVALID);
    router_stage_fini(&stage);
}

static void expect_ended_by(uint32_t nkeysets, uint32_t next)
{
    open_stage(true);
    send(OPERATION_FEED, 0);
    router_stage_vote(&stage, 1, 'a');
    edit(nkeysets, next);
    router_stage_vote(&stage, 2, 'S');
    expect_refusal(STATUS_INVALID);
    cr_assert_eq(router_stage_open(&stage), 1, "only what was asked before");
    router_stage_fini(&stage);
}

Test(router_feeds, under_way_end_with_the_rebuild)
{
    expect_ended_by(1, 0);
    expect_ended_by(2, NEXT + 1);
}

/* Another edit of the same rebuild's filter: asked again under its epoch. */
Test(router_feeds, go_on_under_a_newer_epoch_that_has_the_keyset)
{
    open_stage(true);
    send(OPERATION_FEED, 0);
    edit(2, NEXT);
    router_stage_vote(&stage, 2, 'S');
    expect_asked(OPERATION_ADD, NEXT);
    router_stage_vote(&stage, 1, 'd');
    router_stage_vote(&stage, 2, 'd');
    router_stage_pass(&stage, SOON_US);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    router_stage_fini(&stage);
}
