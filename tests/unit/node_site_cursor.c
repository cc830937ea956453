/* How far other sites' logs have been applied, as a node keeps it: judged as what it covers is,
 * durable before it is acknowledged, there again after a start, and gone with the incarnation. */
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/log_samples.h"
#include "tests/support/node_folder.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { MOST = 8, ROUTER = 7, MANY = 3000 };

static struct node_stage stage;
static struct filter_document document;
static struct site_cursor_reply reply;
static struct record_site_cursor told[MOST];
static uint64_t keys[MANY];

static void setup(void)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, MANY, keys);
    fake_forget(&stage.fake);
}

static void teardown(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
}

TestSuite(node_site_cursor, .init = setup, .fini = teardown);

static struct record_site_cursor cursor_at(uint64_t offset)
{
    struct record_site_cursor cursor = sample_site_cursor;

    cursor.sources[0].offset = offset;
    return cursor;
}

static uint64_t boot; /* in which alone they may be put; 0: in any */

static void send(const struct record_site_cursor *cursors, size_t count)
{
    struct frame frame = {.kind = FRAME_SITE_CURSOR_REQUEST, .correlation = 3};

    frame.body.site_cursor_request = (struct site_cursor_request){
        .filter_id = document.id,
        .epoch = document.epoch,
        .epoch_hash = document.epoch_hash,
        .put = count > 0,
        .boot = boot,
        .cursors = cursors,
        .ncursors = count,
    };
    fake_request(&stage.actor, stage.now_us, ROUTER, &frame);
}

static bool take(void)
{
    struct fake_sent sent;

    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_SITE_CURSOR_REPLY) {
            reply = sent.frame.body.site_cursor_reply;
            cr_assert_leq(reply.ncursors, MOST);
            for (size_t i = 0; i < reply.ncursors; i++) {
                told[i] = reply.cursors[i];
            }
            return true;
        }
    }
    return false;
}

static enum status put(uint64_t offset)
{
    struct record_site_cursor cursor = cursor_at(offset);

    send(&cursor, 1);
    node_stage_settle(&stage);
    cr_assert(take(), "no answer");
    return reply.status;
}

static size_t get(void)
{
    send(NULL, 0);
    node_stage_settle(&stage);
    cr_assert(take(), "no answer");
    cr_assert_eq(reply.status, STATUS_OK, "%s", status_code(reply.status));
    cr_assert_eq(reply.state, REPLICA_FULL);
    return reply.ncursors;
}

static void expect_offset(uint64_t offset)
{
    cr_assert_eq(get(), 1);
    cr_assert_eq(told[0].sources[0].offset, offset);
    cr_assert_eq(told[0].sources[1].offset, sample_site_cursor.sources[1].offset);
    cr_assert_eq(told[0].site_life.tag, sample_site_cursor.site_life.tag);
    cr_assert_eq(told[0].keyset, sample_site_cursor.keyset);
}

Test(node_site_cursor, it_is_acknowledged_once_it_is_durable)
{
    struct record_site_cursor cursor = cursor_at(104);

    send(&cursor, 1);
    send(&cursor, 1); /* What is there may be under way to the disk. */
    cr_assert_not(take());
    node_stage_turn(&stage);
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    cr_assert_not(take());
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, stage.now_us));
    cr_assert(take());
    cr_assert_eq(reply.status, STATUS_OK);
    cr_assert_eq(reply.state, REPLICA_FULL);
    cr_assert_eq(reply.node_id, 1);
    cr_assert_eq(reply.epoch, document.epoch);
    cr_assert(take());
    expect_offset(104);
}

/* What they cover may be lost with the boot that acknowledged it. */
Test(node_site_cursor, it_is_put_in_the_boot_that_is_named)
{
    boot = stage.node->life.identity.boot;
    cr_assert_eq(put(104), STATUS_OK);
    boot++;
    cr_assert_eq(put(200), STATUS_CONFLICT);
    expect_offset(104);
    boot = 0;
    cr_assert_eq(put(208), STATUS_OK);
}

Test(node_site_cursor, the_highest_stays_and_a_newer_life_voids_it)
{
    struct record_site_cursor newer = cursor_at(8);
    uint64_t end;

    cr_assert_eq(put(104), STATUS_OK);
    end = storage_end(stage.node->storage);
    cr_assert_eq(put(96), STATUS_OK);
    cr_assert_eq(storage_end(stage.node->storage), end, "nothing is new");
    expect_offset(104);
    newer.loss++;
    send(&newer, 1);
    node_stage_settle(&stage);
    cr_assert(take());
    expect_offset(8);
    cr_assert_eq(put(200), STATUS_OK); /* Of before the loss. */
    expect_offset(8);
}

