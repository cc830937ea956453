/* Replicas of a filter without key log take over bits from each other: to complete one that joins,
 * and to catch up when the log does not go back far enough. What is of another array, or of other
 * shards, is not merged.
 */
#include "tests/unit/node_lines.h"

static uint64_t ids[PULL_MAX_PAGES];

Test(node_lines, the_union_of_enough_arrays_is_taken_over)
{
    uint64_t few = 10 * BATCH;

    open_circle();
    add_apart(10);
    pair_with(1);
    circle_run(circle, 5 * SECOND);
    cr_assert(is_complete());
    cr_assert_eq(circle->requests[PULL_RUNS], 0);
    cr_assert_gt(circle->requests[PULL_PAGES], 2);
    cr_assert_gt(circle_counter(circle, JOINER, NODE_pages_copied_total), 0);
    cr_assert_gt(set_of(JOINER)->groups[0].keys, few - few / 20, "about as many keys as there are");
    cr_assert_lt(set_of(JOINER)->groups[0].keys, few + few / 20);
    hand_over(1);
    expect_all(JOINER, 10);
    close_circle();
}

/* From its own log, where the pages were before it said so. */
Test(node_lines, what_was_taken_over_survives_a_kill)
{
    open_circle();
    add_apart(10);
    pair_with(1);
    circle_run(circle, 5 * SECOND);
    cr_assert(is_complete());
    hand_over(1);
    for (int i = 0; i < 2; i++) {
        circle_stop(circle, JOINER);
        circle_start(circle, JOINER);
        circle_run(circle, SECOND);
        expect_all(JOINER, 10);
    }
    close_circle();
}

/* As one page each, which is less than one of other shards. */
Test(node_lines, shards_of_a_few_lines_are_taken_over)
{
    array_lines = 37;
    open_circle();
    add_apart(10);
    pair_with(1);
    circle_run(circle, 5 * SECOND);
    cr_assert(is_complete());
    cr_assert_gt(circle_counter(circle, JOINER, NODE_pages_copied_total), 0);
    cr_assert_leq(circle_counter(circle, JOINER, NODE_pages_copied_total),
                  2 * document_nshards(&document));
    hand_over(1);
    expect_all(JOINER, 10);
    circle_stop(circle, JOINER);
    circle_start(circle, JOINER);
    circle_run(circle, SECOND);
    expect_all(JOINER, 10);
    close_circle();
}

Test(node_lines, one_source_is_not_enough)
{
    open_circle();
    add_apart(3);
    cut(2, true);
    cut(3, true);
    pair_with(1);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(is_complete());
    cut(3, false);
    circle_run(circle, 20 * SECOND);
    cr_assert(is_complete());
    close_circle();
}

Test(node_lines, a_restart_in_the_middle_loses_nothing)
{
    open_circle();
    add_apart(MANY);
    pair_with(2);
    circle->spy = let_through_some;
    for (unsigned passing = 0; passing < 8; passing++) {
        replies_left = passing;
        circle_run(circle, SECOND);
        cr_assert_eq(is_complete(), circle_node(circle, JOINER)->exchange->cursors.count >= 2);
        circle_stop(circle, JOINER);
        circle_start(circle, JOINER);
        circle_run(circle, SECOND / 10);
    }
    circle->spy = NULL;
    circle_run(circle, 20 * SECOND);
    cr_assert(is_complete());
    hand_over(2);
    expect_all(JOINER, MANY);
    close_circle();
}

/* ---- catching up ---- */

Test(node_lines, what_the_log_has_comes_as_batches)
{
    uint64_t before;

    open_circle();
    circle_run(circle, 5 * SECOND);
    before = circle->requests[PULL_PAGES];
    cut(3, true);
    for (uint32_t i = 0; i < 5; i++) {
        add(i, 1);
        add(i, 2);
    }
    cut(3, false);
    circle_run(circle, 10 * SECOND);
    expect_all(3, 5);
    cr_assert_eq(circle->requests[PULL_PAGES], before);
    cr_assert_gt(circle_counter(circle, 3, NODE_gossip_keys_missed_total), 0);
    close_circle();
}

static uint64_t snapshots(uint32_t id)
{
    return storage_usage(circle_node(circle, id)->storage).snapshots;
}

