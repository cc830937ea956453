/* Cursors of other sites' logs: put to all replicas of a slot group and done at W, got from R of
 * one epoch, the highest of what they told. */
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000, MOST = 8 };

static const struct quorum_rule rule = {.replicas = 5, .write = 4, .read = 3};
static struct router_stage stage;
static struct router_site_cursors_told told;
static struct record_site_cursor got[MOST];
static char message[CODEC_MAX_TEXT_BYTES];
static unsigned ntold;

static void on_told(void *owner, const struct router_site_cursors_told *what)
{
    cr_assert_eq(owner, &stage);
    cr_assert_leq(what->count, MOST);
    told = *what;
    for (size_t i = 0; i < what->count; i++) {
        got[i] = what->cursors[i];
    }
    (void)snprintf(message, sizeof message, "%s", what->message);
    ntold++;
}

static void setup(void)
{
    router_stage_init(&stage, &rule, 5, WHEN_UNAVAILABLE_ERROR);
    stage.document.durability = DURABILITY_SYNC;
    stage.document.revision++;
    router_stage_pass(&stage, 2 * SECOND);
    router_stage_sync(&stage, stage.sync, true);
    ntold = 0;
}

static void teardown(void)
{
    router_stage_fini(&stage);
}

TestSuite(router_site_cursors, .init = setup, .fini = teardown);

/* Of two nodes, applied up to these offsets. */
static struct record_site_cursor cursor_at(uint64_t first, uint64_t second)
{
    return (struct record_site_cursor){
        .keyset = 1,
        .site = {7, 8},
        .site_life = {.number = 1, .tag = 2},
        .own_life = {.number = 1, .tag = 3},
        .nsources = 2,
        .sources = {{.incarnation = 9, .boot = 1, .offset = first, .epoch = 1, .node = 1},
                    {.incarnation = 9, .boot = 1, .offset = second, .epoch = 1, .node = 2}},
    };
}

static void ask_of(uint64_t filter_id, const struct record_site_cursor *cursors, size_t count)
{
    const struct router_site_cursors question = {
        .filter_id = filter_id,
        .group = 0,
        .timeout_ms = 5000,
        .cursors = cursors,
        .count = count,
        .done = on_told,
        .owner = &stage,
    };

    if (count > 0) {
        router_site_cursors_put(stage.router, stage.now_us, &question);
    } else {
        router_site_cursors_get(stage.router, stage.now_us, &question);
    }
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1000);
}

static void put(void)
{
    struct record_site_cursor cursor = cursor_at(8, 16);

    ask_of(ROUTER_STAGE_FILTER, &cursor, 1);
}

static void get(void)
{
    ask_of(ROUTER_STAGE_FILTER, NULL, 0);
}

static struct site_cursor_reply reply_of(uint32_t node)
{
    return (struct site_cursor_reply){
        .filter_id = ROUTER_STAGE_FILTER,
        .epoch = stage.document.epoch,
        .epoch_hash = stage.document.epoch_hash,
        .node_id = node,
        .incarnation = SAMPLE_INCARNATION + node,
        .state = REPLICA_FULL,
    };
}

static void accept(uint32_t node)
{
    struct site_cursor_reply reply = reply_of(node);

    router_stage_site_answer(&stage, node, &reply);
}

static void tell(uint32_t node, const struct record_site_cursor *cursors, size_t count)
{
    struct site_cursor_reply reply = reply_of(node);

    reply.cursors = cursors;
    reply.ncursors = count;
    router_stage_site_answer(&stage, node, &reply);
}

static void refuse(uint32_t node, enum status status)
{
    struct site_cursor_reply reply = reply_of(node);

    reply.status = status;
    router_stage_site_answer(&stage, node, &reply);
}

