/* The C library without a cluster: errors are told, bounds hold, nothing hangs or leaks. */
#include "base/heap.h"
#include "base/status.h"
#include "client/orbloom.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nobody listens on port 1. */
static const struct orbloom_options nobody = {.routers = "tcp://127.0.0.1:1",
                                              .coordinators = "tcp://127.0.0.1:1",
                                              .timeout_ms = 30,
                                              .max_in_flight = 2};

static struct orbloom *connect_nobody(void)
{
    struct orbloom *handle = NULL;

    cr_assert_eq(orbloom_connect(&nobody, &handle), ORBLOOM_OK);
    cr_assert_str_eq(orbloom_error(handle), "");
    return handle;
}

static void close_handle(struct orbloom **handle)
{
    orbloom_close(handle);
    cr_assert_eq(*handle, NULL);
    orbloom_close(handle);
    cr_assert_eq(heap_live(), 0);
}

/* The public table is the internal one. */
Test(orbloom, codes_have_one_name)
{
    for (int code = 0; code <= ORBLOOM_BEHIND; code++) {
        cr_assert_str_eq(orbloom_code_name(code), status_code((enum status)code));
    }
    cr_assert_str_eq(orbloom_code_name(4711), "INTERNAL");
}

Test(orbloom, nobody_there_ends_in_a_deadline_that_says_so)
{
    struct orbloom *handle = connect_nobody();
    enum orbloom_answer answer = ORBLOOM_ABSENT;

    cr_assert_eq(orbloom_check_key(handle, "f", "k", 1, &answer), ORBLOOM_DEADLINE);
    cr_assert_eq(answer, ORBLOOM_UNKNOWN);
    cr_assert_str_eq(orbloom_error(handle),
                     "DEADLINE: no answer from tcp://127.0.0.1:1 within "
                     "0.03 s; is the router running, and is this its address?");
    cr_assert_eq(orbloom_drop(handle, "f"), ORBLOOM_DEADLINE);
    cr_assert(strstr(orbloom_error(handle),
                     "is the coordinator running, and is this its address?") != NULL);
    close_handle(&handle);
}

Test(orbloom, wrong_endpoints_are_told)
{
    struct orbloom_options options = {.routers = "localhost"};
    struct orbloom *handle = NULL;
    enum orbloom_answer answer;

    cr_assert_eq(orbloom_connect(&options, &handle), ORBLOOM_INVALID);
    cr_assert(strstr(orbloom_error(handle), "tcp://HOST:PORT") != NULL);
    cr_assert_neq(orbloom_add_key(handle, "f", "k", 1, &answer), ORBLOOM_OK);
    cr_assert_eq(answer, ORBLOOM_UNKNOWN);
    close_handle(&handle);
}

Test(orbloom, the_environment_names_endpoints)
{
    struct orbloom *handle = NULL;

    cr_assert_eq(setenv("ORBLOOM_ROUTER", "nonsense", 1), 0);
    cr_assert_eq(orbloom_connect(NULL, &handle), ORBLOOM_INVALID);
    cr_assert(strstr(orbloom_error(handle), "ORBLOOM_ROUTER") != NULL);
    close_handle(&handle);
}

Test(orbloom, keys_out_of_bounds_are_refused)
{
    struct orbloom *handle = connect_nobody();
    enum orbloom_answer answer;

    cr_assert_eq(orbloom_add_key(handle, "f", "", 0, &answer), ORBLOOM_INVALID);
    cr_assert_eq(orbloom_add_key(handle, "f", "k", (size_t)-1, &answer), ORBLOOM_TOO_LARGE);
    cr_assert_eq(orbloom_add_key(handle, "", "k", 1, &answer), ORBLOOM_INVALID);
    cr_assert_neq(orbloom_error(handle)[0], '\0');
    close_handle(&handle);
}