/* The log of 1 and 2 was cut after snapshots meanwhile. */
Test(node_lines, what_has_left_the_log_comes_as_pages)
{
    open_circle();
    circle_run(circle, 2 * SECOND);
    cut(3, true);
    for (uint32_t i = 0; i < 10; i++) {
        add(i, 1);
        add(i, 2);
    }
    for (uint32_t i = 0; snapshots(1) == 0 || snapshots(2) == 0; i++) {
        cr_assert_lt(i, 5000, "there is never a snapshot");
        cr_assert_eq(circle_add(circle, 1, &document, 100 + i, keys[i % 10], BATCH), STATUS_OK);
        cr_assert_eq(circle_add(circle, 2, &document, 100 + i, keys[i % 10], BATCH), STATUS_OK);
    }
    circle_run(circle, 2 * SECOND);
    cut(3, false);
    circle_run(circle, 20 * SECOND);
    cr_assert_gt(circle->requests[PULL_PAGES], 0);
    cr_assert_gt(circle_counter(circle, 3, NODE_pages_copied_total), 0);
    expect_all(3, 10);
    close_circle();
}

/* ---- what is not merged ---- */

enum forgery { GENERATION, GEOMETRY, KEYSET, GROUP, BEYOND, BACK, NFORGERIES };

static enum forgery forgery;

/* Intact as a frame: whoever sent it is wrong, or lies. */
static bool forge(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    struct pull_reply *reply = &decoded->body.pull_reply;

    (void)self;
    if (decoded->kind != FRAME_PULL_REPLY || reply->status != STATUS_OK || reply->npages == 0) {
        return true;
    }
    memcpy(ids, reply->page_ids, reply->npages * sizeof *ids);
    reply->page_ids = ids;
    switch (forgery) {
    case GENERATION:
        reply->scope.generation++;
        break;
    case GEOMETRY:
        reply->scope.geometry++;
        break;
    case KEYSET:
        reply->scope.keyset++;
        break;
    case GROUP:
        reply->scope.group++;
        break;
    case BEYOND:
        ids[reply->npages - 1] = pull_pages(&document, 0);
        reply->next = ids[reply->npages - 1] + 1;
        break;
    case BACK:
        ids[reply->npages - 1] = reply->npages > 1 ? ids[0] : reply->next;
        break;
    case NFORGERIES:
        break;
    }
    replace_frame(frame, decoded);
    return true;
}

Test(node_lines, pages_of_something_else_are_not_merged)
{
    for (int i = 0; i < NFORGERIES; i++) {
        forgery = (enum forgery)i;
        open_circle();
        add_apart(3);
        circle->spy = forge;
        pair_with(1);
        circle_run(circle, 10 * SECOND);
        cr_assert_not(is_complete(), "forgery %d", i);
        cr_assert_eq(circle_counter(circle, JOINER, NODE_pages_copied_total), 0, "forgery %d", i);
        cr_assert_gt(circle_counter(circle, JOINER, NODE_pull_mismatches_total), 0, "forgery %d",
                     i);
        circle->spy = NULL;
        circle_run(circle, 20 * SECOND);
        cr_assert(is_complete());
        close_circle();
    }
}

/* ---- questions that are not answered ---- */

static enum status asked(enum pull_kind kind, const struct pull_scope *scope)
{
    struct frame frame = {.kind = FRAME_PULL_REQUEST};

    frame.body.pull_request = (struct pull_request){
        .kind = kind, .scope = *scope, .source = {.node = 1}, .to = UINT64_MAX, .max_bytes = 1000};
    circle_ask(circle, 1, &frame);
    cr_assert(circle->answered);
    cr_assert_eq(circle->answer.kind, FRAME_PULL_REPLY);
    cr_assert(circle->answer.body.pull_reply.status == STATUS_OK ||
              circle->answer.body.pull_reply.npages == 0);
    return circle->answer.body.pull_reply.status;
}