Test(router_site_cursors, all_get_them_and_w_acknowledge)
{
    put();
    for (uint32_t node = 1; node <= 5; node++) {
        const struct router_site_asked *asked = router_stage_site_asked(&stage, node);

        cr_assert_not_null(asked);
        cr_assert(asked->request.put);
        cr_assert_eq(asked->request.ncursors, 1);
        cr_assert_eq(asked->request.epoch, stage.document.epoch);
        cr_assert_eq(asked->request.epoch_hash, stage.document.epoch_hash);
    }
    accept(1);
    accept(2);
    accept(5);
    cr_assert_eq(ntold, 0, "three of five");
    accept(4);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_eq(told.epoch, stage.document.epoch);
    cr_assert_eq(told.count, 0);
}

/* Who has another boot by now may have lost what they cover; of the fifth node none is known. */
Test(router_site_cursors, they_are_put_in_the_boots_that_are_named)
{
    struct record_site_cursor cursor = cursor_at(8, 16);
    struct router_boot boots[4];
    struct router_site_cursors question = {.filter_id = ROUTER_STAGE_FILTER,
                                           .timeout_ms = 5000,
                                           .cursors = &cursor,
                                           .count = 1,
                                           .boots = boots,
                                           .nboots = 4,
                                           .done = on_told,
                                           .owner = &stage};

    for (uint32_t i = 0; i < 4; i++) {
        boots[i] = (struct router_boot){{i + 1, SAMPLE_INCARNATION + i + 1}, 100 + i};
    }
    router_site_cursors_put(stage.router, stage.now_us, &question);
    memset(boots, 0, sizeof boots);
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1000);
    for (uint32_t node = 1; node <= 4; node++) {
        cr_assert_eq(router_stage_site_asked(&stage, node)->request.boot, 99 + node);
    }
    cr_assert_null(router_stage_site_asked(&stage, 5));
    for (uint32_t node = 1; node <= 3; node++) {
        accept(node);
    }
    refuse(4, STATUS_CONFLICT);
    router_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
}

Test(router_site_cursors, r_tell_and_the_highest_of_each_source_counts)
{
    struct record_site_cursor low = cursor_at(8, 80);
    struct record_site_cursor high = cursor_at(16, 24);
    struct record_site_cursor other = cursor_at(32, 32);

    other.site_group = 1;
    get();
    cr_assert_not(router_stage_site_asked(&stage, 3)->request.put);
    tell(3, &low, 1);
    tell(1, NULL, 0);
    cr_assert_eq(ntold, 0, "two of five");
    tell(2, (struct record_site_cursor[]){high, other}, 2);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_OK, "%s", message);
    cr_assert_eq(told.count, 2);
    cr_assert_eq(got[0].filter_id, ROUTER_STAGE_FILTER);
    cr_assert_eq(got[0].sources[0].offset, 16);
    cr_assert_eq(got[0].sources[1].offset, 80);
    cr_assert_eq(got[1].site_group, 1);
    cr_assert_eq(got[1].sources[0].offset, 32);
}

/* Joining, of another life, epoch, content or node; or not what a link could have put. */
Test(router_site_cursors, what_does_not_count_is_not_counted)
{
    struct record_site_cursor wrong = cursor_at(8, 8);

    wrong.sources[1].node = 1;
    get();
    for (int i = 0; i < 6; i++) {
        struct site_cursor_reply reply = reply_of(3);

        reply.state = i == 0 ? REPLICA_JOINING : REPLICA_FULL;
        reply.incarnation += i == 1;
        reply.epoch += i == 2;
        reply.epoch_hash += i == 3;
        reply.node_id += i == 4;
        reply.cursors = &wrong;
        reply.ncursors = i == 5;
        router_stage_site_answer(&stage, 3, &reply);
        router_stage_pass(&stage, SECOND / 2);
        cr_assert_eq(ntold, 0);
        cr_assert_not_null(router_stage_site_asked(&stage, 3), "%d: not asked again", i);
        if (i == 0) {
            tell(1, NULL, 0);
            tell(2, NULL, 0);
        }
    }
    cr_assert_eq(router_stage_counter(&stage, "votes_void_total"), 6);
}

