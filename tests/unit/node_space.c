/* Room on the disk: without it adds are refused before anything is acknowledged, and checks go on;
 * what nobody needs any more goes; and background work leaves what is kept for adds. */
#include "base/heap.h"
#include "log/log_writer.h"
#include "node/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { COUNT = 1000, POOL = 8000, SEGMENT = STAGE_DISK_SEGMENT_BYTES, MAX_ADDS = 200 };

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[STAGE_CAPACITY / 2];

static void open_stage(void)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, STAGE_CAPACITY / 2, keys);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static enum status add(uint32_t batch)
{
    return node_stage_add(&stage, &document, keys + (size_t)batch * COUNT, COUNT);
}

/* Adds of new keys until one is refused; how many were acknowledged. */
static uint32_t fill(enum status *refusal)
{
    uint32_t count = 0;

    *refusal = add(count);
    while (*refusal == STATUS_OK) {
        cr_assert_lt(++count, STAGE_CAPACITY / 2 / COUNT, "the disk never gets full");
        *refusal = add(count);
    }
    return count;
}

/* ---- no room ---- */

Test(node_space, without_room_adds_are_refused_and_checks_go_on)
{
    enum status refusal;
    uint32_t count;

    open_stage();
    memory_disk_limit(stage.disk, 3 * SEGMENT);
    count = fill(&refusal);
    cr_assert_eq(refusal, STATUS_NO_SPACE, "%s", status_code(refusal));
    cr_assert_gt(count, 5);
    cr_assert_not(node_failed(stage.node));
    cr_assert_eq(node_stage_counter(&stage, "no_space_total"), 1);
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(add(count), STATUS_NO_SPACE);
        stage.now_us += 500000;
    }
    cr_assert_eq(node_stage_absent(&stage, &document, keys, count * COUNT), 0);
    cr_assert_geq(node_stage_absent(&stage, &document, keys + (size_t)count * COUNT, COUNT),
                  COUNT - 10, "what was refused has left nothing behind");
    close_stage();
}

Test(node_space, adds_go_on_once_there_is_room)
{
    enum status refusal;
    uint32_t count;
    int tries = 0;

    open_stage();
    memory_disk_limit(stage.disk, 3 * SEGMENT);
    count = fill(&refusal);
    memory_disk_limit(stage.disk, 64 * SEGMENT);
    while (add(count) != STATUS_OK) {
        cr_assert_lt(++tries, 200);
        cr_assert_not(node_failed(stage.node));
        stage.now_us += 500000;
    }
    count++;
    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, count * COUNT), 0);
    close_stage();
}

/* A disk as full as that takes fences still, and a clean end. */
Test(node_space, without_room_fences_are_taken)
{
    enum status refusal;
    uint32_t count;

    open_stage();
    memory_disk_limit(stage.disk, 3 * SEGMENT);
    count = fill(&refusal);
    for (int i = 0; i < 5; i++) {
        document_epoch_advance(&document);
        node_stage_hand(&stage, &document);
        node_stage_settle(&stage);
        cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
    }
    memory_disk_limit(stage.disk, 2 * SEGMENT); /* A start needs a segment. */
    node_stage_end(&stage, STAGE_END_CLEAN);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, count * COUNT), 0);
    close_stage();
}

/* Half-made runs go when their merging lacks room, and it begins anew later. */
Test(node_space, background_work_leaves_the_reserve)
{
    enum status refusal;
    uint32_t count;

    open_stage();
    stage.config.reserve_bytes = (uint64_t)3 * SEGMENT;
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    memory_disk_limit(stage.disk, 4 * SEGMENT);
    count = fill(&refusal);
    cr_assert_gt(count, 4 * 6, "adds take the reserve");
    cr_assert_eq(refusal, STATUS_NO_SPACE);
    cr_assert_eq(node_stage_files(&stage, "run-"), 0);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "run-"), 0);
    memory_disk_limit(stage.disk, 200 * SEGMENT);
    node_stage_settle_long(&stage);
    cr_assert_gt(node_stage_files(&stage, "run-"), 0);
    cr_assert_lt(node_stage_files(&stage, "log-"), 6);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, count * COUNT), 0);
    close_stage();
}

