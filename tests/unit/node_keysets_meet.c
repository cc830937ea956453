/* Nodes take over from each other what belongs to each keyset, by its name: nothing that was
 * forgotten comes back from a log that still has it. */
#include "base/heap.h"
#include "map/history/keyset.h"
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, JOINER = 4 };

enum part { BEFORE, DURING, FED, NPARTS };

static uint64_t keys[NPARTS][BATCH];
static uint64_t batches;

static void open_circle(void)
{
    make_circle(4);
    keyset_first(&document.content);
    circle_hand(circle, &document, 0);
    make_keys(keys[0], NPARTS, BATCH);
    batches = 0;
}

/* To nodes 1 and 2; a part of a list where `keyset` is not 0. */
static void add(enum part part, uint32_t keyset)
{
    circle->keyset = keyset;
    batches++;
    add_to(N1 | N2, batches, keys[part], BATCH);
}

static void hand(uint32_t id)
{
    document_epoch_advance(&document);
    circle_hand(circle, &document, id);
}

static void begin(void)
{
    keyset_add(&document.content);
    hand(0);
}

static void commit(void)
{
    document.content.keysets[0] = (struct keyset){.id = 2, .serving = true};
    document.content.nkeysets = 1;
    hand(0);
}

static void expect(uint32_t id, bool before, bool during, bool fed)
{
    const bool held[] = {before, during, fed};

    for (uint32_t part = 0; part < NPARTS; part++) {
        int count = circle_count(circle, id, &document, keys[part], BATCH);

        cr_assert_geq(count, 0, "node %u does not answer", id);
        if (held[part]) {
            cr_assert_eq(count, BATCH, "node %u lacks some of part %u", id, part);
        } else {
            cr_assert_lt(count, BATCH / 2, "node %u has part %u", id, part);
        }
    }
}

Test(node_keysets_meet, what_a_node_missed_comes_from_the_others_for_each_keyset)
{
    open_circle();
    add(BEFORE, 0);
    circle_run(circle, 10 * SECOND);
    begin();
    add(DURING, 0);
    add(FED, 2);
    circle_run(circle, 20 * SECOND);
    expect(3, true, true, false);
    commit();
    expect(3, false, true, true);
    circle_run(circle, 20 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        expect(id, false, true, true);
    }
    close_circle();
}

/* It was down all the time; its log has what was forgotten. */
Test(node_keysets_meet, a_node_that_returns_brings_nothing_back)
{
    open_circle();
    circle->keyset = 0;
    cr_assert_eq(circle_add(circle, 3, &document, 7, keys[BEFORE], BATCH), STATUS_OK);
    circle_run(circle, SECOND);
    circle_stop(circle, 3);
    begin();
    add(DURING, 0);
    add(FED, 2);
    commit();
    circle_run(circle, 5 * SECOND);
    circle_start(circle, 3);
    circle_run(circle, SECOND);
    circle_hand(circle, &document, 3);
    circle_run(circle, 60 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        expect(id, false, true, true);
    }
    close_circle();
}

static struct frame question(uint32_t keyset)
{
    struct frame frame = {.correlation = 7, .kind = FRAME_PULL_REQUEST};
    struct pull_request *request = &frame.body.pull_request;

    request->kind = PULL_RUNS;
    request->scope = (struct pull_scope){.filter_id = 5,
                                         .epoch = document.epoch,
                                         .epoch_hash = document.epoch_hash,
                                         .keyset = keyset};
    request->source = (struct member){.node = 1,
                                      .incarnation = circle_node(circle, 1)->life.incarnation};
    request->max_bytes = 1 << 20;
    return frame;
}

Test(node_keysets_meet, nobody_is_told_of_a_keyset_that_is_no_more)
{
    struct frame frame;

    open_circle();
    add(BEFORE, 0);
    begin();
    for (uint32_t keyset = 1; keyset <= 2; keyset++) {
        frame = question(keyset);
        circle_ask(circle, 1, &frame);
        cr_assert_eq(circle->answer.body.pull_reply.status, STATUS_OK);
    }
    commit();
    frame = question(1);
    circle_ask(circle, 1, &frame);
    cr_assert_eq(circle->answer.body.pull_reply.status, STATUS_INVALID);
    frame = question(2);
    circle_ask(circle, 1, &frame);
    cr_assert_eq(circle->answer.body.pull_reply.status, STATUS_OK);
    close_circle();
}

/* An answer that was on its way when the keyset went: not into the log, and into no array. */
Test(node_keysets_meet, a_late_delta_of_the_old_keyset_is_refused)
{
    struct record_batch batch;
    struct document_entry *entry;
    uint64_t end;

    open_circle();
    begin();
    add(FED, 2);
    commit();
    batch = (struct record_batch){.filter_id = 5,
                                  .epoch = document.epoch - 1,
                                  .ntargets = 1,
                                  .targets = {{.keyset = 1}},
                                  .count = BATCH,
                                  .fingerprints = keys[BEFORE]};
    entry = document_cache_find(&circle_node(circle, 1)->documents, 5);
    end = storage_end(circle_node(circle, 1)->storage);
    cr_assert_neq(node_absorb(circle_node(circle, 1)->exchange, entry, &batch), STATUS_OK);
    cr_assert_eq(storage_end(circle_node(circle, 1)->storage), end);
    expect(1, false, false, true);
    batch.targets[0].keyset = 2;
    cr_assert_eq(node_absorb(circle_node(circle, 1)->exchange, entry, &batch), STATUS_OK);
    expect(1, true, false, true);
    close_circle();
}

static bool is_complete(void)
{
    const struct document_entry *entry = document_cache_find(
        &circle_node(circle, JOINER)->documents, 5);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    cr_assert(hosted != NULL && hosted->set != NULL);
    return hosted->set->groups[0].complete == document.epoch;
}

/* No answer about the new keyset comes through. */
static bool lose_new_keyset(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    (void)frame;
    return decoded->kind != FRAME_PULL_REPLY || decoded->body.pull_reply.scope.keyset != 2;
}

Test(node_keysets_meet, who_joins_is_complete_with_all_keysets)
{
    struct slot *slot;

    open_circle();
    add(BEFORE, 0);
    begin();
    add(DURING, 0);
    add(FED, 2);
    circle_run(circle, SECOND);
    circle->spy = lose_new_keyset;
    slot = &document.content.groups[0].slots[2];
    slot->incoming = (struct member){.node = JOINER,
                                     .incarnation = circle_node(circle, JOINER)->life.incarnation};
    hand(0);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(is_complete());
    circle->spy = NULL;
    circle_run(circle, 60 * SECOND);
    cr_assert(is_complete());
    slot->current = slot->incoming;
    slot->incoming = (struct member){0};
    hand(0);
    expect(JOINER, true, true, false);
    commit();
    expect(JOINER, false, true, true);
    close_circle();
}
