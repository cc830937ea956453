/* What a node tells other nodes: only of what it was asked for, only when it counts, not too fast.
 */
#include "node/sync/exchange.h"
#include "tests/support/sample_cluster.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, NBATCHES = 100 };

static uint64_t keys[NBATCHES][BATCH];

/* On `nnodes` nodes; node 1 has `nbatches` of group 0. */
static void open_circle(uint32_t nnodes, uint32_t nbatches)
{
    make_circle_of(nnodes, nnodes);
    circle_hand(circle, &document, 0);
    for (uint32_t id = 2; id <= nnodes; id++) {
        circle->nodes[id - 1].cut = true;
    }
    for (uint32_t i = 0; i < nbatches; i++) {
        sample_fingerprints(&document, 0, i + 1, BATCH, keys[i]);
        cr_assert_eq(circle_add(circle, 1, &document, i + 1, keys[i], BATCH), STATUS_OK);
    }
    circle_run(circle, 3 * SECOND);
}

static struct frame question(enum pull_kind kind)
{
    return (struct frame){
        .correlation = 7,
        .kind = FRAME_PULL_REQUEST,
        .body.pull_request =
            {
                .kind = kind,
                .scope = {.filter_id = 5,
                          .epoch = document.epoch,
                          .epoch_hash = document.epoch_hash,
                          .keyset = 1},
                .source = {.node = 1, .incarnation = circle_node(circle, 1)->life.incarnation},
                .to = kind == PULL_RUNS ? UINT64_MAX : 0,
                .max_bytes = 1 << 20,
            },
    };
}

static const struct pull_reply *ask(struct frame *frame)
{
    circle_ask(circle, 1, frame);
    cr_assert_eq(circle->answer.kind, FRAME_PULL_REPLY);
    cr_assert_eq(circle->answer.correlation, 7);
    return &circle->answer.body.pull_reply;
}

Test(node_serve, an_answer_says_who_and_what)
{
    const struct pull_reply *reply;
    struct frame frame;

    open_circle(3, 3);
    frame = question(PULL_HEADERS);
    reply = ask(&frame);
    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert_eq(reply->kind, PULL_HEADERS);
    cr_assert_eq(reply->scope.filter_id, 5);
    cr_assert_eq(reply->source.node, 1);
    cr_assert_eq(reply->source.incarnation, circle_node(circle, 1)->life.incarnation);
    cr_assert_eq(reply->boot, circle_node(circle, 1)->life.identity.boot);
    cr_assert_eq(reply->state, REPLICA_FULL);
    cr_assert_eq(reply->fence_epoch, document.epoch);
    cr_assert_gt(reply->fence_position, 0);
    cr_assert_eq(reply->durable, storage_synced(circle_node(circle, 1)->storage));
    cr_assert_eq(reply->nintervals, 1);
    cr_assert_eq(reply->intervals[0].producer_id, CIRCLE_ROUTER);
    cr_assert_eq(reply->intervals[0].first, 1);
    cr_assert_eq(reply->intervals[0].count, 3);
    cr_assert(reply->end);
    close_circle();
}

static void expect_refused(struct frame frame, enum status status)
{
    uint64_t before = circle_counter(circle, 1, NODE_pulls_refused_total);

    cr_assert_eq(ask(&frame)->status, status, "%s",
                 status_code(circle->answer.body.pull_reply.status));
    cr_assert_eq(circle->answer.body.pull_reply.count, 0);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), before + 1);
}

