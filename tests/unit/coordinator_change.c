/* Replicas of a node that lost its data: step by step, by evidence of the epoch at hand only. */
#include "coordinator/plan/change.h"
#include "coordinator/private.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILTER = 1, LOST = 2, NEW_LIFE = 7777, THIRD_LIFE = 8888, RETRY_US = 500000 };

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

static void create(struct coordinator_stage *at, enum durability durability)
{
    struct admin_request request = coordinator_stage_create();

    request.create.durability = durability;
    coordinator_stage_report(at, 3, 0, 0, REPLICA_NONE);
    coordinator_stage_command(at, 1, &request);
    coordinator_stage_report(at, 3, FILTER, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(at).status, STATUS_OK);
}

static void open_stage(void)
{
    coordinator_stage_disks = true;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    create(&stage, DURABILITY_SYNC);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static const struct filter_document *document_at(const struct coordinator_stage *at)
{
    return &document_cache_find(&at->coordinator->documents, FILTER)->document;
}

/* The slot of the node that is lost. */
static const struct slot *slot_at(const struct coordinator_stage *at)
{
    int index = document_slot_of(document_at(at), 0, LOST, 0);

    cr_assert_geq(index, 0);
    return &document_at(at)->content.groups[0].slots[index];
}

static void expect(const struct coordinator_stage *at, uint64_t epoch, enum slot_stage stage_of,
                   uint64_t current, uint64_t incoming)
{
    const struct slot *slot = slot_at(at);

    cr_assert_eq(document_at(at)->epoch, epoch, "epoch %llu",
                 (unsigned long long)document_at(at)->epoch);
    cr_assert_eq(slot_stage(slot), stage_of);
    cr_assert_eq(slot->current.incarnation, current);
    cr_assert_eq(slot->incoming.incarnation, incoming);
}

static const uint64_t old_life = SAMPLE_INCARNATION + LOST;

/* The lost node reports, as this life, complete for this epoch; 0: still copying. */
static void report(struct coordinator_stage *at, uint64_t life, uint64_t complete)
{
    struct sync_request request = coordinator_stage_node(LOST);
    struct replica_report reports[1] = {{
        .filter_id = FILTER,
        .state = REPLICA_JOINING,
        .phase = PHASE_SYNCING,
        .progress = 0.42,
        .complete = complete,
    }};

    request.incarnation = life;
    request.boot = life;
    request.replicas = reports;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_sync(at, LOST, &request).status, STATUS_OK);
}

/* The same, of the number that it was sent as. */
static void send_report(uint64_t number, uint64_t complete)
{
    struct sync_request request = coordinator_stage_node(LOST);
    const struct replica_report reports[1] = {
        {.filter_id = FILTER, .state = REPLICA_JOINING, .complete = complete}};

    request.incarnation = NEW_LIFE;
    request.boot = NEW_LIFE;
    request.number = number;
    request.replicas = reports;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_send(&stage, LOST, &request).status, STATUS_OK);
}

static void confirm(struct coordinator_stage *at, uint32_t node)
{
    coordinator_stage_confirm(at, node, SAMPLE_INCARNATION + node, STATUS_OK);
}

/* From a lost node to v2, fences asked. */
static void begin(void)
{
    open_stage();
    report(&stage, NEW_LIFE, 0);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
}

Test(coordinator_change, a_new_life_takes_the_old_ones_place_in_three_steps)
{
    begin();
    cr_assert_eq(stage.nfences, 2, "the two that live are asked at once, not who lost its data");
    cr_assert_eq(stage.fences[0].epoch, 2);
    confirm(&stage, 1);
    confirm(&stage, 3);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    report(&stage, NEW_LIFE, 2);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    cr_assert_eq(stage.nfences, 4, "asked anew under the new epoch");
    confirm(&stage, 1);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    confirm(&stage, 3);
    expect(&stage, 4, SLOT_SINGLE, NEW_LIFE, 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "changes_written_total"), 3);
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_void_total"), 0);
    coordinator_stage_pass(&stage, 10 * RETRY_US);
    cr_assert_eq(stage.nfences, 4, "nobody is asked any more");
    close_stage();
}

