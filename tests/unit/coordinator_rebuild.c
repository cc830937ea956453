/* The operator's `rebuild`: begin and commit are answered with the fence that makes F on every slot
 * group, and not before; who may do what when, and with which words it is refused. */
#include "coordinator/plan/rebuild.h"
#include "coordinator_expansion.h"

static struct coordinator_stage other;

static struct admin_request rebuild(enum rebuild_step step)
{
    return (struct admin_request){
        .action = ADMIN_REBUILD,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .rebuild = {.step = step},
    };
}

static void send(struct coordinator_stage *at, enum rebuild_step step)
{
    struct admin_request request = rebuild(step);

    request.rebuild.fed_keys = 7;
    coordinator_stage_command(at, 5, &request);
}

static struct coordinator_told step(enum rebuild_step which)
{
    send(&stage, which);
    return coordinator_stage_told(&stage);
}

static void confirm(struct coordinator_stage *at, uint32_t node)
{
    coordinator_stage_confirm(at, node, SAMPLE_INCARNATION + node, STATUS_OK);
}

static void confirm_two(void)
{
    confirm(&stage, 1);
    confirm(&stage, 3);
}

static void open_rebuild(void)
{
    struct coordinator_told told;

    open_with(WHEN_FULL_EXPAND);
    send(&stage, REBUILD_BEGIN);
    confirm_two();
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
}

/* ---- fences ---- */

Test(coordinator_rebuild, begin_returns_with_the_fence_that_makes_f)
{
    struct coordinator_told told;

    open_with(WHEN_FULL_REFUSE);
    send(&stage, REBUILD_BEGIN);
    cr_assert_eq(rebuild_keyset(document_at(&stage)), 2, "the next one");
    cr_assert_eq(rebuild_serving(document_at(&stage)), 1);
    cr_assert_eq(document_at(&stage)->epoch, 2);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_eq(stage.nfences, 3, "every replica is asked");
    confirm(&stage, 2);
    confirm(&stage, 2);
    cr_assert_eq(stage.ntold, 0, "one of two");
    coordinator_stage_confirm(&stage, 3, SAMPLE_INCARNATION + 99, STATUS_OK);
    cr_assert_eq(stage.ntold, 0, "another life");
    confirm(&stage, 3);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
    close_stage();
}

