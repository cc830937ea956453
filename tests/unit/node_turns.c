/* Requests of users at a node: whoever sends much does not hold up the others, and none is lost. */
#include "base/heap.h"
#include "node/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum {
    LIMIT_BYTES = 1 << 30,
    COUNT = 1000,
    FLOOD = 1,
    CALM,
    NUSERS,
    REQUESTS = 100,
    TURNS = 200,
    ROOM = 10 * COUNT * 8, /* for a few that wait */
};

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[COUNT];
static bool starved; /* of memory, when a request comes */
static unsigned counts[NUSERS];
static uint64_t last[NUSERS]; /* of a user's requests that were answered */

static void set_up(void)
{
    node_stage_init(&stage, LIMIT_BYTES);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    fake_forget(&stage.fake);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
}

static void tear_down(void)
{
    document_fini(&document);
    node_stage_fini(&stage);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(node_turns, .init = set_up, .fini = tear_down, .timeout = 60);

/* Without a turn of the loop behind it. */
static void come(uint32_t user, enum operation operation, uint32_t count, uint64_t correlation)
{
    struct subrequest subrequest = node_stage_subrequest(&document, operation, count);
    struct frame frame = {.kind = FRAME_NODE_REQUEST, .correlation = correlation};
    const struct peer router = {.size = 1, .id = "r"};
    struct buffer bytes;

    subrequest.user = user;
    subrequest.tag = user;
    frame.body.node_request = (struct node_request){
        .subrequests = &subrequest, .nsubrequests = 1, .fingerprints = keys, .count = count};
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    heap_fault_after(starved ? 0 : UINT32_MAX);
    stage.actor.on_request(stage.actor.self, stage.now_us, &router, buffer_span(&bytes));
    heap_fault_clear();
    buffer_fini(&bytes);
}

static void turn(void)
{
    stage.actor.turn(stage.actor.self, stage.now_us);
}

/* Answers of a user that have come so far, all of them good, and in the order of its requests. */
static unsigned answers(uint32_t user)
{
    struct fake_sent sent;

    while (fake_take(&stage.fake, &sent)) {
        const struct node_reply *reply = &sent.frame.body.node_reply;
        uint64_t whose;

        cr_assert_eq(sent.frame.kind, FRAME_NODE_REPLY);
        cr_assert_eq(reply->nsubrequests, 1);
        cr_assert_eq(reply->subrequests[0].status, STATUS_OK, "%s",
                     status_code(reply->subrequests[0].status));
        whose = reply->subrequests[0].tag;
        cr_assert_lt(whose, NUSERS);
        cr_assert_gt(sent.frame.correlation, last[whose]);
        last[whose] = sent.frame.correlation;
        counts[whose]++;
    }
    return counts[user];
}

static void take_all_turns(void)
{
    for (unsigned i = 0; i < TURNS && stage.actor.work(stage.actor.self, stage.now_us); i++) {
        turn();
    }
    cr_assert_not(stage.actor.work(stage.actor.self, stage.now_us));
}

Test(node_turns, who_comes_after_a_flood_is_answered_in_the_first_turn)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        come(FLOOD, OPERATION_ADD, COUNT, i + 1);
    }
    cr_assert_eq(answers(FLOOD), 0);
    come(CALM, OPERATION_CHECK, 1, REQUESTS + 1);
    cr_assert_eq(answers(CALM), 0, "all wait for the turn");
    turn();
    cr_assert_eq(answers(CALM), 1);
    cr_assert_leq(answers(FLOOD), 3, "a turn's bytes, and the last one more");
    cr_assert(stage.actor.work(stage.actor.self, stage.now_us), "the rest is to come at once");
    take_all_turns();
    cr_assert_eq(answers(FLOOD), REQUESTS);
    cr_assert_eq(answers(CALM), 1);
    cr_assert_eq(node_stage_counter(&stage, "requests_total"), REQUESTS + 1);
}

Test(node_turns, what_is_nobodys_is_served_at_once)
{
    come(0, OPERATION_CHECK, 1, 1);
    cr_assert_eq(answers(0), 1);
    cr_assert_not(stage.actor.work(stage.actor.self, stage.now_us));
}

/* What has no room to wait makes some: those are served whose turn it is, not whoever came last. */
Test(node_turns, a_flood_without_room_passes_nobody_by)
{
    uint64_t number = 0;

    stage.node->arrivals.most_bytes = ROOM;
    come(FLOOD, OPERATION_ADD, COUNT, ++number);
    come(CALM, OPERATION_CHECK, 1, 1);
    while (answers(FLOOD) == 0 && number < REQUESTS) {
        come(FLOOD, OPERATION_ADD, COUNT, ++number);
    }
    cr_assert_gt(number, 3, "some of it can wait");
    while (answers(CALM) == 0 && number < REQUESTS) {
        come(FLOOD, OPERATION_ADD, COUNT, ++number);
    }
    cr_assert_lt(answers(FLOOD), 3, "it is its turn soon");
    while (number < REQUESTS) {
        come(FLOOD, OPERATION_ADD, COUNT, ++number);
        cr_assert_leq(stage.node->arrivals.bytes, ROOM);
    }
    cr_assert_lt(answers(FLOOD), REQUESTS, "what has room waits");
    take_all_turns();
    cr_assert_eq(answers(FLOOD), REQUESTS);
    cr_assert_eq(answers(CALM), 1);
    cr_assert_eq(node_stage_counter(&stage, "requests_total"), REQUESTS + 1);
}

/* Nothing is dropped where it can't wait. */
Test(node_turns, without_memory_it_is_served_at_once)
{
    come(FLOOD, OPERATION_CHECK, 1, 1);
    turn();
    cr_assert_eq(answers(FLOOD), 1);
    starved = true;
    come(FLOOD, OPERATION_CHECK, 1, 2);
    cr_assert_eq(answers(FLOOD), 2);
}

Test(node_turns, what_waits_at_the_end_is_forgotten)
{
    come(FLOOD, OPERATION_CHECK, 1, 1);
    cr_assert(stage.actor.work(stage.actor.self, stage.now_us));
}
