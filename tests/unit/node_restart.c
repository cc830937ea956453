/* What a started node knows: all that it acknowledged, from the log's segments and from sorted
 * runs; nothing before it has read them back, and before a coordinator knows of this start. */
#include "base/heap.h"
#include "log/log_writer.h"
#include "proto/signed_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 1000, POOL = 16000, BATCHES = 60, OTHERS = 2000 };

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[POOL + OTHERS];

static void open_with(enum durability durability)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, durability, &document);
    sample_fingerprints(&document, 0, 1, POOL + OTHERS, keys);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static enum status check(void)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_CHECK, 10);
    uint64_t correlation;

    fake_forget(&stage.fake);
    node_stage_send(&stage, &subrequest, 1, keys, 1);
    cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 1);
    return answer.subrequest.status;
}

static void expect_all(uint32_t count)
{
    cr_assert_eq(node_stage_absent(&stage, &document, keys, count), 0);
    cr_assert_gt(node_stage_absent(&stage, &document, keys + POOL, OTHERS), OTHERS / 2,
                 "what was never added is mostly absent");
}

/* Until `count` keys were added, each in order. */
static void add_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i += COUNT) {
        cr_assert_eq(node_stage_add(&stage, &document, keys + i, COUNT), STATUS_OK);
    }
}

/* ---- before it is ready ---- */

Test(node_restart, nothing_is_answered_before_all_is_read_back_and_confirmed)
{
    uint64_t before;

    open_with(DURABILITY_SYNC);
    before = stage.incarnation;
    add_all(COUNT);
    node_stage_end(&stage, STAGE_END_KILL);

    node_stage_start(&stage);
    cr_assert_eq(check(), STATUS_NEED_DOC, "it does not even know its documents");
    node_stage_hand(&stage, &document);
    cr_assert_eq(check(), STATUS_NEED_DOC);
    node_stage_settle(&stage);
    stage.incarnation = before;
    cr_assert_eq(check(), STATUS_NOT_READY, "nobody has confirmed this boot");
    cr_assert_not(node_registered(stage.node));
    cr_assert_eq(node_stage_meet(&stage), 0);
    cr_assert_eq(stage.incarnation, before);
    node_stage_settle(&stage);
    cr_assert_eq(check(), STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_FULL);
    expect_all(COUNT);
    close_stage();
}

/* Confirmed at the earliest, which is when the new boot is in the log, and replaying slowly. */
Test(node_restart, nothing_is_answered_while_the_log_is_replayed)
{
    int stretches = 0;

    open_with(DURABILITY_SYNC);
    add_all(POOL);
    node_stage_settle_long(&stage);
    node_stage_end(&stage, STAGE_END_KILL);
    node_stage_start(&stage);
    cr_assert(node_stage_run(&stage, JOB_BACKGROUND)); /* Recovery. */
    node_stage_turn(&stage);
    cr_assert(node_stage_run(&stage, JOB_COMMIT));
    cr_assert_eq(node_stage_meet(&stage), 0);
    while (check() != STATUS_OK) {
        cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        cr_assert_lt(++stretches, 1000);
        (void)node_stage_run(&stage, JOB_BACKGROUND);
        (void)node_stage_run(&stage, JOB_COMMIT);
    }
    cr_assert_gt(stretches, 1);
    expect_all(POOL);
    close_stage();
}

Test(node_restart, adds_are_refused_while_the_log_is_replayed)
{
    struct subrequest subrequest;
    uint64_t correlation;
    unsigned steps = 0;

    open_with(DURABILITY_SYNC);
    add_all(COUNT);
    node_stage_end(&stage, STAGE_END_KILL);
    node_stage_start(&stage);
    cr_assert(node_stage_run(&stage, JOB_BACKGROUND));
    node_stage_turn(&stage);
    cr_assert(node_stage_run(&stage, JOB_COMMIT));
    cr_assert_eq(node_stage_meet(&stage), 0);
    (void)stage.actor.work(stage.actor.self, stage.now_us); /* The arrays stand, empty. */
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
    do { /* Files for what is urgent are made first. */
        cr_assert_lt(steps++, 10);
        fake_forget(&stage.fake);
        node_stage_turn(&stage);
        (void)node_stage_run(&stage, JOB_BACKGROUND);
        node_stage_send(&stage, &subrequest, 1, keys + COUNT, 5);
        cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 1);
    } while (answer.subrequest.status == STATUS_OVERLOADED);
    cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
    close_stage();
}