Test(coordinator_rebuild, commit_returns_with_the_fence_that_makes_f)
{
    open_rebuild();
    cr_assert_eq(step(REBUILD_FED).status, STATUS_OK);
    cr_assert_eq(document_at(&stage)->fed_keys, 7);
    cr_assert_eq(document_at(&stage)->epoch, 2, "no quorum has to agree on that");
    send(&stage, REBUILD_COMMIT);
    cr_assert_eq(rebuild_serving(document_at(&stage)), 1, "begin's fences are asked for anew");
    confirm_two();
    cr_assert_eq(rebuild_serving(document_at(&stage)), 2);
    cr_assert_eq(document_at(&stage)->content.nkeysets, 1);
    cr_assert_eq(document_at(&stage)->epoch, 3);
    cr_assert_eq(stage.ntold, 0);
    confirm(&stage, 1);
    cr_assert_eq(stage.ntold, 0, "one of two");
    confirm(&stage, 2);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

/* The coordinator remembers its own evidence of the epoch while somebody waits, and no longer. */
Test(coordinator_rebuild, an_abort_takes_no_fences_and_its_number_is_not_used_again)
{
    open_rebuild();
    cr_assert_eq(step(REBUILD_ABORT).status, STATUS_OK);
    cr_assert_eq(document_at(&stage)->content.nkeysets, 1);
    cr_assert_eq(rebuild_serving(document_at(&stage)), 1);
    send(&stage, REBUILD_BEGIN);
    cr_assert_eq(rebuild_keyset(document_at(&stage)), 3);
    cr_assert_eq(stage.ntold, 0, "fences of another epoch");
    confirm_two();
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

Test(coordinator_rebuild, who_has_not_confirmed_is_told_and_begin_may_be_repeated)
{
    struct coordinator_told told;

    open_with(WHEN_FULL_REFUSE);
    send(&stage, REBUILD_BEGIN);
    confirm(&stage, 2);
    coordinator_stage_pass(&stage, 5100000);
    told = coordinator_stage_told(&stage);
    expect_refusal(told, STATUS_DEADLINE,
                   "2 of 3 replicas of each shard must): node-1, node-3; "
                   "repeat `begin`");
    send(&stage, REBUILD_BEGIN);
    cr_assert_eq(rebuild_keyset(document_at(&stage)), 2, "joined");
    confirm_two();
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_not(told.created);
    close_stage();
}

/* ---- several coordinators ---- */

Test(coordinator_rebuild, another_coordinator_goes_on)
{
    open_with(WHEN_FULL_REFUSE);
    send(&stage, REBUILD_BEGIN);
    confirm(&stage, 1);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, NODES, FILTER, 1, REPLICA_FULL);
    send(&other, REBUILD_BEGIN);
    confirm(&other, 2);
    cr_assert_eq(other.ntold, 0, "evidence of another one is not known");
    confirm(&other, 3);
    cr_assert_eq(coordinator_stage_told(&other).status, STATUS_OK);
    send(&other, REBUILD_FED);
    cr_assert_eq(coordinator_stage_told(&other).status, STATUS_OK);
    send(&other, REBUILD_COMMIT);
    for (int i = 0; i < 2; i++) {
        coordinator_stage_pass(&other, SECOND_US);
        confirm(&other, 1);
        confirm(&other, 2);
    }
    cr_assert_eq(coordinator_stage_told(&other).status, STATUS_OK);
    coordinator_stage_pass(&stage, SECOND_US);
    report_all(&stage);
    expect_refusal(coordinator_stage_told(&stage), STATUS_CONFLICT, "committed or aborted");
    coordinator_stage_fini(&other);
    close_stage();
}

/* A commit whose answer was lost is asked again, by the number of the rebuild. */
Test(coordinator_rebuild, a_commit_that_is_repeated_joins)
{
    struct admin_request again = rebuild(REBUILD_COMMIT);

    open_rebuild();
    again.rebuild.keyset = 2;
    again.rebuild.empty = true;
    coordinator_stage_command(&stage, 6, &again);
    confirm_two();
    cr_assert_eq(rebuild_serving(document_at(&stage)), 2);
    confirm_two();
    cr_assert(coordinator_stage_told(&stage).created);
    coordinator_stage_command(&stage, 7, &again);
    coordinator_stage_pass(&stage, SECOND_US);
    confirm_two();
    cr_assert_eq(document_at(&stage)->epoch, 3);
    cr_assert_not(coordinator_stage_told(&stage).created);
    close_stage();
}

/* Its time was up with one fence of two; whoever asks again, by what serves now, waits for the
 * rest. */
Test(coordinator_rebuild, a_commit_that_ran_out_of_time_is_gone_on_with)
{
    struct admin_request again = rebuild(REBUILD_COMMIT);

    open_rebuild();
    again.rebuild.keyset = 2;
    again.rebuild.empty = true;
    coordinator_stage_command(&stage, 6, &again);
    confirm_two();
    confirm(&stage, 2);
    coordinator_stage_pass(&stage, 5100000);
    expect_refusal(coordinator_stage_told(&stage), STATUS_DEADLINE, "Repeat `commit`");
    report_all(&stage);
    again.rebuild.empty = false;
    coordinator_stage_command(&stage, 7, &again);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(stage.ntold, 0, "nobody has confirmed anew");
    confirm_two();
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(document_at(&stage)->epoch, 3);
    close_stage();
}

static void abort_at_other(void *context)
{
    (void)context;
    send(&other, REBUILD_ABORT);
}

Test(coordinator_rebuild, of_a_commit_and_an_abort_at_once_one_wins)
{
    struct admin_request commit = rebuild(REBUILD_COMMIT);

    open_rebuild();
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, NODES, FILTER, 1, REPLICA_FULL);
    commit.rebuild.empty = true;
    coordinator_stage_command(&stage, 6, &commit);
    store.before_swap = abort_at_other;
    confirm_two();
    cr_assert_eq(coordinator_stage_told(&other).status, STATUS_OK);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_INVALID);
    cr_assert_eq(rebuild_serving(document_at(&stage)), 1);
    coordinator_stage_fini(&other);
    close_stage();
}

/* ---- refusals ---- */

Test(coordinator_rebuild, nothing_without_begin)
{
    open_with(WHEN_FULL_REFUSE);
    expect_refusal(step(REBUILD_COMMIT), STATUS_INVALID, "no rebuild of it is open: begin first");
    expect_refusal(step(REBUILD_ABORT), STATUS_INVALID, "begin first");
    expect_refusal(step(REBUILD_FED), STATUS_INVALID, "begin first");
    cr_assert_eq(document_at(&stage)->revision, 1);
    close_stage();
}

Test(coordinator_rebuild, an_empty_list_must_be_meant)
{
    struct admin_request commit = rebuild(REBUILD_COMMIT);

    open_rebuild();
    expect_refusal(step(REBUILD_COMMIT), STATUS_INVALID, "say --yes");
    cr_assert_eq(document_at(&stage)->epoch, 2);
    commit.rebuild.keyset = 99;
    commit.rebuild.empty = true;
    expect_refusal(command(&stage, &commit), STATUS_CONFLICT, "another one is open");
    close_stage();
}

Test(coordinator_rebuild, room_for_a_second_set_of_arrays)
{
    open_with(WHEN_FULL_REFUSE);
    says[2].used_bytes = (UINT64_C(1) << 30) - 1000;
    report_all(&stage);
    expect_refusal(step(REBUILD_BEGIN), STATUS_NO_SPACE, "node node-2 lacks ");
    cr_assert_eq(document_at(&stage)->revision, 1, "nothing was written");
    close_stage();
}