Test(node_serve, what_does_not_match_is_refused)
{
    struct frame frame;

    open_circle(3, 1);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.filter_id = 6;
    expect_refused(frame, STATUS_NEED_DOC);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.epoch++;
    expect_refused(frame, STATUS_NEED_DOC);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.epoch_hash++;
    expect_refused(frame, STATUS_NOT_READY);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.keyset++;
    expect_refused(frame, STATUS_INVALID);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.slice++;
    expect_refused(frame, STATUS_INVALID);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.group = 1;
    expect_refused(frame, STATUS_INVALID);
    frame = question(PULL_RUNS);
    frame.body.pull_request.source.node = 2;
    expect_refused(frame, STATUS_NOT_READY);
    frame = question(PULL_RUNS);
    frame.body.pull_request.source.incarnation++;
    expect_refused(frame, STATUS_NOT_READY);
    frame.body.pull_request.source.incarnation = 0;
    cr_assert_eq(ask(&frame)->status, STATUS_OK, "any life");
    close_circle();
}

Test(node_serve, who_is_behind_gets_the_document)
{
    struct frame frame;

    open_circle(3, 1);
    frame = question(PULL_RUNS);
    document_epoch_advance(&document);
    circle_hand(circle, &document, 1);
    cr_assert_eq(ask(&frame)->status, STATUS_STALE);
    cr_assert_eq(circle->answer.body.pull_reply.scope.epoch, document.epoch);
    cr_assert_gt(circle->answer.body.pull_reply.document.size, 0);
    close_circle();
}

/* Its log ends below the question's place: something is lost here, and the asker must know. */
Test(node_serve, a_place_beyond_the_log_is_a_conflict)
{
    struct frame frame;

    open_circle(3, 1);
    frame = question(PULL_HEADERS);
    frame.body.pull_request.from = 1 << 30;
    expect_refused(frame, STATUS_CONFLICT);
    close_circle();
}

/* The fence that an answer tells of is durable before it leaves. */
Test(node_serve, an_answer_waits_for_the_fence)
{
    const struct peer peer = {.size = 2};
    struct circle_node *one;
    struct buffer bytes;
    struct frame frame;

    open_circle(3, 1);
    one = &circle->nodes[0];
    one->frozen = true;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 1);
    frame = question(PULL_RUNS);
    frame.body.pull_request.sync = true;
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    circle->answered = false;
    one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
    circle_run(circle, SECOND);
    cr_assert_not(circle->answered);
    one->frozen = false;
    circle_run(circle, SECOND);
    cr_assert(circle->answered);
    cr_assert_eq(circle->answer.body.pull_reply.status, STATUS_OK);
    cr_assert_eq(circle->answer.body.pull_reply.fence_epoch, document.epoch);
    cr_assert_leq(circle->answer.body.pull_reply.fence_position,
                  storage_synced(one->node->storage));
    close_circle();
}

