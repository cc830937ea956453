/* A disk that stays full while the cluster goes on changing: each change of a filter's epoch is
 * written down before it counts, so there must be room for them without end. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "node/store/view.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 1000, BATCHES = 60, SEGMENT = STAGE_DISK_SEGMENT_BYTES, LONG = 1200, SHORT = 350 };

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[BATCHES * COUNT];
static uint32_t nadded; /* batches */

static enum status add(uint32_t batch)
{
    return node_stage_add(&stage, &document, keys + (size_t)batch * COUNT, COUNT);
}

/* Adds until there is no room for more. */
static void open_full(void)
{
    enum status status;

    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, BATCHES * COUNT, keys);
    memory_disk_limit(stage.disk, 2 * SEGMENT);
    nadded = 0;
    while ((status = add(nadded)) == STATUS_OK) {
        cr_assert_lt(++nadded, BATCHES);
    }
    cr_assert_eq(status, STATUS_NO_SPACE, "%s", status_code(status));
    cr_assert_gt(nadded, 5);
    memory_disk_limit(stage.disk, 0);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static bool check(void)
{
    const struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);
    static struct node_answer answer;

    return node_stage_ask_disk(&stage, &subrequest, keys, &answer) &&
           answer.subrequest.status == STATUS_OK && answer.subrequest.state == REPLICA_FULL;
}

/* Epochs that were answered for, until the node fails or that many have been. */
static uint32_t change(uint32_t most)
{
    uint32_t changes = 0;

    while (changes < most && !node_failed(stage.node)) {
        document_epoch_advance(&document);
        node_stage_hand(&stage, &document);
        node_stage_settle(&stage);
        stage.now_us += 10000;
        if (!check()) {
            cr_assert(node_failed(stage.node), "after %u changes", changes);
            return changes;
        }
        changes++;
    }
    return changes;
}

static void expect_all(uint64_t epoch)
{
    const struct document_entry *entry = document_cache_find(&stage.node->documents, 5);
    const struct hosted_filter *hosted = entry->attachment;

    cr_assert_geq(hosted->fence.epoch, epoch, "a fence went back");
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, nadded * COUNT), 0);
}

Test(node_full_disk, epochs_change_without_end)
{
    unsigned files;

    open_full();
    files = node_stage_files(&stage, "log-");
    cr_assert_eq(change(LONG), LONG);
    cr_assert_gt(node_stage_counter(&stage, "log_bare_total"), 2, "no segment was used up");
    cr_assert_leq(node_stage_files(&stage, "log-"), files);
    cr_assert_eq(add(nadded), STATUS_NO_SPACE);
    expect_all(document.epoch);
    memory_disk_limit(stage.disk, 64 * SEGMENT);
    for (int tries = 0; add(nadded) != STATUS_OK; tries++) {
        cr_assert_lt(tries, 2000);
        stage.now_us += 500000;
    }
    nadded++;
    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0);
    expect_all(document.epoch);
    close_stage();
}

static void note_end(struct storage_read *read, uint64_t now_us, enum status status)
{
    uint64_t *next = read->context;

    (void)now_us;
    cr_assert_eq(status, STATUS_OK);
    cr_assert(read->end);
    cr_assert_eq(read->nbatches, 0);
    *next = read->next;
}

/* Who follows this log is not held up where it has a hole. */
Test(node_full_disk, a_reader_comes_to_the_end_of_a_hole)
{
    const struct storage *storage;
    unsigned holes = 0;

    open_full();
    cr_assert_eq(change(LONG / 4), LONG / 4);
    storage = stage.node->storage;
    for (size_t i = 1; i < storage->nsegments; i++) {
        uint64_t next = 0;
        struct storage_read read = {.log = true,
                                    .from = storage->segments[i - 1].end,
                                    .to = storage->segments[i].first,
                                    .room = COUNT,
                                    .context = &next,
                                    .done = note_end};

        if (read.from < read.to) {
            cr_assert_eq(storage_read(stage.node->storage, &read), STATUS_OK);
            node_stage_settle(&stage);
            cr_assert_eq(next, read.to);
            holes++;
        }
    }
    cr_assert_gt(holes, 0);
    close_stage();
}

/* The segment in front of a hole has gone: `merged`, and cursors of others, are in there. */
Test(node_full_disk, a_hole_in_front_of_the_log_is_no_part_that_is_gone)
{
    const struct storage *storage;
    uint64_t next = 0;
    struct storage_read read = {.log = true, .room = COUNT, .context = &next, .done = note_end};

    open_full();
    cr_assert_eq(change(LONG / 4), LONG / 4);
    memory_disk_limit(stage.disk, UINT64_MAX);
    storage = stage.node->storage;
    for (int i = 0; storage->segments[0].bare == 0; i++) {
        cr_assert_lt(i, 200);
        (void)add(0);
        stage.now_us += 1000000;
        node_stage_settle(&stage);
    }
    read.from = storage->segments[0].first - storage->segments[0].bare;
    read.to = storage->segments[0].first;
    cr_assert_eq(storage_read(stage.node->storage, &read), STATUS_OK);
    node_stage_settle(&stage);
    cr_assert_eq(next, read.to);
    read.from -= 8;
    cr_assert_eq(storage_read(stage.node->storage, &read), STATUS_STALE, "adds were there");
    close_stage();
}

