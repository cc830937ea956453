/* Changes that come late do nothing: they name what was seen and say for how long they are wanted.
 * What is so already is no matter: a change may be repeated. */
#include "coordinator/private.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FIRST = 1, SECOND = 2, SECOND_US = 1000000 };

static struct memory_store store;
static struct coordinator_stage stage;
static enum status (*get)(void *self, const char *key, struct buffer *value, uint64_t *version);

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static enum filter_state state_of(uint64_t filter_id)
{
    return document_cache_find(&stage.coordinator->documents, filter_id)->document.content.state;
}

static struct coordinator_told ask(const struct admin_request *request)
{
    coordinator_stage_ask(&stage, 7, request);
    return coordinator_stage_told(&stage);
}

static void expect_moved(const struct admin_request *request)
{
    uint64_t change = store.change;
    struct coordinator_told told = ask(request);

    cr_assert_eq(told.status, STATUS_CONFLICT, "%s", status_code(told.status));
    cr_assert(told.moved);
    cr_assert_eq(store.change, change, "nothing is written");
    cr_assert_neq(told.message[0], '\0');
}

static struct admin_request expire(uint64_t after_us)
{
    return (struct admin_request){.action = ADMIN_EXPIRE,
                                  .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
                                  .name = "urls",
                                  .successor = "",
                                  .expire = {.after_us = after_us}};
}

