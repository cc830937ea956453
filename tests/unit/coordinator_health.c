/* A coordinator is fit for use while its store can be read and is not older than its nodes. */
#include "tests/support/coordinator_stage.h"
#include "tests/support/health.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

static struct memory_store store;
static struct coordinator_stage stage;

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_turn(&stage);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static void expect(const char *what, const char *why)
{
    struct health health = {0};

    coordinator_tell_health(stage.coordinator, stage.now_us, &health);
    expect_health(&health, what, why);
}

static enum status report(void)
{
    struct sync_request request = coordinator_stage_node(1);

    return coordinator_stage_sync(&stage, 1, &request).status;
}

Test(coordinator_health, an_empty_store_is_well)
{
    open_stage();
    expect(NULL, NULL);
    cr_assert_eq(report(), STATUS_OK);
    expect(NULL, NULL);
    close_stage();
}

Test(coordinator_health, a_store_that_can_not_be_read_is_told_while_it_lasts)
{
    open_stage();
    store.broken = true;
    cr_assert_neq(report(), STATUS_OK);
    expect("store", "the store can't be read");
    store.broken = false;
    cr_assert_eq(report(), STATUS_OK);
    expect(NULL, NULL);
    close_stage();
}

/* One that begins on a store with nodes waits until it has heard what they hold. */
Test(coordinator_health, after_a_start_nodes_are_heard_first)
{
    open_stage();
    cr_assert_eq(report(), STATUS_OK);
    coordinator_stage_fini(&stage);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_turn(&stage);
    expect("start", "has not heard yet what its nodes hold");
    cr_assert_eq(report(), STATUS_OK);
    coordinator_stage_turn(&stage);
    expect(NULL, NULL);
    close_stage();
}

Test(coordinator_health, a_store_that_is_older_than_its_nodes_is_told)
{
    struct held_document held = {.filter_id = 1, .revision = 1, .hash = 5};
    struct sync_request request = coordinator_stage_node(1);

    open_stage();
    cr_assert_eq(report(), STATUS_OK);
    request.held = &held;
    request.nheld = 1;
    request.held_count = 1;
    (void)coordinator_stage_send(&stage, 1, &request);
    expect("age", "map restore");
    close_stage();
}
