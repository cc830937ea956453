/* A chain of generations on one node: adds go to the newest, checks read all, and a start has all
 * of them again, however the process before it ended. */
#include "base/heap.h"
#include "node/private.h"
#include "tests/support/chain_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum {
    FILTER = 5,
    BATCH = 1000,
    NPARTS = 8,
    LINES = 128, /* 128 KiB an array: a snapshot after some 20 batches */
    CAPACITY = 8000,
    ROUNDS = 60,
};

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[NPARTS][BATCH];

static void hand(void)
{
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
}

static void make_keys(void)
{
    for (uint32_t part = 0; part < NPARTS; part++) {
        sample_fingerprints(&document, 0, part + 1, BATCH, keys[part]);
    }
}

static void open_stage(void)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_make_filter(&stage, FILTER, DURABILITY_SYNC, &document);
    document_epoch_advance(&document); /* What was signed is not what is handed over. */
    chain_document_start(&document, LINES, CAPACITY);
    hand();
    make_keys();
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void grow(uint64_t capacity)
{
    chain_document_list(&document, LINES, capacity);
    hand();
    chain_document_join(&document);
    hand();
}

/* Returns how many of them it said had been there. */
static uint32_t add(uint32_t part)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_ADD, BATCH);
    uint32_t present = 0;

    subrequest.op.sequence = subrequest.batch.number = ++stage.batches;
    cr_assert(node_stage_ask_disk(&stage, &subrequest, keys[part], &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    for (uint32_t i = 0; i < BATCH; i++) {
        present += (answer.present[i / 64] >> (i % 64) & 1) != 0;
    }
    return present;
}

static void expect(uint32_t part)
{
    cr_assert_eq(node_stage_absent(&stage, &document, keys[part], BATCH), 0, "part %u", part);
}

static void expect_none(uint32_t part)
{
    cr_assert_gt(node_stage_absent(&stage, &document, keys[part], BATCH), BATCH / 2);
}

/* Of the filter, the newest first, then one that stands ready; NULL: there are not so many. */
static struct arrays *set_at(uint32_t at)
{
    const struct document_entry *entry = document_cache_find(&stage.node->documents, FILTER);
    const struct hosted_filter *hosted = entry->attachment;
    struct arrays *set = hosted->set;

    while (at > 0 && set != NULL) {
        set = set->next;
        at--;
    }
    return set;
}

static uint64_t keys_in(uint32_t at)
{
    return set_at(at)->groups[0].keys;
}

static struct replica_report report(uint64_t sample_lines)
{
    const struct document_entry *entry = document_cache_find(&stage.node->documents, FILTER);
    struct replica_report told = {0};

    hosted_report(entry->attachment, &entry->document, 0, sample_lines, &told);
    return told;
}

static void restart(enum stage_end how)
{
    uint64_t incarnation = stage.incarnation;

    node_stage_end(&stage, how);
    (void)node_stage_open(&stage);
    cr_assert_eq(stage.incarnation, incarnation);
}

/* ---- what goes where ---- */

Test(node_chain, adds_go_to_the_newest_and_checks_read_all)
{
    open_stage();
    cr_assert_lt(add(0), 50);
    grow(CAPACITY);
    expect(0);
    expect_none(1);
    cr_assert_lt(add(1), 50);
    cr_assert_lt(keys_in(0), BATCH + 1, "the newest has its own");
    cr_assert_gt(keys_in(0), BATCH - 50);
    cr_assert_lt(keys_in(1), BATCH + 1);
    grow(CAPACITY);
    (void)add(2);
    for (uint32_t part = 0; part < 3; part++) {
        expect(part);
    }
    expect_none(3);
    close_stage();
}

Test(node_chain, what_an_older_one_has_is_a_duplicate_and_stays_there)
{
    open_stage();
    (void)add(0);
    grow(CAPACITY);
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(add(0), BATCH);
    }
    cr_assert_eq(keys_in(0), 0);
    cr_assert_lt(add(1), 50);
    cr_assert_eq(add(1), BATCH);
    cr_assert_eq(add(0), BATCH);
    restart(STAGE_END_KILL);
    cr_assert_leq(keys_in(0), BATCH, "nor does it go there when the log is read back");
    expect(0);
    expect(1);
    close_stage();
}

Test(node_chain, within_a_batch_a_key_is_new_once)
{
    open_stage();
    grow(CAPACITY);
    for (uint32_t i = 1; i < BATCH; i++) {
        keys[0][i] = keys[0][0];
    }
    cr_assert_eq(add(0), BATCH - 1);
    close_stage();
}

/* A restart would not find them. */
Test(node_chain, bits_that_no_log_has_are_no_reason_to_leave_a_key_out)
{
    open_stage();
    (void)add(0);
    grow(CAPACITY);
    set_at(1)->strays = true;
    cr_assert_eq(add(0), BATCH);
    cr_assert_gt(keys_in(0), BATCH - 50);
    close_stage();
}

Test(node_chain, when_the_newest_is_full_what_is_there_is_still_acknowledged)
{
    open_stage();
    (void)add(0);
    grow(64);
    (void)add(1);
    cr_assert(answer.subrequest.at_capacity);
    cr_assert_lt(keys_in(0), 200, "its own capacity counts, whatever the others are for");
    cr_assert_eq(add(0), BATCH);
    cr_assert_not(answer.subrequest.at_capacity);
    grow(CAPACITY);
    (void)add(1);
    cr_assert_not(answer.subrequest.at_capacity);
    expect(1);
    close_stage();
}

