/* Where the logs of a filter's replicas end: of every slot group a read quorum of one epoch tells,
 * and more of them if they are quick. */
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000, MOST = 32 };

static const struct quorum_rule three = {.replicas = 3, .write = 2, .read = 2};
static const struct quorum_rule five = {.replicas = 5, .write = 4, .read = 3};
static struct router_stage stage;
static struct router_ends_told told;
static struct router_end ends[MOST];
static char message[CODEC_MAX_TEXT_BYTES];
static unsigned ntold;

static void on_told(void *owner, const struct router_ends_told *what)
{
    cr_assert_eq(owner, &stage);
    cr_assert_leq(what->count, MOST);
    told = *what;
    if (what->count > 0) {
        memcpy(ends, what->ends, what->count * sizeof *ends);
    }
    (void)snprintf(message, sizeof message, "%s", what->message);
    ntold++;
}

static void begin(const struct quorum_rule *rule, uint32_t nnodes)
{
    router_stage_init(&stage, rule, nnodes, WHEN_UNAVAILABLE_ERROR);
    stage.document.durability = DURABILITY_SYNC;
    stage.document.revision++;
    stage.position = 4000;
    router_stage_pass(&stage, 2 * SECOND);
    router_stage_sync(&stage, stage.sync, true);
    ntold = 0;
}

static void end(void)
{
    router_stage_fini(&stage);
}

static void ask_for(uint64_t filter_id)
{
    router_ends(stage.router, stage.now_us,
                &(struct router_ends){
                    .filter_id = filter_id, .timeout_ms = 5000, .done = on_told, .owner = &stage});
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1000);
}

static void ask(void)
{
    ask_for(ROUTER_STAGE_FILTER);
}

static void expect_ends(size_t count)
{
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_OK, "%s: %s", status_code(told.status), message);
    cr_assert_eq(told.count, count);
    cr_assert_eq(told.epoch, stage.document.epoch);
    cr_assert_eq(told.epoch_hash, stage.document.epoch_hash);
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0);
}

static void expect_end(size_t i, uint32_t group, uint32_t node, uint64_t position)
{
    cr_assert_eq(ends[i].group, group);
    cr_assert_eq(ends[i].node, node);
    cr_assert_eq(ends[i].incarnation, SAMPLE_INCARNATION + node);
    cr_assert_eq(ends[i].boot, ROUTER_STAGE_BOOT + node);
    cr_assert_eq(ends[i].position, position);
}

Test(router_ends, all_are_asked_and_r_of_them_are_enough)
{
    begin(&three, 3);
    ask();
    for (uint32_t node = 1; node <= 3; node++) {
        const struct router_asked *asked = router_stage_asked(&stage, node);

        cr_assert_not_null(asked);
        cr_assert_eq(asked->nsubrequests, stage.document.content.ngroups);
        cr_assert_eq(asked->subrequests[0].operation, OPERATION_ENDS);
        cr_assert_eq(asked->subrequests[0].count, 0);
        cr_assert_eq(asked->subrequests[0].epoch, stage.document.epoch);
    }
    router_stage_vote(&stage, 3, 'p');
    cr_assert_eq(ntold, 0);
    stage.position = 5000;
    router_stage_vote(&stage, 1, 'p');
    expect_ends((size_t)2 * stage.document.content.ngroups);
    expect_end(0, 0, 1, 5000);
    expect_end(1, 0, 3, 4000);
    cr_assert_eq(router_stage_counter(&stage, "ends_total"), 1);
    end();
}

/* With N = 5, W = 4, R = 3 any two would have met the writers, but for members replaced since. */
Test(router_ends, it_takes_r_and_not_fewer)
{
    begin(&five, 5);
    ask();
    router_stage_vote(&stage, 1, 'p');
    router_stage_vote(&stage, 2, 'p');
    cr_assert_eq(ntold, 0, "two of five");
    router_stage_vote(&stage, 3, 'p');
    expect_ends((size_t)3 * stage.document.content.ngroups);
    end();
}

/* Slot groups on other nodes: all of them are to be told, and one that has more than it takes tells
 * all that it was told. */
Test(router_ends, of_every_slot_group)
{
    uint32_t of_group[4] = {0};

    begin(&three, 4);
    cr_assert_gt(stage.document.content.ngroups, 1, "the test needs several");
    ask();
    router_stage_vote(&stage, 1, 'p');
    router_stage_vote(&stage, 2, 'p');
    cr_assert_eq(ntold, 0);
    router_stage_vote(&stage, 3, 'p');
    cr_assert_eq(ntold, 1);
    for (size_t i = 0; i < told.count; i++) {
        cr_assert_lt(ends[i].group, 4);
        of_group[ends[i].group]++;
    }
    for (uint32_t group = 0; group < stage.document.content.ngroups; group++) {
        cr_assert_geq(of_group[group], 2);
    }
    cr_assert_gt(told.count, 2 * stage.document.content.ngroups, "what else was told is left out");
    end();
}

