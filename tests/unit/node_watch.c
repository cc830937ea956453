/* One question a node asks for all filters that have nothing to ask: they cost nothing, and what
 * one of them missed comes all the same. */
#include "node/sync/exchange.h"
#include "tests/support/node_circle.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { FILTERS = 30, FIRST = 5, BATCH = 100, SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct circle *circle;
static struct filter_document documents[FILTERS];
static uint64_t headers_of[FIRST + FILTERS]; /* questions, by filter */

static bool count_headers(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    (void)frame;
    if (decoded->kind == FRAME_PULL_REQUEST && decoded->body.pull_request.kind == PULL_HEADERS) {
        headers_of[decoded->body.pull_request.scope.filter_id]++;
    }
    return true;
}

static void open_circle(void)
{
    memset(headers_of, 0, sizeof headers_of);
    circle = calloc(1, sizeof *circle);
    circle_init(circle, 3);
    for (uint32_t i = 0; i < FILTERS; i++) {
        circle_document(circle, FIRST + i, &rule, 3, &documents[i]);
        circle_hand(circle, &documents[i], 0);
    }
    circle_run(circle, 5 * SECOND);
    circle->spy = count_headers;
}

static void close_circle(void)
{
    circle_fini(circle);
    for (uint32_t i = 0; i < FILTERS; i++) {
        document_fini(&documents[i]);
    }
    free(circle);
}

/* A batch of that filter to the nodes of a bit set. */
static void add(uint32_t filter, uint64_t batch, unsigned nodes, uint64_t keys[BATCH])
{
    sample_fingerprints(&documents[filter], 0, 1000 * filter + batch, BATCH, keys);
    for (uint32_t id = 1; id <= 3; id++) {
        if ((nodes >> id & 1) != 0) {
            cr_assert_eq(circle_add(circle, id, &documents[filter], batch, keys, BATCH), STATUS_OK);
        }
    }
}

static uint64_t headers_but(uint32_t filter)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < FILTERS; i++) {
        sum += i != filter ? headers_of[FIRST + i] : 0;
    }
    return sum;
}

Test(node_watch, who_has_nothing_to_ask_costs_nothing)
{
    uint64_t keys[BATCH];
    uint64_t before;

    open_circle();
    before = circle->requests[PULL_FILTERS];
    for (uint32_t i = 1; i <= 20; i++) {
        add(7, i, N1 | N2 | N3, keys);
        circle_run(circle, SECOND);
    }
    cr_assert_eq(headers_but(7), 0, "the logs moved by what is of another one");
    cr_assert_gt(headers_of[FIRST + 7], 20);
    cr_assert_leq(circle->requests[PULL_FILTERS] - before, 6 * 21, "one a second for each other");
    close_circle();
}

Test(node_watch, what_one_missed_comes)
{
    uint64_t keys[2][BATCH];

    open_circle();
    add(3, 1, N1 | N2, keys[0]);
    add(9, 1, N2 | N3, keys[1]);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(circle_logged(circle, 3, &documents[3], keys[0], BATCH), BATCH);
    cr_assert_eq(circle_logged(circle, 1, &documents[9], keys[1], BATCH), BATCH);
    cr_assert_eq(headers_of[FIRST + 4], 0);
    close_circle();
}

/* It does not know what its log has from before its start. */
Test(node_watch, a_source_that_starts_again_is_asked_for_each)
{
    uint64_t keys[BATCH];

    open_circle();
    circle->nodes[2].cut = true;
    add(3, 1, N1 | N2, keys);
    circle_run(circle, 3 * SECOND);
    circle_stop(circle, 1);
    circle_stop(circle, 2);
    circle_start(circle, 1);
    circle_start(circle, 2);
    circle->nodes[2].cut = false;
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(circle_logged(circle, 3, &documents[3], keys, BATCH), BATCH);
    cr_assert_gt(headers_of[FIRST + 4], 0);
    memset(headers_of, 0, sizeof headers_of);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(headers_but(FILTERS), 0, "then they sleep again");
    close_circle();
}