/* So that no add waits for memory. */
Test(node_chain, arrays_stand_before_they_are_read)
{
    open_stage();
    (void)add(0);
    cr_assert_eq(report(0).generation, 1);
    chain_document_list(&document, LINES, CAPACITY);
    node_stage_hand(&stage, &document);
    cr_assert_eq(report(0).generation, 1, "they do not stand yet");
    cr_assert_eq(report(0).shards_grown, 0);
    cr_assert_lt(add(1), 50, "and adds go on");
    node_stage_settle(&stage);
    cr_assert_not_null(set_at(1));
    cr_assert_eq(report(0).generation, 11);
    cr_assert_eq(report(0).shards_grown, document_nshards(&document));
    cr_assert_eq(keys_in(1), 0);
    chain_document_join(&document);
    node_stage_hand(&stage, &document);
    cr_assert_eq(set_at(0)->built_shards, document_nshards(&document), "at once");
    (void)add(2);
    cr_assert_gt(keys_in(0), BATCH - 50);
    expect(0);
    expect(1);
    close_stage();
}

Test(node_chain, without_room_the_next_one_is_not_told_to_stand)
{
    open_stage();
    (void)add(0);
    stage.node->config.memory_limit_bytes = stage.node->memory_used_bytes;
    chain_document_list(&document, LINES, CAPACITY);
    hand();
    cr_assert_null(set_at(1));
    cr_assert_eq(report(0).generation, 1);
    cr_assert_eq(report(0).state, REPLICA_FULL);
    (void)add(1);
    stage.node->config.memory_limit_bytes = UINT64_C(1) << 30;
    stage.now_us += 2 * stage.config.sync_interval_us;
    stage.actor.time(stage.actor.self, stage.now_us);
    node_stage_settle(&stage);
    cr_assert_not_null(set_at(1), "tried again");
    cr_assert_eq(report(0).generation, 11);
    close_stage();
}

Test(node_chain, a_report_is_of_all_together)
{
    struct replica_report told;

    open_stage();
    (void)add(0);
    (void)add(1);
    grow(CAPACITY);
    (void)add(2);
    told = report(0);
    cr_assert_gt(told.keys, 3 * BATCH - 100);
    cr_assert_leq(told.keys, 3 * BATCH);
    cr_assert_gt(told.keys_next, BATCH - 50, "those of the newest apart");
    cr_assert_leq(told.keys_next, BATCH);
    cr_assert_eq(told.bytes, 2 * document_nshards(&document) * LINES * LINE_BYTES);
    told = report(1 << 20);
    cr_assert_gt(told.keys, 3 * BATCH - 200, "by bits: %llu", (unsigned long long)told.keys);
    cr_assert_lt(told.keys, 3 * BATCH + 200);
    cr_assert_lt(told.keys_next, BATCH + 100);
    close_stage();
}

/* ---- starts ---- */

static void add_for_long(uint32_t part)
{
    for (int i = 0; i < ROUNDS; i++) {
        (void)add(part);
    }
    node_stage_settle_long(&stage);
}

Test(node_chain, a_start_has_all_generations)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        uint64_t before[3];

        open_stage();
        for (uint32_t part = 0; part < 3; part++) {
            if (part > 0) {
                grow(CAPACITY);
            }
            add_for_long(part);
        }
        cr_assert_geq(node_stage_counter(&stage, "snapshots_total"), 3, "one of each, at least");
        cr_assert_geq(node_stage_files(&stage, "snap-"), 3);
        for (uint32_t at = 0; at < 3; at++) {
            before[at] = keys_in(at);
        }
        for (int again = 0; again < 2; again++) {
            restart(ends[i]);
            for (uint32_t part = 0; part < 3; part++) {
                expect(part);
                cr_assert_eq(keys_in(part), before[part]);
            }
            expect_none(4);
        }
        (void)add(3);
        expect(3);
        close_stage();
    }
}

/* Nothing comes into an older one any more, and yet the log is not kept for it for ever. */
Test(node_chain, the_log_is_cut_behind_older_generations)
{
    enum { MOST_SUBREQUESTS = 24 };

    open_stage();
    (void)add(0);
    grow(CAPACITY);
    cr_assert_eq(node_stage_counter(&stage, "snapshots_total"), 0);
    for (int i = 0; i < 6; i++) {
        add_for_long(1);
    }
    cr_assert_geq(node_stage_files(&stage, "snap-"), 2);
    cr_assert_leq(node_stage_files(&stage, "log-"), MOST_SUBREQUESTS);
    restart(STAGE_END_POWER);
    expect(0);
    expect(1);
    close_stage();
}

/* What no snapshot has yet is in the log, each generation's apart. */
Test(node_chain, a_start_has_all_generations_from_the_log_alone)
{
    open_stage();
    (void)add(0);
    grow(CAPACITY);
    (void)add(1);
    grow(CAPACITY);
    (void)add(2);
    chain_document_list(&document, LINES, CAPACITY);
    hand();
    cr_assert_eq(node_stage_files(&stage, "snap-"), 0);
    restart(STAGE_END_POWER);
    for (uint32_t part = 0; part < 3; part++) {
        expect(part);
    }
    cr_assert_not_null(set_at(3), "and the one to come");
    chain_document_join(&document);
    hand();
    (void)add(3);
    restart(STAGE_END_KILL);
    for (uint32_t part = 0; part < 4; part++) {
        expect(part);
    }
    close_stage();
}

/* Nothing counts before the older ones are read back: what they have would seem absent. */
Test(node_chain, adds_wait_until_all_generations_are_read_back)
{
    struct subrequest subrequest;

    open_stage();
    (void)add(0);
    grow(CAPACITY);
    (void)add(1);
    set_at(1)->loaded = false;
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, 1);
    subrequest.op.sequence = subrequest.batch.number = ++stage.batches;
    node_stage_ask(&stage, &subrequest, 1, keys[0], &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
    set_at(1)->loaded = true;
    cr_assert_eq(add(0), BATCH);
    close_stage();
}