/* What filters have in common is not read for each of them. */
Test(node_restart, the_log_is_read_once_however_many_filters_there_are)
{
    enum { FILTERS = 40, ROUNDS = 2 };
    struct filter_document documents[FILTERS];
    uint64_t before;
    uint64_t log_bytes;

    open_with(DURABILITY_SYNC);
    for (uint32_t i = 0; i < FILTERS; i++) {
        node_stage_filter(&stage, 100 + i, DURABILITY_SYNC, &documents[i]);
    }
    stage.config.reserve_bytes = UINT64_MAX / 2; /* Nothing is merged from now on. */
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < FILTERS; i++) {
            cr_assert_eq(node_stage_add(&stage, &documents[i], keys + (size_t)round * COUNT, COUNT),
                         STATUS_OK);
        }
    }
    node_stage_end(&stage, STAGE_END_KILL);
    log_bytes = (uint64_t)node_stage_files(&stage, "log-") * STAGE_DISK_SEGMENT_BYTES;
    before = memory_disk_reads(stage.disk);
    node_stage_start(&stage);
    for (int steps = 0;
         node_stage_counter(&stage, "replayed_keys_total") < FILTERS * ROUNDS * COUNT; steps++) {
        cr_assert_lt(steps, 10000);
        node_stage_turn(&stage);
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        (void)node_stage_run(&stage, JOB_COMMIT);
        (void)node_stage_run(&stage, JOB_BACKGROUND);
    }
    cr_assert_lt(memory_disk_reads(stage.disk) - before, 6 * log_bytes, "%lu of %lu",
                 (unsigned long)(memory_disk_reads(stage.disk) - before), (unsigned long)log_bytes);
    node_stage_settle(&stage);
    (void)node_stage_meet(&stage);
    node_stage_settle(&stage);
    for (uint32_t i = 0; i < FILTERS; i++) {
        cr_assert_eq(node_stage_absent(&stage, &documents[i], keys, ROUNDS * COUNT), 0);
        document_fini(&documents[i]);
    }
    close_stage();
}

/* ---- documents and fences ---- */

Test(node_restart, fences_never_go_back)
{
    struct filter_document old;
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct subrequest subrequest;
        uint64_t correlation;

        open_with(DURABILITY_SYNC);
        node_stage_document(&stage, 5, "filter-5", &document.content.rule, 3, &old);
        old.durability = DURABILITY_SYNC;
        document_epoch_advance(&document);
        node_stage_hand(&stage, &document);
        node_stage_settle(&stage);
        node_stage_end(&stage, ends[i]);

        cr_assert_eq(node_stage_open(&stage), 0);
        node_stage_hand(&stage, &old); /* A router that sleeps. */
        node_stage_settle(&stage);
        subrequest = node_stage_subrequest(&document, OPERATION_CHECK, 10);
        subrequest.epoch--;
        fake_forget(&stage.fake);
        node_stage_send(&stage, &subrequest, 1, keys, 1);
        cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 1);
        cr_assert_eq(answer.subrequest.status, STATUS_STALE);
        cr_assert_eq(answer.subrequest.epoch, document.epoch);
        cr_assert_eq(check(), STATUS_OK, "its document was in the log");
        document_fini(&old);
        close_stage();
    }
}

