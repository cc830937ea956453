/* An imprint of an array stands in for sorted runs at a start: what one is for, when it is taken,
 * and what becomes of it when the disk refuses or is full. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/imprint_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it is for ---- */

Test(node_imprint, a_start_reads_it_and_what_came_later)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        uint64_t before;

        imprint_open_stage(1);
        imprint_add_until_one();
        cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 1, "only the newest");
        cr_assert_gt(node_stage_counter(&imprint_stage, "imprint_bytes"), 0);
        before = imprint_count_of_keys();
        node_stage_end(&imprint_stage, ends[i]);
        cr_assert_eq(node_stage_open(&imprint_stage), 0);
        cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 1);
        cr_assert_lt(node_stage_counter(&imprint_stage, "replayed_keys_total"), IMPRINT_POOL,
                     "the runs were not read");
        cr_assert_eq(imprint_count_of_keys(), before);
        imprint_expect_keys();

        imprint_add_later();
        before = imprint_count_of_keys();
        for (int again = 0; again < 3; again++) {
            node_stage_end(&imprint_stage, ends[i]);
            cr_assert_eq(node_stage_open(&imprint_stage), 0);
            cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 1);
            cr_assert_eq(imprint_count_of_keys(), before);
            imprint_expect_keys();
            imprint_stage.node->storage->config.imprint_bytes = UINT64_MAX;
        }
        imprint_close_stage();
    }
}

Test(node_imprint, a_newer_one_takes_the_place_of_the_one_before)
{
    imprint_open_stage(1);
    imprint_add_until_one();
    for (uint32_t i = 0; i < 100; i++) {
        imprint_add(IMPRINT_POOL + i * IMPRINT_BATCH % IMPRINT_LATER);
    }
    node_stage_settle_long(&imprint_stage);
    imprint_add_until_one();
    node_stage_settle_long(&imprint_stage);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 1);
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 1);
    imprint_expect_keys();
    imprint_close_stage();
}

/* Nothing is added, so no run says that it is time to look. */
Test(node_imprint, when_the_array_is_another_one_there_is_a_new_imprint)
{
    for (int i = 0; i < 3; i++) {
        struct storage_imprint *imprint;

        imprint_open_stage(1);
        imprint_add_until_one();
        imprint = &imprint_stage.node->storage->imprints.items[0];
        imprint->id.generation += i == 0;
        imprint->geometry.seed += i == 1;
        imprint->shards += i == 2;
        for (int seconds = 0; seconds < 60 && imprint_count() < 2; seconds++) {
            imprint_stage.now_us += 1000000;
            node_stage_settle(&imprint_stage);
        }
        cr_assert_eq(imprint_count(), 2);
        node_stage_settle_long(&imprint_stage);
        cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 1);
        imprint_close_stage();
    }
}

Test(node_imprint, small_arrays_have_none)
{
    static const uint64_t sizes[] = {0, 1 << 20};

    for (size_t i = 0; i < 2; i++) {
        imprint_open_stage(sizes[i]);
        for (uint32_t n = 0; n < 100; n++) {
            imprint_add(n * IMPRINT_BATCH % IMPRINT_POOL);
        }
        node_stage_settle_long(&imprint_stage);
        cr_assert_eq(imprint_count(), 0);
        node_stage_end(&imprint_stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_open(&imprint_stage), 0);
        imprint_expect_keys();
        imprint_close_stage();
    }
}

Test(node_imprint, it_goes_when_none_are_wanted_any_more)
{
    imprint_open_stage(1);
    imprint_add_until_one();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    imprint_stage.config.imprint_bytes = 0;
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    imprint_expect_keys();
    imprint_close_stage();
}

Test(node_imprint, of_an_array_with_bits_that_no_record_has_none_is_taken)
{
    imprint_open_stage(1);
    imprint_add(0);
    imprint_array()->strays = true;
    for (uint32_t n = 0; n < 100; n++) {
        imprint_add(n * IMPRINT_BATCH % IMPRINT_POOL);
    }
    node_stage_settle_long(&imprint_stage);
    cr_assert_eq(imprint_count(), 0);
    imprint_close_stage();
}

