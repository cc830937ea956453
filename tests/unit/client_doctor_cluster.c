/* `orbloom doctor` on filters and nodes: what lacks, is full, will not grow, or shares a host, on
 * both sides of each bound. */
#include "tests/unit/doctor_fake.h"

TestSuite(client_doctor_cluster, .init = fake_setup, .fini = fake_teardown);

/* ---- replicas ---- */

static void lack(uint32_t fewest)
{
    fake.filter.shards_lacking = 1;
    fake.filter.fewest_full = fewest;
    fake.filter.lacking = "node-2 is silent";
    fake.filter.lacking_remedy = "start node-2";
}

Test(client_doctor_cluster, too_few_replicas_for_a_quorum_are_an_error)
{
    const struct finding *found;

    fake_expect_none(judge_filters);
    lack(2);
    (void)fake_expect(judge_filters, SEVERITY_WARNING, "replicas", "seen", "start node-2");
    lack(1);
    found = fake_expect(judge_filters, SEVERITY_ERROR, "quorum", "seen", "start node-2");
    cr_assert_not_null(strstr(found->text, "too few for adds and checks"), "%s", found->text);
}

Test(client_doctor_cluster, which_quorum_is_lost_is_told)
{
    const struct finding *found;

    lack(1);
    fake.filter.rule = (struct quorum_rule){.replicas = 3, .write = 3, .read = 1};
    found = fake_expect(judge_filters, SEVERITY_ERROR, "quorum", "seen", "start node-2");
    cr_assert_not_null(strstr(found->text, "to acknowledge adds"), "%s", found->text);
    fake.filter.rule = (struct quorum_rule){.replicas = 5, .write = 1, .read = 3};
    found = fake_expect(judge_filters, SEVERITY_ERROR, "quorum", "seen", "start node-2");
    cr_assert_not_null(strstr(found->text, "to answer \"absent\""), "%s", found->text);
}

Test(client_doctor_cluster, what_status_shows_below_is_not_pointed_at)
{
    lack(2);
    fake.filter.lacking_remedy = "see below what its replacement awaits";
    (void)fake_expect(judge_filters, SEVERITY_WARNING, "replicas", "seen", "`orbloom status`");
}

Test(client_doctor_cluster, a_change_that_can_not_begin_is_a_warning)
{
    struct admin_reply *cluster = &fake.status.body.admin_reply;

    cluster->nchanges = 1;
    fake.change = (struct change_summary){.filter_id = 1, .slots = 1, .awaited = "a copy"};
    (void)fake_expect(judge_filters, SEVERITY_INFO, "replicas", "seen", NULL);
    fake.change.slots = 0;
    (void)fake_expect(judge_filters, SEVERITY_WARNING, "replicas", "seen", "orbloom help shard");
}

Test(client_doctor_cluster, losses_and_rebuilds_are_told)
{
    fake.filter.loss_epoch = 3;
    (void)fake_expect(judge_filters, SEVERITY_INFO, "loss", "seen", "orbloom add seen FILE");
    fake.filter.loss_epoch = 0;
    fake.filter.rebuild_keyset = 2;
    (void)fake_expect(judge_filters, SEVERITY_INFO, "rebuild", "seen",
                      "orbloom rebuild seen commit");
}

/* ---- fullness ---- */

static void have_keys(uint64_t keys)
{
    for (size_t i = 0; i < FAKE_NODES; i++) {
        fake.replicas[i].keys = keys;
    }
}

/* It has room for all that it may hold at the rate asked for. */
static void refuse_when_full(void)
{
    fake.filter.when_full = WHEN_FULL_REFUSE;
    fake.filter.lines = 2000000;
}

/* Keys at the three looks. */
static void come(uint64_t from, uint64_t amid, uint64_t to)
{
    have_keys(from);
    fake_looked(2 * (uint64_t)JUDGE_REPORTS_US);
    have_keys(amid);
    fake_amid();
    have_keys(to);
}