Test(node_lines, questions_about_another_array_are_refused)
{
    struct pull_scope scope;
    struct pull_scope other;
    uint64_t refused;

    open_circle();
    add_apart(1);
    scope = (struct pull_scope){
        .filter_id = 5, .epoch = document.epoch, .epoch_hash = document.epoch_hash, .keyset = 1};
    pull_scope_name(&scope, &document);
    cr_assert_eq(asked(PULL_PAGES, &scope), STATUS_OK);
    cr_assert_gt(circle->answer.body.pull_reply.npages, 0);
    refused = circle_counter(circle, 1, NODE_pulls_refused_total);
    other = scope;
    other.generation++;
    cr_assert_eq(asked(PULL_PAGES, &other), STATUS_INVALID);
    other = scope;
    other.geometry++;
    cr_assert_eq(asked(PULL_PAGES, &other), STATUS_INVALID);
    cr_assert_eq(asked(PULL_RUNS, &scope), STATUS_INVALID, "it has none");
    other = scope;
    other.group = 77;
    cr_assert_eq(asked(PULL_PAGES, &other), STATUS_INVALID);
    other = scope;
    other.keyset = 2;
    cr_assert_eq(asked(PULL_PAGES, &other), STATUS_INVALID);
    other = scope;
    other.epoch++;
    cr_assert_eq(asked(PULL_PAGES, &other), STATUS_NEED_DOC);
    cr_assert_eq(circle_counter(circle, 1, NODE_pulls_refused_total), refused + 6);
    close_circle();
}

static enum status asked_pages(const struct pull_scope *scope, enum pull_kind kind, uint64_t from,
                               uint64_t to, const uint64_t *wanted, size_t count)
{
    struct frame frame = {.kind = FRAME_PULL_REQUEST};

    frame.body.pull_request = (struct pull_request){.kind = kind,
                                                    .scope = *scope,
                                                    .source = {.node = 1},
                                                    .from = from,
                                                    .to = to,
                                                    .prefixes = wanted,
                                                    .nprefixes = count};
    circle_ask(circle, 1, &frame);
    cr_assert(circle->answered);
    return circle->answer.body.pull_reply.status;
}

Test(node_lines, questions_beyond_the_array_are_refused)
{
    struct pull_scope scope;
    uint64_t pages;
    uint64_t wanted[1];

    open_circle();
    add_apart(1);
    scope = (struct pull_scope){
        .filter_id = 5, .epoch = document.epoch, .epoch_hash = document.epoch_hash, .keyset = 1};
    pull_scope_name(&scope, &document);
    pages = pull_pages_a_shard(&document, 0);
    cr_assert_eq(asked_pages(&scope, PULL_DIGESTS, 0, UINT64_MAX, NULL, 0), STATUS_OK);
    cr_assert_eq(circle->answer.body.pull_reply.ndigests, document_nshards(&document));
    cr_assert_eq(asked_pages(&scope, PULL_DIGESTS, 1, pages - 1, NULL, 0), STATUS_OK);
    cr_assert_eq(circle->answer.body.pull_reply.ndigests, pages - 1);
    cr_assert_eq(asked_pages(&scope, PULL_DIGESTS, 1, 0, NULL, 0), STATUS_INVALID);
    cr_assert_eq(asked_pages(&scope, PULL_DIGESTS, 0, pages, NULL, 0), STATUS_INVALID,
                 "two shards");
    cr_assert_eq(asked_pages(&scope, PULL_DIGESTS, pull_pages(&document, 0),
                             pull_pages(&document, 0), NULL, 0),
                 STATUS_INVALID);
    wanted[0] = pull_pages(&document, 0);
    cr_assert_eq(asked_pages(&scope, PULL_PAGES, 0, UINT64_MAX, wanted, 1), STATUS_INVALID);
    wanted[0] = 3;
    cr_assert_eq(asked_pages(&scope, PULL_PAGES, 0, 2, wanted, 1), STATUS_INVALID);
    cr_assert_eq(asked_pages(&scope, PULL_PAGES, 0, 3, wanted, 1), STATUS_OK);
    cr_assert_leq(circle->answer.body.pull_reply.npages, 1);
    scope.geometry++;
    cr_assert_eq(asked_pages(&scope, PULL_DIGESTS, 0, UINT64_MAX, NULL, 0), STATUS_INVALID);
    close_circle();
}

Test(node_lines, of_keys_no_pages_are_told)
{
    struct pull_scope scope;

    open_circle();
    document_fini(&document);
    circle_document(circle, 6, &rule, 3, &document);
    circle_hand(circle, &document, 0);
    scope = (struct pull_scope){
        .filter_id = 6, .epoch = document.epoch, .epoch_hash = document.epoch_hash, .keyset = 1};
    cr_assert_eq(asked(PULL_RUNS, &scope), STATUS_OK);
    cr_assert_eq(asked(PULL_PAGES, &scope), STATUS_INVALID);
    scope.generation = 1;
    scope.geometry = pull_geometry(&document.generations[0].geometry);
    cr_assert_eq(asked(PULL_PAGES, &scope), STATUS_INVALID);
    close_circle();
}
