/* Nodes take over a chain of generations from each other: each generation's bits into its own
 * array, all of them before a replica counts, and only where both have one epoch's chain. */
#include "tests/support/chain_document.h"
#include "tests/unit/node_lines.h"

enum { LINES_FIRST = 1 << 10, LINES_NEXT = 1 << 9, PART = 6 /* batches a generation */ };

/* Nodes 1 to 3 hold it; what comes is apart, as add_apart() says, and in no log for long. */
static void open_chain(void)
{
    open_nodes();
    chain_document_start(&document, LINES_FIRST, 100000);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
}

static void grow(void)
{
    chain_document_list(&document, LINES_NEXT, 100000);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
    chain_document_join(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
}

/* Acknowledged by two of the three, by others each time. */
static void add_part(uint32_t part, bool apart)
{
    for (uint32_t id = 1; id <= 3; id++) {
        cut(id, apart);
    }
    for (uint32_t i = part * PART; i < (part + 1) * PART; i++) {
        add(i, i % 3 + 1);
        add(i, (i + 1) % 3 + 1);
    }
}

static void meet(void)
{
    for (uint32_t id = 1; id <= 3; id++) {
        cut(id, false);
    }
}

static const struct arrays *set_in(uint32_t id, uint32_t slice)
{
    const struct arrays *set = set_of(id);

    while (set != NULL && set->slice != slice) {
        set = set->next;
    }
    cr_assert_not_null(set);
    return set;
}

static void fill(uint32_t nparts, bool apart)
{
    for (uint32_t part = 0; part < nparts; part++) {
        if (part > 0) {
            grow();
        }
        add_part(part, apart);
    }
    meet();
}

Test(node_chain_meet, who_joins_takes_over_every_generation)
{
    open_chain();
    fill(3, true);
    pair_with(1);
    circle_run(circle, 8 * SECOND);
    cr_assert(is_complete());
    cr_assert_gt(circle_counter(circle, JOINER, NODE_pages_copied_total), 0);
    for (uint32_t slice = 0; slice < 3; slice++) {
        cr_assert_gt(set_in(JOINER, slice)->groups[0].keys, PART * BATCH * 9 / 10, "%u", slice);
    }
    hand_over(1);
    expect_all(JOINER, 3 * PART);
    cut(JOINER, true); /* From its own log, then. */
    for (int i = 0; i < 2; i++) {
        circle_stop(circle, JOINER);
        circle_start(circle, JOINER);
        circle_run(circle, 5 * SECOND);
        expect_all(JOINER, 3 * PART);
    }
    close_circle();
}

static uint64_t slice_lost;

/* Pages of one generation never arrive. */
static bool lose_slice(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    (void)frame;
    return decoded->kind != FRAME_PULL_REPLY || decoded->body.pull_reply.scope.slice != slice_lost;
}

Test(node_chain_meet, it_is_complete_when_all_generations_are)
{
    open_chain();
    fill(3, true);
    circle->spy = lose_slice;
    for (slice_lost = 0; slice_lost < 3; slice_lost++) {
        pair_with(1);
        circle_run(circle, 8 * SECOND);
        cr_assert_not(is_complete(), "without generation %u", (unsigned)slice_lost);
        slot_of(1)->incoming = (struct member){0};
        document_epoch_advance(&document);
        circle_hand(circle, &document, 0);
        circle_run(circle, SECOND);
    }
    circle->spy = NULL;
    pair_with(1);
    circle_run(circle, 8 * SECOND);
    cr_assert(is_complete());
    hand_over(1);
    expect_all(JOINER, 3 * PART);
    close_circle();
}

/* Of other places in the chain, or of another array. */
static bool swap_slices(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    struct pull_reply *reply = &decoded->body.pull_reply;

    (void)self;
    if (decoded->kind == FRAME_PULL_REPLY && reply->npages > 0) {
        reply->scope.slice = 1 - reply->scope.slice;
        replace_frame(frame, decoded);
    }
    return true;
}

Test(node_chain_meet, pages_of_another_generation_are_not_merged)
{
    open_chain();
    fill(2, true);
    circle->spy = swap_slices;
    pair_with(1);
    circle_run(circle, 3 * SECOND);
    cr_assert_not(is_complete());
    cr_assert_gt(circle->requests[PULL_PAGES], 0);
    cr_assert_eq(circle_counter(circle, JOINER, NODE_pages_copied_total), 0);
    close_circle();
}

/* What the log has goes as batches, each into the generation that it came for. */
Test(node_chain_meet, who_was_away_catches_up_in_every_generation)
{
    open_chain();
    circle->retain_mib = 8;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, 3 * SECOND);
    cut(3, true);
    for (uint32_t i = 0; i < PART; i++) {
        add(i, 1);
        add(i, 2);
    }
    grow();
    for (uint32_t i = PART; i < 2 * PART; i++) {
        add(i, 1);
        add(i, 2);
    }
    cut(3, false);
    circle_run(circle, 20 * SECOND);
    expect_all(3, 2 * PART);
    for (uint32_t slice = 0; slice < 2; slice++) {
        cr_assert_lt(set_in(3, slice)->groups[0].keys, PART * BATCH * 11 / 10, "%u", slice);
    }
    close_circle();
}

