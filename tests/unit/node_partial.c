/* A replica at its capacity takes a batch in part: under the batch's number, and nobody takes that
 * for the whole. */
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, NBATCHES = 6, PART = 300, MAX_RECORDS = 64 };
static uint64_t keys[NBATCHES][BATCH];

static void open_circle(uint64_t capacity)
{
    make_circle(3);
    document.capacity = document.generations[0].capacity = capacity;
    circle_hand(circle, &document, 0);
    make_keys(keys[0], NBATCHES, BATCH);
}

static void add(uint32_t i, unsigned nodes)
{
    add_to(nodes, i + 1, keys[i], BATCH);
}

static struct document_entry *entry_of(uint32_t id)
{
    return document_cache_find(&circle_node(circle, id)->documents, 5);
}

/* The first keys of batch i + 1, as a node writes them down that has no room for the others. */
static void add_part(uint32_t i, uint32_t id)
{
    struct node *node = circle_node(circle, id);
    const struct record_batch batch = {
        .filter_id = 5,
        .epoch = document.epoch,
        .batch_producer = CIRCLE_ROUTER,
        .batch_number = i + 1,
        .partial = true,
        .ntargets = 1,
        .targets = {{.slice = 0, .keyset = document.content.keysets[0].id}},
        .count = PART,
        .fingerprints = keys[i],
    };
    const struct hosted_filter *hosted = entry_of(id)->attachment;
    uint64_t end;

    cr_assert_eq(storage_add(node->storage, &batch, &end), STATUS_OK);
    hosted_fill(hosted->set, &document, keys[i], PART);
    node_note_batch(node->exchange, entry_of(id), &batch);
}

static size_t logged(uint32_t id, uint32_t i)
{
    return circle_logged(circle, id, &document, keys[i], BATCH);
}

/* Of that number, the last one that node `id` has; how many there are. */
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

Test(node_partial, what_is_taken_in_part_keeps_its_number_and_says_so)
{
    struct record_batch record = {0};

    open_circle(3 * BATCH - PART);
    circle->nodes[0].cut = true;
    add(0, N1);
    add(1, N1);
    cr_assert_eq(records(1, 2, &record), 1);
    cr_assert_not(record.partial);
    add(2, N1);
    cr_assert(circle->reply.at_capacity);
    cr_assert_eq(records(1, 3, &record), 1, "it has no number");
    cr_assert(record.partial);
    cr_assert_gt(record.count, 0);
    cr_assert_lt(record.count, BATCH);
    cr_assert_eq(record.batch_producer, CIRCLE_ROUTER);
    cr_assert_not(record.repaired || record.fed || record.relayed);
    cr_assert(node_batch_named(&record));
    cr_assert_not(node_batch_whole(&record));
    cr_assert_not(node_has_batch(circle_node(circle, 1)->exchange, entry_of(1), &record));
    record.partial = false;
    cr_assert_not(node_has_batch(circle_node(circle, 1)->exchange, entry_of(1), &record),
                  "it believes that it has all of it");
    close_circle();
}

/* A retry of a whole batch under the number of a part is not known either. */
Test(node_partial, a_node_that_has_a_part_fetches_the_whole)
{
    struct record_batch record = {0};

    open_circle(1000000);
    circle_run(circle, 5 * SECOND);
    add(0, N1);
    add_part(0, 3);
    circle_run(circle, 10 * SECOND);
    cr_assert_eq(logged(3, 0), BATCH);
    cr_assert_eq(records(3, 1, &record), 2);
    cr_assert(record.repaired);
    cr_assert_not(record.partial);
    close_circle();
}

Test(node_partial, nor_does_a_restart_take_it_for_the_whole)
{
    open_circle(1000000);
    circle_run(circle, 5 * SECOND);
    circle->nodes[2].cut = true;
    add(0, N1);
    add_part(0, 3);
    circle_run(circle, SECOND);
    circle_stop(circle, 3);
    circle_start(circle, 3);
    circle->nodes[2].cut = false;
    circle_run(circle, 10 * SECOND);
    cr_assert_eq(logged(3, 0), BATCH);
    cr_assert_eq(circle_count(circle, 3, &document, keys[0], BATCH), BATCH);
    close_circle();
}

