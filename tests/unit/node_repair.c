/* Keys that no delta brings, as they have no number or the log is not kept, come by comparing
 * replicas: all of them, in few messages, and nothing else. */
#include "node/sync/exchange.h"
#include "tests/support/sample_cluster.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, FEW = 40, MANY = 300 };

static uint64_t keys[MANY][BATCH];

static void open_circle(uint64_t scrub_us)
{
    make_circle(3);
    circle->scrub_us = scrub_us;
    restart_all();
    circle_hand(circle, &document, 0);
}

/* Batches first + 1 to `end` to all nodes. */
static void add(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        sample_fingerprints(&document, 0, i + 1, BATCH, keys[i]);
        for (uint32_t id = 1; id <= 3; id++) {
            cr_assert_eq(circle_add(circle, id, &document, i + 1, keys[i], BATCH), STATUS_OK);
        }
    }
}

/* Without a number, as what was copied. */
static void absorb(uint32_t id, uint64_t seed, uint32_t count, uint64_t *out)
{
    struct node *node = circle_node(circle, id);
    struct record_batch batch = {
        .filter_id = document.id,
        .epoch = document.epoch,
        .ntargets = 1,
        .targets = {{.keyset = 1}},
        .count = count,
        .fingerprints = out,
    };

    sample_fingerprints(&document, 0, seed, count, out);
    cr_assert_eq(
        node_absorb(node->exchange, document_cache_find(&node->documents, document.id), &batch),
        STATUS_OK);
    circle_run(circle, 1000);
}

static void expect_all(uint32_t id, const uint64_t *some, uint32_t count)
{
    cr_assert_eq(circle_logged(circle, id, &document, some, count), count, "node %u", id);
    cr_assert_eq(circle_count(circle, id, &document, some, count), (int)count);
}

static uint64_t counted(enum node_counter counter)
{
    uint64_t sum = 0;

    for (uint32_t id = 1; id <= 3; id++) {
        sum += circle_counter(circle, id, counter);
    }
    return sum;
}

Test(node_repair, keys_without_numbers_reach_every_replica)
{
    static uint64_t ones[10];
    static uint64_t twos[5000];

    open_circle(30 * SECOND);
    add(0, FEW);
    absorb(1, 1000, 10, ones);
    absorb(2, 1001, 5000, twos);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(circle_logged(circle, 3, &document, ones, 10), 0, "no delta brings them");
    circle_run(circle, 60 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        expect_all(id, ones, 10);
        expect_all(id, twos, 5000);
        expect_all(id, keys[FEW - 1], BATCH);
    }
    cr_assert_eq(counted(NODE_repair_keys_total), 2 * 10 + 2 * 5000, "each of them once: %llu",
                 (unsigned long long)counted(NODE_repair_keys_total));
    cr_assert_eq(counted(NODE_repair_failures_total), 0);
    close_circle();
}

Test(node_repair, equal_replicas_cost_a_round_trip)
{
    uint64_t bytes;
    uint64_t shards;

    open_circle(30 * SECOND);
    add(0, FEW);
    circle_run(circle, 100 * SECOND);
    bytes = counted(NODE_repair_bytes_total);
    shards = counted(NODE_repair_shards_total);
    cr_assert_geq(shards, 6 << document.content.shard_bits, "each one with each other one");
    cr_assert_leq(bytes, 128 * shards, "%llu bytes a shard", (unsigned long long)(bytes / shards));
    cr_assert_eq(counted(NODE_repair_round_trips_total), counted(NODE_repairs_ended_total));
    cr_assert_eq(counted(NODE_repair_keys_total), 0);
    cr_assert_eq(circle->requests[PULL_RANGES], 0);
    close_circle();
}

/* At 300,000 keys the tree is as deep as at millions, but for a level. */
Test(node_repair, few_differing_keys_are_found_cheaply)
{
    static uint64_t apart[BATCH];
    uint64_t trips;
    uint64_t bytes;

    open_circle(300 * SECOND);
    add(0, MANY);
    circle_run(circle, 10 * SECOND);
    absorb(1, 1000, BATCH, apart);
    circle_stop(circle, 3);
    trips = circle_counter(circle, 2, NODE_repair_round_trips_total);
    bytes = circle_counter(circle, 2, NODE_repair_bytes_total);
    for (int i = 0; i < 500 && circle_counter(circle, 2, NODE_repair_keys_total) == 0; i++) {
        circle_run(circle, SECOND);
    }
    circle_run(circle, SECOND);
    expect_all(2, apart, BATCH);
    trips = circle_counter(circle, 2, NODE_repair_round_trips_total) - trips;
    bytes = circle_counter(circle, 2, NODE_repair_bytes_total) - bytes;
    cr_assert_leq(trips, 6, "%llu", (unsigned long long)trips);
    cr_assert_leq(bytes, 1536 * BATCH, "%llu bytes a key", (unsigned long long)bytes / BATCH);
    cr_assert_eq(circle_counter(circle, 1, NODE_repair_keys_total), 0);
    close_circle();
}