/* Batches that others logged for the newest generation, of keys that an older one has here. */
Test(node_chain_meet, what_comes_again_does_not_fill_the_newest)
{
    open_chain();
    circle->retain_mib = 8;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, 3 * SECOND);
    for (uint32_t i = 0; i < PART; i++) {
        for (uint32_t id = 1; id <= 3; id++) {
            add(i, id);
        }
    }
    grow();
    cut(3, true);
    for (uint32_t i = 0; i < PART; i++) {
        for (uint32_t id = 1; id <= 2; id++) {
            cr_assert_eq(circle_add(circle, id, &document, 100 + i, keys[i], BATCH), STATUS_OK);
        }
    }
    cut(3, false);
    circle_run(circle, 20 * SECOND);
    cr_assert_geq(circle_counter(circle, 3, NODE_gossip_keys_missed_total), PART * BATCH);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_eq(set_in(id, 1)->groups[0].keys, 0, "node %u", id);
    }
    expect_all(3, PART);
    close_circle();
}

/* As if adds had come to one only, and had no number to follow them by. */
Test(node_chain_meet, pages_are_compared_in_every_generation)
{
    open_chain();
    fill(3, false);
    circle->scrub_us = 10 * SECOND;
    circle->retain_mib = 8;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
        circle_start(circle, id);
    }
    circle_run(circle, 30 * SECOND);
    for (uint32_t slice = 0; slice < 3; slice++) {
        arrays_base(set_in(1, slice))->shards[slice + 2][PULL_PAGE_BYTES + 9] |= 0x5a;
    }
    circle_run(circle, 60 * SECOND);
    for (uint32_t id = 2; id <= 3; id++) {
        for (uint32_t slice = 0; slice < 3; slice++) {
            uint8_t byte = arrays_base(set_in(id, slice))->shards[slice + 2][PULL_PAGE_BYTES + 9];

            cr_assert_eq(byte & 0x5a, 0x5a, "node %u, generation %u", id, slice);
        }
        expect_all(id, 3 * PART);
    }
    close_circle();
}

/* One has not heard of the longer chain yet. Neither gives the other what that has no place for;
 * the document is handed on, and then all is taken over. */
Test(node_chain_meet, who_has_another_chain_is_told_first)
{
    open_chain();
    fill(1, true);
    chain_document_list(&document, LINES_NEXT, 100000);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
    chain_document_join(&document);
    circle_hand(circle, &document, 1);
    circle_hand(circle, &document, 2);
    for (uint32_t i = PART; i < 2 * PART; i++) {
        add(i, 1);
        add(i, 2);
    }
    circle_run(circle, 20 * SECOND);
    expect_all(3, 2 * PART);
    close_circle();
}
