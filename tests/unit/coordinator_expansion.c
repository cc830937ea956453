/* Expansion across the cluster: turn by turn, by any coordinator, on evidence of now. */
#include "coordinator_expansion.h"

static struct coordinator_stage other;

Test(coordinator_expansion, host_by_host_until_all_serve)
{
    uint64_t epoch;

    open_with(WHEN_FULL_REFUSE);
    epoch = document_at(&stage)->epoch;
    begin(40000);
    lag();
    cr_assert_geq(stage.nhints, 3);
    for (uint32_t n = 1; n <= NODES; n++) {
        report_all(&stage);
        expect_turn(&stage, n);
        grow(n);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    expect_turn(&stage, 0);
    cr_assert_eq(document_generation(document_at(&stage))->capacity, 40000);
    cr_assert_eq(document_at(&stage)->capacity, 40000);
    cr_assert_eq(document_at(&stage)->epoch, epoch, "nothing that quorums agree on");
    cr_assert_eq(coordinator_stage_counter(&stage, "growth_written_total"), 5);
    close_stage();
}

/* An abort wants the former geometry again, and reports of the time before the change name it. */
Test(coordinator_expansion, reports_of_an_older_revision_are_void)
{
    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    cr_assert_eq(take_back().status, STATUS_OK);
    coordinator_stage_pass(&stage, SECOND_US);
    say(&stage, 1); /* Still without either document in hand. */
    say(&stage, 2);
    say(&stage, 3);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(document_at(&stage)->ngenerations, 2, "they do not know of it yet");
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    cr_assert_eq(document_generation(document_at(&stage))->id, 1);
    close_stage();
}

Test(coordinator_expansion, a_dead_node_holds_up_nobody)
{
    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    lag();
    report_all(&stage);
    expect_turn(&stage, 1);
    says[1].dead = true;
    for (int i = 0; i < 6; i++) { /* 12 s; node_timeout is 10 s */
        report_all(&stage);
    }
    expect_turn(&stage, 2);
    grow(2);
    report_all(&stage);
    expect_turn(&stage, 3);
    grow(3);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1, "it builds by itself when it returns");
    close_stage();
}

/* It has just started: that nothing was heard says nothing yet. */
Test(coordinator_expansion, another_coordinator_goes_on_and_takes_nobody_for_dead_too_soon)
{
    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    lag();
    report_all(&stage);
    expect_turn(&stage, 1);
    coordinator_stage_fini(&stage);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_pass(&stage, SECOND_US);
    says[2].dead = true;
    says[3].dead = true;
    grow(1);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    expect_turn(&stage, 1); /* Before all nodes are heard of, nothing is changed. */
    says[2].dead = false;
    says[3].dead = false;
    report_all(&stage);
    expect_turn(&stage, 2);
    grow(2);
    report_all(&stage);
    grow(3);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    close_stage();
}

/* Nodes report to one coordinator; one that hears of none would take turns away from all. */
Test(coordinator_expansion, a_coordinator_that_hears_of_few_does_nothing)
{
    uint64_t revision;

    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    lag();
    coordinator_stage_init(&other, &store.store);
    other.now_us = stage.now_us;
    report_all(&stage);
    expect_turn(&stage, 1);
    revision = document_at(&stage)->revision;
    for (int i = 0; i < 12; i++) {
        coordinator_stage_report(&other, 1, FILTER, 1, REPLICA_FULL);
        coordinator_stage_pass(&other, SECOND_US);
    }
    cr_assert_eq(document_at(&other)->revision, revision);
    cr_assert_eq(coordinator_stage_counter(&other, "growth_written_total"), 0);
    coordinator_stage_fini(&other);
    close_stage();
}

/* A replacement goes first: who builds goes on, nobody new begins. */
Test(coordinator_expansion, no_new_turns_while_replicas_are_replaced)
{
    struct sync_request request;

    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    lag();
    report_all(&stage);
    expect_turn(&stage, 1);
    says[2].dead = true;
    request = coordinator_stage_node(2);
    request.incarnation = 7777;
    request.boot = 7777;
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &request).status, STATUS_OK);
    cr_assert(rounds_is_moving(document_at(&stage)));
    grow(1);
    report_all(&stage);
    expect_turn(&stage, 0);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    close_stage();
}

static const char *awaited(void)
{
    static char texts[TELLING_TEXTS][COORDINATOR_MESSAGE_BYTES];
    const struct document_entry *entry = document_cache_find(&stage.coordinator->documents, FILTER);
    struct filter_summary summary = {0};
    struct telling telling = {.summary = &summary, .texts = texts};

    duty_expansion.describe(stage.coordinator, stage.now_us, entry, &telling);
    return summary.growth_awaited;
}

/* It is not over by itself; who waits is told why, and what to do. */
Test(coordinator_expansion, more_keys_than_the_smaller_one_holds_are_told)
{
    open_with(WHEN_FULL_REFUSE);
    begin(5000);
    report_all(&stage);
    cr_assert_not_null(strstr(awaited(), "builds"), "%s", awaited());
    says[2].keys = 5001;
    report_all(&stage);
    cr_assert_str_eq(awaited(), "it holds about 5,001 keys by now, more than 5,000: take it back "
                                "(--abort), nodes keep 10,000");
    cr_assert_eq(take_back().status, STATUS_OK);
    report_all(&stage);
    cr_assert_null(strstr(awaited(), "take it back"), "%s", awaited());
    close_stage();
}