Test(coordinator_rebuild, one_change_at_a_time)
{
    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    expect_refusal(step(REBUILD_BEGIN), STATUS_CONFLICT, "on its way to another capacity");
    close_stage();
    open_rebuild();
    expect_refusal(ask(40000, 0), STATUS_CONFLICT, "a rebuild from a list is open");
    close_stage();
}

/* However full it gets: it says why it does not grow. */
Test(coordinator_rebuild, it_does_not_grow_by_itself_meanwhile)
{
    open_rebuild();
    says[1].keys = 9900;
    report_all(&stage);
    coordinator_stage_pass(&stage, SECOND_US);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    cr_assert_geq(coordinator_stage_counter(&stage, "growth_refused_total"), 1);
    close_stage();
}

Test(coordinator_rebuild, filters_without_a_log_are_refused)
{
    struct admin_request create = create_request();

    coordinator_stage_disks = false;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_make_filter(&stage);
    expect_refusal(step(REBUILD_BEGIN), STATUS_INVALID, "kept in memory only");
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);

    coordinator_stage_disks = true;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, NODES, 0, 0, REPLICA_NONE);
    create.create.keylog = KEYLOG_OFF;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, NODES, FILTER, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    expect_refusal(step(REBUILD_BEGIN), STATUS_INVALID, "keylog off");
    close_stage();
}

/* Arrays for both keysets count, from begin on. */
Test(coordinator_rebuild, takes_no_more_bytes_than_its_maker_may_have)
{
    uint64_t one;

    user_bytes = 1 << 20;
    open_with(WHEN_FULL_REFUSE);
    one = document_shard_bytes(document_at(&stage)) * SHARDS;
    user_bytes = 2 * one - 1;
    limit_user();
    expect_refusal(step(REBUILD_BEGIN), STATUS_OVER_QUOTA, "raise its limit `bytes`");
    cr_assert_eq(document_at(&stage)->content.nkeysets, 1);
    user_bytes = 2 * one;
    limit_user();
    send(&stage, REBUILD_BEGIN);
    confirm_two();
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    user_bytes = 1;
    limit_user();
    send(&stage, REBUILD_BEGIN);
    confirm_two();
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "what is there stays");
    close_stage();
}

static void rebuild_pages_at_other(void *context)
{
    struct admin_request request = rebuild(REBUILD_BEGIN);

    (void)context;
    request.name = "pages";
    coordinator_stage_command(&other, 5, &request);
}

/* Each would let one of two filters have more, by what it has read; the other one is faster. */
Test(coordinator_rebuild, takes_no_more_bytes_at_two_coordinators_at_once)
{
    struct admin_request create = create_request();
    const struct document_entry *pages;

    user_bytes = 1 << 20;
    open_with(WHEN_FULL_REFUSE);
    create.name = "pages";
    create.user = "maker";
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, NODES, FILTER + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    user_bytes = 3 * document_shard_bytes(document_at(&stage)) * SHARDS;
    limit_user();
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, NODES, FILTER, 1, REPLICA_FULL);
    store.before_swap = rebuild_pages_at_other;
    expect_refusal(step(REBUILD_BEGIN), STATUS_OVER_QUOTA, "raise its limit `bytes`");
    cr_assert_eq(document_at(&stage)->content.nkeysets, 1);
    pages = document_cache_find_name(&stage.coordinator->documents, "pages");
    cr_assert_eq(pages->document.content.nkeysets, 2);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_rebuild, another_filter_is_not_meant)
{
    struct admin_request request = rebuild(REBUILD_BEGIN);

    open_with(WHEN_FULL_REFUSE);
    request.name = "urlz";
    cr_assert_eq(command(&stage, &request).status, STATUS_NOT_FOUND);
    request.name = "urls";
    request.filter_id = 7;
    cr_assert_eq(command(&stage, &request).status, STATUS_CONFLICT, "a later one of that name");
    close_stage();
}

Test(coordinator_rebuild, a_drop_ends_it)
{
    struct admin_request drop = coordinator_stage_drop();

    open_with(WHEN_FULL_REFUSE);
    send(&stage, REBUILD_BEGIN);
    drop.timeout_ms = 60000;
    coordinator_stage_command(&stage, 8, &drop);
    coordinator_stage_turn(&stage);
    expect_refusal(coordinator_stage_told(&stage), STATUS_DROPPED, "dropped meanwhile");
    close_stage();
}

Test(coordinator_rebuild, a_store_that_fails_is_an_error_and_changes_nothing)
{
    open_with(WHEN_FULL_REFUSE);
    store.broken = true;
    cr_assert_eq(step(REBUILD_BEGIN).status, STATUS_IO);
    store.broken = false;
    send(&stage, REBUILD_BEGIN);
    confirm_two();
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}
