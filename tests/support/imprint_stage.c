/* Opens a node on a disk in memory, adds to it, and looks what it has. */
#include "tests/support/imprint_stage.h"

#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

struct node_stage imprint_stage;
struct filter_document imprint_document;
uint64_t imprint_keys[IMPRINT_POOL + IMPRINT_LATER + IMPRINT_OTHERS];
uint64_t imprint_lines = 128; /* of a shard */
uint64_t imprint_added;       /* of the pool, then of LATER */
bool imprint_split;

/* The shards in two groups, both on the same nodes. */
static void split(void)
{
    struct epoch_content *content = &imprint_document.content;
    struct slot_group *groups = heap_zalloc(2, sizeof *groups);

    cr_assert(groups != NULL && content->ngroups == 1);
    groups[0] = groups[1] = content->groups[0];
    heap_free(content->groups);
    content->groups = groups;
    content->ngroups = 2;
    for (uint32_t shard = 0; shard < document_nshards(&imprint_document); shard++) {
        content->group_of_shard[shard] = (uint16_t)(shard % 2);
    }
    document_epoch_advance(&imprint_document);
}

void imprint_open_stage(uint64_t imprint_bytes)
{
    node_stage_init_disk(&imprint_stage);
    imprint_stage.config.imprint_bytes = imprint_bytes;
    imprint_stage.config.steps[STEP_LOAD_PAGES] = 2;
    imprint_stage.config.steps[STEP_SNAPSHOT_PAGES] = 3;
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    node_stage_make_filter(&imprint_stage, 5, DURABILITY_SYNC, &imprint_document);
    imprint_document.generations[0].geometry.lines = imprint_lines;
    if (imprint_split) {
        split();
    }
    node_stage_hand(&imprint_stage, &imprint_document);
    node_stage_settle(&imprint_stage);
    sample_fingerprints(&imprint_document, 0, 1, IMPRINT_POOL + IMPRINT_LATER + IMPRINT_OTHERS,
                        imprint_keys);
    imprint_added = 0;
}

void imprint_close_stage(void)
{
    document_fini(&imprint_document);
    node_stage_fini_disk(&imprint_stage);
    cr_assert_eq(heap_live(), 0);
}

void imprint_add(uint32_t from)
{
    cr_assert_eq(
        node_stage_add(&imprint_stage, &imprint_document, imprint_keys + from, IMPRINT_BATCH),
        STATUS_OK);
    imprint_added = from + IMPRINT_BATCH > imprint_added ? from + IMPRINT_BATCH : imprint_added;
}

struct arrays *imprint_array(void)
{
    struct document_entry *entry = document_cache_find(&imprint_stage.node->documents,
                                                       imprint_document.id);
    struct hosted_filter *hosted = entry->attachment;

    cr_assert_not_null(hosted->set);
    return hosted->set;
}

uint64_t imprint_count_of_keys(void)
{
    return imprint_array()->groups[0].keys;
}

uint64_t imprint_count(void)
{
    return node_stage_counter(&imprint_stage, "imprints_total");
}

/* The pool again and again, until there is one more than before. */
void imprint_add_until_one(void)
{
    uint64_t before = imprint_count();

    for (uint32_t i = 0; imprint_count() == before; i++) {
        cr_assert_lt(i, 1000, "there is never an imprint");
        imprint_add(i * IMPRINT_BATCH % IMPRINT_POOL);
        node_stage_settle_long(&imprint_stage);
    }
}

/* What is in no imprint: in runs that were merged of what it has and what it has not, and in the
 * log. */
void imprint_add_later(void)
{
    imprint_stage.node->storage->config.imprint_bytes = UINT64_MAX; /* No other one is taken. */
    for (uint32_t i = 0; i < 200; i++) {
        imprint_add(i % 2 == 0 ? i * IMPRINT_BATCH % IMPRINT_POOL
                               : IMPRINT_POOL + i / 2 * IMPRINT_BATCH % IMPRINT_LATER);
        node_stage_settle(&imprint_stage);
    }
    node_stage_settle_long(&imprint_stage);
}

void imprint_expect_keys(void)
{
    cr_assert_eq(
        node_stage_absent(&imprint_stage, &imprint_document, imprint_keys, (uint32_t)imprint_added),
        0);
    cr_assert_gt(node_stage_absent(&imprint_stage, &imprint_document,
                                   imprint_keys + IMPRINT_POOL + IMPRINT_LATER, IMPRINT_OTHERS),
                 IMPRINT_OTHERS / 2, "what was never added is mostly absent");
}

/* Half of the pool, and an imprint is due. */
void imprint_add_runs(void)
{
    imprint_stage.node->storage->config.imprint_bytes = UINT64_MAX;
    for (uint32_t n = 0; n < 40; n++) {
        imprint_add(n * IMPRINT_BATCH % (IMPRINT_POOL / 2));
    }
    node_stage_settle_long(&imprint_stage);
    cr_assert_eq(imprint_count(), 0);
    imprint_stage.node->storage->config.imprint_bytes = 1;
    imprint_stage.node->storage->imprints.looked = false;
}

/* A start whose imprint is of no use. */
void imprint_expect_refused(void)
{
    cr_assert_eq(node_stage_open(&imprint_stage), 0);
    cr_assert_geq(node_stage_counter(&imprint_stage, "imprints_refused_total"), 1);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 0);
    cr_assert_eq(node_stage_counter(&imprint_stage, "amnesia_total"), 0, "it is no loss");
    imprint_expect_keys();
}

void imprint_open_with_one(void)
{
    imprint_open_stage(1);
    imprint_add_until_one();
    imprint_add_later();
    node_stage_end(&imprint_stage, STAGE_END_KILL);
}
