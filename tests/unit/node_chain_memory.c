/* A filter in memory grows by a chain of generations as one on disk without key log does. */
#include "base/heap.h"
#include "tests/support/chain_document.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { FILTER = 5, BATCH = 1000, NPARTS = 3, LINES = 128, CAPACITY = 8000 };

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[NPARTS][BATCH];

Test(node_chain_memory, a_filter_in_memory_grows_the_same_way)
{
    static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct subrequest subrequest;

    node_stage_init(&stage, UINT64_C(1) << 30);
    node_stage_register(&stage);
    node_stage_document(&stage, FILTER, "filter-5", &rule, 3, &document);
    chain_document_start(&document, LINES, CAPACITY);
    for (uint32_t part = 0; part < NPARTS; part++) {
        sample_fingerprints(&document, 0, part + 1, BATCH, keys[part]);
    }
    for (uint32_t part = 0; part < NPARTS; part++) {
        if (part > 0) {
            chain_document_list(&document, LINES, CAPACITY);
            node_stage_hand(&stage, &document);
            node_stage_build(&stage);
            chain_document_join(&document);
        }
        node_stage_hand(&stage, &document);
        node_stage_build(&stage);
        subrequest = node_stage_subrequest(&document, OPERATION_ADD, BATCH);
        subrequest.op.sequence = part + 1;
        node_stage_ask(&stage, &subrequest, 1, keys[part], &answer);
        cr_assert_eq(answer.subrequest.status, STATUS_OK);
    }
    subrequest = node_stage_subrequest(&document, OPERATION_CHECK, BATCH);
    for (uint32_t part = 0; part < NPARTS; part++) {
        node_stage_ask(&stage, &subrequest, 1, keys[part], &answer);
        cr_assert_eq(answer.subrequest.status, STATUS_OK);
        for (uint32_t i = 0; i < BATCH; i++) {
            cr_assert_neq(answer.present[i / 64] >> (i % 64) & 1, 0, "part %u", part);
        }
    }
    document_fini(&document);
    node_stage_fini(&stage);
    cr_assert_eq(heap_live(), 0);
}
