/* doctor_fake.h - a cluster in which all is well, for tests that make one thing of it worse.
 *
 * Three nodes on hosts of their own, a filter of one slot group with a replica on each, a
 * coordinator and a router that have answered.
 */
#ifndef ORBLOOM_TESTS_UNIT_DOCTOR_FAKE_H
#define ORBLOOM_TESTS_UNIT_DOCTOR_FAKE_H

#include "cli/doctor/judge.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FAKE_NODES = 3, FAKE_PROCESSES = 5, MIB = 1 << 20 };

struct fake_cluster {
    struct node_summary nodes[FAKE_NODES];
    struct filter_summary filter;
    struct replica_report replicas[FAKE_NODES];
    struct change_summary change;
    struct admin_reply earlier;
    struct replica_report earlier_replicas[FAKE_NODES];
    struct admin_reply amid;
    struct replica_report amid_replicas[FAKE_NODES];
    struct filter_summary earlier_filter;
    struct stat_value values[FAKE_PROCESSES][2];
    struct frame stats[FAKE_PROCESSES];
    struct frame status;
    struct frame upgrade;
    struct process_features features[2];
    struct doctor_process processes[FAKE_PROCESSES];
    struct gathered gathered;
    struct findings findings;
};

static struct fake_cluster fake;

static inline void fake_process(size_t at, enum doctor_kind kind, const char *name,
                                const char *endpoint)
{
    struct doctor_process *process = &fake.processes[at];

    fake.values[at][0] = (struct stat_value){"requests_total", 1};
    fake.values[at][1] = (struct stat_value){"other_total", 0};
    fake.stats[at] = (struct frame){
        .kind = FRAME_STATS_REPLY,
        .body.stats_reply = {.name = name, .values = fake.values[at], .nvalues = 2}};
    *process = (struct doctor_process){.kind = kind, .loopback = true, .round_trip_us = 200};
    process->stats = (struct doctor_answer){.asked = true, .frame = &fake.stats[at]};
    (void)snprintf(process->name, sizeof process->name, "%s", name);
    (void)snprintf(process->endpoint, sizeof process->endpoint, "%s", endpoint);
}

static inline void fake_nodes(void)
{
    static const char *const names[FAKE_NODES] = {"node-1", "node-2", "node-3"};
    static const char *const hosts[FAKE_NODES] = {"host-1", "host-2", "host-3"};

    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        fake.nodes[i] = (struct node_summary){.id = i + 1,
                                              .name = names[i],
                                              .host = hosts[i],
                                              .zone = "default",
                                              .endpoint = "tcp://127.0.0.1:7410",
                                              .alive = true,
                                              .seen_ago_ms = 100,
                                              .memory_limit_bytes = (uint64_t)100 * MIB,
                                              .memory_used_bytes = (uint64_t)10 * MIB,
                                              .replaced_by = "",
                                              .slots = 1,
                                              .awaited = ""};
        fake.replicas[i] = (struct replica_report){.filter_id = 1,
                                                   .node_id = i + 1,
                                                   .state = REPLICA_FULL,
                                                   .generation = 1,
                                                   .shards_grown = 1,
                                                   .bytes = (uint64_t)10 * MIB,
                                                   .keys = 1000};
        fake_process(2 + i, DOCTOR_NODE, names[i], "tcp://127.0.0.1:7410");
    }
}

