/* Does one life of a node's data have its place at a time, whichever coordinators are asked? */
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_init(&other, &store.store);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    coordinator_stage_fini(&other);
    memory_store_fini(&store);
}

static struct sync_request claim(uint64_t incarnation, uint64_t boot, uint64_t boot_before)
{
    struct sync_request request = coordinator_stage_node(1);

    request.incarnation = incarnation;
    request.boot = boot;
    request.boot_before = boot_before;
    request.durable = boot != 0;
    return request;
}

static enum status sync_at(struct coordinator_stage *at, uint64_t incarnation, uint64_t boot,
                           uint64_t boot_before)
{
    struct sync_request request = claim(incarnation, boot, boot_before);

    return coordinator_stage_sync(at, 1, &request).status;
}

Test(coordinator_boots, a_node_that_continues_is_swapped_in)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_total"), 1);
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_OK);
    cr_assert_eq(sync_at(&other, 7, 2, 1), STATUS_OK, "the other one reads it in the store");
    cr_assert_eq(sync_at(&other, 7, 3, 2), STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_total"), 2);
    cr_assert_eq(coordinator_stage_counter(&other, "registrations_total"), 1);
    close_stage();
}

Test(coordinator_boots, an_older_copy_is_told_to_begin_anew)
{
    struct sync_request copy = claim(7, 9, 1);
    struct coordinator_synced synced;

    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_OK);
    synced = coordinator_stage_sync(&other, 1, &copy);
    cr_assert_eq(synced.status, STATUS_STALE);
    cr_assert_not_null(strstr(synced.message, "older copy of node node-1's data"), "%s",
                       synced.message);
    cr_assert_not_null(strstr(synced.message, "new incarnation"), "%s", synced.message);
    cr_assert_eq(sync_at(&other, 8, 9, 0), STATUS_OK, "as it is told");
    cr_assert_eq(coordinator_stage_counter(&other, "registrations_refused_total"), 0);
    close_stage();
}

static enum status sync_from(uint64_t boot, uint64_t boot_before, uint64_t position)
{
    struct sync_request request = claim(7, boot, boot_before);

    request.position = position;
    return coordinator_stage_sync(&stage, 1, &request).status;
}

/* The folder was copied while boot 2 ran, and put back after it was killed. */
Test(coordinator_boots, a_log_that_fell_back_within_a_boot_is_told_to_begin_anew)
{
    open_stage();
    cr_assert_eq(sync_from(1, 0, 0), STATUS_OK);
    cr_assert_eq(sync_from(2, 1, 100), STATUS_OK);
    cr_assert_eq(sync_from(2, 1, 5000), STATUS_OK);
    cr_assert_eq(sync_from(2, 1, 4000), STATUS_OK, "a report that was overtaken");
    cr_assert_eq(sync_from(3, 2, 4999), STATUS_STALE);
    cr_assert_eq(sync_from(3, 2, 5000), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 8, 9, 0), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 8, 10, 9), STATUS_OK, "what another incarnation had is nothing");
    close_stage();
}

Test(coordinator_boots, an_incarnation_that_was_replaced_does_not_come_back)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 8, 3, 0), STATUS_OK, "a wiped disk");
    cr_assert_eq(sync_at(&stage, 7, 4, 2), STATUS_STALE);
    cr_assert_not_null(strstr(stage.synced.message, "has been replaced"), "%s",
                       stage.synced.message);
    cr_assert_eq(sync_at(&other, 7, 2, 1), STATUS_STALE);
    cr_assert_eq(sync_at(&stage, 9, 0, 0), STATUS_OK, "memory only");
    cr_assert_eq(sync_at(&stage, 8, 5, 3), STATUS_STALE);
    close_stage();
}

/* The operator gave two nodes one name: neither must lose its data for that. */
Test(coordinator_boots, a_living_node_of_that_name_comes_first)
{
    struct sync_request stranger = claim(8, 5, 4);

    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    stranger.endpoint = "tcp://node-2:7000";
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &stranger).status, STATUS_EXISTS);
    close_stage();
}

Test(coordinator_boots, a_log_without_a_boot_is_refused)
{
    struct sync_request request = claim(7, 0, 0);

    open_stage();
    request.durable = true;
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_INVALID);
    request = claim(7, 0, 3);
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_INVALID);
    close_stage();
}

/* Which of two copies of a folder the other coordinator lets in first. */
static struct sync_request rival;

static void let_rival_in(void *context)
{
    (void)context;
    cr_assert_eq(coordinator_stage_sync(&other, 2, &rival).status, STATUS_OK);
}

Test(coordinator_boots, of_two_copies_at_two_coordinators_one_goes_on)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    rival = claim(7, 3, 1);
    store.before_swap = let_rival_in;
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_STALE);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
    cr_assert_eq(sync_at(&stage, 7, 3, 1), STATUS_OK, "the one that was first");
    close_stage();
}

