/* A filter without key log: its log is cut once a snapshot of its array is durable, and a start has
 * all that was acknowledged from the two; however and whenever the process before it ended. */
#include "base/heap.h"
#include "log/log_writer.h"
#include "proto/signed_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 1000, POOL = 16000, OTHERS = 2000, MOST_SEGMENTS = 12 };

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[POOL + OTHERS];
static uint64_t few_lines; /* of a shard; 0: a page or more, as in all but one test */

static void make(uint64_t id, enum durability durability, struct filter_document *out)
{
    struct buffer bytes;

    node_stage_make_filter(&stage, id, durability, out);
    out->keylog = KEYLOG_OFF;
    if (few_lines > 0) {
        out->generations[0].geometry.lines = few_lines;
    }
    sample_sign(out, sample_key(), &bytes);
    buffer_fini(&bytes);
}

static void open_with(enum durability durability)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    make(5, durability, &document);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    sample_fingerprints(&document, 0, 1, POOL + OTHERS, keys);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void expect_all(uint32_t count)
{
    cr_assert_eq(node_stage_absent(&stage, &document, keys, count), 0);
    cr_assert_gt(node_stage_absent(&stage, &document, keys + POOL, OTHERS), OTHERS / 2,
                 "what was never added is mostly absent");
}

/* Batches of the pool's keys, in turn; each is logged, new or not. */
static void add_batches(unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        cr_assert_eq(node_stage_add(&stage, &document, keys + i * COUNT % POOL, COUNT), STATUS_OK);
    }
}

/* Until a snapshot counts. Returns how many batches that took. */
static unsigned add_until_snapshot(void)
{
    unsigned n = 0;

    while (node_stage_counter(&stage, "snapshots_total") == 0) {
        cr_assert_lt(n, 1000, "there is never a snapshot");
        add_batches(n++, 1);
    }
    return n;
}

static uint64_t keys_reported(void)
{
    struct fake_sent sent;
    uint64_t sum = 0;

    fake_forget(&stage.fake);
    stage.now_us += 2 * stage.config.sync_interval_us;
    stage.actor.time(stage.actor.self, stage.now_us);
    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_SYNC_REQUEST) {
            for (size_t i = 0; i < sent.frame.body.sync_request.nreplicas; i++) {
                sum += sent.frame.body.sync_request.replicas[i].keys;
            }
            return sum;
        }
    }
    cr_assert_fail("no report");
    return 0;
}

/* ---- what is kept ---- */

Test(node_snapshot, the_log_is_cut_and_nothing_is_lost)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        open_with(DURABILITY_SYNC);
        add_batches(0, 300);
        node_stage_settle_long(&stage);
        cr_assert_gt(node_stage_counter(&stage, "snapshots_total"), 1);
        cr_assert_eq(node_stage_files(&stage, "snap-"), 1, "only the newest");
        cr_assert_eq(node_stage_files(&stage, "run-"), 0);
        cr_assert_leq(node_stage_files(&stage, "log-"), MOST_SEGMENTS + 16);
        cr_assert_gt(node_stage_counter(&stage, "snapshot_bytes"), 0);
        node_stage_end(&stage, ends[i]);
        cr_assert_eq(node_stage_open(&stage), 0);
        expect_all(POOL);
        add_batches(0, 40);
        node_stage_end(&stage, ends[i]);
        cr_assert_eq(node_stage_open(&stage), 0);
        expect_all(POOL);
        close_stage();
    }
}

Test(node_snapshot, keys_that_the_kernel_has_survive_a_kill)
{
    open_with(DURABILITY_OS);
    add_batches(0, 10);
    (void)add_until_snapshot();
    add_batches(10, 6);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    expect_all(POOL);
    close_stage();
}

/* A page is all of a shard then, and there is no more of it on disk than in memory. */
Test(node_snapshot, shards_of_a_few_lines_come_back)
{
    few_lines = 21;
    open_with(DURABILITY_SYNC);
    (void)add_until_snapshot();
    add_batches(0, 16);
    cr_assert_leq(node_stage_counter(&stage, "snapshot_bytes"),
                  128 + document_nshards(&document) * (few_lines * LINE_BYTES + 8 + 8 + 16));
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    expect_all(POOL);
    close_stage();
}

/* Adds go on while pages are copied: some of their bits are in the pages, some are not. */
Test(node_snapshot, the_count_of_keys_survives)
{
    uint64_t before;

    open_with(DURABILITY_SYNC);
    (void)add_until_snapshot();
    add_batches(0, 16);
    node_stage_settle(&stage);
    before = keys_reported();
    cr_assert_gt(before, POOL * 9 / 10);
    for (int i = 0; i < 3; i++) {
        node_stage_end(&stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_open(&stage), 0);
        cr_assert_eq(keys_reported(), before);
    }
    close_stage();
}

