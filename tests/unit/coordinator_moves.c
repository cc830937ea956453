/* Nodes that are drained, replaced and removed: wishes in the node list, steps from the documents
 * alone, by whichever coordinator. */
#include "tests/unit/coordinator_moves.h"

#include <stdio.h>

Test(coordinator_moves, a_drained_node_hands_over_in_three_steps)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
    told = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    expect(&told, STATUS_OK, "draining: 1 replicas");
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    confirm(&stage, 1);
    confirm(&stage, LEAVER);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    complete(&stage, 1);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    complete(&stage, 2);
    expect_slot(&stage, 3, SLOT_MOVED, LEAVER, SPARE);
    confirm(&stage, 1);
    expect_slot(&stage, 3, SLOT_MOVED, LEAVER, SPARE);
    confirm(&stage, 3);
    expect_slot(&stage, 4, SLOT_SINGLE, SPARE, 0);
    cr_assert_eq(usage_slots(stage.coordinator, LEAVER), 0);
    told = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    expect(&told, STATUS_OK, "being drained");
    close_stage();
}

/* The wish is in the store, and so is all that was done about it. */
Test(coordinator_moves, another_coordinator_goes_on_at_every_step)
{
    struct coordinator_stage other;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    (void)command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    confirm(&stage, 1);
    complete(&stage, 2);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);

    coordinator_stage_init(&other, &store.store);
    keep_alive(&other, 1, 4);
    coordinator_stage_pass(&other, SECOND_US);
    confirm(&other, 1);
    confirm(&other, 3);
    expect_slot(&other, 2, SLOT_PAIR, LEAVER, SPARE);
    complete(&other, 2);
    expect_slot(&other, 3, SLOT_MOVED, LEAVER, SPARE);
    confirm(&other, 1);
    confirm(&other, 3);
    expect_slot(&other, 4, SLOT_SINGLE, SPARE, 0);
    coordinator_stage_fini(&other);
    close_stage();
}

/* Accepted, as node 4 could take all; but no group has its turn before that is gone. */
static void drain_and_lose_spare(void)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    stage.coordinator->config.moves_at_once = 0;
    told = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    expect(&told, STATUS_OK, "draining: 1 replicas");
    coordinator_stage_pass(&stage, SILENCE_US);
    stage.coordinator->config.moves_at_once = 2;
    keep_alive(&stage, 1, 3);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
}

Test(coordinator_moves, what_becomes_impossible_later_is_told_by_status_and_waits)
{
    const struct admin_request status = {.action = ADMIN_STATUS, .name = ""};
    struct coordinator_told told;

    drain_and_lose_spare();
    coordinator_stage_command(&stage, 3, &status);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.nchanges, 1);
    cr_assert_not_null(strstr(told.awaited, "no other node can take group 0 from node-2"), "%s",
                       told.awaited);
    told = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", false);
    expect(&told, STATUS_OK, "being drained");
    keep_alive(&stage, 4, 4);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    close_stage();
}

