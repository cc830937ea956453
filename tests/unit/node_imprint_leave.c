/* A start reads an imprint, and has not read it to its end when what it is of becomes another
 * array: keys that are in its pages only as yet are counted by nobody, so those pages must go. */
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/imprint_stage.h"

#include <criterion/criterion.h>

enum { LEFT = 1, OTHER_NODE = 9 };

static void open_with_one(void)
{
    imprint_split = true;
    imprint_open_stage(1);
    imprint_add_until_one();
    imprint_add_later();
}

static void start_half_way(void)
{
    const struct storage_load *load;

    node_stage_end(&imprint_stage, STAGE_END_KILL);
    imprint_stage.config.imprint_bytes = UINT64_MAX; /* No other one is taken. */
    node_stage_start(&imprint_stage);
    load = &imprint_stage.node->replay.load;
    for (int steps = 0; !load->imprint || load->npages == 0; steps++) {
        cr_assert_lt(steps, 100000);
        node_stage_turn(&imprint_stage);
        (void)node_stage_run(&imprint_stage, JOB_COMMIT);
        (void)node_stage_run(&imprint_stage, JOB_BACKGROUND);
        (void)node_stage_run(&imprint_stage, JOB_MEMORY);
        (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
    }
    cr_assert_not(load->end);
}

static void leave_group(void)
{
    for (uint32_t i = 0; i < imprint_document.content.rule.replicas; i++) {
        struct member *member = &imprint_document.content.groups[LEFT].slots[i].current;

        if (member->node == 1) {
            *member = (struct member){.node = OTHER_NODE, .incarnation = 0x77};
        }
    }
    document_epoch_advance(&imprint_document);
    node_stage_hand(&imprint_stage, &imprint_document);
}

Test(node_imprint_leave,
     when_a_group_leaves_meanwhile_no_key_of_the_others_is_left_out_of_the_count)
{
    uint64_t before;

    open_with_one();
    before = imprint_count_of_keys();
    start_half_way();
    leave_group();
    node_stage_settle(&imprint_stage);
    (void)node_stage_meet(&imprint_stage);
    node_stage_settle(&imprint_stage);
    cr_assert_eq(node_stage_counter(&imprint_stage, "imprints_read_total"), 0, "it is of more");
    imprint_expect_keys();
    cr_assert(imprint_count_of_keys() + 400 > before && imprint_count_of_keys() < before + 400,
              "%u, was %u", (unsigned)imprint_count_of_keys(), (unsigned)before);
    imprint_close_stage();
}

Test(node_imprint_leave, when_the_filter_is_dropped_meanwhile_nothing_of_it_stays)
{
    open_with_one();
    start_half_way();
    imprint_document.content.state = FILTER_DROPPED;
    document_epoch_advance(&imprint_document);
    node_stage_hand(&imprint_stage, &imprint_document);
    node_stage_settle(&imprint_stage);
    (void)node_stage_meet(&imprint_stage);
    for (int seconds = 0; seconds < 10; seconds++) {
        node_stage_settle_long(&imprint_stage);
    }
    cr_assert_not(node_failed(imprint_stage.node));
    cr_assert_eq(node_stage_counter(&imprint_stage, "memory_used_bytes"), 0);
    cr_assert_eq(node_stage_files(&imprint_stage, "imprint-"), 0);
    cr_assert_eq(node_stage_files(&imprint_stage, "run-"), 0);
    imprint_close_stage();
}
