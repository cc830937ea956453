/* The false positive rate that `info` expects now: of replicas in one generation, in two, and
 * behind a valve. */
#include "filter/sizing.h"
#include "proto/rate.h"

#include <criterion/criterion.h>

enum { SHARDS = 16, LEFT_LINES = 16, WANTED_LINES = 64, KEYS = 40000, LEFT_CAPACITY = 20000 };

static struct replica_report reports[3];
static struct info_reply reply;

static double left_rate(void)
{
    return sizing_rate(LEFT_CAPACITY, LEFT_LINES * SHARDS, 1);
}

static double wanted_rate(void)
{
    return sizing_rate(KEYS, WANTED_LINES * SHARDS, 1);
}

static void setup(void)
{
    reply = (struct info_reply){
        .filter =
            {.rule = {.replicas = 3, .write = 2, .read = 2},
             .nshards = SHARDS,
             .ngroups = 1,
             .lines = WANTED_LINES,
             .z = 1,
             .generations = {{.id = 1, .capacity = LEFT_CAPACITY, .lines = LEFT_LINES, .z = 1},
                             {.id = 7, .capacity = 80000, .lines = WANTED_LINES, .z = 1}},
             .ngenerations = 2},
        .replicas = reports,
        .nreplicas = 3,
    };
    for (uint32_t n = 0; n < 3; n++) {
        reports[n] = (struct replica_report){.node_id = n + 1,
                                             .state = REPLICA_FULL,
                                             .generation = 1,
                                             .phase = PHASE_GROWING,
                                             .keys = KEYS};
    }
}

static void serve_wanted(uint32_t at)
{
    reports[at].generation = 7;
    reports[at].shards_grown = SHARDS;
    reports[at].phase = PHASE_NONE;
}

static double now(void)
{
    struct report_sum sum = report_summarize(reports, reply.nreplicas, 0);

    return rate_now(&reply, &sum);
}

TestSuite(client_rate, .init = setup);

Test(client_rate, of_one_generation_it_is_that_one_s)
{
    reply.filter.ngenerations = 1;
    cr_assert_float_eq(now(), wanted_rate(), 1e-12);
}

/* The one that is left takes no more than it is for, whatever the filter has by now. */
Test(client_rate, what_nobody_serves_any_more_does_not_count)
{
    cr_assert_gt(left_rate(), 5 * wanted_rate());
    cr_assert_float_eq(now(), left_rate(), 1e-12, "none has grown");
    serve_wanted(0);
    serve_wanted(1);
    serve_wanted(2);
    cr_assert_float_eq(now(), wanted_rate(), 1e-12, "all have");
}

Test(client_rate, the_odd_one_of_three_is_outvoted)
{
    serve_wanted(0);
    cr_assert_float_eq(now(), left_rate(), 1e-12);
    serve_wanted(1);
    cr_assert_float_eq(now(), wanted_rate(), 1e-12);
}

Test(client_rate, with_a_replica_down_those_of_two_generations_add_up)
{
    serve_wanted(0);
    reports[2].state = REPLICA_JOINING;
    cr_assert_float_eq(now(), left_rate() + wanted_rate() - left_rate() * wanted_rate(), 1e-12);
}

Test(client_rate, one_absent_suffices_where_one_is_asked_for)
{
    reply.filter.rule = (struct quorum_rule){.replicas = 3, .write = 3, .read = 1};
    serve_wanted(0);
    cr_assert_float_eq(now(), left_rate() * wanted_rate(), 1e-12);
}

Test(client_rate, shards_count_as_far_as_they_are)
{
    serve_wanted(0);
    reports[1].shards_grown = SHARDS / 4;
    cr_assert_float_eq(now(), 0.75 * left_rate() + 0.25 * wanted_rate(), 1e-12);
}

/* Behind the valve checks read both. */
Test(client_rate, beyond_what_the_old_arrays_take_both_count)
{
    for (uint32_t n = 0; n < 3; n++) {
        reports[n].overflow_keys = KEYS - LEFT_CAPACITY;
    }
    cr_assert_float_eq(now(), left_rate() + wanted_rate() - left_rate() * wanted_rate(), 1e-12);
}

Test(client_rate, of_several_slot_groups_the_mean)
{
    reply.filter.ngroups = 2;
    serve_wanted(0);
    reports[1].group = 1;
    reports[2].group = 1;
    reports[0].keys = KEYS / 2;
    reports[1].keys = KEYS / 2;
    reports[2].keys = KEYS / 2;
    cr_assert_float_eq(now(), (left_rate() + wanted_rate()) / 2, 1e-12);
}

Test(client_rate, unknown_it_is_the_worse)
{
    struct report_sum sum = {.keys = KEYS};

    reply.nreplicas = 0;
    cr_assert_float_eq(rate_now(&reply, &sum), left_rate(), 1e-12);
}
