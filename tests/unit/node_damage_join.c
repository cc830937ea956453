/* What a node has lost while it runs it takes over anew, also what it remembers that it once had.
 */
#include "tests/support/sample_cluster.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, ALONE = 100, ALL = 40, KEYS_PLACE = 4096 };

static uint64_t keys[ALONE + ALL][BATCH];

static void add(uint32_t batch, uint32_t id)
{
    cr_assert_eq(circle_add(circle, id, &document, batch + 1, keys[batch], BATCH), STATUS_OK);
}

/* Node 1 has more in its log, so that a part of what all have is in its sorted run, and in the
 * logs of the others. */
static void open_circle(void)
{
    make_circle(3);
    circle_hand(circle, &document, 0);
    circle->nodes[0].cut = true;
    for (uint32_t i = 0; i < ALONE + ALL; i++) {
        sample_fingerprints(&document, 0, i + 1, BATCH, keys[i]);
        add(i, 1);
        if (i >= ALONE) {
            add(i, 2);
            add(i, 3);
        }
    }
    circle_run(circle, SECOND);
}

static void looked(struct storage_read *read, uint64_t now_us, enum status status)
{
    (void)now_us;
    cr_assert_eq(status, STATUS_STALE);
    *(bool *)read->context = true;
}

/* A bit of its only run changes, and somebody reads it. */
static void damage_run(void)
{
    const struct storage_set set = {.filter_id = document.id,
                                    .keyset = document.content.keysets[0].id};
    bool done = false;
    struct storage_read read = {
        .set = set, .to = UINT64_MAX, .room = BATCH, .context = &done, .done = looked};

    cr_assert_eq(storage_usage(circle_node(circle, 1)->storage).nruns, 1);
    memory_disk_flip(circle->nodes[0].disk, "run-0000000000000001", KEYS_PLACE * 8);
    cr_assert_eq(storage_read(circle_node(circle, 1)->storage, &read), STATUS_OK);
    circle_run(circle, SECOND);
    cr_assert(done);
    cr_assert_eq(circle_counter(circle, 1, NODE_amnesia_total), 1);
}

/* The slot becomes a pair of what node 1 was and what it is. */
static void take_back(void)
{
    document.content.groups[0].slots[0].incoming = (struct member){
        .node = 1, .incarnation = circle_node(circle, 1)->life.incarnation};
    document_epoch_advance(&document);
    circle->nodes[0].cut = false;
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(group_of(1)->complete, document.epoch);
}

Test(node_damage_join, what_was_lost_is_taken_over_although_it_was_here_once)
{
    open_circle();
    damage_run();
    take_back();
    for (uint32_t i = ALONE; i < ALONE + ALL; i++) {
        cr_assert_eq(circle_logged(circle, 1, &document, keys[i], BATCH), BATCH,
                     "batch %u is not in its log", i + 1);
    }
    circle_fini(circle);
    document_fini(&document);
    free(circle);
}
