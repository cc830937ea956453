/* Is a store that is older than its nodes noticed before anything is changed? */
#include "map/access/seal.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILTER = 1 };

static struct memory_store store;
static struct coordinator_stage stage;

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

/* Node n says that it holds this. */
static struct coordinator_synced hold(uint32_t n, struct held_document held)
{
    struct sync_request request = coordinator_stage_node(n);

    request.held = &held;
    request.nheld = 1;
    request.held_count = 1;
    return coordinator_stage_send(&stage, n, &request);
}

static struct coordinator_told command(struct admin_request request)
{
    coordinator_stage_command(&stage, 9, &request);
    return coordinator_stage_told(&stage);
}

static void expect_frozen(void)
{
    struct coordinator_told told = command(coordinator_stage_create());

    cr_assert_eq(told.status, STATUS_CONFLICT, "create");
    cr_assert_not_null(strstr(told.message, "map restore"), "%s", told.message);
    cr_assert_eq(command(coordinator_stage_drop()).status, STATUS_CONFLICT, "drop");
    told = command((struct admin_request){.action = ADMIN_STATUS, .name = ""});
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_not_null(strstr(told.message, "map restore"), "%s", told.message);
}

/* Users that were deleted would be back, and tokens that were taken away good again. */
Test(coordinator_age, a_newer_record_of_users_freezes_it_too)
{
    struct coordinator_told told;

    open_stage();
    cr_assert_eq(hold(1, (struct held_document){.filter_id = USER_LIST_ID, .revision = 3}).status,
                 STATUS_UNAVAILABLE);
    expect_frozen();
    told = command((struct admin_request){.action = ADMIN_STATUS, .name = ""});
    cr_assert_not_null(strstr(told.message, "node-1 holds the record of users at revision 3"), "%s",
                       told.message);
    close_stage();
}

Test(coordinator_age, an_empty_store_gives_no_numbers_away_while_nodes_hold_filters)
{
    struct coordinator_synced synced;

    open_stage();
    synced = hold(1, (struct held_document){.filter_id = FILTER, .revision = 1, .hash = 5});
    cr_assert_eq(synced.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(synced.message, "does not know"), "%s", synced.message);
    cr_assert_eq(store.change, 0, "and no node is registered anew");
    expect_frozen();
    close_stage();
}

Test(coordinator_age, a_higher_revision_or_fence_and_another_content_are_noticed)
{
    const struct held_document ahead[] = {
        {.filter_id = FILTER, .revision = 2, .fence = 1},
        {.filter_id = FILTER, .revision = 1, .fence = 2},
        {.filter_id = FILTER, .revision = 1, .fence = 1, .hash = 5},
        {.filter_id = FILTER + 1, .revision = 1},
        {.filter_id = 0, .revision = 99},
    };

    for (size_t i = 0; i < sizeof ahead / sizeof ahead[0]; i++) {
        uint64_t change;

        open_stage();
        cr_assert_eq(coordinator_stage_make_filter(&stage), FILTER);
        change = store.change;
        cr_assert_eq(hold(2, ahead[i]).status, STATUS_UNAVAILABLE, "%zu", i);
        expect_frozen();
        coordinator_stage_pass(&stage, 60000000);
        expect_frozen(); /* It is not forgotten while the node is silent. */
        cr_assert_eq(store.change, change, "%zu: nothing was written", i);
        close_stage();
    }
}

Test(coordinator_age, what_is_older_is_fine)
{
    open_stage();
    cr_assert_eq(coordinator_stage_make_filter(&stage), FILTER);
    cr_assert_eq(hold(2, (struct held_document){.filter_id = FILTER, .fence = 1}).status,
                 STATUS_OK);
    cr_assert_eq(command((struct admin_request){.action = ADMIN_STATUS, .name = ""}).message[0],
                 '\0');
    close_stage();
}

Test(coordinator_age, a_node_that_was_wrong_once_may_come_to_hold_less)
{
    open_stage();
    cr_assert_eq(hold(1, (struct held_document){.filter_id = FILTER, .revision = 1}).status,
                 STATUS_UNAVAILABLE);
    cr_assert_eq(hold(1, (struct held_document){.filter_id = 0}).status, STATUS_OK,
                 "its folder was deleted");
    close_stage();
}

Test(coordinator_age, a_change_number_that_goes_back_is_noticed)
{
    open_stage();
    cr_assert_eq(coordinator_stage_make_filter(&stage), FILTER);
    store.change--;
    expect_frozen();
    close_stage();
}

/* Before anybody could have told, nothing is changed. */
Test(coordinator_age, a_coordinator_waits_until_all_nodes_were_heard)
{
    open_stage();
    cr_assert_eq(coordinator_stage_make_filter(&stage), FILTER);
    coordinator_stage_fini(&stage);
    coordinator_stage_init(&stage, &store.store);
    cr_assert_eq(command(coordinator_stage_drop()).status, STATUS_UNAVAILABLE);
    coordinator_stage_pass(&stage, 20000000);
    coordinator_stage_command(
        &stage, 9,
        &(struct admin_request){.action = ADMIN_DROP, .name = "urls", .timeout_ms = 1000});
    cr_assert_eq(stage.ntold, 0, "the drop is under way");
    close_stage();
}

/* The operator who waits for what it has stopped is not left waiting. */
Test(coordinator_age, a_command_that_was_begun_before_ends_with_a_deadline)
{
    open_stage();
    cr_assert_eq(coordinator_stage_make_filter(&stage), FILTER);
    coordinator_stage_command(
        &stage, 9,
        &(struct admin_request){.action = ADMIN_DROP, .name = "urls", .timeout_ms = 1000});
    cr_assert_eq(stage.ntold, 0, "the drop is under way");
    cr_assert_eq(hold(2, (struct held_document){.filter_id = 0, .revision = 99}).status,
                 STATUS_UNAVAILABLE);
    coordinator_stage_pass(&stage, 2000000);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_DEADLINE);
    close_stage();
}

/* As etcd can be, by another hand. What the coordinator has read is not to go on with. */
Test(coordinator_age, a_store_that_was_emptied_under_it_takes_no_restore)
{
    struct admin_request begin = {.action = ADMIN_MAP_BEGIN, .name = ""};
    struct map_record record = {.key = "cluster"};
    struct coordinator_told told;
    struct buffer bytes;
    uint64_t version;

    open_stage();
    coordinator_stage_make_filter(&stage);
    buffer_init(&bytes, 1024);
    cr_assert_eq(store.store.get(store.store.self, "cluster", &bytes, &version), STATUS_OK);
    record.value = buffer_span(&bytes);
    begin.map.key = cluster_key_tag(sample_key());
    begin.map.records = &record;
    begin.map.nrecords = 1;
    memory_store_fini(&store);
    memory_store_init(&store);
    told = command(begin);
    cr_assert_eq(told.status, STATUS_CONFLICT);
    cr_assert_not_null(strstr(told.message, "restart all coordinators"), "%s", told.message);
    cr_assert_eq(store.change, 0, "nothing was written");
    buffer_fini(&bytes);
    close_stage();
}