/* What a merge takes itself is not missed in the middle of it. */
Test(node_space, a_merge_with_just_enough_room_ends)
{
    enum { SLACK = 1 << 20 };

    open_stage();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.reserve_bytes = SLACK;
    cr_assert_eq(node_stage_open(&stage), 0);
    memory_disk_limit(stage.disk, SLACK); /* Of the slack: adds, and no merge. */
    for (uint32_t i = 0; i < 15; i++) {
        cr_assert_eq(add(i), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "run-"), 0);
    memory_disk_limit(stage.disk, 2 * SLACK + SEGMENT);
    node_stage_settle_long(&stage);
    cr_assert_gt(node_stage_files(&stage, "run-"), 0);
    close_stage();
}

/* The room goes at any moment of background work: nothing is left of what was under way, the node
 * goes on, and so does the work once there is room. */
Test(node_space, background_work_stops_anywhere_for_room)
{
    for (int64_t operations = 0; operations < 60; operations++) {
        open_stage();
        for (uint32_t i = 0; i < 30; i++) {
            enum status status = add(i);

            if (node_failed(stage.node)) {
                break; /* It was a write of the log, or the removal of a file. */
            }
            cr_assert_eq(status, STATUS_OK);
            if (i == 20) {
                memory_disk_fail_once(stage.disk, operations, STATUS_NO_SPACE);
            }
        }
        if (!node_failed(stage.node)) {
            memory_disk_fail_once(stage.disk, MEMORY_DISK_NEVER, STATUS_NO_SPACE);
            node_stage_settle_long(&stage);
            cr_assert_not(node_failed(stage.node));
            cr_assert_leq(node_stage_files(&stage, "log-"), 4 + LOG_MAX_KEPT);
            cr_assert_eq(node_stage_files(&stage, "run-"), node_stage_counter(&stage, "runs"));
            cr_assert_eq(node_stage_absent(&stage, &document, keys, 30 * COUNT), 0);
        }
        close_stage();
    }
}

/* What the disk holds of the log. */
static uint64_t log_files(void)
{
    return node_stage_files(&stage, "log-") + node_stage_files(&stage, "spare");
}

/* Of the only filter's runs; fractions of a byte are left out. */
static void expect_shares(uint64_t run_bytes)
{
    const struct document_entry *entry = stage.node->documents.by_id[0];
    const struct hosted_filter *hosted = entry->attachment;
    uint64_t sum = 0;

    for (uint32_t group = 0; group < hosted->set->ngroups; group++) {
        sum += node_disk_bytes(stage.node, entry, group);
    }
    cr_assert(run_bytes > 0 && sum <= run_bytes && sum + hosted->set->ngroups >= run_bytes,
              "%lu of %lu", (unsigned long)sum, (unsigned long)run_bytes);
}

/* ---- what is not needed any more ---- */

Test(node_space, repeated_keys_take_no_more_room_in_runs)
{
    char name[DISK_NAME_BYTES];
    uint64_t used;

    open_stage();
    for (uint32_t i = 0; i < MAX_ADDS; i++) {
        cr_assert_eq(add(i % (POOL / COUNT)), STATUS_OK);
        stage.now_us += 100000;
    }
    node_stage_settle_long(&stage);
    cr_assert_geq(node_stage_counter(&stage, "log_end"), (uint64_t)MAX_ADDS * COUNT * 8);
    cr_assert_leq(node_stage_files(&stage, "log-"), 3 + LOG_MAX_KEPT);
    cr_assert_leq(node_stage_files(&stage, "spare"), 1);
    cr_assert_eq(node_stage_counter(&stage, "log_bytes"), SEGMENT * log_files());
    cr_assert_leq(node_stage_counter(&stage, "runs"), 2 * 4);
    cr_assert_leq(node_stage_counter(&stage, "run_keys"), 8 * POOL);
    used = 0;
    for (unsigned i = 0; node_stage_file(&stage, "run-", i, name); i++) {
        used += memory_disk_bytes(stage.disk, name).size;
    }
    cr_assert_leq(used, node_stage_counter(&stage, "run_bytes") * 5 / 4, "files are no larger");
    expect_shares(node_stage_counter(&stage, "run_bytes"));
    close_stage();
}

