/* Other names: switched in one swap of the store, confirmed and the former ones free only after F
 * fences of both filters; whoever dies in the middle is replaced by any other coordinator. */
#include "coordinator/private.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { OLD = 1, TARGET = 2, SECOND_US = 1000000 };

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

static struct admin_request create_request(const char *name)
{
    struct admin_request create = coordinator_stage_create();

    create.name = name;
    return create;
}

static void make(const char *name, uint64_t id)
{
    struct admin_request create = create_request(name);
    struct coordinator_told told;

    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, id, 1, REPLICA_FULL);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
}

/* Filter 1 is "next", filter 2 is "list". */
static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    make("next", OLD);
    make("list", TARGET);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static void ask(const char *old, const char *name, bool replace)
{
    const struct admin_request request = {
        .action = ADMIN_RENAME,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = old,
        .successor = "",
        .rename = {.name = name, .replace = replace},
    };

    coordinator_stage_command(&stage, 7, &request);
}

static void expect_refused(const char *old, const char *name, bool replace, enum status status)
{
    struct coordinator_told told;

    ask(old, name, replace);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, status, "%s", told.message);
    cr_assert_neq(told.message[0], '\0');
}

static enum status create(const char *name)
{
    struct admin_request request = create_request(name);

    request.create.capacity = 77777; /* not what is there */
    coordinator_stage_command(&stage, 3, &request);
    return stage.ntold > 0 ? coordinator_stage_told(&stage).status : STATUS_OK;
}

static const struct filter_document *document_at(const struct coordinator_stage *at, uint64_t id)
{
    return &document_cache_find(&at->coordinator->documents, id)->document;
}

static void expect_name(uint64_t id, const char *name, enum filter_state state)
{
    const struct filter_document *document = document_at(&stage, id);

    cr_assert_str_eq(document->content.name, name);
    cr_assert_eq(document->content.state, state, "%s", filter_state_name(document->content.state));
}

/* A node confirms the newest fence that it was asked for of this filter. */
static void confirm(struct coordinator_stage *at, uint32_t node, uint64_t filter_id)
{
    const struct coordinator_fence *fence = NULL;
    struct frame frame = {.kind = FRAME_FENCE_REPLY};

    for (size_t i = 0; i < at->nfences; i++) {
        if (at->fences[i].node == node && at->fences[i].filter_id == filter_id) {
            fence = &at->fences[i];
        }
    }
    cr_assert_not_null(fence, "node %u was not asked for a fence of filter %d", node,
                       (int)filter_id);
    frame.body.fence_reply = (struct fence_reply){
        .filter_id = filter_id,
        .epoch = fence->epoch,
        .epoch_hash = fence->epoch_hash,
        .node_id = node,
        .incarnation = SAMPLE_INCARNATION + node,
    };
    fake_answer(&at->actor, at->now_us, fence->link, &frame);
    coordinator_stage_turn(at);
}

/* By the store's own record, which guards it against coordinators that are behind. */
static void expect_bound(const char *key, uint64_t id)
{
    struct buffer value;
    uint64_t version;

    buffer_init(&value, 64);
    cr_assert_eq(store.store.get(store.store.self, key, &value, &version), STATUS_OK);
    cr_assert_eq(buffer_span(&value).size, 8);
    cr_assert_eq(buffer_span(&value).data[0], id, "%s is bound to %d", key,
                 buffer_span(&value).data[0]);
    buffer_fini(&value);
}

Test(coordinator_rename, both_change_in_one_swap)
{
    struct filter_uid uid;

    open_stage();
    uid = document_at(&stage, OLD)->content.uid;
    ask("next", "list", true);
    expect_name(OLD, "list", FILTER_ACTIVE);
    cr_assert(filter_uid_equal(&document_at(&stage, OLD)->content.uid, &uid));
    cr_assert_eq(document_at(&stage, OLD)->content.groups[0].slots[0].read_since, 1);
    expect_name(TARGET, "list", FILTER_DROPPING);
    cr_assert_eq(document_at(&stage, OLD)->epoch, 2);
    cr_assert_eq(document_at(&stage, OLD)->content.named_epoch, 2);
    cr_assert_eq(stage.ntold, 0, "it is not confirmed yet");
    expect_bound("name/list", OLD);
    expect_bound("name/next", OLD);
    cr_assert_geq(stage.nhints, 3, "all are hinted");
    close_stage();
}

Test(coordinator_rename, it_is_confirmed_after_f_fences_of_both)
{
    struct coordinator_told told;

    open_stage();
    ask("next", "list", true);
    confirm(&stage, 1, OLD);
    confirm(&stage, 2, TARGET);
    confirm(&stage, 3, TARGET);
    expect_name(TARGET, "list", FILTER_DROPPED);
    cr_assert_eq(stage.ntold, 0, "one fence of two");
    cr_assert_eq(create("next"), STATUS_NAME_BUSY);
    confirm(&stage, 3, OLD);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
    cr_assert_eq(told.nfilters, 1);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_renamed_total"), 1);
    expect_bound("name/list", OLD);
    expect_bound("name/next", 0);
    cr_assert_eq(create("next"), STATUS_OK, "the former name is free");
    cr_assert_eq(create("list"), STATUS_EXISTS, "and the new one is taken");
    close_stage();
}

