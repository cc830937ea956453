/* What nodes tell page by page: what it says, and what it does not. */
#include "base/heap.h"
#include "coordinator/private.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { NODE = 1 };

static struct memory_store store;
static struct coordinator_stage stage;

static void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
}

static void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(reports, .init = setup, .fini = teardown);

static const struct heard *heard(void)
{
    return coordinator_heard(stage.coordinator, NODE);
}

/* All but who it is and the page: filters with one group each. */
static struct coordinator_synced tell(uint64_t life, uint64_t from, uint64_t to, uint64_t since,
                                      const uint64_t *filters, size_t count, uint64_t keys)
{
    struct sync_request request = coordinator_stage_node(NODE);
    struct replica_report reports[8] = {{0}};

    for (size_t i = 0; i < count; i++) {
        reports[i] = (struct replica_report){
            .filter_id = filters[i], .state = REPLICA_FULL, .keys = keys, .progress = 1};
    }
    request.incarnation += life;
    request.replicas = reports;
    request.nreplicas = count;
    request.page = (struct report_page){.from = {from, 0}, .to = {to, 0}};
    request.since = since;
    return coordinator_stage_sync(&stage, NODE, &request);
}

#define TELL(life, from, to, since, keys, ...)                   \
    tell(life, from, to, since, (const uint64_t[]){__VA_ARGS__}, \
         sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), keys)

static bool knows(uint64_t filter)
{
    return heard_report(heard(), filter, 0) != NULL;
}

Test(reports, a_page_says_nothing_of_what_is_beyond)
{
    TELL(0, 0, 30, 1, 7, 10, 20);
    TELL(0, 30, 0, 1, 7, 30, 40);
    cr_assert(knows(10) && knows(20) && knows(30) && knows(40));
    TELL(0, 0, 20, 1, 8, 10);
    cr_assert(knows(20) && knows(30) && knows(40), "of another page");
    cr_assert_eq(heard_report(heard(), 10, 0)->keys, 8);
    cr_assert_eq(heard_report(heard(), 20, 0)->keys, 7);
    TELL(0, 15, 35, 1, 9, 25);
    cr_assert(knows(10) && knows(25) && knows(40));
    cr_assert_not(knows(20) || knows(30), "the stretch has them no more");
    cr_assert_eq(heard()->nreports, 3);
}

/* Of the oldest page of a whole round, and of no part of one. */
Test(reports, only_a_whole_round_tells_what_was_in_hand)
{
    uint64_t change = stage.coordinator->change;

    cr_assert_eq(heard()->since, 0);
    TELL(0, 0, 20, change, 7, 10);
    TELL(0, 20, 30, change, 7, 20);
    cr_assert_eq(heard()->since, 0, "not to the end yet");
    TELL(0, 30, 0, change, 7, 30);
    cr_assert_eq(heard()->since, change);
    cr_assert_eq(coordinator_stage_counter(&stage, "report_rounds_total"), 1);
    TELL(0, 0, 20, change, 7, 10);
    TELL(0, 20, 30, change - 1, 7, 20);
    TELL(0, 30, 0, change, 7, 30);
    cr_assert_eq(heard()->since, change - 1, "the page in the midst was told earlier");
}

Test(reports, a_lost_page_makes_no_round)
{
    uint64_t change = stage.coordinator->change;

    TELL(0, 0, 20, change, 7, 10);
    TELL(0, 30, 0, change, 7, 30);
    cr_assert_eq(heard()->since, 0);
    cr_assert(knows(10) && knows(30));
    cr_assert_eq(coordinator_stage_counter(&stage, "report_rounds_total"), 0);
    TELL(0, 0, 20, change, 7, 10);
    TELL(0, 20, 0, change, 7, 20);
    cr_assert_eq(heard()->since, change);
}