/* Adds go on while pages are copied: some of their bits are in the pages, some are not. */
Test(node_imprint, keys_added_while_it_is_taken_are_counted_once)
{
    struct subrequest subrequest;
    uint64_t before;
    uint64_t after;
    uint32_t n = 0;

    imprint_open_stage(1);
    imprint_add_runs();
    while (imprint_stage.node->storage->snapshot == NULL) {
        imprint_stage.now_us += 1000000;
        (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
        cr_assert_lt(n++, 10);
    }
    n = (uint32_t)imprint_stage.batches;
    for (uint32_t i = 0; i < 8; i++) {
        subrequest = node_stage_subrequest(&imprint_document, OPERATION_ADD, IMPRINT_BATCH);
        subrequest.batch.number = ++n;
        fake_forget(&imprint_stage.fake);
        node_stage_send(&imprint_stage, &subrequest, 1, imprint_keys + (8 + i) * IMPRINT_BATCH, 5);
        node_stage_turn(&imprint_stage);
        (void)node_stage_run(&imprint_stage, JOB_BACKGROUND); /* a slice */
        cr_assert_not_null(imprint_stage.node->storage->snapshot, "it is still being taken");
    }
    imprint_stage.batches = n;
    imprint_added = IMPRINT_POOL;
    node_stage_settle_long(&imprint_stage);
    cr_assert_geq(imprint_count(), 1);
    before = imprint_count_of_keys();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 1);
    after = imprint_count_of_keys();
    /* 8,000 came meanwhile: within a few square roots of that, where a count at either end would
     * be wrong by half of them. */
    cr_assert(after + 400 > before && after < before + 400, "%u, was %u", (unsigned)after,
              (unsigned)before);
    imprint_expect_keys();
    imprint_close_stage();
}

static void step(void)
{
    node_stage_turn(&imprint_stage);
    (void)node_stage_run(&imprint_stage, JOB_COMMIT);
    (void)node_stage_run(&imprint_stage, JOB_BACKGROUND);
    (void)node_stage_run(&imprint_stage, JOB_MEMORY);
}

