/* What a node writes of a batch besides its keys comes along to the others: whether it was fed,
 * came from another site, and all that it was written to. */
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 500, NBATCHES = 4, MAX_RECORDS = 64, JOINER = 4 };
enum { ADDED = 1, FED = 2, RELAYED = 3 }; /* batches, by number */

static uint64_t keys[NBATCHES][BATCH];

/* A filter that is being rebuilt: two keysets. */
static void setup(void)
{
    make_circle(4);
    document.content.keysets[0] = (struct keyset){.id = 1, .serving = true};
    document.content.keysets[1] = (struct keyset){.id = 2};
    document.content.nkeysets = 2;
    document.content.last_keyset = 2;
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    make_keys(keys[0], NBATCHES, BATCH);
}

TestSuite(node_batch_kinds, .init = setup, .fini = close_circle);

/* To nodes 1 and 2. */
static void add(uint64_t number, uint32_t keyset)
{
    circle->keyset = keyset;
    for (uint32_t id = 1; id <= 2; id++) {
        cr_assert_eq(circle_add(circle, id, &document, number, keys[number], BATCH), STATUS_OK);
    }
}

/* Of a list that another site is rebuilt from: nobody relays one yet. */
static void add_relayed(void)
{
    struct node *node = circle_node(circle, 1);
    struct document_entry *entry = document_cache_find(&node->documents, 5);
    const struct hosted_filter *hosted = entry->attachment;
    const struct record_batch batch = {
        .filter_id = 5,
        .epoch = document.epoch,
        .batch_producer = 77,
        .batch_number = RELAYED,
        .relayed = true,
        .fed = true,
        .ntargets = 2,
        .targets = {{.keyset = 1}, {.keyset = 2}},
        .count = BATCH,
        .fingerprints = keys[RELAYED],
    };
    uint64_t end;

    cr_assert_eq(storage_add(node->storage, &batch, &end), STATUS_OK);
    for (struct arrays *set = hosted->set; set != NULL; set = set->next) {
        hosted_fill(set, &document, keys[RELAYED], BATCH);
    }
    node_note_batch(node->exchange, entry, &batch);
}

/* The records of that number at node `id`; the first of them. */
static unsigned records(uint32_t id, uint64_t number, struct record_batch *first)
{
    static struct record_batch all[MAX_RECORDS];
    size_t count = circle_batches(circle, id, all, MAX_RECORDS);
    unsigned found = 0;

    for (size_t i = count; i > 0; i--) {
        if (all[i - 1].batch_number == number) {
            *first = all[i - 1];
            found++;
        }
    }
    return found;
}

static void expect_targets(const struct record_batch *batch, bool serving, bool next)
{
    bool found[3] = {false};

    for (uint32_t i = 0; i < batch->ntargets; i++) {
        cr_assert_leq(batch->targets[i].keyset, 2);
        cr_assert_not(found[batch->targets[i].keyset], "twice");
        found[batch->targets[i].keyset] = true;
    }
    cr_assert_eq(found[1], serving);
    cr_assert_eq(found[2], next);
}

Test(node_batch_kinds, a_feed_says_so_and_an_add_does_not)
{
    struct record_batch batch = {0};

    add(ADDED, 0);
    add(FED, 2);
    cr_assert_eq(records(1, ADDED, &batch), 1);
    cr_assert_not(batch.fed || batch.repaired || batch.relayed || batch.partial);
    expect_targets(&batch, true, true);
    cr_assert_eq(records(1, FED, &batch), 1);
    cr_assert(batch.fed);
    cr_assert_not(batch.repaired || batch.relayed || batch.partial);
    expect_targets(&batch, false, true);
}

/* In one record, as it was written; the other keyset's question finds it here. */
static void expect_taken_over(uint32_t id)
{
    struct record_batch batch = {0};

    cr_assert_eq(records(id, ADDED, &batch), 1);
    cr_assert(batch.repaired);
    cr_assert_not(batch.fed || batch.relayed);
    expect_targets(&batch, true, true);
    cr_assert_eq(records(id, FED, &batch), 1);
    cr_assert(batch.repaired && batch.fed);
    cr_assert_not(batch.relayed);
    expect_targets(&batch, false, true);
    cr_assert_eq(records(id, RELAYED, &batch), 1);
    cr_assert(batch.repaired && batch.fed && batch.relayed);
    expect_targets(&batch, true, true);
}

static void expect_all(uint32_t id)
{
    cr_assert_eq(circle_count(circle, id, &document, keys[ADDED], BATCH), BATCH);
    cr_assert_eq(circle_count(circle, id, &document, keys[RELAYED], BATCH), BATCH);
    cr_assert_eq(circle_logged(circle, id, &document, keys[ADDED], BATCH), BATCH);
}

Test(node_batch_kinds, what_a_node_missed_comes_with_all_that_is_said_of_it)
{
    add(ADDED, 0);
    add(FED, 2);
    add_relayed();
    circle_run(circle, 20 * SECOND);
    expect_taken_over(3);
    expect_all(3);
}

/* Read back from its own log, it is what it was, and known. */
Test(node_batch_kinds, a_restart_keeps_what_is_said_of_it)
{
    add(ADDED, 0);
    add(FED, 2);
    add_relayed();
    circle_run(circle, 20 * SECOND);
    circle_stop(circle, 3);
    circle_start(circle, 3);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(circle_counter(circle, 3, NODE_gossip_keys_missed_total), 0);
    expect_taken_over(3);
    expect_all(3);
    document.content.keysets[0] = (struct keyset){.id = 2, .serving = true};
    document.content.nkeysets = 1;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(circle_count(circle, 3, &document, keys[FED], BATCH), BATCH);
    expect_all(3);
}

/* What other nodes brought is not this node's own; what its router brings is, whoever was first. */
Test(node_batch_kinds, what_a_router_adds_is_logged_though_gossip_has_brought_it)
{
    struct record_batch batch = {0};

    add(ADDED, 0);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(records(3, ADDED, &batch), 1);
    circle->keyset = 0;
    cr_assert_eq(circle_add(circle, 3, &document, ADDED, keys[ADDED], BATCH), STATUS_OK);
    cr_assert_eq(records(3, ADDED, &batch), 2);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(records(1, ADDED, &batch), 1);
    cr_assert_not(batch.repaired);
}

/* A keyset that is over is no target any more, whatever the source's log names. */
Test(node_batch_kinds, what_is_over_is_left_out)
{
    struct record_batch batch = {0};

    circle->nodes[2].cut = true;
    add(ADDED, 0);
    add(FED, 2);
    document.content.nkeysets = 1; /* Aborted. */
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle->nodes[2].cut = false;
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(records(3, ADDED, &batch), 1);
    expect_targets(&batch, true, false);
    cr_assert_eq(records(3, FED, &batch), 0);
    cr_assert_eq(circle_count(circle, 3, &document, keys[ADDED], BATCH), BATCH);
}