/* As a peer or router, without waiting for the answer. */
static void send(const struct frame *frame)
{
    const struct peer peer = {.size = 2};
    struct circle_node *one = &circle->nodes[0];
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* Not durable here means nowhere: what a crash may take back is not told. */
Test(node_serve, what_is_not_durable_is_not_told)
{
    struct subrequest subrequest = {.operation = OPERATION_ADD,
                                    .batch = {.producer_id = CIRCLE_ROUTER, .number = 3},
                                    .count = BATCH};
    const struct frame add = {.kind = FRAME_NODE_REQUEST,
                              .body.node_request = {&subrequest, 1, keys[9], BATCH}};
    struct frame frame;

    open_circle(3, 2);
    sample_fingerprints(&document, 0, 99, BATCH, keys[9]);
    subrequest.filter_id = document.id;
    subrequest.epoch = document.epoch;
    subrequest.epoch_hash = document.epoch_hash;
    circle->nodes[0].frozen = true;
    send(&add);
    circle_run(circle, 3 * SECOND);
    cr_assert_gt(storage_end(circle_node(circle, 1)->storage),
                 storage_synced(circle_node(circle, 1)->storage));
    frame = question(PULL_LOG);
    cr_assert_eq(ask(&frame)->nbatches, 2);
    circle->nodes[0].frozen = false;
    circle_run(circle, SECOND);
    frame = question(PULL_LOG);
    cr_assert_eq(ask(&frame)->nbatches, 3);
    close_circle();
}

/* Shards of other groups are passed over, and none of one's own is. */
Test(node_serve, runs_of_the_group_alone_are_told)
{
    enum { NODES = 4, EACH = 100 };
    static uint64_t told[BATCH * EACH];
    struct frame frame;
    size_t count = 0;

    circle = calloc(1, sizeof *circle);
    circle_init(circle, NODES);
    circle_document(circle, 5, &rule, NODES, &document);
    circle_hand(circle, &document, 0);
    circle->nodes[1].cut = circle->nodes[2].cut = circle->nodes[3].cut = true;
    for (uint32_t i = 0; i < 2 * NBATCHES; i++) { /* Node 1 holds groups 0, 2 and 3. */
        static const uint32_t groups[] = {0, 2, 3};
        uint64_t some[BATCH];

        sample_fingerprints(&document, groups[i % 3], i + 1, BATCH, some);
        cr_assert_eq(circle_add(circle, 1, &document, i + 1, some, BATCH), STATUS_OK);
    }
    circle_run(circle, 3 * SECOND);
    frame = question(PULL_RUNS);
    frame.body.pull_request.scope.group = 2;
    while (true) {
        const struct pull_reply *reply = ask(&frame);

        cr_assert_eq(reply->status, STATUS_OK);
        for (size_t i = 0; i < reply->count; i++) {
            uint64_t shard = reply->fingerprints[i] >> (64 - SAMPLE_SHARD_BITS);

            cr_assert_eq(document.content.group_of_shard[shard], 2);
            cr_assert(count == 0 || reply->fingerprints[i] > told[count - 1], "ascending");
            cr_assert_lt(count, sizeof told / sizeof told[0]);
            told[count++] = reply->fingerprints[i];
        }
        if (reply->end) {
            break;
        }
        frame.body.pull_request.from = reply->next;
    }
    cr_assert_gt(count, 10 * BATCH, "%zu", count);
    cr_assert_eq(count % BATCH, 0, "whole batches: %zu", count);
    close_circle();
}

Test(node_serve, the_rate_is_bounded_for_each_peer)
{
    struct frame frame;
    uint64_t start_us;

    open_circle(3, NBATCHES);
    circle_node(circle, 1)->exchange->config.gossip_rate = 4 << 20;
    frame = question(PULL_LOG);
    start_us = circle->now_us;
    for (int i = 0; i < 5; i++) { /* 800 KB each */
        struct circle_node *one = &circle->nodes[0];
        const struct peer peer = {.size = 2};
        struct buffer bytes;

        buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        circle->answered = false;
        one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
        buffer_fini(&bytes);
        for (int k = 0; k < 100 && !circle->answered; k++) {
            circle_run(circle, SECOND / 100);
        }
        cr_assert(circle->answered);
        cr_assert_gt(circle->answer.body.pull_reply.count, 0);
    }
    cr_assert_gt(circle->now_us - start_us, SECOND / 4);
    cr_assert_gt(circle_counter(circle, 1, NODE_pulls_delayed_total), 0);
    close_circle();
}

Test(node_serve, answers_under_way_are_bounded)
{
    struct circle_node *one;
    struct buffer bytes;
    struct frame frame;

    open_circle(3, 1);
    one = &circle->nodes[0];
    frame = question(PULL_LOG);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    for (uint8_t i = 0; i <= SERVE_PAGES; i++) {
        const struct peer peer = {.size = 2, .id = {0, i}};

        one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
    }
    buffer_fini(&bytes);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), 1);
    circle_run(circle, SECOND);
    cr_assert_eq(ask(&frame)->status, STATUS_OK);
    close_circle();
}

/* A node that goes while it is answering. */
Test(node_serve, an_end_in_the_middle_leaves_nothing_behind)
{
    const struct peer peer = {.size = 2};
    struct circle_node *one;
    struct buffer bytes;
    struct frame frame;

    open_circle(3, 1);
    one = &circle->nodes[0];
    frame = question(PULL_RUNS);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
    circle_stop(circle, 1);
    close_circle();
}
