/* Filters that are dropped by themselves: once F nodes have counted all of the time, and only what
 * was asked for last; whoever stops, lies, or is asked too late only makes it later. */
#include "coordinator_expansion.h"

#define LONG_US UINT64_C(3600000000)

static struct coordinator_stage other;

static void open_stage(void)
{
    open_with(WHEN_FULL_REFUSE);
    stage.fake.date_ms = 1000000;
}

static struct admin_request expire_request(uint64_t after_us)
{
    return (struct admin_request){
        .action = ADMIN_EXPIRE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .successor = "",
        .expire = {.after_us = after_us},
    };
}

static void expect_told(const struct admin_request *request, bool created)
{
    struct coordinator_told told = command(&stage, request);

    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_eq(told.created, created);
}

static void expire(uint64_t after_us)
{
    struct admin_request request = expire_request(after_us);

    expect_told(&request, true);
}

static void persist(struct coordinator_stage *at, bool created)
{
    struct admin_request request = expire_request(0);
    struct coordinator_told told;

    request.expire = (struct expiry_wish){.never = true};
    told = command(at, &request);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_eq(told.created, created);
}

static uint64_t number(void)
{
    return document_at(&stage)->expiry.number;
}

static enum filter_state state(void)
{
    return document_at(&stage)->content.state;
}

static void count(uint32_t node, uint64_t counted_us)
{
    coordinator_stage_count_expiry(&stage, node, number(), counted_us);
}

/* Later than fence_retry: what is due is written. */
static void wait_retry(void)
{
    coordinator_stage_pass(&stage, SECOND_US);
}

Test(coordinator_expiry, it_is_dropped_when_f_have_counted)
{
    open_stage();
    expire(LONG_US);
    cr_assert_eq(document_at(&stage)->epoch, 1, "no request is disturbed");
    cr_assert_geq(stage.nfences, 3, "all are asked at once, and begin to count");
    count(1, LONG_US);
    wait_retry();
    cr_assert_eq(state(), FILTER_ACTIVE, "one clock says so, which may run ahead");
    count(2, LONG_US - 1);
    wait_retry();
    cr_assert_eq(state(), FILTER_ACTIVE);
    count(3, LONG_US);
    wait_retry();
    cr_assert_eq(state(), FILTER_DROPPING);
    cr_assert_eq(document_at(&stage)->epoch, 2);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_expired_total"), 1);
    coordinator_stage_confirm(&stage, 1, SAMPLE_INCARNATION + 1, STATUS_OK);
    cr_assert_eq(state(), FILTER_DROPPING, "its name is free after F fences, as of any drop");
    coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 2, STATUS_OK);
    cr_assert_eq(state(), FILTER_DROPPED);
    close_stage();
}

/* However much time goes by on the coordinator's own clock, and whatever date it shows. */
Test(coordinator_expiry, no_clock_of_a_coordinator_drops_anything)
{
    open_stage();
    expire(SECOND_US);
    stage.fake.date_ms = UINT64_MAX / 2;
    for (int i = 0; i < 20; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
    }
    cr_assert_eq(state(), FILTER_ACTIVE, "nobody has counted");
    close_stage();
}

Test(coordinator_expiry, what_was_counted_for_another_one_is_worth_nothing)
{
    uint64_t before;

    open_stage();
    expire(LONG_US);
    before = number();
    coordinator_stage_count_expiry(&stage, 1, before, LONG_US);
    expire(LONG_US);
    cr_assert_neq(number(), before);
    for (uint32_t n = 1; n <= NODES; n++) {
        coordinator_stage_count_expiry(&stage, n, before, 2 * LONG_US);
        coordinator_stage_count_expiry(&stage, n, 0, 2 * LONG_US);
        coordinator_stage_count(&stage, n, 0, 2 * LONG_US);
    }
    wait_retry();
    cr_assert_eq(state(), FILTER_ACTIVE);
    count(1, LONG_US);
    count(2, LONG_US);
    wait_retry();
    cr_assert_eq(state(), FILTER_DROPPING);
    close_stage();
}

Test(coordinator_expiry, who_has_taken_it_back_is_sure)
{
    uint64_t before;

    open_stage();
    persist(&stage, false);
    expire(LONG_US);
    before = number();
    count(1, LONG_US);
    persist(&stage, true);
    for (uint32_t n = 1; n <= NODES; n++) {
        coordinator_stage_count_expiry(&stage, n, before, LONG_US);
    }
    wait_retry();
    cr_assert_eq(state(), FILTER_ACTIVE);
    persist(&stage, false);
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER, "nothing is waited for");
    close_stage();
}