Test(node_snapshot, keys_added_while_it_is_taken_are_counted_once)
{
    struct subrequest subrequest;
    uint64_t before;
    unsigned n = 0;

    open_with(DURABILITY_SYNC);
    for (; node_stage_files(&stage, "snap-") == 0; n++) { /* Half of it is written now. */
        cr_assert_lt(n, 1000);
        subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
        subrequest.batch.number = n + 1;
        fake_forget(&stage.fake);
        node_stage_send(&stage, &subrequest, 1, keys + n % 8 * COUNT, 5);
        node_stage_turn(&stage);
        (void)node_stage_run(&stage, JOB_COMMIT);
        (void)job_lanes_run(&stage.lanes, JOB_BACKGROUND);
        (void)stage.actor.work(stage.actor.self, stage.now_us); /* While it is with the lane. */
        (void)job_lanes_finish(&stage.lanes, JOB_BACKGROUND, stage.now_us);
    }
    stage.batches = n + 1;
    add_batches(8, 8);
    (void)add_until_snapshot();
    before = keys_reported();
    cr_assert_gt(before, POOL * 9 / 10);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(keys_reported(), before);
    expect_all(POOL);
    close_stage();
}

Test(node_snapshot, nothing_is_answered_before_all_is_read_back)
{
    struct subrequest subrequest;
    uint64_t correlation;
    int steps = 0;

    open_with(DURABILITY_SYNC);
    (void)add_until_snapshot();
    add_batches(0, 16);
    node_stage_end(&stage, STAGE_END_KILL);
    node_stage_start(&stage);
    cr_assert(node_stage_run(&stage, JOB_BACKGROUND)); /* Recovery. */
    node_stage_turn(&stage);
    cr_assert(node_stage_run(&stage, JOB_COMMIT));
    cr_assert_eq(node_stage_meet(&stage), 0);
    subrequest = node_stage_subrequest(&document, OPERATION_CHECK, 10);
    for (;; steps++) {
        cr_assert_lt(steps, 1000);
        fake_forget(&stage.fake);
        node_stage_send(&stage, &subrequest, 1, keys, 1);
        cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 1);
        if (answer.subrequest.status == STATUS_OK) {
            break;
        }
        cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        (void)node_stage_run(&stage, JOB_BACKGROUND);
        (void)node_stage_run(&stage, JOB_COMMIT);
    }
    cr_assert_gt(steps, 1);
    expect_all(POOL);
    close_stage();
}

/* What it has is older than all that others write. */
Test(node_snapshot, a_filter_at_rest_does_not_hold_the_log_back)
{
    struct filter_document busy;

    open_with(DURABILITY_SYNC);
    add_batches(0, 2);
    node_stage_filter(&stage, 6, DURABILITY_SYNC, &busy);
    for (unsigned i = 0; i < 300; i++) {
        cr_assert_eq(node_stage_add(&stage, &busy, keys + i * COUNT % POOL, COUNT), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "snap-"), 1);
    cr_assert_leq(node_stage_files(&stage, "log-"), 4 + LOG_MAX_KEPT);
    cr_assert_gt(node_stage_files(&stage, "run-"), 0);
    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0);
    expect_all(2 * COUNT);
    cr_assert_eq(node_stage_absent(&stage, &busy, keys, POOL), 0);
    document_fini(&busy);
    close_stage();
}

Test(node_snapshot, a_dropped_filter_leaves_nothing)
{
    open_with(DURABILITY_SYNC);
    (void)add_until_snapshot();
    document.content.state = FILTER_DROPPED;
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
    node_stage_settle_long(&stage);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "snap-"), 0);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_settle_long(&stage);
    cr_assert_leq(node_stage_files(&stage, "log-"), 4 + LOG_MAX_KEPT);
    close_stage();
}

Test(node_snapshot, no_room_for_one_refuses_nothing)
{
    open_with(DURABILITY_SYNC);
    add_batches(0, 16);
    memory_disk_limit(stage.disk, 900 << 10);
    for (unsigned i = 0; i < 60; i++) {
        enum status status = node_stage_add(&stage, &document, keys + i * COUNT % POOL, COUNT);

        cr_assert(status == STATUS_OK || status == STATUS_NO_SPACE);
    }
    cr_assert_eq(node_stage_counter(&stage, "snapshots_total"), 0);
    expect_all(POOL);
    memory_disk_limit(stage.disk, UINT64_MAX);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    (void)add_until_snapshot();
    expect_all(POOL);
    close_stage();
}

/* ---- what ends in between ---- */

/* One start on a copy of the folder: dies after so many operations, while a snapshot is taken and
 * published. False: it lived through it. */