Test(coordinator_boots, a_wiped_disk_and_its_former_life_at_two_coordinators)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    rival = claim(8, 5, 0);
    store.before_swap = let_rival_in;
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_STALE);
    cr_assert_eq(sync_at(&stage, 8, 5, 0), STATUS_OK);
    close_stage();
}

/* What else was written meanwhile does not matter. */
Test(coordinator_boots, a_race_with_another_node_costs_nothing)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    rival = coordinator_stage_node(2);
    store.before_swap = let_rival_in;
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
    close_stage();
}

Test(coordinator_boots, a_store_that_fails_lets_nobody_in)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    store.broken = true;
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_IO);
    store.broken = false;
    cr_assert_eq(sync_at(&stage, 7, 3, 1), STATUS_OK, "boot 2 never had its place");
    close_stage();
}

static enum status send_to(struct coordinator_stage *at, struct sync_request request,
                           uint64_t incarnation, uint64_t boot)
{
    request.replaces = (struct boot_life){.incarnation = incarnation, .boot = boot};
    return coordinator_stage_send(at, 1, &request).status;
}

/* Incarnation 8 asked, and was wiped before it heard the answer. */
Test(coordinator_boots, a_first_registration_that_is_late_replaces_nothing)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 9, 3, 0), STATUS_OK);
    cr_assert_eq(send_to(&stage, claim(8, 2, 0), 7, 1), STATUS_STALE);
    cr_assert_eq(send_to(&other, claim(8, 2, 0), 0, 0), STATUS_STALE);
    cr_assert_eq(sync_at(&stage, 9, 4, 3), STATUS_OK);
    cr_assert_eq(send_to(&other, claim(7, 1, 0), 0, 0), STATUS_STALE, "repeated by the network");
    cr_assert_eq(sync_at(&other, 9, 5, 4), STATUS_OK);
    close_stage();
}

/* It came in time: then the present one is told, and names it. */
Test(coordinator_boots, what_is_to_be_named_is_told)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(send_to(&other, claim(8, 2, 0), 7, 1), STATUS_OK);
    cr_assert_eq(send_to(&stage, claim(9, 3, 0), 7, 1), STATUS_STALE);
    cr_assert_eq(stage.synced.present.incarnation, 8);
    cr_assert_eq(stage.synced.present.boot, 2);
    cr_assert_not_null(strstr(stage.synced.message, "has to name"), "%s", stage.synced.message);
    cr_assert_eq(send_to(&stage, claim(9, 3, 0), 8, 2), STATUS_OK);
    cr_assert_eq(send_to(&other, claim(9, 3, 0), 8, 2), STATUS_OK, "its answer was lost");
    cr_assert_eq(coordinator_stage_counter(&other, "registrations_total"), 1);
    close_stage();
}

/* Both were told the same; the store takes one. */
Test(coordinator_boots, of_two_that_name_one_life_one_replaces_it)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    rival = claim(8, 2, 0);
    rival.replaces = (struct boot_life){.incarnation = 7, .boot = 1};
    store.before_swap = let_rival_in;
    cr_assert_eq(send_to(&stage, claim(9, 3, 0), 7, 1), STATUS_STALE);
    cr_assert_eq(stage.synced.present.incarnation, 8);
    close_stage();
}

/* Without a disk each start begins; the former one does not take its place back. */
Test(coordinator_boots, memory_that_was_replaced_stays_so)
{
    open_stage();
    cr_assert_eq(send_to(&stage, claim(7, 0, 0), 0, 0), STATUS_OK);
    cr_assert_eq(send_to(&stage, claim(8, 0, 0), 7, 0), STATUS_OK);
    cr_assert_eq(send_to(&stage, claim(7, 0, 0), 0, 0), STATUS_STALE);
    cr_assert_eq(send_to(&stage, claim(8, 0, 0), 7, 0), STATUS_OK);
    close_stage();
}

/* The folder was copied while the node ran, and the copy is started on another machine. */
Test(coordinator_boots, a_copy_of_a_living_node_waits_until_that_is_silent)
{
    struct sync_request copy = claim(7, 2, 1);

    open_stage();
    copy.endpoint = "tcp://node-2:7000";
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    stage.now_us += 9000000;
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    stage.now_us += 9000000;
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &copy).status, STATUS_EXISTS);
    cr_assert_not_null(strstr(stage.synced.message, "tcp://node-1:7000"), "%s",
                       stage.synced.message);
    cr_assert_not_null(strstr(stage.synced.message, "end one of the two"));
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK, "it goes on");
    stage.now_us += 10000000;
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &copy).status, STATUS_OK, "it was moved");
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_STALE, "it is told at once, and ends");
    close_stage();
}

Test(coordinator_boots, a_node_that_starts_again_where_it_was_does_not_wait)
{
    open_stage();
    cr_assert_eq(sync_at(&stage, 7, 1, 0), STATUS_OK);
    cr_assert_eq(sync_at(&stage, 7, 2, 1), STATUS_OK);
    close_stage();
}
