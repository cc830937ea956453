/* The operator's `expand`: what begins, joins, goes back, and what is refused with which words. */
#include "coordinator_expansion.h"

static struct coordinator_stage other;

static void expand_at_other(void *context)
{
    coordinator_stage_command(&other, 9, context);
}

/* Two commands at once, at two coordinators: one wins, the other is told. */
Test(coordinator_expand, of_two_different_ones_at_once_one_is_refused)
{
    struct admin_request theirs = expand(80000, 0);

    open_with(WHEN_FULL_REFUSE);
    coordinator_stage_init(&other, &store.store);
    other.now_us = stage.now_us;
    report_all(&other); /* Before all nodes are heard of, it changes nothing. */
    stage.now_us = other.now_us;
    store.before_swap = expand_at_other;
    store.context = &theirs;
    expect_refusal(ask(40000, 0), STATUS_EXISTS, "on its way to 80,000 keys at 1 % already");
    cr_assert_eq(document_generation(document_at(&stage))->capacity, 80000);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_expand, the_same_twice_at_once_is_one)
{
    struct admin_request theirs = expand(40000, 0);
    struct coordinator_told told;

    open_with(WHEN_FULL_REFUSE);
    coordinator_stage_init(&other, &store.store);
    other.now_us = stage.now_us;
    report_all(&other); /* Before all nodes are heard of, it changes nothing. */
    stage.now_us = other.now_us;
    store.before_swap = expand_at_other;
    store.context = &theirs;
    told = ask(40000, 0);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_not(told.created, "joined");
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    cr_assert_eq(document_at(&stage)->revision, 2);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_expand, joined_by_the_same_numbers_or_none)
{
    open_with(WHEN_FULL_REFUSE);
    cr_assert_not(ask(10000, 0.01).created, "as it is");
    begin(40000);
    cr_assert_eq(ask(40000, 0).status, STATUS_OK);
    cr_assert_eq(ask(0, 0).status, STATUS_OK);
    expect_refusal(ask(50000, 0), STATUS_EXISTS, "--abort");
    cr_assert_eq(document_at(&stage)->revision, 2, "written once");
    close_stage();
}

Test(coordinator_expand, refusals_say_why_and_what_helps)
{
    struct admin_request request = expand(20000, 0);

    open_with(WHEN_FULL_REFUSE);
    says[2].keys = 8000;
    report_all(&stage);
    expect_refusal(ask(7999, 0), STATUS_INVALID,
                   "about 8,000 keys, more than the capacity of 7,999");
    expect_refusal(ask(640001, 0), STATUS_INVALID, "max-capacity of 640,000");
    expect_refusal(ask(0, 0), STATUS_INVALID, "nothing is under way");
    expect_refusal(ask(20000, 0.9), STATUS_INVALID, "the rate 1e-09 to 0.5");
    expect_refusal(ask(20000, -1), STATUS_INVALID, "the rate 1e-09 to 0.5");
    expect_refusal(take_back(), STATUS_INVALID, "nothing is under way to be taken back");
    request.expand.abort = true;
    expect_refusal(command(&stage, &request), STATUS_INVALID, "no capacity and no rate");
    request = expand(20000, 0);
    request.name = "urlz";
    cr_assert_eq(command(&stage, &request).status, STATUS_NOT_FOUND);
    request.name = "urls";
    request.filter_id = 7;
    cr_assert_eq(command(&stage, &request).status, STATUS_CONFLICT, "a later one of that name");
    says[2].used_bytes = (UINT64_C(1) << 30) - 1000;
    report_all(&stage);
    expect_refusal(ask(600000, 0), STATUS_NO_SPACE, "node node-2 lacks ");
    cr_assert_eq(document_at(&stage)->revision, 1, "nothing was written");
    close_stage();
}

/* What was told to be done is not followed by another change. */
Test(coordinator_expand, a_capacity_from_which_it_grows_at_once_is_refused)
{
    open_with(WHEN_FULL_EXPAND);
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n].keys = 1000;
    }
    for (int i = 0; i < 40; i++) {
        report_all(&stage); /* No key has come for long. */
    }
    expect_refusal(ask(1150, 0), STATUS_INVALID,
                   "about 1,000 keys and grows by itself (when-full expand): from 1,150 it would "
                   "do so at once; ask for 1,200 or more");
    cr_assert_eq(document_at(&stage)->revision, 1, "nothing was written");
    begin(1200);
    for (int i = 0; i < 6; i++) {
        for (uint32_t n = 1; n <= NODES; n++) {
            grow(n);
        }
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    cr_assert_eq(document_at(&stage)->capacity, 1200);
    close_stage();
}

/* The load has just ended, and reports of the last second do not tell of all of it. */
Test(coordinator_expand, keys_that_came_just_now_count_as_arriving)
{
    open_with(WHEN_FULL_EXPAND);
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n].keys = 2000;
    }
    expect_refusal(ask(3000, 0), STATUS_INVALID, "ask for 4,070 or more");
    begin(4070);
    for (int i = 0; i < 6; i++) {
        for (uint32_t n = 1; n <= NODES; n++) {
            grow(n);
        }
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->capacity, 4070);
    close_stage();
}

Test(coordinator_expand, any_capacity_that_takes_its_keys_where_adds_are_to_be_refused)
{
    open_with(WHEN_FULL_REFUSE);
    cr_assert_eq(ask(1000, 0).status, STATUS_OK);
    cr_assert_eq(document_at(&stage)->capacity, 1000);
    close_stage();
}

Test(coordinator_expand, without_a_log_it_says_what_to_do_instead)
{
    coordinator_stage_disks = false;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_make_filter(&stage);
    expect_refusal(ask(20000, 0), STATUS_INVALID, "--when-full expand");
    close_stage();
}

Test(coordinator_expand, a_store_that_fails_is_an_error_and_changes_nothing)
{
    open_with(WHEN_FULL_REFUSE);
    store.broken = true;
    cr_assert_eq(ask(40000, 0).status, STATUS_IO);
    store.broken = false;
    cr_assert_eq(ask(40000, 0).status, STATUS_OK);
    close_stage();
}

Test(coordinator_expand, taken_back_until_it_holds_too_much)
{
    open_with(WHEN_FULL_EXPAND);
    begin(40000);
    says[1].keys = 10400;
    report_all(&stage);
    expect_refusal(take_back(), STATUS_INVALID, "about 10400 keys by now");
    says[1].keys = 9900;
    report_all(&stage);
    cr_assert(take_back().created);
    cr_assert_not(take_back().created, "joined");
    cr_assert_eq(document_at(&stage)->capacity, 10000);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1, "99 %% full, and yet it stays");
    cr_assert(document_at(&stage)->growth_held);
    begin(40000);
    cr_assert_not(document_at(&stage)->growth_held);
    close_stage();
}

Test(coordinator_expand, a_drop_ends_it)
{
    struct admin_request drop = coordinator_stage_drop();

    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    coordinator_stage_command(&stage, 1, &drop);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->nturns, 0);
    cr_assert_eq(command(&stage, &(struct admin_request){.action = ADMIN_EXPAND,
                                                         .name = "urls",
                                                         .expand = {.capacity = 80000}})
                     .status,
                 STATUS_NOT_FOUND);
    close_stage();
}
