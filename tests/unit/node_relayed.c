/* Adds that come from another site: written as any, logged as what they are, and never in the place
 * of an add of this site's own. */
#include "base/bits.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 500, NBATCHES = 4, MAX_RECORDS = 64, PART = 200 };
enum { FIRST = 1, SECOND_ONE, THIRD }; /* numbers of batches */

static uint64_t keys[NBATCHES][BATCH];

static void setup(void)
{
    make_circle(3);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    make_keys(keys[0], NBATCHES, BATCH);
}

TestSuite(node_relayed, .init = setup, .fini = close_circle);

/* Batch `number` with the keys of that index, to some nodes. */
static void add(unsigned nodes, uint64_t number, uint32_t index, bool relayed)
{
    circle->relayed = relayed;
    add_to(nodes, number, keys[index], BATCH);
    circle->relayed = false;
}

/* The records of that number at node `id`; the last of them. */
static unsigned records(uint32_t id, uint64_t number, struct record_batch *last)
{
    static struct record_batch all[MAX_RECORDS];
    size_t count = circle_batches(circle, id, all, MAX_RECORDS);
    unsigned found = 0;

    for (size_t i = 0; i < count; i++) {
        if (all[i].batch_number == number) {
            *last = all[i];
            found++;
        }
    }
    return found;
}

/* Node `id` has a record of its own of that batch, and of all of it. */
static void expect_own(uint32_t id, uint64_t number)
{
    struct record_batch batch = {0};

    cr_assert_geq(records(id, number, &batch), 1, "node %u has no record of it", id);
    cr_assert_not(batch.relayed, "what this site has added would not leave it");
    cr_assert_not(batch.repaired || batch.partial);
    cr_assert_eq(batch.count, BATCH);
}

static uint32_t bits_in(const uint64_t *plane)
{
    return (uint32_t)bits_count_either(plane, plane, BATCH);
}

Test(node_relayed, it_is_an_add_and_is_logged_as_relayed)
{
    struct record_batch batch = {0};

    add(N1, FIRST, 0, true);
    cr_assert_eq(circle->reply.state, REPLICA_FULL);
    cr_assert(circle->reply.repeated, "its vote tells how it was before");
    cr_assert_eq(circle->reply.boot, circle_node(circle, 1)->life.identity.boot);
    cr_assert_eq(bits_in(circle->absent), BATCH, "it is accepted");
    cr_assert_eq(records(1, FIRST, &batch), 1);
    cr_assert(batch.relayed);
    cr_assert_not(batch.repaired || batch.fed || batch.partial);
    cr_assert_eq(batch.count, BATCH);
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), BATCH);
    cr_assert_eq(circle_counter(circle, 1, NODE_keys_relayed_total), BATCH);
    cr_assert_eq(circle_counter(circle, 1, NODE_keys_added_total), BATCH);
    add(N1, SECOND_ONE, 1, false);
    cr_assert_not(circle->reply.repeated);
    cr_assert_eq(circle->reply.boot, 0);
    cr_assert_eq(circle_counter(circle, 1, NODE_keys_relayed_total), BATCH);
}

/* Of both keysets while a list is fed. */
Test(node_relayed, it_goes_to_all_keysets)
{
    struct record_batch batch = {0};

    document.content.keysets[0] = (struct keyset){.id = 1, .serving = true};
    document.content.keysets[1] = (struct keyset){.id = 2};
    document.content.nkeysets = 2;
    document.content.last_keyset = 2;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    add(N1, FIRST, 0, true);
    cr_assert_eq(records(1, FIRST, &batch), 1);
    cr_assert(batch.relayed && !batch.fed);
    cr_assert_eq(batch.ntargets, 2);
}

/* The other replicas don't take it for this site's own either. */
Test(node_relayed, gossip_and_a_restart_keep_what_it_is)
{
    struct record_batch batch = {0};

    add(N1 | N2, FIRST, 0, true);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(records(3, FIRST, &batch), 1);
    cr_assert(batch.repaired && batch.relayed);
    circle_stop(circle, 1);
    circle_start(circle, 1);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(records(1, FIRST, &batch), 1);
    cr_assert(batch.relayed && !batch.repaired);
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), BATCH);
    cr_assert_eq(circle_count(circle, 3, &document, keys[0], BATCH), BATCH);
}