static void drop_first(void)
{
    const struct admin_request drop = coordinator_stage_drop();

    coordinator_stage_command(&stage, 2, &drop);
    for (uint32_t n = 1; n <= 2; n++) {
        coordinator_stage_confirm(&stage, n, SAMPLE_INCARNATION + n, STATUS_OK);
        coordinator_stage_turn(&stage);
    }
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

static void make_second(void)
{
    const struct admin_request create = coordinator_stage_create();

    coordinator_stage_command(&stage, 3, &create);
    coordinator_stage_report(&stage, 3, SECOND, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

/* ---- for how long ---- */

Test(coordinator_late, a_pause_counts_as_time_that_a_command_has_waited)
{
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_told told;

    open_stage();
    drop = coordinator_stage_look(&stage, &drop);
    stage.now_us += 100 * (uint64_t)SECOND_US;
    stage.fake.waited_us = (COORDINATOR_STAGE_TIMEOUT_MS + 1) * UINT64_C(1000);
    told = ask(&drop);
    cr_assert_eq(told.status, STATUS_DEADLINE, "%s", status_code(told.status));
    cr_assert_not_null(strstr(told.message, "too late"));
    cr_assert_eq(state_of(FIRST), FILTER_ACTIVE);
    cr_assert_eq(coordinator_stage_counter(&stage, "late_commands_total"), 1);
    stage.fake.waited_us = 0;
    coordinator_stage_ask(&stage, 8, &drop);
    cr_assert_eq(state_of(FIRST), FILTER_DROPPING);
    close_stage();
}

Test(coordinator_late, a_change_that_is_wanted_for_no_time_is_not_wanted)
{
    struct admin_request drop = coordinator_stage_drop();

    open_stage();
    drop = coordinator_stage_look(&stage, &drop);
    drop.timeout_ms = 0;
    cr_assert_eq(ask(&drop).status, STATUS_DEADLINE);
    cr_assert_eq(state_of(FIRST), FILTER_ACTIVE);
    close_stage();
}

static enum status slow_get(void *self, const char *key, struct buffer *value, uint64_t *version)
{
    stage.fake.clock_us = stage.now_us + (COORDINATOR_STAGE_TIMEOUT_MS + 1) * UINT64_C(1000);
    return get(self, key, value, version);
}

/* The store may hold a command up until nobody waits for it. */
Test(coordinator_late, it_is_looked_at_right_before_the_swap)
{
    struct admin_request create = coordinator_stage_create();
    uint64_t change;

    open_stage();
    create.name = "other";
    create = coordinator_stage_look(&stage, &create);
    get = store.store.get;
    store.store.get = slow_get;
    change = store.change;
    cr_assert_eq(ask(&create).status, STATUS_DEADLINE);
    cr_assert_eq(store.change, change);
    close_stage();
}

/* ---- what was seen ---- */

Test(coordinator_late, a_change_names_a_filter)
{
    struct admin_request drop = coordinator_stage_drop();
    struct admin_request wish = expire(SECOND_US);

    open_stage();
    cr_assert_eq(ask(&drop).status, STATUS_NOT_FOUND, "by name alone");
    cr_assert_eq(ask(&wish).status, STATUS_NOT_FOUND);
    cr_assert_eq(state_of(FIRST), FILTER_ACTIVE);
    close_stage();
}

Test(coordinator_late, what_has_changed_since_is_not_changed)
{
    struct admin_request drop = coordinator_stage_drop();
    struct admin_request wish = expire(60 * (uint64_t)SECOND_US);
    struct admin_request late = expire(SECOND_US);

    open_stage();
    drop = coordinator_stage_look(&stage, &drop);
    late = coordinator_stage_look(&stage, &late);
    coordinator_stage_command(&stage, 2, &wish);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    expect_moved(&drop);
    expect_moved(&late);
    cr_assert_eq(coordinator_stage_counter(&stage, "moved_commands_total"), 2);
    close_stage();
}

Test(coordinator_late, the_next_filter_of_the_name_is_not_meant)
{
    struct admin_request wish = expire(0);
    struct admin_request drop = coordinator_stage_drop();

    open_stage();
    wish = coordinator_stage_look(&stage, &wish);
    drop = coordinator_stage_look(&stage, &drop);
    drop_first();
    make_second();
    expect_moved(&wish);
    cr_assert_eq(ask(&drop).status, STATUS_OK, "that one is gone, as wished");
    cr_assert_eq(state_of(SECOND), FILTER_ACTIVE);
    close_stage();
}

/* Made, and dropped again since: the name is as free as it was seen, and has been bound. */
Test(coordinator_late, a_filter_that_was_made_and_dropped_is_not_made_again)
{
    struct admin_request late = coordinator_stage_create();

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    late = coordinator_stage_look(&stage, &late);
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    coordinator_stage_ask(&stage, 6, &late);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "it is there, as wished");
    drop_first();
    expect_moved(&late);
    close_stage();
}

static struct admin_request rename_to(const char *name, bool replace)
{
    const struct admin_request request = {
        .action = ADMIN_RENAME,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .successor = "",
        .rename = {.name = name, .replace = replace},
    };

    return coordinator_stage_look(&stage, &request);
}

Test(coordinator_late, a_rename_takes_the_place_of_what_was_seen_alone)
{
    struct admin_request create = coordinator_stage_create();
    struct admin_request late;
    struct admin_request later;

    open_stage();
    late = rename_to("list", true);
    cr_assert_eq(late.seen.target_id, 0, "none has the name");
    create.name = "list";
    coordinator_stage_command(&stage, 3, &create);
    coordinator_stage_report(&stage, 3, SECOND, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    expect_moved(&late);
    later = rename_to("list", true);
    cr_assert_eq(later.seen.target_id, SECOND);
    later.seen.target_revision--;
    expect_moved(&later);
    cr_assert_eq(state_of(SECOND), FILTER_ACTIVE);
    close_stage();
}

/* A node has started again since it was vouched that all former lives are off. */
Test(coordinator_late, a_word_about_nodes_is_about_those_that_were_seen)
{
    struct sync_request again = coordinator_stage_node(3);
    const struct vouched_life word = {.life = {3, again.incarnation}, .runs = true};
    struct admin_request drop = coordinator_stage_drop();
    struct admin_request drain = {.action = ADMIN_NODE_DRAIN,
                                  .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
                                  .name = "node-4",
                                  .successor = ""};

    open_stage();
    drop.confirmed_off = &word;
    drop.nconfirmed_off = 1;
    coordinator_stage_report(&stage, 4, 0, 0, REPLICA_NONE);
    drop = coordinator_stage_look(&stage, &drop);
    drain = coordinator_stage_look(&stage, &drain);
    again.incarnation++;
    cr_assert_eq(coordinator_stage_sync(&stage, 3, &again).status, STATUS_OK);
    expect_moved(&drop);
    expect_moved(&drain);
    cr_assert_eq(state_of(FIRST), FILTER_ACTIVE);
    close_stage();
}

Test(coordinator_late, a_restore_begins_of_the_store_that_was_seen)
{
    struct map_record record = {.key = "cluster"};
    struct admin_request begin = {
        .action = ADMIN_MAP_BEGIN,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .map = {.key = cluster_key_tag(sample_key()), .records = &record, .nrecords = 1}};
    struct buffer bytes;

    buffer_init(&bytes, 1024);
    cr_assert_eq(codec_cluster_sign(sample_cluster(), sample_key(), &bytes), STATUS_OK);
    record.value = buffer_span(&bytes);

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    begin = coordinator_stage_look(&stage, &begin);
    begin.seen.store_version++;
    expect_moved(&begin);
    begin.seen.store_version--;
    cr_assert_eq(ask(&begin).status, STATUS_OK);
    buffer_fini(&bytes);
    close_stage();
}