Test(node_space, merged_segments_are_kept_up_to_retain_bytes)
{
    open_stage();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.retain_bytes = (uint64_t)5 * SEGMENT;
    cr_assert_eq(node_stage_open(&stage), 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(add(i % 8), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    cr_assert_geq(node_stage_files(&stage, "log-"), 6);
    cr_assert_leq(node_stage_files(&stage, "log-"), 8 + LOG_MAX_KEPT);
    close_stage();
}

static void add_at_ease(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(add(i % 8), STATUS_OK, "batch %u", i);
        stage.now_us += 100000;
    }
}

/* What is kept for peers must not be what adds lack. */
Test(node_space, merged_segments_go_when_there_is_no_room)
{
    open_stage();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.retain_bytes = (uint64_t)1000 * SEGMENT;
    memory_disk_limit(stage.disk, 40 * SEGMENT);
    cr_assert_eq(node_stage_open(&stage), 0);
    add_at_ease(80);
    cr_assert_geq(node_stage_files(&stage, "log-"), 10, "they are kept while there is room");
    add_at_ease(420);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, 8 * COUNT), 0);
    close_stage();
}

/* Nodes that follow are some seconds behind, however much that is. */
Test(node_space, what_is_young_is_kept_while_there_is_room)
{
    size_t kept;

    open_stage();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.retain_us = 10000000;
    cr_assert_eq(node_stage_open(&stage), 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(add(i % 8), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    kept = node_stage_files(&stage, "log-");
    cr_assert_geq(kept, 100 * COUNT * 8 / SEGMENT);
    memory_disk_limit(stage.disk, 10 * SEGMENT);
    for (uint32_t i = 0; i < 20; i++) { /* Merging looks at the room. */
        cr_assert_eq(add(i % 8), STATUS_OK);
    }
    node_stage_settle_long(&stage);
    cr_assert_lt(node_stage_files(&stage, "log-"), kept, "files went until there was room");
    close_stage();
}

Test(node_space, what_was_young_goes_when_it_is_old)
{
    open_stage();
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.retain_us = 10000000;
    cr_assert_eq(node_stage_open(&stage), 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(add(i % 8), STATUS_OK);
    }
    for (uint32_t i = 0; i < 8; i++) { /* 24 s: twice the age, and a look at it */
        node_stage_settle_long(&stage);
        cr_assert_eq(node_stage_counter(&stage, "log_bytes"), SEGMENT * log_files());
    }
    cr_assert_eq(node_stage_files(&stage, "spare"), 0, "at rest nothing is kept for growth");
    cr_assert_leq(node_stage_files(&stage, "log-"), 3 + LOG_MAX_KEPT);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, 8 * COUNT), 0);
    close_stage();
}

/* Each start begins a file, however little is written to it. */
Test(node_space, many_starts_do_not_fill_the_disk)
{
    open_stage();
    stage.config.retain_bytes = (uint64_t)2 * SEGMENT;
    for (int i = 0; i < 40; i++) {
        node_stage_end(&stage, i % 2 == 0 ? STAGE_END_KILL : STAGE_END_POWER);
        cr_assert_eq(node_stage_open(&stage), 0);
        cr_assert_eq(add((uint32_t)i % 8), STATUS_OK);
        node_stage_settle_long(&stage);
        cr_assert_leq(node_stage_files(&stage, "log-"), 6);
    }
    cr_assert_eq(node_stage_absent(&stage, &document, keys, 8 * COUNT), 0);
    close_stage();
}