Test(orbloom, a_bound_is_of_a_check_and_of_thirty_days_at_most)
{
    static const uint32_t length = 1;
    struct orbloom *handle = connect_nobody();
    struct orbloom_request request = {
        .filter = "f", .operation = ORBLOOM_CHECK, .keys = {"k", &length, 1}, .bounded = 1};
    struct orbloom_filter filter = {.name = "f", .capacity = 10, .rate = 0.01, .bounded = 1};
    struct orbloom_completion completion;
    uint8_t answer = ORBLOOM_ABSENT;

    request.max_staleness_us = ORBLOOM_MAX_STALENESS_US + 1;
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_INVALID);
    cr_assert_str_eq(orbloom_error(handle), "INVALID: a bound of checks is 0 to 30 days");
    request.max_staleness_us = ORBLOOM_MAX_STALENESS_US;
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    while (orbloom_wait(handle, 1000, &completion) == 0) {
    }
    cr_assert_eq(completion.code, ORBLOOM_DEADLINE);
    request.operation = ORBLOOM_ADD;
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_INVALID);
    cr_assert_str_eq(orbloom_error(handle), "INVALID: only checks have a bound");
    cr_assert_eq(orbloom_check_within(handle, "f", UINT64_MAX, &request.keys, &answer),
                 ORBLOOM_INVALID);
    cr_assert_eq(answer, ORBLOOM_UNKNOWN);
    cr_assert_eq(orbloom_check_within(handle, "f", 0, &request.keys, &answer), ORBLOOM_DEADLINE);
    filter.max_staleness_us = ORBLOOM_MAX_STALENESS_US + 1;
    cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_INVALID);
    filter.max_staleness_us = 0;
    cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_DEADLINE);
    close_handle(&handle);
}

Test(orbloom, adds_are_acknowledged_by_so_many_sites_or_each)
{
    static const uint32_t length = 1;
    static const uint32_t bad[] = {ORBLOOM_MAX_ACKS + 1, 254, 256, UINT32_MAX};
    struct orbloom *handle = connect_nobody();
    struct orbloom_request request = {
        .filter = "f", .operation = ORBLOOM_ADD, .keys = {"k", &length, 1}};
    struct orbloom_filter filter = {.name = "f", .capacity = 10, .rate = 0.01};
    struct orbloom_completion completion;
    uint8_t answer = ORBLOOM_NEW;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request.acks = filter.acks = bad[i];
        cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_INVALID);
        cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_INVALID);
        cr_assert_eq(orbloom_add_in_sites(handle, "f", bad[i], &request.keys, &answer),
                     ORBLOOM_INVALID);
        cr_assert_eq(answer, ORBLOOM_UNKNOWN);
    }
    request.acks = filter.acks = 9;
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_INVALID);
    cr_assert_str_eq(orbloom_error(handle),
                     "INVALID: an add is acknowledged by 2 to 8 sites, by this one alone "
                     "(ORBLOOM_ACKS_LOCAL) or by each (ORBLOOM_ACKS_EACH), not by 9");
    request.acks = ORBLOOM_ACKS_EACH;
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    while (orbloom_wait(handle, 1000, &completion) == 0) {
    }
    cr_assert_eq(completion.code, ORBLOOM_DEADLINE);
    request.operation = ORBLOOM_CHECK;
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_INVALID);
    cr_assert_str_eq(orbloom_error(handle), "INVALID: only adds are acknowledged by several sites");
    cr_assert_eq(orbloom_add_in_sites(handle, "f", 2, &request.keys, &answer), ORBLOOM_DEADLINE);
    filter.acks = ORBLOOM_MAX_ACKS;
    cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_DEADLINE);
    close_handle(&handle);
}

/* The last batch of a stream may hold nothing: no special case for callers, and nobody to wait for.
 */
