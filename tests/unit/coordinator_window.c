/* Rotations: nodes count a slice once F have fenced it, and the next one begins when F have counted
 * it in full; whoever stops, lies or comes too late only makes a slice longer. */
#include "coordinator_expansion.h"
#include "filter/sizing.h"

enum { SLICES = 3, CAPACITY = 10000 };

#define SLICE_US UINT64_C(60000000)

static struct coordinator_stage other;

static struct admin_request create_window(void)
{
    struct admin_request create = create_request();

    create.create.window_us = SLICES * SLICE_US;
    create.create.nslices = SLICES;
    return create;
}

static void open_window(void)
{
    struct admin_request create = create_window();

    coordinator_stage_disks = true;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, NODES, 0, 0, REPLICA_NONE);
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, NODES, FILTER, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

static uint64_t newest(void)
{
    return document_at(&stage)->content.newest_slice;
}

static void fence(struct coordinator_stage *at, uint32_t node)
{
    coordinator_stage_confirm(at, node, SAMPLE_INCARNATION + node, STATUS_OK);
}

static void fence_two(struct coordinator_stage *at)
{
    fence(at, 1);
    fence(at, 3);
    coordinator_stage_turn(at);
}

static uint64_t asked_to_count(const struct coordinator_stage *at)
{
    return at->fences[at->nfences - 1].slice;
}

/* ---- create ---- */

Test(coordinator_window, each_array_is_made_for_a_slice)
{
    const struct filter_document *document;
    struct sizing_plan plan;
    const struct sizing_request one = {.capacity = CAPACITY / SLICES + 1, .rate = 0.01 / 4};

    open_window();
    document = document_at(&stage);
    cr_assert_eq(document->nslices, SLICES);
    cr_assert_eq(document->window_us, SLICES * SLICE_US);
    cr_assert_eq(newest(), 1);
    cr_assert_eq(document->capacity, 3 * (CAPACITY / SLICES + 1), "rounded up");
    cr_assert_eq(document->rate, 0.01);
    cr_assert_eq(document->generations[0].capacity, CAPACITY / SLICES + 1);
    cr_assert_eq(sizing_plan_make(&one, &plan), STATUS_OK);
    cr_assert_eq(document->generations[0].geometry.lines, plan.lines);
    close_stage();
}

Test(coordinator_window, what_can_not_be_is_refused)
{
    struct admin_request bad[6];

    open_window();
    for (size_t i = 0; i < 6; i++) {
        bad[i] = create_window();
        bad[i].name = "other";
    }
    bad[0].create.nslices = 0;
    bad[1].create.nslices = 65;
    bad[2].create.window_us = 0;
    bad[3].create.window_us = SLICES * 1000000 - 1;
    bad[4].create.keylog = KEYLOG_OFF;
    bad[4].create.when_full = WHEN_FULL_REFUSE;
    bad[5].create.durability = DURABILITY_MEMORY;
    for (size_t i = 0; i < 6; i++) {
        struct coordinator_told told = command(&stage, &bad[i]);

        cr_assert_eq(told.status, STATUS_INVALID, "%zu: %s", i, told.message);
        cr_assert_neq(told.message[0], '\0');
    }
    cr_assert_eq(stage.coordinator->documents.count, 1);
    close_stage();
}