/* ... and who hears of the part first, of the whole only later. */
Test(node_partial, others_are_not_told_that_it_has_the_batch)
{
    open_circle(1000000);
    circle_run(circle, 5 * SECOND);
    circle->nodes[0].cut = true;
    add(0, N1);
    add_part(0, 3);
    circle_run(circle, 10 * SECOND);
    circle->nodes[0].cut = false;
    circle_run(circle, 10 * SECOND);
    cr_assert_eq(logged(2, 0), BATCH);
    cr_assert_eq(logged(3, 0), BATCH);
    close_circle();
}

/* ---- an older copy of a folder, which reads the others' logs before it counts ---- */

static unsigned held; /* answers of node 2 that node 1 gets later */

static bool hold_node_2(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    struct pull_reply *reply = &decoded->body.pull_reply;
    struct buffer bytes;

    (void)self;
    if (decoded->kind != FRAME_PULL_REPLY || reply->kind != PULL_LOG || frame->from != 2 ||
        held == 0) {
        return true;
    }
    held--;
    reply->status = STATUS_OVERLOADED;
    reply->nbatches = reply->count = 0;
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(decoded, &bytes), STATUS_OK);
    free(frame->bytes);
    frame->bytes = malloc(bytes.size);
    frame->size = bytes.size;
    memcpy(frame->bytes, bytes.data, bytes.size);
    buffer_fini(&bytes);
    return true;
}

/* Acknowledged by nodes 1 and 2; what node 3 took of it reaches node 1's copy first, under the
 * number of all of it. */
Test(node_partial, a_copy_that_is_put_back_does_not_take_a_part_for_the_whole)
{
    struct memory_disk *copy;
    struct record_batch record = {0};

    open_circle(1000000);
    circle_run(circle, 5 * SECOND);
    copy = memory_disk_copy(circle->nodes[0].disk);
    add(0, N1 | N2);
    add_part(0, 3);
    circle_run(circle, SECOND / 2);
    circle_stop(circle, 1);
    memory_disk_destroy(&circle->nodes[0].disk);
    circle->nodes[0].disk = copy;
    held = 2;
    circle->spy = hold_node_2;
    circle_start(circle, 1);
    for (unsigned i = 0; i < 100; i++) {
        int count = circle_count(circle, 1, &document, keys[0], BATCH);

        cr_assert(count == -1 || count == BATCH, "it counts with %d of them", count);
        circle_run(circle, SECOND / 50);
    }
    cr_assert_eq(held, 0);
    cr_assert_eq(circle_count(circle, 1, &document, keys[0], BATCH), BATCH);
    cr_assert_eq(logged(1, 0), BATCH);
    cr_assert_eq(records(1, 1, &record), 2, "the part, flagged, and the whole");
    close_circle();
}

/* What was taken over in part says so, and the add's own message is flagged when it comes. */
Test(node_partial, a_part_is_handed_on_as_one)
{
    struct record_batch record = {0};
    struct memory_disk *copy;

    open_circle(1000000);
    circle_run(circle, 5 * SECOND);
    copy = memory_disk_copy(circle->nodes[0].disk);
    add_part(0, 3);
    circle_run(circle, SECOND / 2);
    circle_stop(circle, 1);
    memory_disk_destroy(&circle->nodes[0].disk);
    circle->nodes[0].disk = copy;
    circle_start(circle, 1);
    circle_run(circle, 2 * SECOND);
    cr_assert_eq(records(1, 1, &record), 1);
    cr_assert(record.partial && record.repaired);
    cr_assert_eq(record.count, PART);
    add(0, N1);
    cr_assert(circle->reply.repeated, "its own doing, for all that is known");
    cr_assert_eq(logged(1, 0), BATCH);
    close_circle();
}
