/* How fast an imprint of a large array is taken: nothing waits for it, and adds want the disk. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/imprint_stage.h"

#include <criterion/criterion.h>

enum {
    LINES = 16384,     /* of each of 16 shards: 1 MiB */
    LEAST_US = 110000, /* for 15 MiB by 128 MB/s: what is ahead is written at once */
    MOST_US = 130000
};

/* One is being taken, and rests. */
static struct storage *open_resting(void)
{
    struct storage *storage;

    imprint_lines = LINES;
    imprint_open_stage(UINT64_MAX);
    storage = imprint_stage.node->storage;
    imprint_stage.node->steps.most[STEP_SNAPSHOT_PAGES] = 32;
    for (uint32_t n = 0; n < 24; n++) {
        imprint_add(n * IMPRINT_BATCH % IMPRINT_POOL);
    }
    node_stage_settle_long(&imprint_stage);
    storage->config.imprint_bytes = 1;
    storage->config.imprint_eager = true;
    storage->imprints.looked = false;
    for (int seconds = 0; storage->snapshot == NULL; seconds++) {
        cr_assert_lt(seconds, 100);
        imprint_stage.now_us += 1000000;
        node_stage_settle(&imprint_stage);
    }
    cr_assert_gt(storage_next_us(storage), imprint_stage.now_us);
    cr_assert_lt(storage_next_us(storage), imprint_stage.now_us + MOST_US);
    return storage;
}

Test(node_imprint_pace, it_leaves_the_disk_to_others)
{
    struct storage *storage = open_resting();
    uint64_t begun_us = imprint_stage.now_us;

    for (int slices = 0; imprint_count() == 0; slices++) {
        uint64_t next_us = storage_next_us(storage);

        cr_assert_lt(slices, 1000);
        cr_assert_neq(next_us, UINT64_MAX);
        cr_assert_leq(imprint_stage.actor.next_us(imprint_stage.actor.self), next_us,
                      "the node is woken for it");
        imprint_stage.now_us = next_us;
        node_stage_settle(&imprint_stage);
    }
    cr_assert_gt(imprint_stage.now_us - begun_us, LEAST_US);
    cr_assert_lt(imprint_stage.now_us - begun_us, MOST_US);
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 1);
    imprint_expect_keys();
    imprint_close_stage();
}

/* As after a merge, which has the lane for as long as it takes. */
Test(node_imprint_pace, it_does_not_make_up_for_time_lost)
{
    struct storage *storage = open_resting();

    imprint_stage.now_us += 60000000;
    node_stage_settle(&imprint_stage);
    cr_expect_eq(imprint_count(), 0);
    cr_expect_gt(storage_next_us(storage), imprint_stage.now_us);
    cr_expect_lt(storage_next_us(storage), imprint_stage.now_us + MOST_US);
    imprint_close_stage();
}

Test(node_imprint_pace, one_whose_room_is_needed_goes_at_once)
{
    struct storage *storage = open_resting();

    storage_imprints_make_room(storage, imprint_stage.now_us);
    node_stage_settle(&imprint_stage);
    cr_assert_null(storage->snapshot);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    imprint_close_stage();
}

static bool small_image(void *context, const struct storage_set *set, struct storage_image *image)
{
    bool found = node_image(context, set, image);

    image->geometry.lines = 64;
    return found;
}

/* As if the log were kept for a set of bits only, of less than the log has. */
Test(node_imprint_pace, a_snapshot_that_is_due_does_not_wait_for_it)
{
    struct storage *storage = open_resting();
    const struct storage_set set = {.filter_id = imprint_document.id,
                                    .keyset = imprint_array()->keyset,
                                    .slice = imprint_array()->slice};
    uint64_t rests_until_us = storage_next_us(storage);

    storage->config.image = small_image;
    cr_assert_not_null(storage_arrays_put(&storage->arrays, &set, 0));
    storage->arrays.items[0].pending = 0;
    (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
    cr_assert_eq(storage_next_us(storage), UINT64_MAX, "it goes on, before %u",
                 (unsigned)rests_until_us);
    storage_arrays_drop(&storage->arrays, &storage->arrays.items[0]);
    storage->config.image = node_image;
    node_stage_settle(&imprint_stage);
    imprint_close_stage();
}
