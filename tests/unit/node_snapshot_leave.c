/* A filter without key log, of which the node gives up a slot group and gets it back: what it had
 * of that group is read back from the old snapshot, or the log behind it, and is not logged again.
 * So no snapshot that was begun without the group may take their place any more. */
#include "base/heap.h"
#include "proto/signed_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 1000, BATCHES = 8, POOL = COUNT * BATCHES, LEFT = 0, KEPT = 1, OTHER_NODE = 9 };

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[2][POOL];

/* The shards in two groups, both on the same nodes. */
static void split(void)
{
    struct epoch_content *content = &document.content;
    struct slot_group *groups = heap_zalloc(2, sizeof *groups);

    cr_assert(groups != NULL && content->ngroups == 1);
    groups[LEFT] = groups[KEPT] = content->groups[0];
    heap_free(content->groups);
    content->groups = groups;
    content->ngroups = 2;
    for (uint32_t shard = 0; shard < document_nshards(&document); shard++) {
        content->group_of_shard[shard] = (uint16_t)(shard % 2);
    }
}

static void open_split(void)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_make_filter(&stage, 5, DURABILITY_SYNC, &document);
    document.keylog = KEYLOG_OFF;
    split();
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    for (uint32_t group = 0; group < 2; group++) {
        sample_fingerprints(&document, group, group + 1, POOL, keys[group]);
    }
}

static struct subrequest subrequest_of(enum operation operation, uint32_t group)
{
    struct subrequest subrequest = node_stage_subrequest(&document, operation, COUNT);

    subrequest.group = group;
    subrequest.batch.number = operation == OPERATION_ADD ? ++stage.batches : 0;
    subrequest.op.sequence = ++stage.batches;
    return subrequest;
}

static void add(uint32_t group, unsigned batch)
{
    struct subrequest subrequest = subrequest_of(OPERATION_ADD, group);
    struct node_answer answer;

    cr_assert(
        node_stage_ask_disk(&stage, &subrequest, keys[group] + batch % BATCHES * COUNT, &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
}

static uint32_t count_present(uint32_t group)
{
    uint32_t present = 0;

    for (uint32_t batch = 0; batch < BATCHES; batch++) {
        struct subrequest subrequest = subrequest_of(OPERATION_CHECK, group);
        struct node_answer answer;

        cr_assert(node_stage_ask_disk(&stage, &subrequest, keys[group] + batch * COUNT, &answer));
        cr_assert_eq(answer.subrequest.status, STATUS_OK);
        for (uint32_t i = 0; i < (COUNT + 63) / 64; i++) {
            present += (uint32_t)__builtin_popcountll(answer.present[i]);
        }
    }
    return present;
}

static void move(uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < document.content.rule.replicas; i++) {
        struct member *member = &document.content.groups[LEFT].slots[i].current;

        if (member->node == from) {
            *member = (struct member){.node = to,
                                      .incarnation = to == 1 ? stage.incarnation : 0x77};
        }
    }
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
}

/* A snapshot is in its file, without that group, and the node has not heard of that yet. */
static void write_snapshot(void)
{
    for (unsigned n = 0;; n++) {
        struct subrequest subrequest = subrequest_of(OPERATION_ADD, KEPT);

        cr_assert_lt(n, 2000, "there is never a snapshot");
        node_stage_send(&stage, &subrequest, 1, keys[KEPT] + n % BATCHES * COUNT, 5);
        node_stage_turn(&stage);
        (void)node_stage_run(&stage, JOB_COMMIT);
        (void)job_lanes_run(&stage.lanes, JOB_BACKGROUND);
        if (node_stage_files(&stage, "snap-") > 0) {
            return;
        }
        (void)stage.actor.work(stage.actor.self, stage.now_us);
        (void)job_lanes_finish(&stage.lanes, JOB_BACKGROUND, stage.now_us);
    }
}

Test(node_snapshot_leave, a_snapshot_without_a_group_that_came_back_does_not_count)
{
    open_split();
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        add(LEFT, batch);
        add(KEPT, batch);
    }
    node_stage_settle(&stage);
    move(1, OTHER_NODE);
    node_stage_turn(&stage);
    write_snapshot();
    cr_assert_eq(node_stage_counter(&stage, "snapshots_total"), 0, "it does not count yet");
    move(OTHER_NODE, 1);
    node_stage_settle_long(&stage);
    cr_assert_eq(count_present(LEFT), POOL, "read back from the log");
    node_stage_settle_long(&stage);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(count_present(LEFT), POOL, "and still there after a restart");
    cr_assert_eq(count_present(KEPT), POOL);
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}
