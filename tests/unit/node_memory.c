/* Memory that runs out at any moment of a start, an add, a replay or background work: no crash, no
 * leak, nothing acknowledged that is not there, and no amnesia for want of memory. */
#include "base/heap.h"
#include "log/log_writer.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 1000, BATCHES = 30, MAX_ALLOCATIONS = 2000, ROUTER = 7 };

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[(BATCHES + 1) * COUNT];
static uint64_t incarnation;

/* A folder with segments and runs; no process. */
static void make_folder(void)
{
    node_stage_init_disk(&stage);
    stage.config.retain_bytes = (uint64_t)2 * STAGE_DISK_SEGMENT_BYTES;
    cr_assert_eq(node_stage_open(&stage), 0);
    incarnation = stage.incarnation;
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, (BATCHES + 1) * COUNT, keys);
    for (uint32_t i = 0; i < BATCHES; i++) {
        cr_assert_eq(node_stage_add(&stage, &document, keys + (size_t)i * COUNT, COUNT), STATUS_OK);
    }
    node_stage_end(&stage, STAGE_END_KILL);
}

static void close_stage(unsigned n)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0, "allocation %u leaks", n);
}

static void expect_all(unsigned n)
{
    cr_assert_eq(stage.incarnation, incarnation, "allocation %u", n);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, BATCHES * COUNT), 0, "allocation %u",
                 n);
    cr_assert_eq(node_stage_files(&stage, "aside-"), 0, "allocation %u", n);
}

/* Whatever became of that process: the next one has everything. */
static void expect_all_next_time(unsigned n)
{
    if (stage.node != NULL) {
        node_stage_end(&stage, STAGE_END_KILL);
    }
    cr_assert_eq(node_stage_open(&stage), 0);
    expect_all(n);
}

/* Go on while memory is out after `n` allocations; false: it never ran out. */
static bool settle_without(unsigned n)
{
    bool ran_out;
    void *probe;

    heap_fault_after(n);
    node_stage_settle(&stage);
    probe = heap_alloc(1, 1);
    ran_out = probe == NULL;
    heap_free(probe);
    heap_fault_clear();
    return ran_out;
}

Test(node_memory, a_start_survives_the_failure_of_every_allocation)
{
    bool ran_out = true;

    for (unsigned n = 0; ran_out; n++) {
        cr_assert_lt(n, MAX_ALLOCATIONS);
        make_folder();
        node_stage_start(&stage);
        ran_out = settle_without(n);
        if (!node_failed(stage.node)) {
            node_stage_settle(&stage);
            (void)node_stage_meet(&stage);
            node_stage_settle_long(&stage);
            expect_all(n);
        }
        expect_all_next_time(n);
        close_stage(n);
    }
}

Test(node_memory, a_replay_survives_the_failure_of_every_allocation)
{
    bool ran_out = true;

    for (unsigned n = 0; ran_out; n++) {
        cr_assert_lt(n, MAX_ALLOCATIONS);
        make_folder();
        node_stage_start(&stage);
        cr_assert(node_stage_run(&stage, JOB_BACKGROUND));
        node_stage_turn(&stage);
        cr_assert(node_stage_run(&stage, JOB_COMMIT));
        (void)node_stage_meet(&stage);
        ran_out = settle_without(n);
        if (!node_failed(stage.node)) {
            node_stage_settle_long(&stage);
            expect_all(n);
        }
        expect_all_next_time(n);
        close_stage(n);
    }
}

/* One add arrives, and memory runs out after `n` allocations until it has been served. */
static void send_failing(const struct subrequest *subrequest, const uint64_t *fingerprints,
                         unsigned n)
{
    struct frame frame = {.kind = FRAME_NODE_REQUEST, .correlation = 1};
    struct peer from = fake_peer(ROUTER);
    struct buffer bytes;

    frame.body.node_request = (struct node_request){.subrequests = subrequest,
                                                    .nsubrequests = 1,
                                                    .fingerprints = fingerprints,
                                                    .count = subrequest->count};
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    heap_fault_after(n);
    stage.actor.on_request(stage.actor.self, stage.now_us, &from, buffer_span(&bytes));
    heap_fault_clear();
    buffer_fini(&bytes);
}