/* One slice more than the window has is kept, and one stands ready. */
Test(coordinator_window, all_its_arrays_are_its_makers)
{
    struct admin_request create = create_window();
    uint64_t all;

    open_window();
    all = document_shard_bytes(document_at(&stage)) * SHARDS * (SLICES + 2);
    user_bytes = all - 1;
    limit_user();
    create.name = "others";
    create.user = "maker";
    cr_assert_eq(command(&stage, &create).status, STATUS_OVER_QUOTA);
    user_bytes = all;
    limit_user();
    coordinator_stage_command(&stage, 5, &create);
    coordinator_stage_report(&stage, NODES, FILTER + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
    user_bytes = 0;
}

/* ---- fences, then counts ---- */

Test(coordinator_window, nodes_count_when_f_have_fenced)
{
    open_window();
    coordinator_stage_turn(&stage);
    cr_assert_geq(stage.nfences, 3, "all are asked");
    cr_assert_eq(asked_to_count(&stage), 0);
    fence(&stage, 1);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(asked_to_count(&stage), 0, "one of two");
    fence(&stage, 3);
    coordinator_stage_turn(&stage);
    cr_assert_eq(asked_to_count(&stage), 1);
    close_stage();
}

Test(coordinator_window, the_next_slice_begins_when_f_have_counted)
{
    open_window();
    fence_two(&stage);
    coordinator_stage_count(&stage, 1, 1, SLICE_US);
    coordinator_stage_count(&stage, 2, 1, SLICE_US - 1);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(newest(), 1, "one clock says so, which may run ahead");
    coordinator_stage_count(&stage, 3, 1, SLICE_US);
    cr_assert_eq(newest(), 2);
    cr_assert_eq(document_at(&stage)->epoch, 2);
    cr_assert_eq(coordinator_stage_counter(&stage, "rotations_written_total"), 1);
    cr_assert_geq(stage.nhints, 3, "all are hinted");
    close_stage();
}

Test(coordinator_window, counts_are_worth_nothing_for_the_next_slice)
{
    open_window();
    fence_two(&stage);
    coordinator_stage_count(&stage, 1, 1, SLICE_US);
    coordinator_stage_count(&stage, 2, 1, SLICE_US);
    cr_assert_eq(newest(), 2);
    for (int i = 0; i < 3; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
        coordinator_stage_count(&stage, 1, 1, 2 * SLICE_US);
        coordinator_stage_count(&stage, 2, 1, 2 * SLICE_US);
    }
    cr_assert_eq(newest(), 2);
    fence_two(&stage);
    coordinator_stage_count(&stage, 1, 1, 2 * SLICE_US);
    coordinator_stage_count(&stage, 2, 1, 2 * SLICE_US);
    cr_assert_eq(newest(), 2, "the slice before");
    coordinator_stage_count(&stage, 1, 2, SLICE_US);
    coordinator_stage_count(&stage, 2, 2, SLICE_US);
    cr_assert_eq(newest(), 3);
    close_stage();
}

Test(coordinator_window, counts_without_fences_are_worth_nothing)
{
    open_window();
    coordinator_stage_turn(&stage);
    coordinator_stage_count(&stage, 1, 1, SLICE_US);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(newest(), 1);
    close_stage();
}

/* A node that has restarted counts anew. */
Test(coordinator_window, the_last_word_of_a_node_counts)
{
    open_window();
    fence_two(&stage);
    coordinator_stage_count(&stage, 1, 1, SLICE_US);
    coordinator_stage_count(&stage, 1, 1, 1);
    coordinator_stage_count(&stage, 3, 1, SLICE_US);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(newest(), 1);
    close_stage();
}

Test(coordinator_window, whoever_is_silent_is_asked_again)
{
    size_t asked;

    open_window();
    fence_two(&stage);
    asked = stage.nfences;
    for (int i = 0; i < 5; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
    }
    cr_assert_geq(stage.nfences, asked + 9, "each second, while too few count");
    coordinator_stage_count(&stage, 1, 1, SECOND_US);
    coordinator_stage_count(&stage, 3, 1, SECOND_US);
    asked = stage.nfences;
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(stage.nfences, asked, "there is time");
    for (int i = 0; i < 12; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
    }
    cr_assert_gt(stage.nfences, asked);
    close_stage();
}

/* Nodes count, so nothing of a slice is lost with a coordinator. */
Test(coordinator_window, another_coordinator_goes_on)
{
    open_window();
    fence_two(&stage);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, NODES, FILTER, 1, REPLICA_FULL);
    coordinator_stage_turn(&other);
    cr_assert_eq(asked_to_count(&other), 0, "it has to hear of the fences itself");
    fence_two(&other);
    cr_assert_eq(asked_to_count(&other), 1);
    coordinator_stage_count(&other, 1, 1, SLICE_US);
    coordinator_stage_count(&other, 2, 1, SLICE_US);
    coordinator_stage_count(&stage, 1, 1, SLICE_US);
    coordinator_stage_count(&stage, 2, 1, SLICE_US);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(newest(), 2, "one slice, though both found it due");
    coordinator_stage_fini(&other);
    close_stage();
}