Test(router_site_cursors, who_did_not_answer_is_named)
{
    put();
    accept(1);
    accept(3);
    accept(4);
    refuse(2, STATUS_NOT_READY);
    router_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(message, "3 of 5 replicas of slot group 0"), "%s", message);
    cr_assert_not_null(strstr(message, "node-5 does not answer"), "%s", message);
    cr_assert_null(strstr(message, "node-3"), "%s", message);
}

/* Who asks can tell that it will be so the next time. */
Test(router_site_cursors, more_than_an_answer_holds_is_said)
{
    get();
    for (uint32_t node = 1; node <= 3; node++) {
        struct site_cursor_reply reply = reply_of(node);

        reply.status = STATUS_TOO_LARGE;
        router_stage_site_answer(&stage, node, &reply);
    }
    router_stage_pass(&stage, 5 * SECOND);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_TOO_LARGE, "%s", status_code(told.status));
}

Test(router_site_cursors, who_lacks_the_document_is_given_it_and_asked_again)
{
    put();
    refuse(1, STATUS_NEED_DOC);
    cr_assert_eq(stage.nhanded, 1);
    cr_assert_eq(stage.handed[0], 1);
    accept(1);
    accept(2);
    accept(3);
    accept(4);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_eq(ntold, 1);
}

/* Acknowledgements of two epochs are no quorum. */
Test(router_site_cursors, begins_anew_under_a_newer_epoch)
{
    struct record_site_cursor low = cursor_at(8, 8);
    struct buffer bytes;
    struct site_cursor_reply stale = reply_of(3);

    get();
    tell(1, &low, 1);
    tell(2, &low, 1);
    document_epoch_advance(&stage.document);
    sample_sign(&stage.document, sample_key(), &bytes);
    stale.status = STATUS_STALE;
    stale.document = buffer_span(&bytes);
    router_stage_site_answer(&stage, 3, &stale);
    buffer_fini(&bytes);
    cr_assert_eq(ntold, 0);
    tell(3, NULL, 0);
    tell(4, NULL, 0);
    cr_assert_eq(ntold, 0, "what was told under the former epoch counts");
    tell(5, NULL, 0);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.epoch, stage.document.epoch);
    cr_assert_eq(told.count, 0);
}

/* A slot that is a pair has it once both halves do. */
Test(router_site_cursors, of_a_pair_both_halves_take_it)
{
    struct slot *slot = &stage.document.content.groups[0].slots[0];

    slot->incoming = (struct member){.node = 9, .incarnation = SAMPLE_INCARNATION + 9};
    document_epoch_advance(&stage.document);
    router_stage_pass(&stage, 2 * SECOND);
    router_stage_sync(&stage, stage.sync, true);
    put();
    accept(1);
    accept(2);
    accept(3);
    accept(4);
    cr_assert_eq(ntold, 0, "the other half of node 1's slot has not");
    accept(5);
    cr_assert_eq(ntold, 1, "four whole slots");
    cr_assert_eq(told.status, STATUS_OK);
}

Test(router_site_cursors, what_is_wrong_is_refused_and_a_stop_ends_it)
{
    struct record_site_cursor wrong = cursor_at(7, 8);

    ask_of(ROUTER_STAGE_FILTER, &wrong, 1);
    cr_assert_eq(told.status, STATUS_INVALID);
    ask_of(ROUTER_STAGE_FILTER + 1, NULL, 0);
    cr_assert_eq(told.status, STATUS_NOT_READY);
    cr_assert_eq(ntold, 2);
    get();
    stage.document.content.state = FILTER_DROPPING;
    document_epoch_advance(&stage.document);
    router_stage_pass(&stage, SECOND);
    router_stage_sync(&stage, stage.sync, true);
    router_stage_pass(&stage, SECOND);
    cr_assert_eq(ntold, 3);
    cr_assert_eq(told.status, STATUS_DROPPED);
}