Test(orbloom, a_batch_of_no_keys_is_fine)
{
    const struct orbloom_keys none = {0};
    struct orbloom *handle = connect_nobody();

    cr_assert_eq(orbloom_add(handle, "f", &none, NULL), ORBLOOM_OK);
    cr_assert_eq(orbloom_check(handle, "f", &none, NULL), ORBLOOM_OK);
    close_handle(&handle);
}

Test(orbloom, a_submitted_batch_of_no_keys_ends_at_once)
{
    struct orbloom *handle = connect_nobody();
    const struct orbloom_request request = {
        .filter = "f", .operation = ORBLOOM_ADD, .user = &handle};
    struct orbloom_completion completion;

    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    cr_assert_eq(orbloom_in_flight(handle), 1);
    cr_assert_eq(orbloom_wait(handle, 0, &completion), 1);
    cr_assert_eq(completion.user, &handle);
    cr_assert_eq(completion.code, ORBLOOM_OK);
    cr_assert_eq(completion.count, 0);
    cr_assert_str_eq(completion.message, "");
    cr_assert_eq(orbloom_in_flight(handle), 0);
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK); /* and is given up */
    close_handle(&handle);
    orbloom_close(NULL);
}

Test(orbloom, a_rate_that_is_no_number_is_refused)
{
    struct orbloom *handle = connect_nobody();
    struct orbloom_filter filter = {.name = "f", .capacity = 10};

    for (size_t i = 0; i < 4; i++) {
        filter.rate = (const double[]){NAN, INFINITY, 0, 1}[i];
        cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_INVALID);
        cr_assert(strstr(orbloom_error(handle), "a rate is") != NULL);
    }
    close_handle(&handle);
}

Test(orbloom, every_submitted_batch_ends_in_one_completion)
{
    struct orbloom *handle = connect_nobody();
    struct orbloom_completion completion;
    uint32_t length = 1;
    int users[2] = {0};
    struct orbloom_request request = {
        .filter = "f", .operation = ORBLOOM_ADD, .keys = {"k", &length, 1}};

    for (int i = 0; i < 2; i++) {
        request.user = &users[i];
        cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    }
    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OVERLOADED);
    cr_assert_eq(orbloom_in_flight(handle), 2);
    cr_assert_eq(orbloom_wait(handle, 0, &completion), 0);
    while (orbloom_in_flight(handle) > 0) {
        if (orbloom_wait(handle, 1000, &completion) != 0) {
            cr_assert_eq(completion.code, ORBLOOM_DEADLINE);
            cr_assert_eq(completion.count, 1);
            cr_assert_eq(completion.answers[0], ORBLOOM_UNKNOWN);
            ++*(int *)completion.user;
        }
    }
    cr_assert_eq(orbloom_wait(handle, 1000, &completion), 0);
    cr_assert_eq(users[0], 1);
    cr_assert_eq(users[1], 1);
    close_handle(&handle);
}

Test(orbloom, closing_gives_up_what_is_in_flight)
{
    struct orbloom *handle = connect_nobody();
    uint32_t length = 1;
    struct orbloom_request request = {
        .filter = "f", .operation = ORBLOOM_ADD, .keys = {"k", &length, 1}};

    cr_assert_eq(orbloom_submit(handle, &request), ORBLOOM_OK);
    close_handle(&handle);
}

Test(orbloom, filters_are_checked_before_asking)
{
    struct orbloom *handle = connect_nobody();
    struct orbloom_filter filter = {.name = "a b", .capacity = 10, .rate = 0.01};

    cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_INVALID);
    filter = (struct orbloom_filter){.name = "a", .write_quorum = 1, .read_quorum = 1};
    cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_INVALID);
    filter = (struct orbloom_filter){.name = "a", .hash = (enum orbloom_hash)3};
    cr_assert_eq(orbloom_create(handle, &filter, NULL), ORBLOOM_INVALID);
    cr_assert_str_eq(orbloom_error(handle),
                     "INVALID: there is no hash number 3; use ORBLOOM_SIPHASH or ORBLOOM_XXH3");
    close_handle(&handle);
}