Test(coordinator_change, completeness_of_another_epoch_or_life_is_void)
{
    begin();
    confirm(&stage, 1);
    confirm(&stage, 3);
    report(&stage, NEW_LIFE, 1);
    report(&stage, NEW_LIFE, 3);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    report(&stage, NEW_LIFE, 2);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    close_stage();
}

Test(coordinator_change, fences_of_an_older_epoch_or_another_life_are_void)
{
    begin();
    report(&stage, NEW_LIFE, 2);
    for (size_t i = 0; i < stage.nfences; i++) {
        stage.fences[i].epoch = 1;
    }
    confirm(&stage, 1);
    confirm(&stage, 3);
    coordinator_stage_confirm(&stage, 3, SAMPLE_INCARNATION + 99, STATUS_OK);
    coordinator_stage_confirm(&stage, 3, SAMPLE_INCARNATION + 3, STATUS_NEED_DOC);
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_void_total"), 4);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    close_stage();
}

Test(coordinator_change, silent_nodes_are_asked_again)
{
    begin();
    confirm(&stage, 1);
    coordinator_stage_pass(&stage, 2 * RETRY_US + 1000);
    cr_assert_eq(stage.nfences, 4, "node 3 twice again");
    close_stage();
}

Test(coordinator_change, a_third_life_takes_over_while_copying)
{
    begin();
    confirm(&stage, 1);
    confirm(&stage, 3);
    report(&stage, THIRD_LIFE, 0);
    expect(&stage, 3, SLOT_PAIR, old_life, THIRD_LIFE);
    report(&stage, THIRD_LIFE, 3);
    expect(&stage, 3, SLOT_PAIR, old_life, THIRD_LIFE);
    confirm(&stage, 1);
    confirm(&stage, 3);
    expect(&stage, 4, SLOT_MOVED, old_life, THIRD_LIFE);
    close_stage();
}

/* A coordinator that died is replaced by any other, which asks for everything itself. */
Test(coordinator_change, another_coordinator_goes_on_from_the_store)
{
    begin();
    confirm(&stage, 1);
    confirm(&stage, 3);
    coordinator_stage_init(&other, &store.store);
    report(&other, NEW_LIFE, 2);
    for (uint32_t n = 1; n <= 3; n += 2) {
        struct sync_request request = coordinator_stage_node(n);

        cr_assert_eq(coordinator_stage_sync(&other, n, &request).status, STATUS_OK);
    }
    expect(&other, 2, SLOT_PAIR, old_life, NEW_LIFE);
    coordinator_stage_pass(&other, RETRY_US);
    confirm(&other, 1);
    confirm(&other, 3);
    expect(&other, 3, SLOT_MOVED, old_life, NEW_LIFE);
    report(&stage, NEW_LIFE, 2); /* True, but of an epoch that is over. */
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    coordinator_stage_fini(&other);
    close_stage();
}

static void move_on_at_other(void *context)
{
    (void)context;
    confirm(&other, 3);
    expect(&other, 3, SLOT_MOVED, old_life, NEW_LIFE);
}

/* Of two that take a step at once one loses the compare-and-swap, and its evidence with it. */
Test(coordinator_change, two_coordinators_take_each_step_once)
{
    begin();
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 1, FILTER, 1, REPLICA_FULL);
    report(&other, NEW_LIFE, 2);
    for (uint32_t n = 3; n <= 3; n++) {
        struct sync_request request = coordinator_stage_node(n);

        cr_assert_eq(coordinator_stage_sync(&other, n, &request).status, STATUS_OK);
    }
    coordinator_stage_pass(&other, RETRY_US);
    confirm(&other, 1);
    report(&stage, NEW_LIFE, 2);
    confirm(&stage, 1);
    store.before_swap = move_on_at_other;
    confirm(&stage, 3);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_change, a_store_that_fails_only_delays)
{
    begin();
    confirm(&stage, 1);
    report(&stage, NEW_LIFE, 2);
    store.broken = true;
    confirm(&stage, 3);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    coordinator_stage_pass(&stage, 2 * RETRY_US);
    store.broken = false;
    coordinator_stage_pass(&stage, 2 * RETRY_US);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    close_stage();
}