static bool die_after(struct memory_disk *folder, int64_t operations, enum stage_end how)
{
    uint64_t incarnation;
    unsigned added = 0;
    bool died;

    node_stage_use_disk(&stage, folder);
    cr_assert_eq(node_stage_open(&stage), 0);
    incarnation = stage.incarnation;
    memory_disk_fail_after(stage.disk, operations);
    while (!node_failed(stage.node) && node_stage_counter(&stage, "snapshots_total") < 1 &&
           added < 15 &&
           node_stage_add(&stage, &document, keys + added * COUNT, COUNT) == STATUS_OK) {
        added++;
    }
    node_stage_settle_long(&stage);
    died = node_failed(stage.node);
    memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
    node_stage_end(&stage, how);
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_SAME, "after %d", (int)operations);
    if (added > 0) {
        cr_assert_eq(node_stage_absent(&stage, &document, keys, added * COUNT), 0, "after %d",
                     (int)operations);
    }
    cr_assert_eq(node_stage_absent(&stage, &document, keys + (size_t)15 * COUNT, COUNT), 0);
    node_stage_settle_long(&stage);
    cr_assert_leq(node_stage_files(&stage, "snap-"), 1, "a leftover stays");
    node_stage_end(&stage, STAGE_END_KILL);
    return died;
}

static void die_everywhere(enum stage_end how)
{
    struct memory_disk *folder;
    struct node_record record;
    unsigned due;
    int died = 0;

    open_with(DURABILITY_SYNC);
    due = add_until_snapshot();
    close_stage();
    open_with(DURABILITY_SYNC);
    cr_assert_gt(due, 17);
    for (unsigned i = 0; i < due - 5; i++) { /* So that the next start takes one soon. */
        cr_assert_eq(node_stage_add(&stage, &document, keys + (size_t)15 * COUNT, COUNT),
                     STATUS_OK);
    }
    node_stage_end(&stage, STAGE_END_KILL);
    record = stage.record;
    folder = node_stage_copy_disk(&stage);
    for (int64_t n = 0;; n++) {
        struct memory_disk *copy;

        cr_assert_lt(n, 400);
        node_stage_use_disk(&stage, folder);
        copy = node_stage_copy_disk(&stage);
        folder = node_stage_copy_disk(&stage);
        stage.record = record;
        if (!die_after(copy, n, how)) {
            break;
        }
        died++;
    }
    cr_assert_gt(died, 20);
    memory_disk_destroy(&folder);
    close_stage();
}

Test(node_snapshot, power_may_fail_at_every_operation_while_one_is_taken)
{
    die_everywhere(STAGE_END_POWER);
}

Test(node_snapshot, it_may_be_killed_at_every_operation_while_one_is_taken)
{
    die_everywhere(STAGE_END_KILL);
}

/* ---- what the disk loses ---- */

static void flip(uint64_t place)
{
    char name[DISK_NAME_BYTES];

    cr_assert(node_stage_file(&stage, "snap-", 0, name));
    memory_disk_flip(stage.disk, name, place * 8);
}

static uint64_t size(void)
{
    char name[DISK_NAME_BYTES];

    cr_assert(node_stage_file(&stage, "snap-", 0, name));
    return memory_disk_bytes(stage.disk, name).size;
}

enum damage { HEADER, FIRST_PAGE, LAST_PAGE, TABLES, GONE, CUT, LOG_GONE, NDAMAGES };

static void do_damage(enum damage damage)
{
    const struct disk *disk = memory_disk_seam(stage.disk);
    char name[DISK_NAME_BYTES];

    switch (damage) {
    case HEADER:
        flip(50);
        break;
    case FIRST_PAGE:
        flip(200);
        break;
    case LAST_PAGE:
        flip(size() - size() / 400);
        break;
    case TABLES:
        flip(size() - 3);
        break;
    case GONE:
        cr_assert(node_stage_file(&stage, "snap-", 0, name));
        cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
        cr_assert_eq(disk->sync_folder(disk->context), STATUS_OK);
        break;
    case CUT:
        cr_assert(node_stage_file(&stage, "snap-", 0, name));
        memory_disk_put(stage.disk, name,
                        span_of(memory_disk_bytes(stage.disk, name).data, (size_t)size() - 1000));
        break;
    case LOG_GONE:
        cr_assert(node_stage_file(&stage, "log-", 0, name));
        cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
        cr_assert_eq(disk->sync_folder(disk->context), STATUS_OK);
        break;
    case NDAMAGES:
        break;
    }
}

Test(node_snapshot, one_that_is_damaged_ends_the_incarnation_once)
{
    for (int damage = 0; damage < NDAMAGES; damage++) {
        uint64_t incarnation;

        open_with(DURABILITY_SYNC);
        (void)add_until_snapshot();
        node_stage_settle_long(&stage);
        add_batches(0, 16);
        incarnation = stage.incarnation;
        node_stage_end(&stage, STAGE_END_KILL);
        do_damage((enum damage)damage);
        cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER, "damage %d", damage);
        node_stage_settle_long(&stage);
        if (damage != LOG_GONE) {
            cr_assert_eq(node_stage_files(&stage, "aside-"), damage != GONE, "damage %d", damage);
        }
        incarnation = stage.incarnation;
        node_stage_adopt(&stage, &document);
        cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
        node_stage_end(&stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_SAME, "damage %d", damage);
        cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
        close_stage();
    }
}
