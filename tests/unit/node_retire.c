/* What goes from the disk goes after what takes its place is durable: a power loss in between must
 * find one of the two. Background work lacks room until there is plenty to do; then it goes on as
 * far as it can, while the log's commits are held back, as by a disk that is slow to sync. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "proto/signed_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum {
    COUNT = 1000,
    POOL = 90000,
    RESERVE = 1 << 30,
    MANY_SEGMENTS = 6,
    MERGED_AT_ONCE = 8,     /* runs of a tier */
    SNAPSHOT_BATCHES = 300, /* more of the log than the array takes */
    SECONDS = 20
};

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[POOL];
static uint32_t nadded; /* batches, of the pool's keys in turn */

/* Adds may use the reserve, and background work may not. */
static void stop_background(void)
{
    memory_disk_limit(stage.disk, RESERVE / 2);
}

static void allow_background(void)
{
    memory_disk_limit(stage.disk, UINT64_MAX);
}

static void open_with(enum keylog keylog)
{
    struct buffer bytes;

    node_stage_init_disk(&stage);
    stage.config.reserve_bytes = RESERVE;
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_make_filter(&stage, 5, DURABILITY_SYNC, &document);
    document.keylog = keylog;
    sample_sign(&document, sample_key(), &bytes);
    buffer_fini(&bytes);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    sample_fingerprints(&document, 0, 1, POOL, keys);
    nadded = 0;
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static const struct storage *storage(void)
{
    return stage.node->storage;
}

static void add(void)
{
    const uint64_t *batch = keys + (size_t)(nadded++ % (POOL / COUNT)) * COUNT;

    cr_assert_eq(node_stage_add(&stage, &document, batch, COUNT), STATUS_OK);
}

static void add_segments(size_t count)
{
    size_t before = storage()->nsegments;

    while (storage()->nsegments < before + count) {
        add();
    }
}

/* Whatever there is to do, also what waits for its second; and nothing of the log is written. */
static void work_without_commits(void)
{
    for (int i = 0; i < SECONDS; i++) {
        stage.now_us += 1000000;
        do {
            node_stage_turn(&stage);
            (void)stage.actor.work(stage.actor.self, stage.now_us);
        } while (node_stage_run(&stage, JOB_BACKGROUND));
    }
}

static void expect_all_after_power_loss(void)
{
    uint64_t incarnation = stage.incarnation;

    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0, "something that counts is gone");
    cr_assert_eq(stage.incarnation, incarnation);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, nadded * COUNT), 0);
}

Test(node_retire, segments_stay_until_their_runs_durably_count)
{
    unsigned files;

    open_with(KEYLOG_ON);
    stop_background();
    add_segments(MANY_SEGMENTS);
    files = node_stage_files(&stage, "log-");
    cr_assert_eq(node_stage_files(&stage, "run-"), 0);
    allow_background();
    work_without_commits();
    cr_assert_geq(node_stage_files(&stage, "run-"), MANY_SEGMENTS);
    cr_assert_eq(node_stage_files(&stage, "log-"), files);
    expect_all_after_power_loss();
    node_stage_settle_long(&stage);
    cr_assert_lt(node_stage_files(&stage, "log-"), files, "once they count");
    close_stage();
}

/* Of the last segments runs are made first: the eighth, at least. */
Test(node_retire, runs_stay_until_what_they_became_durably_counts)
{
    open_with(KEYLOG_ON);
    while (storage()->nruns < MERGED_AT_ONCE - 1) {
        add();
    }
    stop_background();
    add_segments(1);
    allow_background();
    cr_assert_eq(node_stage_files(&stage, "run-"), MERGED_AT_ONCE - 1);
    work_without_commits();
    cr_assert_eq(storage()->nruns, 1);
    cr_assert_gt(node_stage_files(&stage, "run-"), MERGED_AT_ONCE, "those and the one");
    expect_all_after_power_loss();
    node_stage_settle_long(&stage);
    cr_assert_lt(node_stage_files(&stage, "run-"), MERGED_AT_ONCE, "once it counts");
    close_stage();
}

/* Commits go on until a snapshot more is named, and its name is in none of them. */
static void add_until_snapshot(void)
{
    uint64_t before = storage()->snapshots_written;

    stop_background();
    for (int i = 0; i < SNAPSHOT_BATCHES; i++) {
        add();
    }
    allow_background();
    stage.now_us += 1000000;
    for (int i = 0; storage()->snapshots_written == before; i++) {
        cr_assert_lt(i, 1000, "there is never a snapshot");
        node_stage_turn(&stage);
        if (!node_stage_run(&stage, JOB_COMMIT)) {
            (void)stage.actor.work(stage.actor.self, stage.now_us);
            (void)node_stage_run(&stage, JOB_BACKGROUND);
        }
    }
}

Test(node_retire, a_snapshot_stays_until_the_next_one_durably_counts)
{
    open_with(KEYLOG_OFF);
    add_until_snapshot();
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "snap-"), 1);
    add_until_snapshot();
    nadded = POOL / COUNT;
    work_without_commits();
    cr_assert_eq(node_stage_files(&stage, "snap-"), 2);
    expect_all_after_power_loss();
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "snap-"), 1, "once it counts");
    close_stage();
}