/* ---- answers that don't fit, questions that are refused ---- */

static enum pull_kind bent_kind;
static void (*bend)(struct pull_reply *reply);
static uint64_t bent_words[PULL_MAX_DIGESTS];

/* As a forger does, who puts the sum right again. */
static bool bend_answers(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    struct buffer bytes;

    (void)self;
    if (decoded->kind != FRAME_PULL_REPLY || decoded->body.pull_reply.kind != bent_kind ||
        decoded->body.pull_reply.status != STATUS_OK) {
        return true;
    }
    bend(&decoded->body.pull_reply);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(decoded, &bytes), STATUS_OK);
    free(frame->bytes);
    frame->bytes = malloc(bytes.size);
    memcpy(frame->bytes, bytes.data, bytes.size);
    frame->size = bytes.size;
    buffer_fini(&bytes);
    return true;
}

static void other_filter(struct pull_reply *reply)
{
    reply->scope.filter_id++;
}

static void other_keyset(struct pull_reply *reply)
{
    reply->scope.keyset++;
}

static void other_slice(struct pull_reply *reply)
{
    reply->scope.slice++;
}

static void other_epoch(struct pull_reply *reply)
{
    reply->scope.epoch++;
}

static void other_life(struct pull_reply *reply)
{
    reply->source.incarnation++;
}

static void other_cut(struct pull_reply *reply)
{
    reply->view++;
}

static void joining(struct pull_reply *reply)
{
    reply->state = REPLICA_JOINING;
}

static void fewer_digests(struct pull_reply *reply)
{
    reply->ndigests--;
    reply->ncounts -= reply->ncounts > 0;
}

static void stranger(struct pull_reply *reply)
{
    memcpy(bent_words, reply->fingerprints, reply->count * sizeof *bent_words);
    bent_words[0] ^= UINT64_C(1) << 63;
    reply->fingerprints = bent_words;
}

static void cut_short(struct pull_reply *reply)
{
    reply->end = false;
    reply->next = 0;
}

static void expect_unmerged(enum pull_kind kind, void (*how)(struct pull_reply *reply))
{
    static uint64_t ones[10];

    open_circle(5 * SECOND);
    add(0, 5);
    absorb(1, 1000, 10, ones);
    bent_kind = kind;
    bend = how;
    circle->spy = bend_answers;
    circle_run(circle, 20 * SECOND);
    cr_assert_gt(counted(NODE_pull_mismatches_total), 0);
    cr_assert_gt(counted(NODE_repair_failures_total), 0);
    cr_assert_eq(counted(NODE_repair_keys_total), 0);
    cr_assert_eq(circle_logged(circle, 2, &document, ones, 10), 0);
    circle->spy = NULL;
    circle_run(circle, 60 * SECOND);
    expect_all(2, ones, 10);
    expect_all(3, ones, 10);
    close_circle();
}

Test(node_repair, answers_about_something_else_are_refused_and_counted)
{
    expect_unmerged(PULL_DIGESTS, other_filter);
    expect_unmerged(PULL_DIGESTS, other_keyset);
    expect_unmerged(PULL_DIGESTS, other_slice);
    expect_unmerged(PULL_RANGES, other_epoch);
    expect_unmerged(PULL_RANGES, other_life);
    expect_unmerged(PULL_RANGES, other_cut);
    expect_unmerged(PULL_RANGES, joining);
}

Test(node_repair, forged_and_cut_answers_are_refused_and_counted)
{
    expect_unmerged(PULL_DIGESTS, fewer_digests);
    expect_unmerged(PULL_RANGES, stranger);
    expect_unmerged(PULL_RANGES, cut_short);
}

static struct frame question(enum pull_kind kind, uint64_t view, uint32_t bits,
                             const uint64_t *prefixes, size_t count)
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
                .max_bytes = 1 << 20,
                .view = view,
                .prefix_bits = bits,
                .prefixes = prefixes,
                .nprefixes = count,
            },
    };
}

static const struct pull_reply *ask(struct frame frame)
{
    circle_ask(circle, 1, &frame);
    cr_assert_eq(circle->answer.kind, FRAME_PULL_REPLY);
    return &circle->answer.body.pull_reply;
}

static void expect_refused(struct frame frame, enum status status)
{
    uint64_t before = circle_counter(circle, 1, NODE_pulls_refused_total);

    cr_assert_eq(ask(frame)->status, status, "%s",
                 status_code(circle->answer.body.pull_reply.status));
    cr_assert_eq(circle->answer.body.pull_reply.ndigests, 0);
    cr_assert_eq(circle->answer.body.pull_reply.count, 0);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), before + 1);
}