Test(node_relayed, an_own_add_of_the_same_keys_is_logged_as_own)
{
    struct record_batch batch = {0};

    add(N1, FIRST, 0, true);
    add(N1, SECOND_ONE, 0, false);
    cr_assert_eq(bits_in(circle->present), BATCH, "they were there");
    expect_own(1, SECOND_ONE);
    cr_assert_eq(records(1, FIRST, &batch), 1);
    cr_assert(batch.relayed, "both are there");
}

Test(node_relayed, an_own_add_of_what_gossip_has_brought_is_logged_as_own)
{
    struct record_batch batch = {0};

    add(N1 | N2, FIRST, 0, true);
    add(N1 | N2, SECOND_ONE, 1, false);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(records(3, FIRST, &batch), 1);
    cr_assert_eq(records(3, SECOND_ONE, &batch), 1);
    cr_assert(batch.repaired);
    add(N3, THIRD, 0, false); /* The keys that were relayed there. */
    expect_own(3, THIRD);
    add(N3, SECOND_ONE, 1, false); /* The very batch. */
    expect_own(3, SECOND_ONE);
}

/* Keys of one batch are the others' or new, as it happens: all of it is own. */
Test(node_relayed, an_own_add_of_some_of_the_keys_is_logged_whole)
{
    uint64_t mixed[BATCH];

    add(N1, FIRST, 0, true);
    memcpy(mixed, keys[0], PART * sizeof *mixed);
    memcpy(mixed + PART, keys[1] + PART, (BATCH - PART) * sizeof *mixed);
    add_to(N1, SECOND_ONE, mixed, BATCH);
    expect_own(1, SECOND_ONE);
}

/* A link that was killed sends again what it may have sent. */
Test(node_relayed, a_repeat_does_no_harm)
{
    uint64_t had;

    add(N1, FIRST, 0, true);
    had = group_of(1)->keys;
    add(N1, FIRST, 0, true);
    cr_assert_eq(circle->reply.status, STATUS_OK);
    cr_assert_eq(bits_in(circle->present), BATCH, "acknowledged");
    add(N1, SECOND_ONE, 0, true);
    cr_assert_eq(bits_in(circle->present), BATCH, "acknowledged");
    cr_assert(circle->reply.repeated);
    cr_assert_eq(group_of(1)->keys, had, "they count once");
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), BATCH);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(circle_count(circle, 3, &document, keys[0], BATCH), BATCH);
}

/* They come by the million, and nobody retries them to hear the same. */
Test(node_relayed, their_votes_take_no_memory_of_clients_adds)
{
    uint64_t kept;

    add(N1, FIRST, 0, false);
    kept = circle_counter(circle, 1, NODE_recent_adds_bytes);
    add(N1, SECOND_ONE, 1, true);
    add(N1, FIRST, 0, false); /* The client's retry hears what it was told, */
    cr_assert_eq(bits_in(circle->absent), BATCH);
    cr_assert_eq(circle_counter(circle, 1, NODE_recent_adds_bytes), kept);
    add(N1, THIRD, 1, false); /* and one who comes later that it was there. */
    cr_assert_eq(bits_in(circle->present), BATCH);
    cr_assert_not(circle->reply.repeated);
}

/* Room is kept to as for any add: in part, or not at all; what was there is own if it is added. */
Test(node_relayed, a_full_replica_takes_no_more_than_of_any_add)
{
    struct record_batch batch = {0};

    circle_run(circle, SECOND);
    document.capacity = document.generations[0].capacity = 2 * BATCH - PART;
    document.generations[0].id++;
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    add(N1, FIRST, 0, true);
    add(N1, SECOND_ONE, 1, true);
    cr_assert(circle->reply.at_capacity);
    cr_assert_eq(records(1, SECOND_ONE, &batch), 1);
    cr_assert(batch.relayed && batch.partial);
    cr_assert_lt(batch.count, BATCH);
    add(N1, THIRD, 0, false);
    cr_assert_not(circle->reply.at_capacity);
    expect_own(1, THIRD);
}