/* Sources, keysets and sites have one each. */
Test(node_site_cursor, each_slot_group_and_site_has_its_own)
{
    struct record_site_cursor some[3] = {cursor_at(8), cursor_at(16), cursor_at(24)};

    some[1].site_group++;
    some[2].site[0]++;
    send(some, 3);
    node_stage_settle(&stage);
    cr_assert(take());
    cr_assert_eq(reply.status, STATUS_OK);
    cr_assert_eq(get(), 3);
}

static void restart(enum stage_end how)
{
    node_stage_end(&stage, how);
    cr_assert_eq(node_stage_open(&stage), 0);
    fake_forget(&stage.fake);
}

Test(node_site_cursor, it_is_there_again_after_any_end)
{
    static const enum stage_end ends[] = {STAGE_END_KILL, STAGE_END_CLEAN, STAGE_END_POWER};

    for (uint64_t i = 0; i < 3; i++) {
        cr_assert_eq(put(104 + 8 * i), STATUS_OK);
        restart(ends[i]);
        expect_offset(104 + 8 * i);
    }
}

/* In a segment that is merged and gone since: a checkpoint has it. */
Test(node_site_cursor, checkpoints_repeat_it)
{
    cr_assert_eq(put(104), STATUS_OK);
    for (unsigned i = 0; i < 12; i++) {
        cr_assert_eq(node_stage_add(&stage, &document, keys, MANY), STATUS_OK);
        node_stage_settle_long(&stage);
    }
    restart(STAGE_END_KILL);
    expect_offset(104);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, MANY), 0);
}

/* What it covers may be what was lost. */
Test(node_site_cursor, another_incarnation_has_none)
{
    cr_assert_eq(put(104), STATUS_OK);
    node_begin_incarnation(stage.node, stage.now_us, AMNESIA_CORRUPT);
    (void)node_stage_meet(&stage);
    node_stage_adopt(&stage, &document);
    fake_forget(&stage.fake);
    cr_assert_eq(get(), 0);
    restart(STAGE_END_KILL);
    cr_assert_eq(get(), 0);
    cr_assert_eq(put(112), STATUS_OK);
    restart(STAGE_END_KILL);
    expect_offset(112);
}

Test(node_site_cursor, it_is_judged_as_what_it_covers)
{
    document.epoch++;
    cr_assert_eq(put(8), STATUS_NEED_DOC);
    document.epoch--;
    document.epoch_hash++;
    cr_assert_eq(put(8), STATUS_CONFLICT);
    document.epoch_hash--;
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    document.epoch--;
    cr_assert_eq(put(8), STATUS_STALE);
    cr_assert_gt(reply.document.size, 0);
    document.epoch++;
    cr_assert_eq(put(8), STATUS_OK);
    document.content.groups[0].slots[0].current.incarnation++;
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    cr_assert_eq(put(16), STATUS_OK, "a replica that joins takes it");
    cr_assert_eq(reply.state, REPLICA_JOINING);
    send(NULL, 0);
    node_stage_settle(&stage);
    cr_assert(take());
    cr_assert_eq(reply.status, STATUS_NOT_READY, "and does not tell");
    cr_assert_eq(reply.ncursors, 0);
}

Test(node_site_cursor, what_no_link_writes_is_refused)
{
    struct record_site_cursor wrong[2] = {cursor_at(8), cursor_at(9)};

    send(wrong, 2);
    node_stage_settle(&stage);
    cr_assert(take());
    cr_assert_eq(reply.status, STATUS_INVALID);
    cr_assert_eq(get(), 0, "nothing of it is kept");
}

/* ---- the container ---- */

Test(node_site_cursor_kept, a_filters_go_with_it, .init = NULL, .fini = NULL)
{
    struct site_cursors kept = {0};
    size_t count;

    for (uint32_t i = 0; i < 30; i++) {
        struct record_site_cursor cursor = cursor_at(8);

        cursor.filter_id = i % 3;
        cursor.group = i % 2;
        cursor.site_group = 30 - i;
        cr_assert_eq(site_cursors_put(&kept, &cursor), STATUS_OK);
        cr_assert_eq(site_cursors_put(&kept, &cursor), STATUS_OK);
    }
    cr_assert_eq(kept.count, 30);
    (void)site_cursors_find(&kept, 1, 1, &count);
    cr_assert_eq(count, 5);
    site_cursors_forget(&kept, 1);
    cr_assert_eq(kept.count, 20);
    (void)site_cursors_find(&kept, 1, 1, &count);
    cr_assert_eq(count, 0);
    (void)site_cursors_find(&kept, 2, 0, &count);
    cr_assert_eq(count, 5);
    site_cursors_fini(&kept);
}