Test(client_doctor_cluster, near_and_at_its_capacity)
{
    refuse_when_full();
    have_keys(8999999);
    fake_expect_none(judge_fill);
    have_keys(9000000);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen",
                      "`orbloom expand seen --capacity 20000000`");
    have_keys(9949999);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`orbloom expand");
    have_keys(9950000);
    (void)fake_expect(judge_fill, SEVERITY_ERROR, "full", "seen", "`orbloom expand");
}

/* Nothing is said to be refused that may not be. */
Test(client_doctor_cluster, adds_are_refused_at_its_capacity_and_soon_before)
{
    const struct finding *found;

    refuse_when_full();
    have_keys(9949999);
    found = fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`orbloom expand");
    cr_assert_null(strstr(found->text, "refused"), "%s", found->text);
    have_keys(9999999);
    found = fake_expect(judge_fill, SEVERITY_ERROR, "full", "seen", "`orbloom expand");
    cr_assert_not_null(strstr(found->text, "soon be refused"), "%s", found->text);
    have_keys(10000000);
    found = fake_expect(judge_fill, SEVERITY_ERROR, "full", "seen", "`orbloom expand");
    cr_assert_not_null(strstr(found->text, "are refused"), "%s", found->text);
}

Test(client_doctor_cluster, what_grows_by_itself_is_not_full)
{
    refuse_when_full();
    fake.filter.when_full = WHEN_FULL_EXPAND;
    have_keys(9950000);
    fake_expect_none(judge_fill);
    fake.filter.growth_held = true;
    (void)fake_expect(judge_fill, SEVERITY_ERROR, "full", "seen", "growth was aborted");
}

Test(client_doctor_cluster, what_is_refused_to_grow_gets_full)
{
    const struct finding *found;

    refuse_when_full();
    fake.filter.when_full = WHEN_FULL_EXPAND;
    have_keys(9500000);
    fake.filter.growth_refused = "memory does not suffice: node node-2 lacks 1.2 GiB; raise its "
                                 "memory_limit";
    found = fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`memory_limit`");
    cr_assert_not_null(strstr(found->text, "can't: memory does not suffice"), "%s", found->text);
    fake_expect_none(judge_growth);
}

/* More memory would not help. */
Test(client_doctor_cluster, what_is_as_large_as_it_may_be_is_told_once)
{
    const struct finding *found;

    fake.filter.max_capacity = fake.filter.capacity;
    fake.filter.growth_refused = "its capacity is max-capacity already, 10,000,000 keys";
    found = fake_expect(judge_fill, SEVERITY_WARNING, "growth", "seen", "orbloom create NEW");
    cr_assert_null(strstr(found->remedy, "memory_limit"), "%s", found->remedy);
    fake_expect_none(judge_growth);
    refuse_when_full();
    have_keys(9500000);
    found = fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "orbloom create NEW");
    cr_assert_null(strstr(found->remedy, "memory_limit"), "%s", found->remedy);
    fake_expect_none(judge_growth);
}

Test(client_doctor_cluster, what_is_nearly_full_gets_no_forecast)
{
    refuse_when_full();
    come(9500000, 9550000, 9600000);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`orbloom expand");
}

Test(client_doctor_cluster, what_is_being_dropped_may_be_full)
{
    refuse_when_full();
    have_keys(9950000);
    fake.filter.state = FILTER_DROPPING;
    fake_expect_none(judge_fill);
}

Test(client_doctor_cluster, what_can_not_grow_is_replaced_by_a_larger_one)
{
    refuse_when_full();
    have_keys(9500000);
    fake.filter.max_capacity = fake.filter.capacity;
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen",
                      "`orbloom rename NEW seen --replace`");
    fake.filter.max_capacity *= 64;
    fake.filter.durability = DURABILITY_MEMORY;
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "orbloom create NEW");
}

Test(client_doctor_cluster, an_expansion_goes_no_further_than_it_may)
{
    refuse_when_full();
    have_keys(9500000);
    fake.filter.max_capacity = 15000000;
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "--capacity 15000000`");
}

/* ---- how fast ---- */

/* So many keys are left, and as many come in each half of four seconds as make it full then. */
static void come_steadily(uint64_t left, uint64_t full_s)
{
    uint64_t half = left * 2 / full_s;

    come(fake.filter.capacity - left - 2 * half, fake.filter.capacity - left - half,
         fake.filter.capacity - left);
}