Test(node_repair, questions_that_do_not_fit_are_refused)
{
    static const uint64_t prefixes[] = {0, 1};
    const struct pull_reply *reply;
    struct frame frame;
    uint64_t view;

    open_circle(0);
    add(0, 1);
    frame = question(PULL_DIGESTS, 0, 0, NULL, 0);
    frame.body.pull_request.scope.keyset++;
    expect_refused(frame, STATUS_INVALID);
    frame = question(PULL_DIGESTS, 0, 0, NULL, 0);
    frame.body.pull_request.scope.epoch_hash++;
    expect_refused(frame, STATUS_NOT_READY);
    frame = question(PULL_DIGESTS, 0, 0, NULL, 0);
    frame.body.pull_request.source.incarnation++;
    expect_refused(frame, STATUS_NOT_READY);
    reply = ask(question(PULL_DIGESTS, 0, 0, NULL, 0));
    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert_eq(reply->ndigests, UINT64_C(1) << document.content.shard_bits);
    cr_assert_leq(reply->view_end, reply->durable);
    view = reply->view;
    expect_refused(question(PULL_DIGESTS, view ^ 2, 8, prefixes, 2), STATUS_NOT_FOUND);
    reply = ask(question(PULL_RANGES, view, document.content.shard_bits, prefixes, 2));
    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert_gt(reply->count, 0);
    expect_refused(question(PULL_DIGESTS, view, document.content.shard_bits - 1, prefixes, 1),
                   STATUS_INVALID);
    circle_run(circle, SERVE_VIEW_US + 3 * SECOND);
    expect_refused(question(PULL_RANGES, view, 8, prefixes, 2), STATUS_NOT_FOUND);
    close_circle();
}

/* The digests of the parts of a range, by what the node itself tells of its keys. */
static void sum_parts(uint32_t bits, uint64_t prefix, uint64_t out[PULL_PARTS])
{
    struct frame frame = question(PULL_RANGES, 0, bits, &prefix, 1);
    const struct pull_reply *reply = ask(frame);
    struct run_digest *digest;
    struct run_digest_range parts[PULL_PARTS];

    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert(reply->end);
    cr_assert_gt(reply->count, PULL_PARTS);
    cr_assert_eq(run_digest_create(bits, prefix, PULL_PART_BITS, &digest), STATUS_OK);
    run_digest_add(digest, reply->fingerprints, reply->count);
    run_digest_finish(digest);
    cr_assert_eq(run_digest_children(digest, 0, 0, parts), PULL_PARTS);
    for (size_t i = 0; i < PULL_PARTS; i++) {
        out[i] = run_digest_short(parts[i]);
    }
    run_digest_destroy(&digest);
}

/* As routers ask that compare what another site has: each time in a view of its own. */
Test(node_repair, ranges_that_are_named_at_once_are_digested_as_they_are_then)
{
    const uint64_t prefixes[] = {1, 3};
    uint64_t expected[2 * PULL_PARTS];
    const struct pull_reply *reply;
    uint32_t bits;
    uint64_t view;

    open_circle(0);
    bits = document.content.shard_bits;
    add(0, FEW);
    for (size_t i = 0; i < 2; i++) {
        sum_parts(bits, prefixes[i], expected + i * PULL_PARTS);
    }
    reply = ask(question(PULL_DIGESTS, 0, bits, prefixes, 2));
    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert_eq(reply->ndigests, 2 * PULL_PARTS);
    cr_assert_eq(memcmp(reply->digests, expected, sizeof expected), 0);
    cr_assert_leq(reply->view_end, reply->durable);
    view = reply->view;
    add(FEW, FEW + 1);
    reply = ask(question(PULL_DIGESTS, 0, bits, prefixes, 2));
    cr_assert_neq(reply->view, view);
    cr_assert_neq(memcmp(reply->digests, expected, sizeof expected), 0);
    expect_refused(question(PULL_DIGESTS, 0, bits - 1, prefixes, 1), STATUS_INVALID);
    close_circle();
}

/* A view is what it was, whatever is added, merged and removed since; by pages of any size. */
Test(node_repair, a_cut_stays_what_it_was)
{
    static const uint64_t prefixes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    size_t nshards;
    const struct pull_reply *reply;
    struct frame frame;
    uint64_t met = 0;
    uint64_t last = 0;
    uint64_t view;

    open_circle(0);
    nshards = (size_t)1 << document.content.shard_bits;
    cr_assert_leq(nshards, sizeof prefixes / sizeof prefixes[0]);
    add(0, FEW);
    view = ask(question(PULL_DIGESTS, 0, 0, NULL, 0))->view;
    add(FEW, MANY); /* Beyond a subrequest: it is merged. */
    frame = question(PULL_RANGES, view, document.content.shard_bits, prefixes, nshards);
    frame.body.pull_request.max_bytes = 7777;
    do {
        reply = ask(frame);
        cr_assert_eq(reply->status, STATUS_OK);
        for (size_t i = 0; i < reply->count; i++) {
            cr_assert(met == 0 || reply->fingerprints[i] > last);
            last = reply->fingerprints[i];
            met++;
        }
        frame.body.pull_request.from = reply->next;
    } while (!reply->end);
    cr_assert_eq(met, FEW * BATCH);
    cr_assert_gt(storage_usage(circle_node(circle, 1)->storage).run_keys, met);
    close_circle();
}