/* The first one has all counts, and does not know yet what the other one has answered. */
Test(coordinator_expiry, who_took_it_back_elsewhere_is_sure_too)
{
    open_stage();
    expire(LONG_US);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, NODES, FILTER, 1, REPLICA_FULL);
    count(1, LONG_US);
    persist(&other, true);
    cr_assert_neq(number(), 0, "not read yet");
    count(2, LONG_US);
    wait_retry();
    cr_assert_eq(state(), FILTER_ACTIVE);
    cr_assert_eq(number(), 0);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_expiry, another_coordinator_goes_on)
{
    open_stage();
    expire(LONG_US);
    count(1, LONG_US / 2);
    count(2, LONG_US / 2);
    coordinator_stage_turn(&stage);
    cr_assert_eq(document_at(&stage)->expiry.counted_us, LONG_US / 2, "it is written");
    cr_assert_eq(coordinator_stage_counter(&stage, "expiries_written_total"), 2);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, NODES, FILTER, 1, REPLICA_FULL);
    coordinator_stage_pass(&other, SECOND_US);
    coordinator_stage_count_expiry(&other, 1, number(), LONG_US);
    coordinator_stage_count_expiry(&other, 3, number(), LONG_US);
    coordinator_stage_pass(&other, SECOND_US);
    cr_assert_eq(document_at(&other)->content.state, FILTER_DROPPING);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_expiry, whoever_is_silent_is_asked_again)
{
    size_t asked;

    open_stage();
    expire(LONG_US);
    asked = stage.nfences;
    for (int i = 0; i < 5; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
    }
    cr_assert_geq(stage.nfences, asked + 9, "each second, while too few count");
    count(1, SECOND_US);
    count(3, 0);
    asked = stage.nfences;
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_eq(stage.nfences, asked, "there is time");
    coordinator_stage_pass(&stage, 12 * (uint64_t)SECOND_US);
    cr_assert_gt(stage.nfences, asked);
    close_stage();
}

Test(coordinator_expiry, conditions_are_judged_where_it_is_written)
{
    struct admin_request request = expire_request(LONG_US);

    open_stage();
    request.expire.if_some = true;
    expect_told(&request, false);
    cr_assert_eq(number(), 0);
    request.expire = (struct expiry_wish){.after_us = LONG_US, .if_none = true};
    expect_told(&request, true);
    expect_told(&request, false);
    request.expire = (struct expiry_wish){.after_us = LONG_US / 2, .if_later = true};
    expect_told(&request, false);
    request.expire.after_us = 2 * LONG_US;
    expect_told(&request, true);
    cr_assert_eq(document_at(&stage)->expiry.after_us, 2 * LONG_US);
    cr_assert_eq(document_at(&stage)->expiry.at_ms, 1000000 + 2 * LONG_US / 1000);
    close_stage();
}

Test(coordinator_expiry, what_is_over_is_dropped_now)
{
    struct admin_request request = expire_request(0);

    open_stage();
    request.expire = (struct expiry_wish){.dated = true, .at_ms = 1000500};
    expect_told(&request, true);
    cr_assert_eq(document_at(&stage)->expiry.after_us, 500000,
                 "the asker's clock alone says that it is over");
    request.expire.at_ms = 999;
    coordinator_stage_command(&stage, 7, &request);
    cr_assert_eq(state(), FILTER_DROPPING);
    coordinator_stage_turn(&stage);
    coordinator_stage_confirm(&stage, 1, SAMPLE_INCARNATION + 1, STATUS_OK);
    coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 2, STATUS_OK);
    coordinator_stage_turn(&stage);
    cr_assert(coordinator_stage_told(&stage).created);
    request.expire = (struct expiry_wish){.after_us = 5};
    cr_assert_eq(command(&stage, &request).status, STATUS_NOT_FOUND);
    close_stage();
}

Test(coordinator_expiry, status_tells_when)
{
    struct admin_request ask = {.action = ADMIN_STATUS, .name = "urls", .successor = ""};
    struct coordinator_told told;

    open_stage();
    expire(LONG_US);
    told = command(&stage, &ask);
    cr_assert_eq(told.expires_left_us, LONG_US);
    cr_assert_not_null(strstr(told.expiry_awaited, "too few do now"), "%s", told.expiry_awaited);
    count(1, LONG_US / 4);
    count(2, LONG_US / 4);
    told = command(&stage, &ask);
    cr_assert_leq(told.expires_left_us, LONG_US / 4 * 3);
    cr_assert_not_null(strstr(told.expiry_awaited, "dropped in about 45m"), "%s",
                       told.expiry_awaited);
    close_stage();
}