Test(client_doctor_cluster, full_within_seven_days)
{
    refuse_when_full();
    come_steadily(6048000, JUDGE_FULL_S);
    fake_expect_none(judge_fill); /* 40 keys: too few */
    fake.filter.capacity = 100000000;
    fake.filter.lines *= 10;
    come_steadily(60480000, JUDGE_FULL_S);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`orbloom expand");
    come_steadily(60480000 + 604800, JUDGE_FULL_S + 6048);
    fake_expect_none(judge_fill);
}

Test(client_doctor_cluster, a_few_keys_tell_nothing_of_how_fast_they_come)
{
    const uint64_t half = JUDGE_NEW_KEYS / 2;

    refuse_when_full();
    come(8000000, 8000000 + half, 8000000 + JUDGE_NEW_KEYS - 1);
    fake_expect_none(judge_fill);
    come(8000000, 8000000 + half, 8000000 + JUDGE_NEW_KEYS);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`orbloom expand");
}

/* Nodes tell of keys some time after they have come, so the first look lacks some. */
Test(client_doctor_cluster, a_load_that_is_over_fills_nothing)
{
    refuse_when_full();
    come(4000000, 5000000, 5000000);
    fake_expect_none(judge_fill);
    come(4000000, 5000000, 5499999);
    fake_expect_none(judge_fill);
    come(4000000, 5000000, 5500000);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "`orbloom expand");
    come(4000000, 4000000, 5000000);
    fake_expect_none(judge_fill);
}

Test(client_doctor_cluster, a_short_look_tells_nothing_of_how_fast_they_come)
{
    refuse_when_full();
    come(4000000, 4500000, 5000000);
    fake.gathered.looked_us--;
    fake_expect_none(judge_fill);
    fake_expect_omission("full", "--look");
    fake.gathered.looked_us++;
    fake.gathered.amid = NULL;
    fake_expect_none(judge_fill);
    fake_expect_omission("full", "--look");
}

Test(client_doctor_cluster, replicas_that_were_not_heard_before_bring_no_keys)
{
    refuse_when_full();
    come(1000, 2500000, 5000000);
    fake.amid_replicas[0].state = REPLICA_BUILDING;
    fake_expect_none(judge_fill);
    fake.amid_replicas[0].state = REPLICA_FULL;
    fake.earlier_replicas[0].state = REPLICA_BUILDING;
    fake_expect_none(judge_fill);
}

Test(client_doctor_cluster, what_grows_is_full_at_its_max_capacity)
{
    fake.filter.max_capacity = 15000000;
    come(1000000, 1000100, 1000200);
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "full", "seen", "orbloom create NEW");
    fake.filter.max_capacity = UINT64_C(1000000000000);
    fake_expect_none(judge_fill);
}

Test(client_doctor_cluster, a_look_that_was_not_asked_for_is_told_of)
{
    fake_expect_none(judge_fill);
    fake_expect_omission("full", "--look");
}

/* ---- the expected rate ---- */

Test(client_doctor_cluster, more_false_positives_than_were_asked_for)
{
    have_keys(5000000);
    fake.filter.lines = 60000; /* half of what such a capacity takes */
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "rate", "seen", "`orbloom expand");
    fake.filter.rate = 0.5;
    fake_expect_none(judge_fill);
    fake.filter.rate = 0.01;
    fake.filter.ngenerations = 2;
    fake_expect_none(judge_fill);
}

/* ---- growth ---- */

Test(client_doctor_cluster, growth_that_is_refused_or_held)
{
    fake_expect_none(judge_growth);
    fake.filter.growth_refused = "node node-2 lacks 1.2 GiB; raise its memory_limit";
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "growth", "seen", "`memory_limit`");
    fake.filter.growth_refused = "a replica is not FULL";
    (void)fake_expect(judge_fill, SEVERITY_WARNING, "growth", "seen", "grows by itself then");
    fake.filter.growth_refused = "";
    fake.filter.growth_held = true;
    (void)fake_expect(judge_growth, SEVERITY_INFO, "growth", "seen", "orbloom expand seen");
}