static bool lose_ranges(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    (void)frame;
    return decoded->kind != FRAME_PULL_REPLY || decoded->body.pull_reply.kind != PULL_RANGES;
}

/* A comparison that was cut short has made nothing good: the next start does it again. */
Test(node_repair, a_cursor_does_not_overtake_what_is_compared)
{
    open_circle(0);
    circle->retain_mib = 0;
    for (uint32_t id = 1; id <= 2; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, 5 * SECOND);
    circle->nodes[2].cut = true;
    for (uint32_t i = 0; i < MANY + FEW; i++) {
        sample_fingerprints(&document, 0, i + 1, BATCH, keys[i % MANY]);
        for (uint32_t id = 1; id <= 2; id++) {
            cr_assert_eq(circle_add(circle, id, &document, i + 1, keys[i % MANY], BATCH),
                         STATUS_OK);
        }
    }
    circle_run(circle, 5 * SECOND);
    circle->nodes[2].cut = false;
    circle->spy = lose_ranges;
    circle_run(circle, 20 * SECOND);
    cr_assert_gt(circle->requests[PULL_RANGES], 0);
    circle->spy = NULL;
    circle_stop(circle, 3);
    circle_start(circle, 3);
    circle_run(circle, 30 * SECOND);
    for (uint32_t i = 0; i < MANY; i += 50) {
        expect_all(3, keys[i], BATCH);
    }
    close_circle();
}

/* From a peer that is none of the circle. */
static void ask_as(uint8_t name)
{
    const struct peer peer = {.size = 2, .id = {0, name}};
    struct circle_node *one = &circle->nodes[0];
    struct frame frame = question(PULL_DIGESTS, 0, 0, NULL, 0);
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
    circle_run(circle, 1000);
}

/* What asks for one more. */
static struct frame open_with_all_cuts_taken(void)
{
    open_circle(0);
    add(0, 1);
    for (uint8_t i = 1; i <= SERVE_VIEWS; i++) {
        ask_as(i);
    }
    return question(PULL_DIGESTS, 0, 0, NULL, 0);
}

/* One for each peer, some for all: who comes too late asks again. */
Test(node_repair, cuts_are_bounded)
{
    struct frame frame = open_with_all_cuts_taken();

    for (uint8_t i = 1; i <= SERVE_VIEWS; i++) {
        ask_as(i); /* Each may have another one in its place. */
    }
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), 0);
    expect_refused(frame, STATUS_OVERLOADED);
    /* None of them asks again: long before its view goes by itself, another one may have the place.
     */
    circle_run(circle, SERVE_VIEW_SILENT_US + 3 * SECOND);
    cr_assert_eq(ask(frame)->status, STATUS_OK);
    circle_stop(circle, 1); /* With a view that is kept. */
    close_circle();
}

/* However often those who have a place ask for new views. */
Test(node_repair, who_was_refused_a_cut_is_next)
{
    struct frame frame = open_with_all_cuts_taken();

    expect_refused(frame, STATUS_OVERLOADED);
    ask_as(1);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), 2,
                 "its place is not its own");
    ask_as(1);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), 3, "nor free for all");
    cr_assert_eq(ask(frame)->status, STATUS_OK);
    /* Who does not come back is not waited for. */
    ask_as(1);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), 4);
    circle_run(circle, SERVE_VIEW_TURN_US);
    ask_as(2);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), 4);
    close_circle();
}

/* Replicas that differ in a large part: pages, and a log that takes only so much at a time. */
Test(node_repair, what_is_far_apart_is_sent_whole)
{
    enum { APART = 150000 };
    static uint64_t apart[APART];

    open_circle(20 * SECOND);
    add(0, FEW);
    for (uint32_t i = 0; i < APART; i += 10000) {
        absorb(1, 1000 + i, 10000, apart + i);
    }
    circle_run(circle, 100 * SECOND);
    for (uint32_t id = 2; id <= 3; id++) {
        for (uint32_t i = 0; i < APART; i += 10000) {
            expect_all(id, apart + i, 10000);
        }
    }
    cr_assert_eq(counted(NODE_repair_keys_total), 2 * APART);
    close_circle();
}