/* Joining, of another life, epoch or content; not ready, full of conflict. */
Test(router_ends, what_does_not_count_is_no_end)
{
    static const char letters[] = "jiehRCO";

    for (size_t i = 0; letters[i] != '\0'; i++) {
        begin(&three, 3);
        ask();
        router_stage_vote(&stage, 1, 'p');
        router_stage_vote(&stage, 2, letters[i]);
        router_stage_pass(&stage, 6 * SECOND);
        cr_assert_eq(ntold, 1, "%c", letters[i]);
        cr_assert_eq(told.status, STATUS_UNAVAILABLE, "%c counts", letters[i]);
        cr_assert_eq(told.count, 0);
        end();
    }
}

Test(router_ends, who_did_not_answer_is_named)
{
    begin(&three, 3);
    ask();
    router_stage_vote(&stage, 2, 'p');
    router_stage_vote(&stage, 3, 'R');
    router_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(message, "1 of 3 replicas of slot group 0"), "%s", message);
    cr_assert_not_null(strstr(message, "node-1 does not answer"), "%s", message);
    cr_assert_null(strstr(message, "node-2"), "%s", message);
    cr_assert_eq(router_stage_counter(&stage, "deadlines_total"), 1);
    end();
}

Test(router_ends, who_is_not_ready_or_silent_is_asked_again)
{
    begin(&three, 3);
    ask();
    router_stage_vote(&stage, 1, 'R');
    router_stage_vote(&stage, 2, 'p');
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US + SECOND);
    cr_assert_not_null(router_stage_asked(&stage, 3), "lost");
    router_stage_vote(&stage, 1, 'p');
    expect_ends((size_t)2 * stage.document.content.ngroups);
    end();
}

Test(router_ends, who_lacks_the_document_is_given_it)
{
    begin(&three, 3);
    ask();
    router_stage_vote(&stage, 1, 'N');
    cr_assert_eq(stage.nhanded, 1);
    cr_assert_eq(stage.handed[0], 1);
    router_stage_vote(&stage, 1, 'p');
    router_stage_vote(&stage, 2, 'p');
    expect_ends((size_t)2 * stage.document.content.ngroups);
    end();
}

/* Two of two epochs are no quorum. */
Test(router_ends, begins_anew_under_a_newer_epoch)
{
    begin(&three, 3);
    ask();
    router_stage_vote(&stage, 1, 'p');
    document_epoch_advance(&stage.document);
    stage.document.content.named_epoch = stage.document.epoch;
    router_stage_vote(&stage, 2, 'S');
    cr_assert_eq(ntold, 0);
    stage.position = 6000;
    router_stage_vote(&stage, 2, 'p');
    cr_assert_eq(ntold, 0, "what was told under the former epoch counts");
    router_stage_vote(&stage, 3, 'p');
    expect_ends((size_t)2 * stage.document.content.ngroups);
    expect_end(0, 0, 2, 6000);
    expect_end(1, 0, 3, 6000);
    end();
}

Test(router_ends, a_filter_that_is_dropped_meanwhile_ends_it)
{
    begin(&three, 3);
    ask();
    stage.document.content.state = FILTER_DROPPING;
    document_epoch_advance(&stage.document);
    router_stage_vote(&stage, 1, 'S');
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_DROPPED);
    ask();
    cr_assert_eq(ntold, 2);
    cr_assert_eq(told.status, STATUS_DROPPED);
    end();
}

Test(router_ends, what_is_not_logged_or_known_is_refused)
{
    begin(&three, 3);
    ask_for(ROUTER_STAGE_FILTER + 1);
    cr_assert_eq(told.status, STATUS_NOT_READY);
    stage.document.durability = DURABILITY_MEMORY;
    stage.document.revision++;
    router_stage_pass(&stage, 2 * SECOND);
    router_stage_sync(&stage, stage.sync, true);
    ask();
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_eq(ntold, 2);
    cr_assert_null(router_stage_asked(&stage, 1));
    end();
}

/* A router that stops leaves nobody waiting. */
Test(router_ends, is_told_when_the_router_stops)
{
    begin(&three, 3);
    ask();
    end();
    cr_assert_eq(ntold, 1);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
}

static void ask_again(void *owner, const struct router_ends_told *what)
{
    on_told(owner, what);
    if (ntold < 3) {
        router_ends(stage.router, stage.now_us,
                    &(struct router_ends){.filter_id = ROUTER_STAGE_FILTER,
                                          .timeout_ms = 5000,
                                          .done = ask_again,
                                          .owner = &stage});
    }
}

Test(router_ends, whoever_is_told_may_ask_again_at_once)
{
    begin(&three, 3);
    ask_again(&stage, &(struct router_ends_told){.message = ""});
    for (unsigned round = 1; round < 3; round++) {
        stage.actor.turn(stage.actor.self, stage.now_us);
        router_stage_pass(&stage, 1000);
        cr_assert_eq(ntold, round);
        router_stage_vote(&stage, 1, 'p');
        router_stage_vote(&stage, 2, 'p');
    }
    cr_assert_eq(ntold, 3);
    cr_assert_eq(told.status, STATUS_OK);
    end();
}
