/* What another site has added: a quorum add without a client, and without a word on what was new.
 */
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 3, ALL = (1 << KEYS) - 1, NUMBER = 9, SOON_US = 1000000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;
static uint32_t nheard; /* boots that were told */

static void setup(void)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    nheard = 0;
}

static void teardown(void)
{
    router_stage_fini(&stage);
}

TestSuite(router_relay, .init = setup, .fini = teardown);

static struct router_boot heard[KEYS];
static size_t ntold_then;

static void on_heard(void *owner, uint64_t correlation, const struct router_boot *from)
{
    cr_assert_eq(owner, &stage);
    cr_assert_eq(correlation, NUMBER);
    heard[nheard++ % KEYS] = *from;
    ntold_then = stage.ntold;
}

static void relay_to(uint64_t filter_id)
{
    static const uint64_t fingerprints[KEYS] = {123, 1 << 20, UINT64_MAX};

    router_relay(stage.router, stage.now_us,
                 &(struct router_relay){.filter_id = filter_id,
                                        .correlation = NUMBER,
                                        .timeout_ms = 5000,
                                        .fingerprints = fingerprints,
                                        .count = KEYS,
                                        .heard = on_heard,
                                        .owner = &stage});
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1000);
}

static void expect_told(enum status status, uint64_t acknowledged)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, status, "status %s, %s", status_code(told.status), told.message);
    cr_assert_eq(told.correlation, NUMBER);
    cr_assert_eq(told.present, acknowledged);
    cr_assert_eq(told.absent, acknowledged, "it is told whether keys were new");
}

Test(router_relay, nodes_are_told_what_it_is_and_w_of_them_acknowledge)
{
    relay_to(ROUTER_STAGE_FILTER);
    for (uint32_t node = 1; node <= 3; node++) {
        const struct router_asked *asked = router_stage_asked(&stage, node);

        cr_assert_not_null(asked);
        cr_assert_eq(asked->subrequests[0].operation, OPERATION_ADD);
        cr_assert(asked->subrequests[0].relayed);
        cr_assert_eq(asked->subrequests[0].user, 0);
        cr_assert_eq(asked->fingerprint, 123);
    }
    router_stage_vote(&stage, 1, 'd');
    cr_assert_eq(stage.ntold, 0, "one is not enough");
    router_stage_vote(&stage, 3, 'd');
    expect_told(STATUS_OK, ALL);
    cr_assert_eq(router_stage_counter(&stage, "keys_relayed_total"), KEYS);
    cr_assert_eq(router_stage_counter(&stage, "keys_added_total"), 0);
    cr_assert_eq(router_stage_counter(&stage, "keys_maybe_new_total"), 0);
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0);
}

/* Whoever remembers that it is acknowledged does so for these boots. */
Test(router_relay, the_boots_that_acknowledge_are_told_before_the_answer)
{
    relay_to(ROUTER_STAGE_FILTER);
    router_stage_vote(&stage, 1, 'e'); /* No vote that counts. */
    cr_assert_eq(nheard, 0);
    router_stage_vote(&stage, 2, 'd');
    router_stage_vote(&stage, 3, 'd');
    expect_told(STATUS_OK, ALL);
    cr_assert_eq(nheard, 2);
    cr_assert_eq(ntold_then, 0);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(heard[i].member.node, i + 2);
        cr_assert_eq(heard[i].member.incarnation, SAMPLE_INCARNATION + i + 2);
        cr_assert_eq(heard[i].boot, ROUTER_STAGE_BOOT + i + 2);
    }
}

/* Whatever the votes say of before, and without waiting for one that knows better. */
Test(router_relay, nothing_is_told_of_before)
{
    static const char votes[][2] = {{'a', 'a'}, {'p', 'p'}, {'a', 'p'}, {'d', 'a'}};

    for (size_t i = 0; i < sizeof votes / sizeof votes[0]; i++) {
        nheard = 0;
        relay_to(ROUTER_STAGE_FILTER);
        router_stage_vote(&stage, 1, votes[i][0]);
        router_stage_vote(&stage, 2, votes[i][1]);
        expect_told(STATUS_OK, ALL);
    }
}

