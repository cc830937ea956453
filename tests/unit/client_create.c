/* What `create` shows of a filter that is being made. */
#include "cli/commands/create.h"

#include <criterion/criterion.h>

static struct replica_report reports[] = {
    {.filter_id = 5, .node_id = 1, .state = REPLICA_FULL, .progress = 1},
    {.filter_id = 5, .node_id = 2, .state = REPLICA_BUILDING, .progress = 0.5},
    {.filter_id = 4, .node_id = 1, .state = REPLICA_FULL, .progress = 1},
    {.filter_id = 4, .node_id = 2, .state = REPLICA_FULL, .progress = 1},
};

static struct filter_summary filters[] = {
    {.id = 4, .name = "other", .state = FILTER_ACTIVE, .rule = {.replicas = 2}, .ngroups = 1},
    {.id = 5, .name = "seen", .state = FILTER_ACTIVE, .rule = {.replicas = 3}, .ngroups = 1},
};

static const struct admin_reply reply = {
    .filters = filters, .nfilters = 2, .replicas = reports, .nreplicas = 4};

Test(client_create, is_as_far_as_its_replicas_are)
{
    struct create_state state = create_state_of(&reply, "seen");
    char text[CREATE_LINE_BYTES];

    cr_assert(state.found);
    cr_assert_eq(state.share, 0.5, "one is there, one half, one has not told yet");
    cr_assert_str_eq(create_line(&state, text),
                     "[##########..........]  50 %, 1 of 3 replicas ready");
}

Test(client_create, one_that_joins_can_serve)
{
    struct create_state state;

    reports[1].state = REPLICA_JOINING;
    state = create_state_of(&reply, "seen");
    cr_assert_eq(state.ready, 2);
    cr_assert_float_eq(state.share, 2.0 / 3, 1e-9);
}

/* All arrays are there, and the node has not said that it serves. */
Test(client_create, made_is_not_ready)
{
    reports[1].progress = 1;
    cr_assert_eq(create_state_of(&reply, "seen").ready, 1);
}

Test(client_create, of_others_nothing_is_told)
{
    struct create_state state = create_state_of(&reply, "other");

    cr_assert_eq(state.share, 1);
    cr_assert_not(create_state_of(&reply, "nobody").found);
    filters[0].state = FILTER_DROPPING;
    cr_assert_not(create_state_of(&reply, "other").found, "it is going");
}