Test(node_restart, a_newer_revision_is_kept)
{
    struct fake_sent sent;
    struct subrequest subrequest;

    open_with(DURABILITY_SYNC);
    document.revision++;
    document.when_unavailable = WHEN_UNAVAILABLE_MAYBE;
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    subrequest = node_stage_subrequest(&document, OPERATION_CHECK, 1);
    subrequest.epoch = 0; /* Stale: the newest document comes with the answer. */
    fake_forget(&stage.fake);
    node_stage_send(&stage, &subrequest, 1, keys, 1);
    cr_assert(fake_take(&stage.fake, &sent));
    cr_assert_eq(sent.frame.body.node_reply.ndocuments, 1);
    {
        struct filter_document held = {0};

        cr_assert_eq(codec_filter_document_open(sent.frame.body.node_reply.documents[0],
                                                sample_key(), &held),
                     STATUS_OK);
        cr_assert_eq(held.revision, document.revision);
        document_fini(&held);
    }
    close_stage();
}

/* ---- arrays made anew within one boot ---- */

static void give_group(uint32_t from, uint32_t to)
{
    struct slot *slots = document.content.groups[0].slots;

    for (uint32_t i = 0; i < document.content.rule.replicas; i++) {
        if (slots[i].current.node == from) {
            slots[i].current = (struct member){.node = to, .incarnation = stage.incarnation};
        }
    }
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
}

/* Group 0 leaves node 1 and comes back, of a filter on five nodes. */
static void leave_and_come_back(void)
{
    uint32_t other = document_slot_of(&document, 0, 5, 0) < 0 ? 5 : 4;

    give_group(1, other);
    give_group(other, 1);
}

static void open_ring(void)
{
    static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_document(&stage, 5, "ring", &rule, 5, &document);
    document.durability = DURABILITY_SYNC;
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
}

Test(node_restart, arrays_that_are_made_anew_have_what_this_boot_has_logged)
{
    open_ring();
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    leave_and_come_back();
    for (int fences = 0; fences < 2; fences++) {
        cr_assert(node_stage_run(&stage, JOB_COMMIT));
        node_stage_turn(&stage);
    }
    cr_assert_eq(check(), STATUS_NOT_READY);
    node_stage_settle(&stage);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
    close_stage();
}

/* Once and again: what was read back for arrays that are gone says nothing of the next ones. */
Test(node_restart, arrays_that_are_made_anew_have_what_is_in_runs)
{
    enum { HALF = COUNT / 2, ADDS = 30 };

    open_ring();
    for (uint32_t i = 0; i < ADDS; i++) { /* One half is at the log's beginning alone. */
        cr_assert_eq(node_stage_add(&stage, &document, keys + (i > 0 ? HALF : 0), HALF), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    cr_assert_gt(node_stage_counter(&stage, "run_keys"), 0);
    for (int i = 0; i < 3; i++) {
        leave_and_come_back();
        node_stage_settle(&stage);
        cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0, "%d", i);
    }
    close_stage();
}

/* What was appended is in the old arrays, not on disk yet, and will be acknowledged. */
Test(node_restart, arrays_that_are_made_anew_have_what_is_not_written_yet)
{
    struct subrequest subrequest;
    uint64_t correlation;

    open_ring();
    cr_assert_eq(node_stage_add(&stage, &document, keys, 1), STATUS_OK);
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
    subrequest.batch.number = 99;
    fake_forget(&stage.fake);
    node_stage_send(&stage, &subrequest, 1, keys, 5);
    cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 0);
    leave_and_come_back();
    for (int i = 0; i < 100; i++) { /* A disk that hangs, and a background that does not. */
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        (void)node_stage_run(&stage, JOB_BACKGROUND);
        node_stage_turn(&stage);
    }
    cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 0);
    node_stage_settle(&stage);
    cr_assert_eq(node_stage_take(&stage, &answer, &correlation), 1);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
    close_stage();
}

/* Another document in the middle of a replay: the arrays that are there then lack what was read
 * before. */