Test(router_relay, a_clients_add_is_none)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);

    router_stage_send(&stage, 1, &request);
    cr_assert_not(router_stage_asked(&stage, 1)->subrequests[0].relayed);
}

Test(router_relay, what_does_not_count_acknowledges_nothing)
{
    relay_to(ROUTER_STAGE_FILTER);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'j');
    router_stage_vote(&stage, 3, 'R');
    router_stage_pass(&stage, 5 * SOON_US + 100000);
    expect_told(STATUS_UNAVAILABLE, 0);
}

/* Whoever relays waits, as the adds' clients do. */
Test(router_relay, a_full_filter_takes_none)
{
    relay_to(ROUTER_STAGE_FILTER);
    router_stage_vote(&stage, 1, 'F');
    cr_assert_eq(stage.ntold, 0);
    router_stage_vote(&stage, 2, 'F');
    expect_told(STATUS_FULL, 0);
}

/* Its link repeats it, ever more seldom, and only what was not accepted; a node that is asked again
 * and again would take that for its clients' work, and grow the more slowly for it. */
Test(router_relay, is_not_held_until_a_full_filter_has_grown)
{
    relay_to(ROUTER_STAGE_FILTER);
    router_stage_vote(&stage, 1, 'G');
    router_stage_vote(&stage, 2, 'G');
    expect_told(STATUS_FULL, 0);
    cr_assert_eq(router_stage_counter(&stage, "held_total"), 0);
}

/* It is asked for by id. */
Test(router_relay, goes_on_under_a_newer_document_also_of_another_name)
{
    relay_to(ROUTER_STAGE_FILTER);
    router_stage_vote(&stage, 1, 'd');
    document_epoch_advance(&stage.document);
    stage.document.content.named_epoch = stage.document.epoch;
    (void)snprintf(stage.document.content.name, sizeof stage.document.content.name, "another");
    router_stage_vote(&stage, 2, 'S');
    cr_assert_eq(stage.ntold, 0);
    cr_assert(router_stage_asked(&stage, 1)->subrequests[0].relayed);
    router_stage_vote(&stage, 1, 'd');
    router_stage_vote(&stage, 2, 'd');
    expect_told(STATUS_OK, ALL);
}

/* Nobody asked for it here who could be slowed down. */
Test(router_relay, it_is_nobodys)
{
    struct user user = {.id = 7, .name = "all", .limits = {.keys_per_s = 1, .in_flight = 1}};
    const struct user_list list = {.revision = 1, .last_id = 7, .users = &user, .count = 1};

    cr_assert_eq(user_list_copy(&list, &stage.router->documents.users), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        relay_to(ROUTER_STAGE_FILTER);
        router_stage_vote(&stage, 1, 'd');
        router_stage_vote(&stage, 2, 'd');
        expect_told(STATUS_OK, ALL);
    }
}

Test(router_relay, what_is_not_known_or_gone_takes_none)
{

    relay_to(ROUTER_STAGE_FILTER + 1);
    expect_told(STATUS_NOT_READY, 0);
    router_stage_pass(&stage, SOON_US);
    cr_assert_gt(stage.nsyncs, 0, "it asks");
    stage.document.content.state = FILTER_DROPPING;
    document_epoch_advance(&stage.document);
    router_stage_sync(&stage, stage.sync, true);
    relay_to(ROUTER_STAGE_FILTER);
    expect_told(STATUS_DROPPED, 0);
    cr_assert_null(router_stage_asked(&stage, 1));
}

Test(router_relay, what_is_being_loaded_waits)
{
    stage.document.load_source = 3;
    stage.document.loaded = 1;
    stage.document.revision++;
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, true);
    relay_to(ROUTER_STAGE_FILTER);
    expect_told(STATUS_NOT_READY, 0);
}
