/* A store that tells by itself that another coordinator has written: followers hear of it. */
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

static struct memory_store store;
static struct coordinator_stage one;
static struct coordinator_stage two;
static bool news;

static bool moved(void *self)
{
    bool answer = news;

    (void)self;
    news = false;
    return answer;
}

static void set_up(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&one, &store.store);
    coordinator_stage_init(&two, &store.store);
    store.store.moved = moved;
}

static void tear_down(void)
{
    coordinator_stage_fini(&one);
    coordinator_stage_fini(&two);
    memory_store_fini(&store);
}

TestSuite(coordinator_watch, .init = set_up, .fini = tear_down, .timeout = 60);

/* Node 1 follows coordinator one; node 2 registers at two. */
static void write_elsewhere(void)
{
    struct sync_request first = coordinator_stage_node(1);
    struct sync_request second = coordinator_stage_node(2);

    cr_assert_eq(coordinator_stage_sync(&one, 1, &first).status, STATUS_OK);
    coordinator_stage_turn(&one);
    one.nhints = 0;
    cr_assert_eq(coordinator_stage_sync(&two, 2, &second).status, STATUS_OK);
}

Test(coordinator_watch, what_another_coordinator_wrote_is_hinted_once)
{
    write_elsewhere();
    coordinator_stage_turn(&one);
    cr_assert_eq(one.nhints, 0, "it has not heard of it");
    news = true;
    coordinator_stage_turn(&one);
    cr_assert_eq(one.nhints, 1);
    news = true;
    coordinator_stage_turn(&one);
    cr_assert_eq(one.nhints, 1, "nothing new");
}

/* A request may bring the news before the watch does; followers are told all the same. */
Test(coordinator_watch, what_a_request_found_first_is_hinted_too)
{
    struct sync_request third = coordinator_stage_node(1);

    write_elsewhere();
    cr_assert_eq(coordinator_stage_sync(&one, 1, &third).status, STATUS_OK);
    one.nhints = 0;
    news = true;
    coordinator_stage_turn(&one);
    cr_assert_eq(one.nhints, 1);
}

Test(coordinator_watch, news_of_a_broken_store_wait_for_the_next)
{
    write_elsewhere();
    store.broken = true;
    news = true;
    coordinator_stage_turn(&one);
    cr_assert_eq(one.nhints, 0);
    store.broken = false;
    news = true;
    coordinator_stage_turn(&one);
    cr_assert_eq(one.nhints, 1);
}

/* It starts without documents, refuses what it is asked, and goes on when the store is there. */
Test(coordinator_watch, a_store_that_is_away_at_start_is_waited_for)
{
    struct sync_request first = coordinator_stage_node(1);
    struct coordinator_stage late;

    write_elsewhere();
    store.broken = true;
    coordinator_stage_init(&late, &store.store);
    cr_assert_eq(coordinator_stage_sync(&late, 1, &first).status, STATUS_IO);
    store.broken = false;
    cr_assert_eq(coordinator_stage_sync(&late, 1, &first).status, STATUS_OK);
    cr_assert_gt(late.synced.change, 0);
    coordinator_stage_fini(&late);
}