static const struct arrays *array_if_any(void)
{
    struct document_entry *entry = document_cache_find(&imprint_stage.node->documents,
                                                       imprint_document.id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    return hosted != NULL ? hosted->set : NULL;
}

static void settle_registered(void)
{
    node_stage_settle(&imprint_stage);
    (void)node_stage_meet(&imprint_stage);
    node_stage_settle(&imprint_stage);
}

/* All but the log was read when memory is short, so it begins with the imprint once more. */
Test(node_imprint, a_replay_that_begins_again_counts_the_same)
{
    uint64_t before;
    bool runs_read = false;

    imprint_open_stage(1);
    imprint_add_until_one();
    imprint_add_later();
    before = imprint_count_of_keys();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    node_stage_start(&imprint_stage);
    for (int steps = 0; !runs_read; steps++) {
        cr_assert_lt(steps, 100000);
        step();
        runs_read = array_if_any() != NULL && array_if_any()->runs_read &&
                    !imprint_stage.node->replay.active;
        if (!runs_read) {
            (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
        }
    }
    for (int steps = 0; imprint_array()->runs_read; steps++) {
        cr_assert_lt(steps, 100000);
        heap_fault_after(0);
        (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
        heap_fault_clear();
    }
    settle_registered();
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 2);
    imprint_expect_keys();
    cr_assert_eq(imprint_count_of_keys(), before);
    imprint_close_stage();
}

/* Some pages were read when its reading ends, and the imprint goes before it begins again. */
Test(node_imprint, of_one_that_is_not_read_to_its_end_nothing_is_missing_in_the_count)
{
    struct storage_load *load;
    uint64_t before;

    imprint_open_stage(1);
    imprint_add_until_one();
    imprint_add_later();
    before = imprint_count_of_keys();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    imprint_stage.config.imprint_bytes = UINT64_MAX;
    node_stage_start(&imprint_stage);
    load = &imprint_stage.node->replay.load;
    for (int steps = 0; !load->imprint || load->npages == 0; steps++) {
        cr_assert_lt(steps, 100000);
        step();
        (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
    }
    cr_assert_not(load->end);
    storage_load_stop(imprint_stage.node->storage, load);
    storage_imprints_forget(imprint_stage.node->storage);
    load->done(load, imprint_stage.now_us, STATUS_NOMEM);
    settle_registered();
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 0);
    imprint_expect_keys();
    cr_assert(imprint_count_of_keys() + 400 > before && imprint_count_of_keys() < before + 400,
              "%u, was %u", (unsigned)imprint_count_of_keys(), (unsigned)before);
    imprint_close_stage();
}

/* ---- while it is taken ---- */

/* The disk fails at any of the operations that take one, then the process ends in either way. */
Test(node_imprint, a_crash_at_any_moment_loses_nothing)
{
    static const enum stage_end ends[] = {STAGE_END_KILL, STAGE_END_POWER};
    bool taken = false;

    for (int64_t operation = 0; !taken; operation++) {
        cr_assert_lt(operation, 400);
        for (size_t i = 0; i < 2; i++) {
            imprint_open_stage(1);
            imprint_add_runs();
            memory_disk_fail_after(imprint_stage.disk, operation);
            node_stage_settle_long(&imprint_stage);
            taken = imprint_count() > 0 && !node_failed(imprint_stage.node);
            node_stage_end(&imprint_stage, ends[i]);
            memory_disk_fail_after(imprint_stage.disk, MEMORY_DISK_NEVER);
            cr_assert_eq(node_stage_open(&imprint_stage), 0);
            cr_assert_eq(node_stage_counter(&imprint_stage, "amnesia_total"), 0);
            imprint_expect_keys();
            imprint_close_stage();
        }
    }
}

Test(node_imprint, without_room_none_is_taken_and_adds_go_on)
{
    imprint_open_stage(1);
    memory_disk_limit(imprint_stage.disk, (uint64_t)24 * STAGE_DISK_SEGMENT_BYTES);
    imprint_stage.config.reserve_bytes = 0;
    imprint_stage.node->storage->config.reserve_bytes = (uint64_t)1 << 40;
    for (uint32_t n = 0; n < 8; n++) {
        imprint_add(n * IMPRINT_BATCH % IMPRINT_POOL);
    }
    node_stage_settle_long(&imprint_stage);
    cr_assert_eq(imprint_count(), 0);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    imprint_expect_keys();
    imprint_close_stage();
}

/* A disk that fails for an imprint only; the log goes on. */
Test(node_imprint, one_that_can_t_be_written_harms_nothing)
{
    for (int64_t operation = 0; operation < 6; operation++) {
        imprint_open_stage(1);
        imprint_add_runs();
        memory_disk_fail_once(imprint_stage.disk, operation, STATUS_IO);
        node_stage_settle_long(&imprint_stage);
        cr_assert_not(node_failed(imprint_stage.node));
        memory_disk_fail_after(imprint_stage.disk, MEMORY_DISK_NEVER);
        imprint_expect_keys();
        imprint_close_stage();
    }
}

/* ---- a disk that refuses something about imprints only ---- */

static struct disk refusing;
static unsigned opens_left;

static bool is_imprint(const char *name)
{
    uint64_t number;

    return imprint_name_parse(name, &number);
}

static enum status refuse_open(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    if (is_imprint(name) && opens_left == 0) {
        return STATUS_IO;
    }
    opens_left -= is_imprint(name);
    return memory_disk_seam(imprint_stage.disk)->open(context, name, file, size);
}

static enum status refuse_remove(void *context, const char *name)
{
    return is_imprint(name) ? STATUS_IO
                            : memory_disk_seam(imprint_stage.disk)->remove(context, name);
}

/* The start's look at it is the first. */
Test(node_imprint, one_that_can_t_be_opened_is_no_loss)
{
    for (unsigned opens = 0; opens < 2; opens++) {
        imprint_open_with_one();
        refusing = *imprint_stage.config.disk;
        refusing.open = refuse_open;
        opens_left = opens;
        imprint_stage.config.disk = &refusing;
        imprint_stage.config.imprint_bytes = UINT64_MAX;
        imprint_expect_refused();
        node_stage_settle_long(&imprint_stage);
        cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
        imprint_close_stage();
    }
}

Test(node_imprint, one_that_can_t_be_removed_harms_nothing)
{
    imprint_open_with_one();
    refusing = *imprint_stage.config.disk;
    refusing.remove = refuse_remove;
    imprint_stage.config.disk = &refusing;
    imprint_stage.config.imprint_bytes = 0;
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    imprint_expect_keys();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    imprint_stage.config.imprint_bytes = UINT64_MAX;
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    storage_imprints_forget(imprint_stage.node->storage);
    node_stage_settle_long(&imprint_stage);
    cr_assert_not(node_failed(imprint_stage.node));
    imprint_expect_keys();
    imprint_close_stage();
}

/* ---- when the disk is full ---- */

static void open_eager(void)
{
    imprint_lines = 1024;
    imprint_open_stage(1);
    imprint_stage.node->storage->config.imprint_eager = true;
    imprint_add_until_one();
}

Test(node_imprint, it_goes_before_adds_lack_room)
{
    open_eager();
    memory_disk_limit(imprint_stage.disk, 0);
    for (uint32_t i = 0; i < 30; i++) { /* Several segments. */
        enum status status = node_stage_add(&imprint_stage, &imprint_document, imprint_keys,
                                            IMPRINT_BATCH);

        cr_assert(status == STATUS_OK || status == STATUS_NO_SPACE);
    }
    node_stage_settle_long(&imprint_stage);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    cr_assert_eq(node_stage_add(&imprint_stage, &imprint_document, imprint_keys, IMPRINT_BATCH),
                 STATUS_OK, "its room is theirs");
    imprint_expect_keys();
    imprint_close_stage();
}

static void begin_one(void)
{
    for (int seconds = 0; imprint_stage.node->storage->snapshot == NULL; seconds++) {
        cr_assert_lt(seconds, 100);
        imprint_stage.now_us += 1000000;
        (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
    }
}

/* Slice after slice, in all moments: it is being copied, waits for the log, or is whole. */
Test(node_imprint, one_that_is_being_taken_goes_before_adds_lack_room)
{
    bool taken = false;

    for (unsigned slices = 0; !taken; slices++) {
        struct storage *storage;

        imprint_open_stage(1);
        imprint_add_runs();
        begin_one();
        storage = imprint_stage.node->storage;
        for (unsigned i = 0; i < slices && storage->snapshot != NULL; i++) {
            (void)node_stage_run(&imprint_stage, JOB_BACKGROUND);
        }
        taken = storage->snapshot == NULL;
        storage_imprints_make_room(storage, imprint_stage.now_us);
        cr_assert_not(storage_snapshot_yield(storage), "once");
        node_stage_settle_long(&imprint_stage);
        cr_assert_eq(imprint_count(), taken);
        cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
        imprint_expect_keys();
        imprint_close_stage();
        cr_assert_lt(slices, 1000);
    }
}

/* Groups came or went when the lane was about to end it. */
Test(node_imprint, one_that_is_whole_and_counts_no_more_goes)
{
    bool taken = false;

    for (unsigned slices = 0; !taken; slices++) {
        struct storage *storage;

        imprint_open_stage(1);
        imprint_add_runs();
        begin_one();
        storage = imprint_stage.node->storage;
        for (unsigned i = 0; i < slices && storage->snapshot != NULL; i++) {
            step();
        }
        taken = storage->snapshot == NULL;
        imprint_array()->hosting += !taken;
        imprint_stage.node->storage->config.imprint_bytes = UINT64_MAX;
        node_stage_settle_long(&imprint_stage);
        cr_assert_eq(imprint_count(), taken);
        cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), taken);
        imprint_close_stage();
        cr_assert_lt(slices, 1000);
    }
}

Test(node_imprint, it_goes_before_a_start_lacks_room)
{
    open_eager();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
    memory_disk_limit(imprint_stage.disk, 0);
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    imprint_expect_keys();
    imprint_close_stage();
}