Test(node_restart, arrays_that_change_while_they_are_filled_are_filled_from_the_start)
{
    for (int steps = 0; steps < 12; steps++) {
        open_ring();
        for (uint32_t i = 0; i < 20; i++) {
            cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
        }
        node_stage_settle_long(&stage);
        cr_assert_gt(node_stage_files(&stage, "run-"), 0);
        node_stage_end(&stage, STAGE_END_KILL);
        node_stage_start(&stage);
        cr_assert(node_stage_run(&stage, JOB_BACKGROUND));
        node_stage_turn(&stage);
        cr_assert(node_stage_run(&stage, JOB_COMMIT));
        cr_assert_eq(node_stage_meet(&stage), 0);
        for (int i = 0; i < steps; i++) {
            (void)stage.actor.work(stage.actor.self, stage.now_us);
            (void)node_stage_run(&stage, JOB_BACKGROUND);
        }
        leave_and_come_back();
        node_stage_settle(&stage);
        cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0, "after %d steps", steps);
        close_stage();
    }
}

/* ---- a crash after every operation on the disk ---- */

/* Adds from a pool of keys, some of them twice, with all that happens in the background; until
 * the disk fails. Which batches were acknowledged is in `done`. */
static unsigned run_history(bool *done)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < BATCHES && !node_failed(stage.node); i++) {
        uint32_t first = i * 7919 % (POOL / COUNT) * COUNT;

        done[i] = node_stage_add(&stage, &document, keys + first, COUNT) == STATUS_OK;
        count += done[i];
        if (i % 16 == 15) {
            stage.now_us += 2000000;
        }
    }
    return count;
}

static void expect_done(const bool *done, const char *when, int64_t operations)
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint32_t first = i * 7919 % (POOL / COUNT) * COUNT;

        if (done[i]) {
            cr_assert_eq(node_stage_absent(&stage, &document, keys + first, COUNT), 0,
                         "%s after %d operations: batch %u is gone", when, (int)operations, i);
        }
    }
}

/* Returns whether the history came to its end before the crash. */
static bool crash_after(int64_t operations, enum durability durability, enum stage_end how)
{
    bool done[BATCHES] = {0};
    uint64_t incarnation;
    bool ended;

    open_with(durability);
    incarnation = stage.incarnation;
    stage.random = (uint64_t)operations;
    memory_disk_fail_after(stage.disk, operations);
    (void)run_history(done);
    ended = !node_failed(stage.node);
    node_stage_end(&stage, how);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(stage.incarnation, incarnation, "after %d operations", (int)operations);
    cr_assert_eq(node_stage_files(&stage, "aside-"), 0);
    expect_done(done, "first start", operations);
    /* What was there is there for good, whatever background work has done since. */
    node_stage_settle_long(&stage);
    node_stage_end(&stage, how);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(stage.incarnation, incarnation);
    expect_done(done, "second start", operations);
    close_stage();
    return ended;
}

static void crash_everywhere(enum durability durability, enum stage_end how)
{
    int64_t operations = 0;

    while (!crash_after(operations, durability, how)) {
        cr_assert_lt(++operations, 5000);
    }
    cr_assert_gt(operations, 200);
}

Test(node_restart, what_was_acknowledged_survives_power_loss_at_any_moment)
{
    crash_everywhere(DURABILITY_SYNC, STAGE_END_POWER);
}

Test(node_restart, what_was_acknowledged_survives_kill_at_any_moment)
{
    crash_everywhere(DURABILITY_OS, STAGE_END_KILL);
}

/* And the history is one that has it all: segments roll, become runs, runs are merged, old
 * segments and runs go. */
Test(node_restart, the_history_merges_and_removes)
{
    bool done[BATCHES] = {0};

    open_with(DURABILITY_SYNC);
    cr_assert_eq(run_history(done), BATCHES);
    node_stage_settle_long(&stage);
    cr_assert_geq(node_stage_counter(&stage, "log_end"), BATCHES * COUNT * 8);
    cr_assert_leq(node_stage_files(&stage, "log-"), 4 + LOG_MAX_KEPT);
    cr_assert_gt(node_stage_counter(&stage, "run_keys"), POOL / 2);
    cr_assert_lt(node_stage_counter(&stage, "runs"), 8);
    close_stage();
}