static void grow(void)
{
    fake.filter.generations[1] = (struct generation_summary){
        .id = 2, .capacity = 20000000, .rate = 0.01, .lines = 400000, .z = 1};
    fake.filter.ngenerations = 2;
    fake.filter.growth_awaited = "node-2 builds";
    for (size_t i = 0; i < FAKE_NODES; i++) {
        fake.replicas[i].phase = PHASE_GROWING;
        fake.replicas[i].progress = 0.5;
    }
}

Test(client_doctor_cluster, growth_that_has_not_moved_for_five_seconds)
{
    grow();
    (void)fake_expect(judge_growth, SEVERITY_INFO, "growth", "seen", NULL);
    fake_looked(JUDGE_STUCK_US - 1);
    (void)fake_expect(judge_growth, SEVERITY_INFO, "growth", "seen", NULL);
    fake_looked(JUDGE_STUCK_US);
    (void)fake_expect(judge_growth, SEVERITY_WARNING, "growth", "seen",
                      "orbloom expand seen --abort");
    fake.replicas[1].progress = 0.6;
    (void)fake_expect(judge_growth, SEVERITY_INFO, "growth", "seen", NULL);
}

/* A replica of 10 MiB that becomes twice as large takes 10 MiB more, and a shard of 1 MiB. */
Test(client_doctor_cluster, memory_for_the_largest_growth)
{
    fake.nodes[1].memory_used_bytes = (uint64_t)89 * MIB;
    fake_expect_none(judge_growth);
    fake.nodes[1].memory_used_bytes++;
    (void)fake_expect(judge_growth, SEVERITY_WARNING, "memory", "node-2",
                      "raise `memory_limit` of node-2");
    fake.filter.when_full = WHEN_FULL_REFUSE;
    fake_expect_none(judge_growth);
}

Test(client_doctor_cluster, what_may_grow_a_little_takes_a_little)
{
    fake.filter.max_capacity = fake.filter.capacity / 10 * 11;
    fake.nodes[1].memory_used_bytes = (uint64_t)97 * MIB;
    fake_expect_none(judge_growth);
}

/* ---- hosts ---- */

Test(client_doctor_cluster, replicas_on_one_host)
{
    fake_expect_none(judge_hosts);
    fake.nodes[2].host = "host-1";
    (void)fake_expect(judge_hosts, SEVERITY_WARNING, "host", "seen", "orbloom node drain node-3");
    fake.replicas[2].group = 1; /* of another slot group */
    fake_expect_none(judge_hosts);
}

Test(client_doctor_cluster, a_replica_on_its_way_shares_no_host)
{
    fake.nodes[2].host = "host-1";
    fake.replicas[2].state = REPLICA_JOINING;
    fake_expect_none(judge_hosts);
}

Test(client_doctor_cluster, replicas_in_one_zone_of_several)
{
    struct node_summary nodes[FAKE_NODES + 1];

    memcpy(nodes, fake.nodes, sizeof fake.nodes);
    nodes[FAKE_NODES] = fake.nodes[0];
    nodes[FAKE_NODES].id = 9;
    fake.status.body.admin_reply.nodes = nodes;
    fake.status.body.admin_reply.nnodes = FAKE_NODES + 1;
    fake_expect_none(judge_hosts);
    nodes[FAKE_NODES].zone = "other";
    (void)fake_expect(judge_hosts, SEVERITY_INFO, "zone", "seen", "orbloom rebalance");
    nodes[1].zone = "other";
    fake_expect_none(judge_hosts);
}

/* ---- nodes ---- */

Test(client_doctor_cluster, silent_nodes)
{
    fake_expect_none(judge_nodes);
    fake.nodes[1].alive = false;
    (void)fake_expect(judge_nodes, SEVERITY_WARNING, "silent", "node-2", "`cluster_key_file`");
    fake.processes[3].stats.frame = NULL;
    (void)fake_expect(judge_nodes, SEVERITY_WARNING, "silent", "node-2",
                      "orbloom node drain node-2");
    fake.nodes[1].slots = 0;
    (void)fake_expect(judge_nodes, SEVERITY_WARNING, "silent", "node-2",
                      "orbloom node remove node-2");
    fake.nodes[1].seen_ago_ms = 0;
    cr_assert_not_null(
        strstr(fake_expect(judge_nodes, SEVERITY_WARNING, "silent", "node-2", "start it")->text,
               "since the coordinator started"));
}