/* Pages of a round wait for answers; what has changed meanwhile is told at once. */
Test(reports, news_between_two_pages_do_not_end_the_round)
{
    uint64_t change = stage.coordinator->change;

    TELL(0, 0, 20, change, 7, 10);
    TELL(0, 30, 31, change, 8, 30);
    cr_assert(knows(10) && knows(30));
    cr_assert_eq(heard()->since, 0, "not all was told");
    TELL(0, 20, 0, change, 7, 20, 30);
    cr_assert_eq(heard()->since, change);
    TELL(0, 0, 20, change, 7, 10);
    TELL(0, 15, 18, change - 1, 8, 17);
    TELL(0, 20, 0, change, 7, 20, 30);
    cr_assert_eq(heard()->since, change - 1, "the news were told earlier");
}

/* It was FULL; what it is now that it has to read its log again nobody has said. */
Test(reports, another_boot_voids_what_was_told)
{
    TELL(0, 0, 20, stage.coordinator->change, 7, 10);
    TELL(0, 20, 0, stage.coordinator->change, 7, 20);
    stage.coordinator->heard[0].boot ^= 1; /* The reports are of another one. */
    TELL(0, 0, 20, stage.coordinator->change, 7, 10);
    cr_assert(knows(10));
    cr_assert_not(knows(20), "the former boot told it");
    cr_assert_eq(heard()->since, 0);
    cr_assert_not(heard()->round.told);
    cr_assert_eq(heard_most_keys(stage.coordinator, 20, 0), 0, "the same life tells again");
}

Test(reports, what_a_former_life_held_is_remembered_and_counts_for_nothing)
{
    TELL(0, 0, 20, stage.coordinator->change, 7, 10);
    TELL(0, 20, 0, stage.coordinator->change, 9, 20);
    TELL(50, 0, 20, stage.coordinator->change, 1, 10);
    cr_assert_not(knows(20));
    cr_assert_eq(heard_most_keys(stage.coordinator, 20, 0), 9);
    cr_assert_eq(heard_most_keys(stage.coordinator, 10, 0), 7);
}

/* The new filter is in the second page: its operator is answered all the same. */
Test(reports, a_create_ends_with_the_page_that_tells_of_it)
{
    struct admin_request create = coordinator_stage_create();

    coordinator_stage_command(&stage, 77, &create);
    for (uint32_t n = 1; n <= 3; n++) {
        struct sync_request request = coordinator_stage_node(n);
        const struct replica_report report = {.filter_id = 1, .state = REPLICA_FULL, .progress = 1};

        request.page.to = (struct report_place){1, 0};
        (void)coordinator_stage_sync(&stage, n, &request);
        cr_assert_eq(stage.ntold, 0);
        request.page = (struct report_page){.from = {1, 0}};
        request.replicas = &report;
        request.nreplicas = 1;
        (void)coordinator_stage_sync(&stage, n, &request);
    }
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

/* Without an answer the operator would be told that no coordinator is there. */
Test(reports, more_than_an_answer_takes_is_said)
{
    enum { REPORTS = 1000000 };
    const struct admin_request request = {.action = ADMIN_STATUS, .name = ""};
    struct heard *teller = coordinator_heard(stage.coordinator, NODE);
    struct coordinator_told told;

    teller->reports = heap_realloc(teller->reports, REPORTS, sizeof *teller->reports);
    cr_assert_not_null(teller->reports);
    for (size_t i = 0; i < REPORTS; i++) {
        teller->reports[i] = (struct replica_report){
            .node_id = NODE, .filter_id = i + 1, .state = REPLICA_FULL, .progress = 1};
    }
    teller->nreports = teller->reports_capacity = REPORTS;
    coordinator_stage_ask(&stage, 77, &request);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.correlation, 77);
    cr_assert_eq(told.status, STATUS_TOO_LARGE);
    cr_assert_not_null(strstr(told.message, "orbloom info NAME"));
    cr_assert_eq(coordinator_stage_counter(&stage, "replies_dropped_total"), 0);
}
