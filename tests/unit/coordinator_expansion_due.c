/* Filters that grow by themselves: when, how far, and what is said when they can't. */
#include "coordinator_expansion.h"

Test(coordinator_expansion_due, by_itself_when_it_is_due)
{
    first_keys = 8000;
    open_with((enum when_full)0);
    cr_assert_eq(document_at(&stage)->when_full, WHEN_FULL_EXPAND, "the default with a log");
    for (says[1].keys = 8000; says[1].keys < 8500; says[1].keys += 20) {
        report_all(&stage); /* Slow enough to be no reason to begin early. */
        cr_assert_eq(document_at(&stage)->ngenerations, 1);
    }
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    cr_assert_geq(document_generation(document_at(&stage))->capacity, 20000);
    cr_assert_lt(document_generation(document_at(&stage))->capacity, 80000, "and what fits beside");
    close_stage();
}

/* A round of reports is a second away: a page of news is looked at when it comes. */
Test(coordinator_expansion_due, at_once_when_a_node_tells_that_it_fills_up)
{
    struct replica_report report = {.filter_id = FILTER, .state = REPLICA_FULL};
    struct sync_request request;

    first_keys = 1000;
    open_with(WHEN_FULL_EXPAND);
    report_all(&stage); /* It has been looked at, and has a second. */
    for (uint32_t n = 1; n <= NODES; n++) {
        request = coordinator_stage_node(n);
        report.keys = 9900;
        request.replicas = &report;
        request.nreplicas = 1;
        request.page.from.filter_id = FILTER;
        request.page.to.filter_id = FILTER + 1;
        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
    }
    coordinator_stage_pass(&stage, 50000);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    close_stage();
}

/* After a restart of all, nodes report one by one, and count from nothing while they replay. */
Test(coordinator_expansion_due, reports_that_arrive_are_not_keys_that_arrive)
{
    struct sync_request request;
    struct replica_report report = {
        .filter_id = FILTER, .state = REPLICA_BUILDING, .progress = 0.1};

    first_keys = 6000;
    open_with(WHEN_FULL_EXPAND);
    coordinator_stage_fini(&stage);
    coordinator_stage_init(&stage, &store.store);
    for (uint64_t keys = 0; keys <= 6000; keys += 1000) {
        for (uint32_t n = 1; n <= NODES; n++) {
            request = coordinator_stage_node(n);
            report.keys = keys;
            request.replicas = &report;
            request.nreplicas = 1;
            cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
        }
        coordinator_stage_pass(&stage, SECOND_US);
    }
    report_all(&stage);
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    close_stage();
}

Test(coordinator_expansion_due, earlier_when_keys_arrive_fast)
{
    open_with(WHEN_FULL_EXPAND);
    for (uint64_t keys = 1000; keys <= 4900; keys += 300) {
        says[1].keys = keys;
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 1, "not below half");
    says[1].keys = 5200;
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    close_stage();
}

Test(coordinator_expansion_due, not_by_itself_where_adds_are_to_be_refused)
{
    open_with(WHEN_FULL_REFUSE);
    says[1].keys = 9999;
    report_all(&stage);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    close_stage();
}

Test(coordinator_expansion_due, what_its_user_may_not_have_is_held_and_shown)
{
    const struct expanding *expanding;

    user_bytes = 24000; /* What 10,000 keys take is half of it. */
    open_with(WHEN_FULL_EXPAND);
    says[1].keys = 9000;
    report_all(&stage);
    expanding = notes_find(&stage.coordinator->notes, NOTE_EXPANDING, FILTER);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    cr_assert_not_null(strstr(expanding->refused, "raise its limit `bytes`"), "%s",
                       expanding->refused);
    cr_assert_geq(coordinator_stage_counter(&stage, "growth_refused_total"), 1);
    expect_refusal(ask(20000, 0), STATUS_OVER_QUOTA, "user maker has ");
    user_bytes = 1 << 20;
    limit_user();
    for (int i = 0; i < 6; i++) {
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    cr_assert_str_eq(expanding->refused, "");
    close_stage();
}

Test(coordinator_expansion_due, what_does_not_fit_is_shown_and_looked_at_again)
{
    const struct expanding *expanding;

    open_with(WHEN_FULL_EXPAND);
    says[1].keys = 9000;
    says[3].used_bytes = UINT64_C(1) << 30;
    report_all(&stage);
    expanding = notes_find(&stage.coordinator->notes, NOTE_EXPANDING, FILTER);
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    cr_assert_not_null(strstr(expanding->refused, "node node-3 lacks "), "%s", expanding->refused);
    cr_assert_geq(coordinator_stage_counter(&stage, "growth_refused_total"), 1);
    says[3].used_bytes = 0;
    for (int i = 0; i < 6; i++) {
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 2);
    cr_assert_str_eq(expanding->refused, "");
    close_stage();
}

/* The doubling in memory is not looked for: max-capacity is what it was made for. */
Test(coordinator_expansion_due, never_above_max_capacity)
{
    const struct expanding *expanding;
    struct admin_request create = create_request();

    coordinator_stage_disks = true;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, NODES, 0, 0, REPLICA_NONE);
    create.create.when_full = WHEN_FULL_EXPAND;
    create.create.max_capacity = 12000;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, NODES, FILTER, 1, REPLICA_FULL);
    (void)coordinator_stage_told(&stage);
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n] = (struct says){.generation = 1, .keys = 9000};
    }
    report_all(&stage);
    cr_assert_eq(document_generation(document_at(&stage))->capacity, 12000);
    for (uint32_t n = 1; n <= NODES; n++) {
        grow(n);
        says[n].keys = 12000;
    }
    report_all(&stage);
    for (int i = 0; i < 6; i++) {
        report_all(&stage);
    }
    cr_assert_eq(document_at(&stage)->ngenerations, 1);
    expanding = notes_find(&stage.coordinator->notes, NOTE_EXPANDING, FILTER);
    cr_assert_not_null(strstr(expanding->refused, "max-capacity already, 12,000 keys"));
    close_stage();
}
