/* How much of the log is kept for other sites: what the slowest has not taken, up to site_retain;
 * and from a place that is not kept nobody goes on. */
#include "base/heap.h"
#include "map/site_tail.h"
#include "node/private.h"
#include "node/store/merge.h"
#include "node/store/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum {
    COUNT = 1000,
    POOL = 80000,
    SEGMENT = STAGE_DISK_SEGMENT_BYTES,
    HELD = 10, /* files that may be kept for sites */
    MANY = 24, /* files that adds make */
};

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[POOL];
static struct fake_sent sent; /* the answer */
static uint32_t nadded;

static void open_stage(uint64_t site_retain_bytes)
{
    node_stage_init_disk(&stage);
    stage.config.retain_bytes = 0;
    stage.config.site_retain_bytes = site_retain_bytes;
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, POOL, keys);
    nadded = 0;
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static uint64_t first_kept(void)
{
    return stage.node->storage->segments[0].first;
}

static void add_segments(size_t count)
{
    uint64_t segment = log_writer_segment(stage.node->storage->writer);

    while (log_writer_segment(stage.node->storage->writer) < segment + count) {
        const uint64_t *batch = keys + (size_t)(nadded++ % (POOL / COUNT)) * COUNT;

        cr_assert_eq(node_stage_add(&stage, &document, batch, COUNT), STATUS_OK);
    }
    node_stage_settle(&stage);
}

/* A link asks from there on, and says how far site 1 is. */
static const struct site_tail_reply *ask(uint64_t from, uint64_t taken)
{
    const struct site_tail_filter followed = {5, document.epoch, document.epoch_hash};
    const struct site_taken one = {1, 1, taken};
    const struct frame frame = {
        .correlation = 7,
        .kind = FRAME_SITE_TAIL_REQUEST,
        .body.site_tail_request =
            {
                .source = {stage.node->life.id, stage.node->life.incarnation},
                .boot = stage.node->life.identity.boot,
                .from = from,
                .max_bytes = 1 << 16,
                .list = site_tail_list(&followed, 1),
                .filters = &followed,
                .nfilters = 1,
                .taken = &one,
                .ntaken = 1,
            },
    };

    fake_forget(&stage.fake);
    fake_request(&stage.actor, stage.now_us, 9, &frame);
    node_stage_settle(&stage);
    do {
        cr_assert(fake_take(&stage.fake, &sent), "no answer");
    } while (sent.frame.kind != FRAME_SITE_TAIL_REPLY);
    return &sent.frame.body.site_tail_reply;
}

Test(node_tail_retain, without_a_word_of_sites_nothing_is_kept_for_them)
{
    open_stage(HELD * SEGMENT);
    add_segments(MANY);
    cr_assert_leq(stage.node->storage->nsegments, 4);
    close_stage();
}

Test(node_tail_retain, what_a_site_has_not_taken_is_kept)
{
    uint64_t from;

    open_stage(HELD * SEGMENT);
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    add_segments(HELD - 2);
    cr_assert_leq(first_kept(), from);
    cr_assert_eq(node_tail_untaken(stage.node->exchange), storage_end(stage.node->storage) - from);
    cr_assert_gt(ask(from, from)->nrecords, 0);
    /* It has it: then it may go. */
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    add_segments(2);
    cr_assert_leq(stage.node->storage->nsegments, 5);
    close_stage();
}

Test(node_tail_retain, beyond_the_bound_it_goes_and_the_sites_are_to_be_compared)
{
    uint64_t from;

    open_stage(HELD * SEGMENT);
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    add_segments(MANY);
    cr_assert_gt(first_kept(), from);
    cr_assert_geq(stage.node->storage->nsegments, HELD - 1, "as much as may be kept is");
    cr_assert_leq(stage.node->storage->nsegments, HELD + 3);
    cr_assert_eq(ask(from, from)->status, STATUS_STALE);
    cr_assert_not_null(strstr(sent.frame.body.site_tail_reply.message, "site_retain"));
    cr_assert_eq(sent.frame.body.site_tail_reply.nrecords, 0);
    close_stage();
}

Test(node_tail_retain, a_site_that_has_left_holds_nothing)
{
    uint64_t from;

    open_stage(HELD * SEGMENT);
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    cr_assert_eq(ask(from, UINT64_MAX)->status, STATUS_OK);
    add_segments(MANY);
    cr_assert_leq(stage.node->storage->nsegments, 4);
    close_stage();
}

Test(node_tail_retain, none_is_kept_where_the_option_says_so)
{
    uint64_t from;

    open_stage(0);
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    add_segments(MANY);
    cr_assert_leq(stage.node->storage->nsegments, 4);
    close_stage();
}

/* Adds come first: there is room for them and for merging, and not plenty. */
Test(node_tail_retain, a_disk_without_plenty_of_room_keeps_none)
{
    uint64_t from;

    open_stage(HELD * SEGMENT);
    memory_disk_limit(stage.disk, MERGE_SLACK_BYTES + 15 * SEGMENT);
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    add_segments(HELD - 2);
    cr_assert_leq(stage.node->storage->nsegments, 5);
    cr_assert_gt(first_kept(), from);
    close_stage();
}

/* After a start nobody knows what was told. */
Test(node_tail_retain, after_a_restart_it_is_not_known)
{
    uint64_t from;

    open_stage(HELD * SEGMENT);
    from = storage_synced(stage.node->storage);
    cr_assert_eq(ask(from, from)->status, STATUS_OK);
    add_segments(HELD - 4);
    node_stage_end(&stage, STAGE_END_CLEAN);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_tail_untaken(stage.node->exchange), 0);
    add_segments(MANY);
    cr_assert_leq(stage.node->storage->nsegments, 4);
    close_stage();
}