static void break_store(void *context)
{
    (void)context;
    store.broken = true;
}

static void break_store_at_the_swap_after_this(void *context)
{
    (void)context;
    store.before_swap = break_store;
}

/* The node list was written, the first step was not. */
Test(coordinator_change, a_store_that_fails_at_the_first_step_only_delays)
{
    open_stage();
    store.before_swap = break_store_at_the_swap_after_this;
    report(&stage, NEW_LIFE, 0);
    cr_assert(store.broken);
    store.broken = false;
    expect(&stage, 1, SLOT_SINGLE, old_life, 0);
    report(&stage, NEW_LIFE, 0);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    close_stage();
}

static void drop(void)
{
    struct admin_request request = coordinator_stage_drop();

    coordinator_stage_command(&stage, 5, &request);
}

Test(coordinator_change, a_drop_ends_a_replacement)
{
    begin();
    confirm(&stage, 1);
    drop();
    cr_assert_eq(document_at(&stage)->content.state, FILTER_DROPPING);
    report(&stage, NEW_LIFE, 2);
    coordinator_stage_pass(&stage, RETRY_US);
    cr_assert_eq(stage.ntold, 0, "fences of the epoch before do not count");
    confirm(&stage, 1);
    cr_assert_eq(stage.ntold, 0);
    confirm(&stage, 3);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

/* Under v3 both halves may have been read: one silent half is not a silent slot. */
Test(coordinator_change, a_drop_while_handing_over_takes_both_halves)
{
    begin();
    confirm(&stage, 1);
    confirm(&stage, 3);
    report(&stage, NEW_LIFE, 2);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    drop();
    coordinator_stage_pass(&stage, RETRY_US);
    coordinator_stage_confirm(&stage, LOST, NEW_LIFE, STATUS_OK);
    confirm(&stage, 1);
    cr_assert_eq(stage.ntold, 0, "the newcomer's fence is not the old member's");
    confirm(&stage, 3);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

/* The old member was only cut off, and nobody has heard of the newcomer, who is read. */
Test(coordinator_change, a_drop_while_handing_over_takes_the_newcomers_fence_too)
{
    begin();
    confirm(&stage, 1);
    confirm(&stage, 3);
    report(&stage, NEW_LIFE, 2);
    drop();
    coordinator_stage_pass(&stage, RETRY_US);
    coordinator_stage_confirm(&stage, LOST, old_life, STATUS_OK);
    confirm(&stage, 1);
    cr_assert_eq(stage.ntold, 0);
    coordinator_stage_confirm(&stage, LOST, NEW_LIFE, STATUS_OK);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

static void move_on_before_drop(void *context)
{
    (void)context;
    report(&other, NEW_LIFE, 0);
    cr_assert_eq(document_at(&other)->epoch, 2);
}

/* The drop loses the compare-and-swap to a step of the replacement: whoever asked looks, and asks
 * again. */
Test(coordinator_change, a_drop_outlasts_another_coordinators_steps)
{
    struct coordinator_told told;

    open_stage();
    coordinator_stage_init(&other, &store.store);
    for (uint32_t n = 1; n <= 3; n++) { /* Before all are heard of, it changes nothing. */
        struct sync_request request = coordinator_stage_node(n);

        (void)coordinator_stage_sync(&other, n, &request);
    }
    store.before_swap = move_on_before_drop;
    drop();
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_CONFLICT);
    cr_assert(told.moved);
    cr_assert_eq(document_at(&stage)->content.state, FILTER_ACTIVE);
    drop();
    cr_assert_eq(document_at(&stage)->content.state, FILTER_DROPPING);
    cr_assert_eq(document_at(&stage)->epoch, 3);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_change, filters_in_memory_are_left_alone)
{
    struct sync_request request;

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    create(&stage, DURABILITY_MEMORY);
    request = coordinator_stage_node(LOST);
    request.incarnation = NEW_LIFE;
    cr_assert_eq(coordinator_stage_sync(&stage, LOST, &request).status, STATUS_OK);
    expect(&stage, 1, SLOT_SINGLE, old_life, 0);
    cr_assert_eq(stage.nfences, 0);
    close_stage();
}

/* What was overtaken, or is repeated, is signed as well. */
Test(coordinator_change, a_report_that_is_not_the_newest_says_nothing)
{
    begin();
    send_report(1000, 0);
    confirm(&stage, 1);
    confirm(&stage, 3);
    send_report(999, 2);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    send_report(1000, 2);
    expect(&stage, 2, SLOT_PAIR, old_life, NEW_LIFE);
    send_report(1001, 2);
    expect(&stage, 3, SLOT_MOVED, old_life, NEW_LIFE);
    close_stage();
}

/* ---- what operators are shown ---- */

static struct coordinator_told status(void)
{
    struct admin_request request = {.action = ADMIN_STATUS, .name = ""};

    coordinator_stage_command(&stage, 9, &request);
    return coordinator_stage_told(&stage);
}

static void expect_shown(enum change_step step, uint32_t slots, const char *text)
{
    struct coordinator_told told = status();

    cr_assert_eq(told.nchanges, 1);
    cr_assert_eq(told.change.filter_id, FILTER);
    cr_assert_eq(told.change.step, step, "step %d: %s", told.change.step, told.awaited);
    cr_assert_eq(told.change.slots, slots);
    cr_assert_not_null(strstr(told.awaited, text), "%s", told.awaited);
}

Test(coordinator_change, status_tells_each_step_and_what_it_awaits)
{
    open_stage();
    cr_assert_eq(status().nchanges, 0);
    report(&stage, NEW_LIFE, 0);
    expect_shown(CHANGE_COPYING, 1, "0 of 2 replicas have confirmed epoch 2");
    confirm(&stage, 1);
    expect_shown(CHANGE_COPYING, 1, "1 of 2 replicas");
    confirm(&stage, 3);
    expect_shown(CHANGE_COPYING, 1, "node-2 copies what the others hold: 42 %");
    report(&stage, NEW_LIFE, 2);
    expect_shown(CHANGE_HANDING_OVER, 1, "0 of 2 replicas have confirmed epoch 3");
    confirm(&stage, 1);
    confirm(&stage, 3);
    cr_assert_eq(status().nchanges, 0);
    close_stage();
}

Test(coordinator_change, status_tells_what_cannot_go_on)
{
    struct sync_request third;

    open_stage();
    third = coordinator_stage_node(3);
    third.incarnation = NEW_LIFE + 1;
    third.boot = NEW_LIFE + 1;
    report(&stage, NEW_LIFE, 0);
    cr_assert_eq(coordinator_stage_sync(&stage, 3, &third).status, STATUS_OK);
    expect_shown(CHANGE_COPYING, 1, "1 of the 2 FULL replicas that it takes is left");
    close_stage();
}

Test(coordinator_change, status_tells_what_is_not_replaced)
{
    struct sync_request request;

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    create(&stage, DURABILITY_MEMORY);
    request = coordinator_stage_node(LOST);
    request.incarnation = NEW_LIFE;
    cr_assert_eq(coordinator_stage_sync(&stage, LOST, &request).status, STATUS_OK);
    expect_shown(CHANGE_TO_BEGIN, 0, "node-2 came back without its data");
    close_stage();
}

Test(coordinator_change, a_silent_node_is_named)
{
    begin();
    confirm(&stage, 1);
    stage.now_us += 20000000;
    report(&stage, NEW_LIFE, 0);
    expect_shown(CHANGE_COPYING, 1, "node-3 is silent");
    close_stage();
}