Test(node_memory, an_add_survives_the_failure_of_every_allocation)
{
    static struct node_answer answer;
    bool ran_out = true;
    unsigned refused = 0;

    for (unsigned n = 0; ran_out || n < 3; n++) {
        struct subrequest subrequest;
        uint64_t correlation;
        bool acknowledged;

        cr_assert_lt(n, MAX_ALLOCATIONS);
        make_folder();
        cr_assert_eq(node_stage_open(&stage), 0);
        subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
        subrequest.batch.number = 500;
        fake_forget(&stage.fake);
        send_failing(&subrequest, keys + BATCHES * COUNT, n);
        ran_out = settle_without(n);
        acknowledged = !node_failed(stage.node) &&
                       node_stage_take(&stage, &answer, &correlation) == 1 &&
                       answer.subrequest.status == STATUS_OK;
        refused += !acknowledged;
        expect_all_next_time(n);
        if (acknowledged) {
            cr_assert_eq(node_stage_absent(&stage, &document, keys + BATCHES * COUNT, COUNT), 0);
        }
        close_stage(n);
    }
    cr_assert_gt(refused, 0);
}

/* What the node could not log has set its bits all the same: the router that asks again must not
 * take them for somebody else's. */
Test(node_memory, a_refused_add_is_not_its_own_duplicate)
{
    static struct node_answer answer;
    const uint64_t *fresh = keys + BATCHES * COUNT;
    unsigned refused = 0;

    for (unsigned n = 0; n < 8; n++) {
        struct subrequest subrequest;
        uint64_t correlation;

        make_folder();
        cr_assert_eq(node_stage_open(&stage), 0);
        subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
        subrequest.batch.number = 500;
        fake_forget(&stage.fake);
        send_failing(&subrequest, fresh, n);
        node_stage_settle(&stage);
        if (node_stage_take(&stage, &answer, &correlation) == 1 &&
            answer.subrequest.status != STATUS_OK) {
            refused++;
            cr_assert(node_stage_ask_disk(&stage, &subrequest, fresh, &answer));
            cr_assert_eq(answer.subrequest.status, STATUS_OK);
            cr_assert(answer.subrequest.repeated || answer.present[0] == 0, "allocation %u", n);
        }
        close_stage(n);
    }
    cr_assert_gt(refused, 0);
}

/* Adds as many as make segments and merge runs; memory is out again and again. */
Test(node_memory, background_work_survives_the_failure_of_every_allocation)
{
    for (unsigned n = 0; n < 60; n++) {
        make_folder();
        cr_assert_eq(node_stage_open(&stage), 0);
        for (uint32_t i = 0; i < 60 && !node_failed(stage.node); i++) {
            struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);

            subrequest.batch.number = 500 + i;
            node_stage_send(&stage, &subrequest, 1, keys + (size_t)(i % BATCHES) * COUNT, i);
            if (i % 4 == 0) {
                (void)settle_without(n);
                stage.now_us += 1000000;
            } else {
                node_stage_settle(&stage);
            }
        }
        if (!node_failed(stage.node)) {
            node_stage_settle_long(&stage);
            cr_assert_eq(node_stage_files(&stage, "run-"), node_stage_counter(&stage, "runs"));
            cr_assert_leq(node_stage_files(&stage, "log-"), 5 + LOG_MAX_KEPT);
        }
        expect_all_next_time(n);
        close_stage(n);
    }
}

Test(node_memory, creation_survives_the_failure_of_every_allocation)
{
    enum status status = STATUS_NOMEM;

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct node *node = NULL;

        cr_assert_lt(n, MAX_ALLOCATIONS);
        make_folder();
        node_stage_start(&stage); /* Beside it, with its effects. */
        heap_fault_after(n);
        status = node_create(&stage.config, &stage.fake.effects, &node);
        heap_fault_clear();
        cr_assert_eq(node == NULL, status != STATUS_OK);
        job_lanes_stop(&stage.lanes);
        node_destroy(&node);
        expect_all_next_time(n);
        close_stage(n);
    }
}