static uint64_t present_segment(void)
{
    const struct storage *storage = stage.node->storage;

    return storage->segments[storage->nsegments - 1].number;
}

/* What a segment repeats of a bare one has been gathered, and the disk has nothing of it yet. */
Test(node_full_disk, a_bare_segment_stays_until_it_is_repeated)
{
    uint64_t incarnation;
    uint64_t epoch = 0;
    uint64_t from;

    open_full();
    incarnation = stage.incarnation;
    from = present_segment();
    while (present_segment() < from + 2) { /* Full, a bare one, another. */
        epoch = document.epoch;
        cr_assert_lt(epoch, LONG);
        node_stage_settle(&stage);
        document_epoch_advance(&document);
        node_stage_hand(&stage, &document);
    }
    for (int i = 0; i < 20; i++) { /* Whatever background work there is comes first. */
        stage.now_us += 1000000;
        do {
            node_stage_turn(&stage);
            (void)stage.actor.work(stage.actor.self, stage.now_us);
        } while (node_stage_run(&stage, JOB_BACKGROUND));
    }
    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(stage.incarnation, incarnation);
    expect_all(epoch);
    close_stage();
}

static void no_step(void *context, uint64_t now_us, enum status status, bool finished,
                    uint64_t bytes)
{
    (void)context;
    (void)now_us;
    (void)status;
    (void)finished;
    (void)bytes;
}

static void settle_seconds(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        stage.now_us += 1000000;
        node_stage_settle(&stage);
    }
}

/* A comparison opens the log's files one by one, long after it has chosen them. */
Test(node_full_disk, a_bare_segment_stays_while_a_cut_may_read_it)
{
    struct storage_view *cut = NULL;
    struct storage_view_config config = {
        .set = {.filter_id = 5, .keyset = 1}, .end = UINT64_MAX, .stepped = no_step};
    uint64_t from;

    open_full();
    from = present_segment();
    while (present_segment() < from + 1) {
        cr_assert_eq(change(1), 1);
    }
    config.shard_bits = document.content.shard_bits;
    config.group_of_shard = document.content.group_of_shard;
    cr_assert_eq(storage_view_open(stage.node->storage, &config, &cut), STATUS_OK);
    while (present_segment() < from + 2) {
        cr_assert_eq(change(1), 1);
    }
    settle_seconds(3);
    cr_assert_eq(node_stage_counter(&stage, "log_bare_total"), 0);
    storage_view_close(&cut);
    settle_seconds(3);
    cr_assert_eq(node_stage_counter(&stage, "log_bare_total"), 1);
    close_stage();
}

/* Starts, too: each begins a segment. */
Test(node_full_disk, so_do_starts)
{
    static const enum stage_end ends[] = {STAGE_END_KILL, STAGE_END_POWER, STAGE_END_CLEAN};
    uint64_t incarnation;

    open_full();
    incarnation = stage.incarnation;
    for (size_t i = 0; i < 30; i++) {
        uint64_t epoch = document.epoch;

        node_stage_end(&stage, ends[i % 3]);
        cr_assert_eq(node_stage_open(&stage), 0, "start %zu", i);
        cr_assert_eq(stage.incarnation, incarnation);
        expect_all(epoch);
        cr_assert_eq(add(nadded), STATUS_NO_SPACE);
        cr_assert_eq(change(i % 4 * 60), i % 4 * 60);
    }
    close_stage();
}

/* Dead at each step of going from one to the other: nothing acknowledged is gone, and it goes on.
 */
static void die_at_each(enum stage_end how)
{
    bool died = true;

    for (int64_t operations = 0; died; operations += 1 + operations / 4) {
        uint64_t incarnation;
        uint64_t epoch;

        open_full();
        incarnation = stage.incarnation;
        stage.random = (uint64_t)operations + 1;
        epoch = document.epoch;
        memory_disk_fail_after(stage.disk, operations);
        epoch += change(SHORT);
        died = node_failed(stage.node);
        node_stage_end(&stage, how);
        cr_assert_eq(node_stage_open(&stage), 0, "dead after %d", (int)operations);
        cr_assert_eq(stage.incarnation, incarnation, "dead after %d", (int)operations);
        expect_all(epoch);
        cr_assert_eq(change(COUNT / 20), COUNT / 20, "dead after %d", (int)operations);
        close_stage();
    }
}

Test(node_full_disk, a_kill_at_any_moment_loses_nothing)
{
    die_at_each(STAGE_END_KILL);
}

Test(node_full_disk, a_power_loss_at_any_moment_loses_nothing)
{
    die_at_each(STAGE_END_POWER);
}
