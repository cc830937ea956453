/* Dropping: the name is free only after F fences of FULL incarnations on every slot group. */
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FENCES = 2 /* F of N 3, W 2, R 2 */ };

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_make_filter(&stage);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static void drop(bool confirmed_off)
{
    struct admin_request request = coordinator_stage_drop(confirmed_off);

    coordinator_stage_command(&stage, 2, &request);
}

static enum status create_again(void)
{
    struct admin_request create = coordinator_stage_create();

    coordinator_stage_command(&stage, 3, &create);
    return stage.ntold > 0 ? coordinator_stage_told(&stage).status : STATUS_OK;
}

static void confirm(uint32_t node)
{
    coordinator_stage_confirm(&stage, node, SAMPLE_INCARNATION + node, STATUS_OK);
}

Test(coordinator_drop, ends_with_the_fence_that_makes_f)
{
    open_stage();
    drop(false);
    cr_assert_eq(stage.nfences, 3, "every replica is asked");
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(stage.fences[i].epoch, 2);
        cr_assert_gt(stage.fences[i].document_size, 0, "the document comes along");
    }
    confirm(1);
    cr_assert_eq(stage.ntold, 0, "one fence of %d", FENCES);
    cr_assert_eq(create_again(), STATUS_NAME_BUSY);
    confirm(3);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_confirmed_total"), 2);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_dropped_total"), 1);
    close_stage();
}

/* The new filter of that name is another one: with an id of its own. */
Test(coordinator_drop, the_name_is_free_afterwards)
{
    struct coordinator_told told;
    struct admin_request create = coordinator_stage_create();

    open_stage();
    drop(false);
    confirm(1);
    confirm(2);
    (void)coordinator_stage_told(&stage);
    create.create.capacity = 77777;
    coordinator_stage_command(&stage, 3, &create);
    cr_assert_eq(stage.ntold, 0, "it waits for its replicas");
    coordinator_stage_report(&stage, 3, 2, 1, REPLICA_FULL);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
    close_stage();
}

/* A drop that slept in some queue names the filter that the operator saw, not its successor. */
Test(coordinator_drop, a_late_drop_by_id_spares_the_next_filter_of_that_name)
{
    struct admin_request late = coordinator_stage_drop(false);

    open_stage();
    drop(false);
    confirm(1);
    confirm(2);
    (void)coordinator_stage_told(&stage);
    (void)create_again();
    coordinator_stage_report(&stage, 3, 2, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    late.filter_id = 1;
    coordinator_stage_command(&stage, 4, &late);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "filter 1 is gone, as wanted");
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_dropped_total"), 1);
    late.filter_id = 3;
    coordinator_stage_command(&stage, 5, &late);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_CONFLICT);
    close_stage();
}

Test(coordinator_drop, one_node_counts_once)
{
    open_stage();
    drop(false);
    confirm(1);
    confirm(1);
    confirm(1);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(create_again(), STATUS_NAME_BUSY);
    close_stage();
}

/* A restarted node has no memory of what its former life acknowledged. */
Test(coordinator_drop, another_incarnation_does_not_count)
{
    open_stage();
    drop(false);
    confirm(1);
    coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 99, STATUS_OK);
    coordinator_stage_confirm(&stage, 3, SAMPLE_INCARNATION + 99, STATUS_OK);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_void_total"), 2);
    close_stage();
}

/* 0 stands for every life of a node, but only an operator may say that. */
Test(coordinator_drop, no_incarnation_does_not_count)
{
    open_stage();
    drop(false);
    coordinator_stage_confirm(&stage, 1, 0, STATUS_OK);
    coordinator_stage_confirm(&stage, 2, 0, STATUS_OK);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_void_total"), 2);
    close_stage();
}

Test(coordinator_drop, refusals_and_older_fences_do_not_count)
{
    open_stage();
    drop(false);
    confirm(1);
    coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 2, STATUS_NEED_DOC);
    for (size_t i = 0; i < stage.nfences; i++) {
        stage.fences[i].epoch = 1;
    }
    confirm(3);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_void_total"), 2);
    close_stage();
}

/* Until an operator vouches that the former lives are over. */
Test(coordinator_drop, confirmed_off_lets_restarted_nodes_count)
{
    open_stage();
    drop(false);
    coordinator_stage_pass(&stage, 5100000);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_DEADLINE);
    drop(true);
    coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 99, STATUS_OK);
    coordinator_stage_confirm(&stage, 3, SAMPLE_INCARNATION + 99, STATUS_OK);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

Test(coordinator_drop, silent_nodes_are_asked_again_and_the_operator_gets_a_deadline)
{
    struct coordinator_told told;

    open_stage();
    drop(false);
    coordinator_stage_pass(&stage, 1100000);
    cr_assert_eq(stage.nfences, 3 * 3, "asked at once and twice again");
    coordinator_stage_pass(&stage, 4000000);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_DEADLINE);
    cr_assert_not_null(strstr(told.message, "--confirmed-off"), "%s", told.message);
    confirm(1);
    confirm(2);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_dropped_total"), 1, "it goes on");
    close_stage();
}

Test(coordinator_drop, what_is_not_there_cannot_be_dropped)
{
    open_stage();
    drop(false);
    confirm(1);
    confirm(2);
    (void)coordinator_stage_told(&stage);
    drop(false);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_NOT_FOUND);
    close_stage();
}

static void drop_at_other(void *context)
{
    struct admin_request request = coordinator_stage_drop(false);

    (void)context;
    coordinator_stage_command(&other, 7, &request);
}

/* Of two drops at once the one that loses the compare-and-swap joins the other. */
Test(coordinator_drop, a_drop_that_another_coordinator_began_is_joined)
{
    open_stage();
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 1, 1, REPLICA_FULL);
    store.before_swap = drop_at_other;
    drop(false);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
    cr_assert_eq(stage.ntold, 0, "it waits for the fences like the other");
    coordinator_stage_pass(&stage, 200000);
    confirm(1);
    confirm(2);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    coordinator_stage_fini(&other);
    close_stage();
}

/* A coordinator that died in the middle is replaced by any other, from the store alone. */
Test(coordinator_drop, another_coordinator_finishes_it)
{
    open_stage();
    drop(false);
    confirm(1);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 1, 1, REPLICA_NONE);
    cr_assert_eq(coordinator_stage_counter(&other, "filters_dropped_total"), 0);
    coordinator_stage_pass(&other, 600000);
    cr_assert_geq(other.nfences, 3, "it asks by itself: evidence of another one is not known");
    coordinator_stage_confirm(&other, 1, SAMPLE_INCARNATION + 1, STATUS_OK);
    coordinator_stage_confirm(&other, 2, SAMPLE_INCARNATION + 2, STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&other, "filters_dropped_total"), 1);
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_NONE);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "the first one's operator");
    coordinator_stage_fini(&other);
    close_stage();
}
