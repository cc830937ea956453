/* What `status` says of replicas: the least ready group of a node speaks for it. */
#include "cli/replicas.h"

#include <criterion/criterion.h>

enum { FILTER = 5, NODE = 2, MOST = 8 };

static struct replica_report reports[MOST];
static struct change_summary changes[1];
static struct admin_reply reply;

static void add_report(enum replica_state state, enum replica_phase phase, double progress)
{
    reports[reply.nreplicas++] = (struct replica_report){
        .filter_id = FILTER,
        .node_id = NODE,
        .group = (uint32_t)reply.nreplicas,
        .state = state,
        .phase = phase,
        .progress = progress,
        .disk_bytes = 100,
    };
    reply.replicas = reports;
}

static void changing(uint32_t slots)
{
    changes[0] = (struct change_summary){
        .filter_id = FILTER, .step = CHANGE_COPYING, .slots = slots, .awaited = ""};
    reply.changes = changes;
    reply.nchanges = 1;
}

static void expect(const char *expected)
{
    struct replicas_state state = replicas_state_of(&reply, FILTER, NODE);
    char text[REPLICAS_TEXT_BYTES];

    cr_assert_str_eq(replicas_state_text(&state, text), expected);
}

Test(replicas, full_ones_are_full)
{
    add_report(REPLICA_FULL, PHASE_NONE, 1);
    add_report(REPLICA_FULL, PHASE_NONE, 1);
    expect("FULL");
    cr_assert_eq(replicas_state_of(&reply, FILTER, NODE).groups, 2);
    cr_assert_eq(replicas_state_of(&reply, FILTER, NODE).disk_bytes, 200);
    cr_assert_eq(replicas_state_of(&reply, FILTER, NODE + 1).groups, 0, "of another node");
    cr_assert_eq(replicas_state_of(&reply, FILTER + 1, NODE).groups, 0, "of another filter");
}

Test(replicas, those_that_sync_say_how_far_they_are)
{
    changing(1);
    add_report(REPLICA_JOINING, PHASE_SYNCING, 0.42);
    expect("JOINING 42 % syncing");
}

Test(replicas, those_that_replay_say_how_far_they_are)
{
    add_report(REPLICA_BUILDING, PHASE_REPLAYING, 0.12);
    expect("BUILDING 12 % replaying");
}

Test(replicas, arrays_that_are_made_say_how_far_they_are)
{
    add_report(REPLICA_BUILDING, PHASE_NONE, 0.5);
    expect("BUILDING 50 %");
}

Test(replicas, those_that_wait_for_their_turn_are_joining)
{
    changing(1);
    add_report(REPLICA_JOINING, PHASE_NONE, 1);
    expect("JOINING");
}

Test(replicas, those_that_nobody_replaces_say_so)
{
    add_report(REPLICA_JOINING, PHASE_NONE, 1);
    expect("NOT REPLACED: old incarnation");
    changing(0);
    expect("NOT REPLACED: old incarnation");
}

Test(replicas, the_least_ready_group_speaks)
{
    changing(2);
    add_report(REPLICA_FULL, PHASE_NONE, 1);
    add_report(REPLICA_JOINING, PHASE_SYNCING, 0.2);
    add_report(REPLICA_JOINING, PHASE_SYNCING, 0.4);
    expect("JOINING 30 % syncing (2 of 3 groups)");
    add_report(REPLICA_BUILDING, PHASE_REPLAYING, 0);
    expect("BUILDING 0 % replaying (3 of 4 groups)");
}

/* It counts all the while. */
Test(replicas, those_that_grow_say_how_far_they_are)
{
    add_report(REPLICA_FULL, PHASE_GROWING, 0.25);
    expect("FULL 25 % growing");
}