Test(coordinator_rename, fences_of_the_filter_that_it_replaces_are_waited_for)
{
    open_stage();
    ask("next", "list", true);
    confirm(&stage, 1, OLD);
    confirm(&stage, 2, OLD);
    confirm(&stage, 1, TARGET);
    for (int i = 0; i < 3; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
    }
    cr_assert_eq(stage.ntold, 0);
    confirm(&stage, 3, TARGET);
    coordinator_stage_turn(&stage);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

Test(coordinator_rename, to_a_name_that_nobody_has)
{
    open_stage();
    ask("next", "free", false);
    expect_name(OLD, "free", FILTER_ACTIVE);
    expect_name(TARGET, "list", FILTER_ACTIVE);
    confirm(&stage, 1, OLD);
    cr_assert_eq(create("next"), STATUS_NAME_BUSY);
    cr_assert_eq(create("free"), STATUS_EXISTS);
    confirm(&stage, 2, OLD);
    cr_assert(coordinator_stage_told(&stage).created);
    close_stage();
}

Test(coordinator_rename, what_can_not_be_is_refused)
{
    open_stage();
    expect_refused("nobody", "free", false, STATUS_NOT_FOUND);
    expect_refused("next", "list", false, STATUS_EXISTS);
    expect_refused("next", "bad/name", true, STATUS_INVALID);
    expect_refused("next", "", true, STATUS_INVALID);
    ask("next", "next", true);
    cr_assert_not(coordinator_stage_told(&stage).created, "it has that name");
    expect_name(OLD, "next", FILTER_ACTIVE);
    cr_assert_eq(document_at(&stage, OLD)->revision, 1);
    close_stage();
}

/* A name that fences are waited for is nobody else's. */
Test(coordinator_rename, one_at_a_time)
{
    open_stage();
    ask("next", "free", false);
    expect_refused("free", "third", false, STATUS_NAME_BUSY);
    expect_refused("list", "next", false, STATUS_NAME_BUSY);
    expect_refused("list", "free", true, STATUS_NAME_BUSY);
    ask("list", "list", false);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

/* The command given again, as its answer was lost or late. */
Test(coordinator_rename, one_that_is_under_way_is_joined)
{
    open_stage();
    ask("next", "list", true);
    ask("next", "list", true);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(document_at(&stage, OLD)->epoch, 2, "written once");
    coordinator_stage_pass(&stage, 6 * SECOND_US);
    cr_assert_eq(stage.ntold, 2);
    cr_assert_eq(stage.told[0].status, STATUS_DEADLINE);
    stage.ntold = 0;
    ask("next", "list", true);
    confirm(&stage, 1, OLD);
    confirm(&stage, 2, OLD);
    confirm(&stage, 1, TARGET);
    confirm(&stage, 2, TARGET);
    cr_assert_not(coordinator_stage_told(&stage).created);
    close_stage();
}

Test(coordinator_rename, another_coordinator_ends_it)
{
    open_stage();
    ask("next", "list", true);
    confirm(&stage, 1, OLD);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, OLD, 1, REPLICA_FULL);
    coordinator_stage_pass(&other, SECOND_US);
    for (uint32_t node = 1; node <= 2; node++) {
        confirm(&other, node, OLD);
        confirm(&other, node, TARGET);
    }
    cr_assert_str_eq(document_at(&other, OLD)->former_name, "");
    coordinator_stage_report(&stage, 3, OLD, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "the first one's operator");
    coordinator_stage_fini(&other);
    close_stage();
}

/* Two of three are gone for good. The word is about both filters, and of who is left the fences of
 * both are needed. */
Test(coordinator_rename, what_is_gone_for_good_is_vouched_for_by_name)
{
    static const struct vouched_life off = {{3, SAMPLE_INCARNATION + 3}, false};
    const struct admin_request request = {
        .action = ADMIN_RENAME,
        .timeout_ms = 5000,
        .name = "next",
        .rename = {.name = "list", .replace = true},
        .confirmed_off = &off,
        .nconfirmed_off = 1,
    };

    open_stage();
    coordinator_stage_pass(&stage, 11 * SECOND_US);
    coordinator_stage_command(&stage, 7, &request);
    cr_assert_eq(stage.ntold, 0);
    confirm(&stage, 1, OLD);
    cr_assert_eq(stage.ntold, 0, "the other filter is not fenced yet");
    cr_assert_eq(create("next"), STATUS_NAME_BUSY);
    confirm(&stage, 1, TARGET);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

/* Both names are free then, and nothing but those. */
Test(coordinator_rename, a_filter_that_is_dropped_in_the_middle)
{
    struct admin_request drop = coordinator_stage_drop();

    open_stage();
    ask("next", "list", true);
    drop.name = "list";
    coordinator_stage_command(&stage, 8, &drop);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_DROPPED, "who renames is told");
    expect_name(OLD, "list", FILTER_DROPPING);
    coordinator_stage_pass(&stage, SECOND_US);
    confirm(&stage, 1, TARGET);
    confirm(&stage, 2, TARGET);
    cr_assert_eq(create("list"), STATUS_NAME_BUSY);
    cr_assert_eq(create("next"), STATUS_NAME_BUSY);
    confirm(&stage, 1, OLD);
    confirm(&stage, 2, OLD);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(create("list"), STATUS_OK);
    cr_assert_eq(create("next"), STATUS_OK);
    close_stage();
}

/* The filter that is replaced frees nothing: its name is another one's. */
Test(coordinator_rename, and_back_again)
{
    open_stage();
    for (int i = 0; i < 3; i++) {
        ask(i % 2 == 0 ? "next" : "free", i % 2 == 0 ? "free" : "next", false);
        confirm(&stage, 1, OLD);
        confirm(&stage, 2, OLD);
        cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
        cr_assert_eq(create(i % 2 == 0 ? "free" : "next"), STATUS_EXISTS);
    }
    ask("free", "list", true);
    for (uint32_t node = 2; node <= 3; node++) {
        confirm(&stage, node, OLD);
        confirm(&stage, node, TARGET);
    }
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(create("list"), STATUS_EXISTS);
    cr_assert_eq(create("free"), STATUS_OK);
    close_stage();
}
