/* Replicas of a filter without key log compare digests of pages: what is equal costs little, what
 * differs is sent alone, and what is forged brings nothing that is not there. */
#include "tests/unit/node_lines.h"

static uint64_t ids[PULL_MAX_PAGES];

static size_t digest_bytes;
static unsigned pages_sent;

static bool weigh(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    bool question = decoded->kind == FRAME_PULL_REQUEST;
    enum pull_kind kind = question ? decoded->body.pull_request.kind
                                   : decoded->body.pull_reply.kind;

    (void)self;
    if ((question || decoded->kind == FRAME_PULL_REPLY) && kind == PULL_DIGESTS) {
        digest_bytes += frame->size;
    }
    if (decoded->kind == FRAME_PULL_REPLY) {
        pages_sent += (unsigned)decoded->body.pull_reply.npages;
    }
    return true;
}

/* All have all of them, and compare what they have. */
static void open_equals(void)
{
    open_circle();
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t id = 1; id <= 3; id++) {
            add(i, id);
        }
    }
    circle->scrub_us = 10 * SECOND;
    circle->retain_mib = 8;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, 12 * SECOND);
    digest_bytes = 0;
    pages_sent = 0;
    circle->requests[PULL_PAGES] = 0;
    circle->requests[PULL_DIGESTS] = 0;
}

static uint8_t *page_of(uint32_t id, uint32_t shard)
{
    size_t number = array_lines > LINES_PER_PAGE ? 5 : 0;

    return arrays_base(set_of(id))->shards[shard] + number * PULL_PAGE_BYTES;
}

Test(node_lines_compare, equal_replicas_cost_little)
{
    uint64_t shards;

    open_equals();
    shards = document_nshards(&document);
    circle->spy = weigh;
    circle_run(circle, 60 * SECOND);
    cr_assert_gt(circle->requests[PULL_DIGESTS], 6, "each of the three, each other one");
    cr_assert_eq(circle->requests[PULL_PAGES], 0);
    cr_assert_leq(digest_bytes, 128 * shards * circle->requests[PULL_DIGESTS],
                  "one question for all shards");
    close_circle();
}

/* As if an add had come to one only, and had no number to follow it by. */
static void only_pages_that_differ_are_sent(void)
{
    uint32_t last;

    open_equals();
    last = (uint32_t)document_nshards(&document) - 1;
    page_of(1, 0)[77] |= 0x5a;
    page_of(1, last)[99] |= 0xa5;
    circle->spy = weigh;
    circle_run(circle, 60 * SECOND);
    for (uint32_t id = 2; id <= 3; id++) {
        cr_assert_eq(page_of(id, 0)[77] & 0x5a, 0x5a);
        cr_assert_eq(page_of(id, last)[99] & 0xa5, 0xa5);
        cr_assert_eq(circle_counter(circle, id, NODE_pages_copied_total), 2);
    }
    cr_assert_geq(pages_sent, 4);
    cr_assert_leq(pages_sent, 12, "two of each to each, at most");
    expect_all(3, 5);
    close_circle();
}

Test(node_lines_compare, only_pages_that_differ_are_sent)
{
    only_pages_that_differ_are_sent();
}

/* The next shards are in the same 4 KiB of memory. */
Test(node_lines_compare, only_shards_of_a_few_lines_that_differ_are_sent)
{
    array_lines = 23;
    only_pages_that_differ_are_sent();
}

enum digest_forgery {
    FEWER,
    WRONG_DIGESTS,
    OTHER_ARRAY,
    PAGES_BEYOND,
    UNWANTED,
    NDIGEST_FORGERIES
};

static enum digest_forgery digest_forgery;
static uint64_t forged_digests[PULL_MAX_PAGE_DIGESTS];
static unsigned nforged;

static bool forge_digests(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    struct pull_reply *reply = &decoded->body.pull_reply;

    (void)self;
    if (decoded->kind != FRAME_PULL_REPLY || reply->status != STATUS_OK ||
        reply->ndigests + reply->npages == 0) {
        return true;
    }
    if (reply->ndigests > 0) {
        memcpy(forged_digests, reply->digests, reply->ndigests * sizeof *forged_digests);
        reply->digests = forged_digests;
    }
    switch (digest_forgery) {
    case FEWER:
        reply->ndigests -= reply->ndigests > 1 && reply->next == 0; /* Of shards. */
        break;
    case OTHER_ARRAY:
        reply->scope.geometry++;
        break;
    case PAGES_BEYOND:
        reply->next += reply->ndigests > 0 && reply->next > 0;
        forged_digests[0]++;
        break;
    case WRONG_DIGESTS:
        for (size_t i = 0; i < reply->ndigests; i++) {
            forged_digests[i]++;
        }
        break;
    case UNWANTED:
        if (reply->npages > 0) {
            ids[0] = reply->page_ids[0] + 1;
            reply->next = ids[0] + 1;
            reply->page_ids = ids;
            reply->npages = 1;
        }
        break;
    case NDIGEST_FORGERIES:
        break;
    }
    nforged++;
    replace_frame(frame, decoded);
    return true;
}

Test(node_lines_compare, forged_digests_bring_nothing_that_is_not_there)
{
    for (int i = 0; i < NDIGEST_FORGERIES; i++) {
        digest_forgery = (enum digest_forgery)i;
        nforged = 0;
        open_equals();
        page_of(1, 0)[77] |= 0x5a;
        circle->spy = forge_digests;
        circle_run(circle, 14 * SECOND); /* Eight failures later all pages are copied. */
        cr_assert_gt(nforged, 0);
        if (digest_forgery == WRONG_DIGESTS) { /* All pages are sent, no more than that. */
            cr_assert_eq(page_of(3, 0)[77] & 0x5a, 0x5a);
        } else {
            cr_assert_eq(circle_counter(circle, 3, NODE_pages_copied_total), 0, "forgery %d", i);
            cr_assert_gt(circle_counter(circle, 3, NODE_pull_mismatches_total), 0, "forgery %d", i);
        }
        circle->spy = NULL;
        circle_run(circle, 60 * SECOND);
        cr_assert_eq(page_of(3, 0)[77] & 0x5a, 0x5a, "forgery %d", i);
        expect_all(3, 5);
        close_circle();
    }
}