Test(client_doctor_cluster, nodes_that_leave)
{
    fake.nodes[1].draining = true;
    (void)fake_expect(judge_nodes, SEVERITY_INFO, "drain", "node-2", NULL);
    fake.nodes[1].slots = 0;
    (void)fake_expect(judge_nodes, SEVERITY_INFO, "drain", "node-2", "orbloom node remove node-2");
}

Test(client_doctor_cluster, memory_near_its_limit)
{
    fake.nodes[0].memory_used_bytes = (uint64_t)90 * MIB - 1;
    fake_expect_none(judge_nodes);
    fake.nodes[0].memory_used_bytes = (uint64_t)90 * MIB;
    (void)fake_expect(judge_nodes, SEVERITY_WARNING, "memory", "node-1", "`memory_limit`");
}

Test(client_doctor_cluster, a_cluster_without_nodes)
{
    fake.status.body.admin_reply.nnodes = 0;
    (void)fake_expect(judge_nodes, SEVERITY_ERROR, "silent", "cluster", "start orbloom-node");
}

/* ---- disks, logs ---- */

static void have_disk(uint64_t free_bytes, uint64_t log_bytes)
{
    fake.values[3][0] = (struct stat_value){"disk_free_bytes", free_bytes};
    fake.values[3][1] = (struct stat_value){"log_bytes", log_bytes};
}

Test(client_doctor_cluster, a_disk_with_little_room)
{
    have_disk(JUDGE_DISK_BYTES, MIB);
    fake_expect_none(judge_disks);
    have_disk(JUDGE_DISK_BYTES - 1, MIB);
    (void)fake_expect(judge_disks, SEVERITY_WARNING, "disk", "node-2", "`data_dir`");
    have_disk(JUDGE_DISK_BYTES, (uint64_t)JUDGE_DISK_BYTES * JUDGE_DISK_PART);
    fake_expect_none(judge_disks);
    have_disk(JUDGE_DISK_BYTES, ((uint64_t)JUDGE_DISK_BYTES + 1) * JUDGE_DISK_PART);
    (void)fake_expect(judge_disks, SEVERITY_WARNING, "disk", "node-2", "`site_retain`");
}

Test(client_doctor_cluster, a_node_without_a_disk_takes_no_room)
{
    have_disk(0, 0);
    fake_expect_none(judge_disks);
}

Test(client_doctor_cluster, a_log_whose_writes_take_long)
{
    fake.values[3][0] = (struct stat_value){"log_writes_total", JUDGE_WRITES};
    fake.values[3][1] = (struct stat_value){"log_write_us_total",
                                            (uint64_t)JUDGE_WRITES * JUDGE_WRITE_US};
    (void)fake_expect(judge_disks, SEVERITY_WARNING, "log", "node-2", "`data_dir`");
    fake.values[3][1].value--;
    fake_expect_none(judge_disks);
    fake.values[3][1].value++;
    fake.values[3][0].value--;
    fake_expect_none(judge_disks);
}

Test(client_doctor_cluster, a_node_that_does_not_tell_is_named)
{
    fake_expect_none(judge_disks);
    fake_expect_omission("disk", "node-2");
    fake_expect_omission("log", "node-2");
}

Test(client_doctor_cluster, a_log_that_is_not_on_the_disk)
{
    fake.values[3][0] = (struct stat_value){"log_end", JUDGE_UNSYNCED_BYTES + 4095};
    fake.values[3][1] = (struct stat_value){"log_synced", 4096};
    fake_expect_none(judge_disks);
    fake.values[3][0].value++;
    (void)fake_expect(judge_disks, SEVERITY_WARNING, "log", "node-2", "`data_dir`");
}
