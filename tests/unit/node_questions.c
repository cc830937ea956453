/* What a node tells of a filter's keys when it is asked: of large arrays what it has counted, as a
 * look at all of their lines would hold everybody else up. */
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { LIMIT_BYTES = 1 << 30, COUNT = 100, PEER = 9 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct filter_document document;

/* A filter with `array_bytes` of lines, and COUNT keys. */
static void open_stage(uint64_t array_bytes)
{
    static uint64_t keys[STAGE_MAX_KEYS];
    struct node_answer answer;
    struct subrequest subrequest;

    node_stage_init(&stage, LIMIT_BYTES);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    document.generations[0].geometry.lines = (array_bytes >> SAMPLE_SHARD_BITS) / LINE_BYTES;
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    sample_fingerprints(&document, 0, 1, COUNT, keys);
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
    node_stage_ask(&stage, &subrequest, 1, keys, &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini(&stage);
}

static struct replica_report ask(void)
{
    struct frame question = {.kind = FRAME_INFO_REQUEST,
                             .body.info_request = {.filter = "", .filter_id = 5}};
    struct replica_report report = {0};
    struct fake_sent sent;
    bool told = false;

    fake_forget(&stage.fake);
    fake_request(&stage.actor, stage.now_us, PEER, &question);
    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_INFO_REPLY) {
            cr_assert_eq(sent.frame.body.info_reply.nreplicas, 1);
            report = sent.frame.body.info_reply.replicas[0];
            told = true;
        }
    }
    cr_assert(told);
    return report;
}

Test(node_questions, keys_of_a_small_array_are_estimated_from_its_bits)
{
    struct replica_report report;

    open_stage(2 << 20);
    report = ask();
    cr_assert_eq(report.bits_seen, UINT64_C(8) * (2 << 20));
    cr_assert_gt(report.bits_set, 7 * COUNT);
    close_stage();
}

Test(node_questions, keys_of_a_larger_one_are_counted)
{
    struct replica_report report;

    open_stage(4 << 20);
    report = ask();
    cr_assert_eq(report.bits_seen, 0, "not looked at");
    cr_assert_eq(report.keys, COUNT);
    close_stage();
}
