/* Shards with fewer replicas that count than they are to have: an operator is told why, and what
 * helps. */
#include "tests/unit/coordinator_moves.h"

enum { SHARDS = 16 };

static struct coordinator_told status_told(void)
{
    const struct admin_request status = {.action = ADMIN_STATUS, .name = ""};

    coordinator_stage_command(&stage, 3, &status);
    return coordinator_stage_told(&stage);
}

static void report_full(uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n <= to; n++) {
        struct sync_request request = coordinator_stage_node(n);
        const struct replica_report reports[1] = {{.filter_id = FILTER, .state = REPLICA_FULL}};

        request.replicas = reports;
        request.nreplicas = 1;
        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
    }
}

static void expect_lack(const char *why, const char *remedy)
{
    struct coordinator_told told = status_told();

    cr_assert_eq(told.shards_lacking, SHARDS, "%u", told.shards_lacking);
    cr_assert_not_null(strstr(told.lacking, why), "%s", told.lacking);
    cr_assert_not_null(strstr(told.remedy, remedy), "%s", told.remedy);
}

Test(coordinator_lack, nothing_lacks_while_all_are_full)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    told = status_told();
    cr_assert_eq(told.shards_lacking, 0);
    cr_assert_str_eq(told.lacking, "");
    cr_assert_str_eq(told.remedy, "");
    close_stage();
}

Test(coordinator_lack, a_silent_node_is_named_and_who_could_take_its_place)
{
    open_stage(2, 2, DURABILITY_SYNC);
    coordinator_stage_pass(&stage, SILENCE_US);
    report_full(1, 1);
    report_full(3, 3);
    expect_lack("node-2 is silent", "start node-2; if it is gone for good: `orbloom node replace "
                                    "node-2 NEW`, NEW being a node to be started");
    keep_alive(&stage, SPARE, SPARE);
    expect_lack("node-2 is silent", "`orbloom node replace node-2 node-4`");
    close_stage();
}

/* Whoever holds a replica of the same shards already can't take another one. */
Test(coordinator_lack, where_nobody_can_take_all_several_take_it)
{
    struct admin_request other = coordinator_stage_create();

    open_stage(2, 2, DURABILITY_SYNC);
    keep_alive(&stage, 1, SPARE);
    other.name = "other";
    other.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(&stage, 5, &other);
    coordinator_stage_pass(&stage, SILENCE_US);
    (void)coordinator_stage_told(&stage); /* Nobody has made its arrays: not waited for longer. */
    report_full(1, 1);
    report_full(3, 3);
    keep_alive(&stage, SPARE, SPARE);
    expect_lack("node-2 is silent", "if it is gone for good: `orbloom node drain node-2`");
    close_stage();
}

Test(coordinator_lack, an_operator_is_told_what_only_he_can_vouch_for)
{
    open_stage(3, 1, DURABILITY_SYNC);
    coordinator_stage_pass(&stage, SILENCE_US);
    report_full(1, 1);
    report_full(3, 3);
    keep_alive(&stage, SPARE, SPARE);
    expect_lack("node-2 is silent", "`orbloom node replace node-2 node-4 --confirmed-off`");
    close_stage();
}

Test(coordinator_lack, a_node_that_lost_its_data_is_being_completed)
{
    struct sync_request request;

    open_stage(2, 2, DURABILITY_SYNC);
    request = coordinator_stage_node(2);
    request.incarnation = SAMPLE_INCARNATION + 50;
    request.boot = COORDINATOR_STAGE_BOOT + 50;
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &request).status, STATUS_OK);
    expect_lack("node-2 came back without its data, and is being completed", "see below");
    close_stage();
}

Test(coordinator_lack, a_replica_that_reads_its_log_back_needs_time_only)
{
    struct sync_request request;
    const struct replica_report reports[1] = {{.filter_id = FILTER, .state = REPLICA_BUILDING}};

    open_stage(2, 2, DURABILITY_SYNC);
    request = coordinator_stage_node(2);
    request.replicas = reports;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &request).status, STATUS_OK);
    expect_lack("node-2 is making its arrays", "nothing: that ends by itself");
    close_stage();
}