static void make_user(const char *name, enum user_role role)
{
    struct user_grant grants[] = {{USER_READ, "other:*"}};
    struct user user = {.role = role, .grants = grants, .ngrants = 1};
    struct admin_request request = {
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .users = {.revision = stage.coordinator->documents.users.revision,
                  .puts = &user,
                  .nputs = 1},
    };

    (void)snprintf(user.name, sizeof user.name, "%s", name);
    coordinator_stage_ask(&stage, 5, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

static struct coordinator_told status_as(const char *user)
{
    const struct admin_request status = {
        .action = ADMIN_STATUS, .name = "", .successor = "", .user = user};

    coordinator_stage_ask(&stage, 6, &status);
    return coordinator_stage_told(&stage);
}

/* What a node waits for names a filter. */
Test(coordinator_moves, who_sees_no_filter_is_told_no_name_of_one)
{
    drain_and_lose_spare();
    make_user("narrow", USER_CLIENT);
    make_user("watch", USER_MONITOR);
    cr_assert_not_null(strstr(status_as("").node_awaited, "filter urls"));
    cr_assert_not_null(strstr(status_as("watch").node_awaited, "filter urls"));
    cr_assert_str_eq(status_as("narrow").node_awaited, "");
    cr_assert_gt(status_as("narrow").nnodes, 0);
    close_stage();
}

Test(coordinator_moves, drained_nodes_take_no_new_replicas)
{
    struct admin_request request = coordinator_stage_create();
    struct coordinator_told told;

    drain_and_lose_spare();
    request.name = "other";
    request.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(&stage, 5, &request);
    told = coordinator_stage_told(&stage);
    expect(&told, STATUS_UNAVAILABLE, "1 of the 3 alive are being drained");
    close_stage();
}

Test(coordinator_moves, undone_before_it_begins_all_stays)
{
    const struct admin_request undo = {
        .action = ADMIN_NODE_DRAIN, .name = "node-2", .successor = "", .undo = true};
    struct coordinator_told told;

    drain_and_lose_spare();
    coordinator_stage_command(&stage, 5, &undo);
    told = coordinator_stage_told(&stage);
    expect(&told, STATUS_OK, "no longer drained");
    keep_alive(&stage, 1, 4);
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
    close_stage();
}

/* ---- replace ---- */

static void lose_leaver(void)
{
    keep_alive(&stage, 1, 4);
    coordinator_stage_pass(&stage, SILENCE_US);
    keep_alive(&stage, 1, 1);
    keep_alive(&stage, 3, 4);
}

Test(coordinator_moves, a_dead_node_is_replaced_without_its_word)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    lose_leaver();
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", false);
    expect(&told, STATUS_OK, "1 replicas of slot groups move to node-4");
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    confirm(&stage, 1);
    confirm(&stage, 3);
    complete(&stage, 2);
    confirm(&stage, 1);
    confirm(&stage, 3);
    expect_slot(&stage, 4, SLOT_SINGLE, SPARE, 0);
    close_stage();
}

/* N=3 W=3 R=1: all three fences are needed, of which one never comes. */
Test(coordinator_moves, with_read_quorum_one_the_operator_vouches)
{
    struct coordinator_told told;

    open_stage(3, 1, DURABILITY_SYNC);
    lose_leaver();
    (void)command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", false);
    confirm(&stage, 1);
    confirm(&stage, 3);
    complete(&stage, 2);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", true);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_eq(record_at(&stage, LEAVER)->confirmed_off, SAMPLE_INCARNATION + LEAVER);
    expect_slot(&stage, 3, SLOT_MOVED, LEAVER, SPARE);
    confirm(&stage, 1);
    expect_slot(&stage, 3, SLOT_MOVED, LEAVER, SPARE);
    confirm(&stage, 3);
    expect_slot(&stage, 4, SLOT_SINGLE, SPARE, 0);
    close_stage();
}

/* A word travels: by the time that it is read the node may have another life, or the word may be
 * about another node. */
Test(coordinator_moves, a_word_is_about_one_life_of_the_node_itself)
{
    struct vouched_life off = {{LEAVER, SAMPLE_INCARNATION + 99}, false};
    const struct admin_request request = {.action = ADMIN_NODE_REPLACE,
                                          .name = "node-2",
                                          .successor = "node-4",
                                          .confirmed_off = &off,
                                          .nconfirmed_off = 1};
    struct coordinator_told told;

    open_stage(3, 1, DURABILITY_SYNC);
    lose_leaver();
    coordinator_stage_command(&stage, 9, &request);
    told = coordinator_stage_told(&stage);
    expect(&told, STATUS_CONFLICT, "node node-2 has another life by now, 00000000000003ea");
    off.life = (struct member){3, SAMPLE_INCARNATION + 3};
    coordinator_stage_command(&stage, 9, &request);
    told = coordinator_stage_told(&stage);
    expect(&told, STATUS_INVALID, "another node's life was vouched for");
    off = (struct vouched_life){{LEAVER, SAMPLE_INCARNATION + LEAVER}, true};
    coordinator_stage_command(&stage, 9, &request);
    told = coordinator_stage_told(&stage);
    expect(&told, STATUS_INVALID, "is alive");
    cr_assert_eq(record_at(&stage, LEAVER)->confirmed_off, 0);
    cr_assert_eq(record_at(&stage, LEAVER)->replaced_by, 0, "nothing is written");
    close_stage();
}

/* What is heard of a node speaks against the word that it is off. */
Test(coordinator_moves, a_vouched_node_that_is_heard_of_does_not_count)
{
    open_stage(3, 1, DURABILITY_SYNC);
    lose_leaver();
    (void)command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", true);
    keep_alive(&stage, LEAVER, LEAVER);
    confirm(&stage, 1);
    confirm(&stage, 3);
    complete(&stage, 2);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    confirm(&stage, LEAVER);
    expect_slot(&stage, 3, SLOT_MOVED, LEAVER, SPARE);
    close_stage();
}

Test(coordinator_moves, what_a_replacement_refuses)
{
    struct coordinator_told told;
    struct sync_request without_disk = coordinator_stage_node(5);
    struct sync_request small = coordinator_stage_node(6);

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-4", false);
    expect(&told, STATUS_INVALID, "orbloom node drain node-2");
    told = command(&stage, ADMIN_NODE_DRAIN, "node-2", "", true);
    expect(&told, STATUS_INVALID, "is alive");
    lose_leaver();
    without_disk.boot = 0;
    without_disk.durable = false;
    (void)coordinator_stage_sync(&stage, 5, &without_disk);
    small = coordinator_stage_node(6);
    small.memory_limit_bytes = 1000;
    (void)coordinator_stage_sync(&stage, 6, &small);
    told = command(&stage, ADMIN_NODE_REPLACE, "node-9", "node-4", false);
    expect(&told, STATUS_NOT_FOUND, "no node node-9");
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-9", false);
    expect(&told, STATUS_NOT_FOUND, "no node node-9");
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-2", false);
    expect(&told, STATUS_INVALID, "its own place");
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-3", false);
    expect(&told, STATUS_INVALID, "the same shards");
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-5", false);
    expect(&told, STATUS_INVALID, "needs a disk");
    told = command(&stage, ADMIN_NODE_REPLACE, "node-2", "node-6", false);
    expect(&told, STATUS_NO_SPACE, "are missing");
    cr_assert_eq(record_at(&stage, LEAVER)->replaced_by, 0);
    close_stage();
}

/* ---- remove ---- */

Test(coordinator_moves, a_node_is_removed_once_it_holds_nothing_and_has_ended)
{
    struct coordinator_told told;
    struct sync_request request = coordinator_stage_node(5);

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, 4);
    told = command(&stage, ADMIN_NODE_REMOVE, "node-2", "", false);
    expect(&told, STATUS_INVALID, "orbloom node drain node-2");
    told = command(&stage, ADMIN_NODE_REMOVE, "node-4", "", false);
    expect(&told, STATUS_INVALID, "its process runs");
    coordinator_stage_pass(&stage, SILENCE_US);
    keep_alive(&stage, 1, 3);
    told = command(&stage, ADMIN_NODE_REMOVE, "node-4", "", false);
    expect(&told, STATUS_OK, "removed");
    cr_assert_null(record_at(&stage, SPARE));
    cr_assert_eq(coordinator_stage_sync(&stage, 5, &request).node_id, 5, "no id is used again");
    told = command(&stage, ADMIN_NODE_REMOVE, "node-4", "", false);
    expect(&told, STATUS_NOT_FOUND, "no node node-4");
    close_stage();
}

/* ---- by itself ---- */

Test(coordinator_moves, the_replicas_of_a_node_that_stays_away_move_by_themselves)
{
    open_stage(2, 2, DURABILITY_SYNC);
    stage.coordinator->config.replace_after_us = 30 * SECOND_US;
    keep_alive(&stage, 1, 4);
    for (int i = 0; i < 29; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
        keep_alive(&stage, 1, 1);
        keep_alive(&stage, 3, 4);
    }
    expect_slot(&stage, 1, SLOT_SINGLE, LEAVER, 0);
    for (int i = 0; i < 4; i++) {
        coordinator_stage_pass(&stage, SECOND_US);
        keep_alive(&stage, 1, 1);
        keep_alive(&stage, 3, 4);
    }
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE);
    keep_alive(&stage, LEAVER, LEAVER);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    expect_slot(&stage, 2, SLOT_PAIR, LEAVER, SPARE); /* What was begun is seen through. */
    close_stage();
}