/* ---- dropped filters ---- */

static void drop(struct filter_document *dropped)
{
    document_epoch_advance(dropped);
    dropped->content.state = FILTER_DROPPED;
    node_stage_hand(&stage, dropped);
}

static void add_some(struct filter_document *to, uint32_t batches)
{
    for (uint32_t i = 0; i < batches; i++) {
        cr_assert_eq(node_stage_add(&stage, to, keys + (size_t)(i % 8) * COUNT, COUNT), STATUS_OK);
    }
}

/* Bytes 24 to 32 of a run are its filter. */
static unsigned runs_of(uint64_t filter_id)
{
    char name[DISK_NAME_BYTES];
    unsigned count = 0;

    for (unsigned i = 0; node_stage_file(&stage, "run-", i, name); i++) {
        count += memcmp(memory_disk_bytes(stage.disk, name).data + 24, &filter_id, 8) == 0;
    }
    return count;
}

Test(node_space, a_dropped_filters_data_goes)
{
    struct filter_document other;

    open_stage();
    node_stage_filter(&stage, 6, DURABILITY_SYNC, &other);
    add_some(&other, 20);
    add_some(&document, 20);
    node_stage_settle_long(&stage);
    cr_assert_gt(runs_of(6), 0);
    drop(&other);
    node_stage_settle_long(&stage);
    cr_assert_eq(runs_of(6), 0);
    add_some(&document, 30); /* The segments that it is in become runs, and go. */
    node_stage_settle_long(&stage);
    node_stage_settle_long(&stage);
    cr_assert_eq(runs_of(6), 0);
    cr_assert_gt(runs_of(5), 0);
    cr_assert_eq(node_stage_files(&stage, "run-"), node_stage_counter(&stage, "runs"));
    cr_assert_eq(node_stage_absent(&stage, &document, keys, 8 * COUNT), 0);
    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, 8 * COUNT), 0);
    document_fini(&other);
    close_stage();
}

/* Before the tombstone is durable, a power loss would bring the filter back without its keys. */
Test(node_space, a_dropped_filters_data_stays_until_the_tombstone_is_durable)
{
    unsigned runs;

    open_stage();
    add_some(&document, 20);
    node_stage_settle_long(&stage);
    runs = node_stage_files(&stage, "run-");
    cr_assert_gt(runs, 0);
    drop(&document);
    for (int i = 0; i < 10; i++) { /* A disk that hangs. */
        stage.now_us += 2000000;
        node_stage_turn(&stage);
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        (void)node_stage_run(&stage, JOB_BACKGROUND);
    }
    cr_assert_eq(node_stage_files(&stage, "run-"), runs);
    cr_assert_eq(node_stage_counter(&stage, "runs"), runs);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_counter(&stage, "runs"), 0);
    cr_assert_eq(node_stage_files(&stage, "run-"), 0);
    close_stage();
}

/* ... at any moment of the dropping. */
Test(node_space, a_drop_survives_power_loss_at_any_moment)
{
    for (int64_t operations = 0; operations < 24; operations++) {
        struct filter_document other;

        open_stage();
        node_stage_filter(&stage, 6, DURABILITY_SYNC, &other);
        add_some(&other, 10);
        add_some(&document, 10);
        node_stage_settle_long(&stage);
        memory_disk_fail_after(stage.disk, operations);
        stage.random = (uint64_t)operations;
        drop(&other);
        node_stage_settle_long(&stage);
        node_stage_end(&stage, STAGE_END_POWER);
        cr_assert_eq(node_stage_open(&stage), 0);
        cr_assert_eq(node_stage_files(&stage, "aside-"), 0);
        cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 0);
        cr_assert_eq(node_stage_absent(&stage, &document, keys, 8 * COUNT), 0);
        node_stage_hand(&stage, &other);
        node_stage_settle_long(&stage);
        document_fini(&other);
        close_stage();
    }
}