static inline void fake_setup(void)
{
    struct admin_reply *cluster = &fake.status.body.admin_reply;
    struct admin_reply *upgrade = &fake.upgrade.body.admin_reply;

    fake = (struct fake_cluster){0};
    fake_nodes();
    fake_process(0, DOCTOR_COORDINATOR, "coordinator-1", "tcp://127.0.0.1:7400");
    fake_process(1, DOCTOR_ROUTER, "router-1", "tcp://127.0.0.1:7401");
    fake.filter = (struct filter_summary){
        .id = 1,
        .name = "seen",
        .state = FILTER_ACTIVE,
        .capacity = 10000000,
        .max_capacity = 640000000,
        .rate = 0.01,
        .rule = {.replicas = 3, .write = 2, .read = 2},
        .when_full = WHEN_FULL_EXPAND,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_SYNC,
        .nshards = 1,
        .ngroups = 1,
        .shard_bytes = MIB,
        .lines = 200000,
        .z = 1,
        .generations = {{.id = 1, .capacity = 10000000, .rate = 0.01, .lines = 200000, .z = 1}},
        .ngenerations = 1,
        .fewest_full = 3,
        .lacking = "",
        .lacking_remedy = "",
        .growth_awaited = "",
        .growth_refused = "",
    };
    *cluster = (struct admin_reply){.message = "",
                                    .filters = &fake.filter,
                                    .nfilters = 1,
                                    .nodes = fake.nodes,
                                    .nnodes = FAKE_NODES,
                                    .replicas = fake.replicas,
                                    .nreplicas = FAKE_NODES,
                                    .changes = &fake.change,
                                    .keys = {.signing = 7}};
    *upgrade = (struct admin_reply){
        .message = "",
        .upgrade = {.known = 3, .in_use = 3, .processes = fake.features, .nprocesses = 2}};
    fake.features[0] = (struct process_features){PROCESS_NODE, "node-1", 3, true};
    fake.features[1] = (struct process_features){PROCESS_ROUTER, "router-1", 3, true};
    fake.processes[0].status = (struct doctor_answer){.asked = true, .frame = &fake.status};
    fake.gathered = (struct gathered){
        .processes = fake.processes,
        .nprocesses = FAKE_PROCESSES,
        .cluster = cluster,
        .machine = {
            .host = "here", .descriptors = 65536, .huge_pages = "madvise", .swap_known = true}};
}

static inline void fake_teardown(void)
{
    findings_fini(&fake.findings);
}

/* Half the time of the looks is over, and all is as it is. */
static inline void fake_amid(void)
{
    memcpy(fake.amid_replicas, fake.replicas, sizeof fake.replicas);
    fake.amid = *fake.gathered.cluster;
    fake.amid.replicas = fake.amid_replicas;
    fake.gathered.amid = &fake.amid;
    fake.gathered.amid_us = fake.gathered.looked_us / 2;
}

/* Three looks, which are equal. */
static inline void fake_looked(uint64_t looked_us)
{
    memcpy(fake.earlier_replicas, fake.replicas, sizeof fake.replicas);
    fake.earlier_filter = fake.filter;
    fake.earlier = *fake.gathered.cluster;
    fake.earlier.replicas = fake.earlier_replicas;
    fake.earlier.filters = &fake.earlier_filter;
    fake.gathered.earlier = &fake.earlier;
    fake.gathered.looked_us = looked_us;
    fake_amid();
}

static inline void fake_judge(judge_fn one)
{
    findings_fini(&fake.findings);
    one(&fake.gathered, &fake.findings);
}

static inline void fake_expect_none(judge_fn one)
{
    fake_judge(one);
    cr_assert_eq(fake.findings.count, 0, "%s: %s", fake.findings.items[0].where,
                 fake.findings.items[0].text);
}

/* That and nothing else, with a remedy that says `remedy`; NULL: there is none. */
static inline const struct finding *fake_expect(judge_fn one, enum severity severity,
                                                const char *what, const char *where,
                                                const char *remedy)
{
    const struct finding *found;

    fake_judge(one);
    cr_assert_eq(fake.findings.count, 1, "%zu findings", fake.findings.count);
    found = &fake.findings.items[0];
    cr_assert_eq(found->severity, severity, "%s: %s", severity_name(found->severity), found->text);
    cr_assert_str_eq(found->what, what);
    cr_assert_str_eq(found->where, where);
    if (remedy == NULL) {
        cr_assert_str_empty(found->remedy);
    } else {
        cr_assert_not_null(strstr(found->remedy, remedy), "%s", found->remedy);
    }
    return found;
}

static inline void fake_expect_omission(const char *what, const char *why)
{
    for (size_t i = 0; i < fake.findings.nomissions; i++) {
        if (strcmp(fake.findings.omissions[i].what, what) == 0 &&
            strstr(fake.findings.omissions[i].why, why) != NULL) {
            return;
        }
    }
    cr_assert(false, "nothing says of %s: %s", what, why);
}

#endif