/* The position that is asked from next covers what was told, and no more. */
Test(node_watch, answers_are_told_in_parts)
{
    struct exchange *exchange;
    struct pull_reply reply;
    struct peer_topic topic = {.call = PEERS_WATCH, .node = 2};
    const struct peer_watch *watch;
    const struct pull_item *item;
    const struct hosted_filter *hosted;
    const uint64_t ids[] = {FIRST + 3};
    uint64_t position;

    open_circle();
    exchange = circle_node(circle, 1)->exchange;
    watch = &node_peers_find(&exchange->peers, 2)->watch;
    cr_assert_neq(watch->serial, 0);
    hosted = document_cache_find(&circle_node(circle, 1)->documents, FIRST + 3)->attachment;
    item = hosted->pulls->items[0].pull.source.node == 2 ? &hosted->pulls->items[0]
                                                         : &hosted->pulls->items[1];
    cr_assert_eq(item->watch, watch->serial, "it sleeps");
    position = watch->position;
    topic.serial = watch->serial;
    reply = (struct pull_reply){
        .status = STATUS_OK,
        .kind = PULL_FILTERS,
        .source = item->pull.source,
        .from = position,
        .next = position + 10,
        .durable = position + 10,
        .fingerprints = ids,
        .count = 1,
    };
    node_watch_on_reply(circle_node(circle, 1)->exchange, circle->now_us, &topic, &reply);
    cr_assert_eq(watch->position, position + 10);
    cr_assert_leq(watch->due_us, circle->now_us, "there is more to ask");
    cr_assert_eq(item->watch, 0, "it is awake");
    cr_assert_leq(item->pull.from, position, "and asks from where nothing was told yet");
    reply.from = position; /* Of a question before. */
    node_watch_on_reply(circle_node(circle, 1)->exchange, circle->now_us, &topic, &reply);
    cr_assert_eq(watch->serial, 0, "an answer to something else ends it");
    close_circle();
}

static enum status asked(uint32_t id, uint64_t incarnation, uint64_t from)
{
    struct frame frame = {.kind = FRAME_PULL_REQUEST,
                          .body.pull_request = {.kind = PULL_FILTERS,
                                                .source = {.node = id, .incarnation = incarnation},
                                                .from = from}};

    circle_ask(circle, id, &frame);
    cr_assert_eq(circle->answer.kind, FRAME_PULL_REPLY);
    return circle->answer.body.pull_reply.status;
}

Test(node_watch, a_source_says_what_it_knows)
{
    const struct pull_reply *reply;
    uint64_t keys[BATCH];
    struct node *node;
    uint64_t end;

    open_circle();
    node = circle_node(circle, 1);
    end = storage_end(node->storage);
    add(3, 1, N1, keys);
    add(3, 2, N1, keys);
    add(2, 1, N1, keys);
    reply = &circle->answer.body.pull_reply;
    cr_assert_eq(asked(1, node->life.incarnation, end), STATUS_OK);
    cr_assert(reply->count == 0 && reply->next == end, "routers may bring it to all yet");
    circle_run(circle, 3 * SECOND);
    cr_assert_eq(asked(1, node->life.incarnation, end), STATUS_OK);
    cr_assert_eq(reply->count, 2);
    cr_assert_eq(reply->fingerprints[0], FIRST + 2);
    cr_assert_eq(reply->fingerprints[1], FIRST + 3);
    cr_assert(reply->end && reply->next > end);
    cr_assert_eq(asked(1, node->life.incarnation + 1, end), STATUS_NOT_READY, "another life");
    cr_assert_eq(asked(2, node->life.incarnation, end), STATUS_NOT_READY, "another node");
    cr_assert_eq(asked(1, node->life.incarnation, UINT64_MAX), STATUS_CONFLICT, "beyond its end");
    circle_stop(circle, 1);
    circle_start(circle, 1);
    circle_run(circle, 5 * SECOND);
    node = circle_node(circle, 1);
    cr_assert_eq(asked(1, node->life.incarnation, end), STATUS_NOT_FOUND, "from before its start");
    close_circle();
}

/* Each other node in turn: one that does not answer keeps only its own comparisons waiting. */
Test(node_watch, a_silent_node_does_not_keep_others_from_being_compared)
{
    circle = calloc(1, sizeof *circle);
    circle_init(circle, 3);
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
    }
    circle->scrub_us = 10 * SECOND;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_start(circle, id);
    }
    circle_run(circle, SECOND / 100);
    for (uint32_t i = 0; i < FILTERS; i++) {
        circle_document(circle, FIRST + i, &rule, 3, &documents[i]);
        circle_hand(circle, &documents[i], 0);
    }
    circle_run(circle, 2 * SECOND);
    circle->nodes[2].cut = true;
    circle_run(circle, 60 * SECOND);
    cr_assert_geq(circle_counter(circle, 1, NODE_repairs_ended_total), 4 * FILTERS,
                  "with node 2: %llu",
                  (unsigned long long)circle_counter(circle, 1, NODE_repairs_ended_total));
    close_circle();
}
