/* `orbloom doctor`: findings as such, and what is judged of processes, keys, clocks, ports and the
 * machine, on both sides of each bound. */
#include "base/heap.h"
#include "cli/doctor/kept.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/show.h"
#include "map/feature.h"
#include "tests/unit/doctor_fake.h"

#include <stdlib.h>

TestSuite(client_doctor, .init = fake_setup, .fini = fake_teardown);

/* ---- findings ---- */

Test(client_doctor, the_worst_comes_first_and_equals_stay_in_order)
{
    findings_tell(&fake.findings, SEVERITY_INFO, "a", "x", "one");
    findings_tell(&fake.findings, SEVERITY_ERROR, "b", "x", "two");
    findings_mend(&fake.findings, "do %d", 2);
    findings_tell(&fake.findings, SEVERITY_WARNING, "c", "x", "three");
    findings_tell(&fake.findings, SEVERITY_ERROR, "d", "x", "four");
    findings_sort(&fake.findings);
    cr_assert_str_eq(fake.findings.items[0].text, "two");
    cr_assert_str_eq(fake.findings.items[0].remedy, "do 2");
    cr_assert_str_eq(fake.findings.items[1].text, "four");
    cr_assert_str_eq(fake.findings.items[2].text, "three");
    cr_assert_str_eq(fake.findings.items[3].text, "one");
    cr_assert_str_empty(fake.findings.items[3].remedy);
}

Test(client_doctor, of_a_kind_there_are_so_many_and_all_count)
{
    for (int i = 0; i < FINDINGS_OF_A_KIND + 3; i++) {
        findings_tell(&fake.findings, SEVERITY_WARNING, "full", "x", "%d", i);
        findings_mend(&fake.findings, "mend %d", i);
    }
    cr_assert_eq(fake.findings.count, FINDINGS_OF_A_KIND);
    cr_assert_eq(fake.findings.left_out, 3);
    cr_assert_eq(fake.findings.of[SEVERITY_WARNING], FINDINGS_OF_A_KIND + 3);
    cr_assert_str_eq(fake.findings.items[FINDINGS_OF_A_KIND - 1].remedy, "mend 19");
    findings_tell(&fake.findings, SEVERITY_ERROR, "full", "x", "another severity");
    cr_assert_eq(fake.findings.count, FINDINGS_OF_A_KIND + 1);
}

Test(client_doctor, the_worst_is_told_of_all)
{
    cr_assert_eq(findings_worst(&fake.findings), SEVERITY_INFO);
    findings_tell(&fake.findings, SEVERITY_INFO, "a", "x", "one");
    cr_assert_eq(findings_worst(&fake.findings), SEVERITY_INFO);
    findings_tell(&fake.findings, SEVERITY_WARNING, "a", "x", "one");
    cr_assert_eq(findings_worst(&fake.findings), SEVERITY_WARNING);
    findings_tell(&fake.findings, SEVERITY_ERROR, "a", "x", "one");
    cr_assert_eq(findings_worst(&fake.findings), SEVERITY_ERROR);
}

Test(client_doctor, without_memory_they_are_counted)
{
    heap_fault_after(0);
    findings_tell(&fake.findings, SEVERITY_ERROR, "a", "x", "one");
    findings_mend(&fake.findings, "do");
    findings_omit(&fake.findings, "a", "why");
    heap_fault_clear();
    cr_assert_eq(fake.findings.count, 0);
    cr_assert_eq(findings_worst(&fake.findings), SEVERITY_ERROR);
}

Test(client_doctor, where_all_is_well_nothing_is_found)
{
    judge(&fake.gathered, &fake.findings);
    cr_assert_eq(fake.findings.count, 0, "%s", fake.findings.items[0].text);
    cr_assert_gt(fake.findings.nomissions, 0);
}

Test(client_doctor, a_cause_comes_before_what_follows_from_it)
{
    fake.nodes[1].alive = false;
    fake.filter.shards_lacking = 1;
    fake.filter.fewest_full = 2;
    judge(&fake.gathered, &fake.findings);
    cr_assert_eq(fake.findings.count, 2);
    cr_assert_str_eq(fake.findings.items[0].what, "silent");
    cr_assert_str_eq(fake.findings.items[1].what, "replicas");
}

Test(client_doctor, with_nothing_known_nothing_is_assumed)
{
    fake.gathered = (struct gathered){.machine = {.overcommit = -1}};
    judge(&fake.gathered, &fake.findings);
    cr_assert_eq(fake.findings.count, 0, "%s", fake.findings.items[0].text);
    fake_expect_omission("filters", "no coordinator");
    fake_expect_omission("site", "no coordinator");
    fake_expect_omission("swap", "the kernel");
    fake_expect_omission("overcommit", "the kernel");
    fake_expect_omission("descriptors", "the kernel");
    fake_expect_omission("huge pages", "the kernel");
}

/* ---- as programs read it ---- */

Test(client_doctor, texts_of_others_do_not_break_json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct json json;

    findings_tell(&fake.findings, SEVERITY_ERROR, "store", "x", "says \"no\" \\ \n");
    json_open_line(&json, out);
    doctor_show_json(&json, NULL, &fake.gathered, &fake.findings);
    cr_assert_eq(fclose(out), 0);
    cr_assert_not_null(strstr(text, "\"text\": \"says \\\"no\\\" \\\\ \\u000a\""), "%s", text);
    cr_assert_not_null(strstr(text, "\"worst\": \"error\""), "%s", text);
    cr_assert_not_null(strstr(text, "\"remedy\": \"\""), "%s", text);
    free(text);
}

/* ---- answers that are kept ---- */

static uint64_t address_space_pages(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%lu", &pages), 1);
    (void)fclose(file);
    return pages;
}

Test(client_doctor, kept_answers_take_what_they_have)
{
    enum { ANSWERS = 100, MOST_PAGES = 64 << 8 };
    uint64_t before = address_space_pages();
    struct kept_answers kept = {0};

    for (int i = 0; i < ANSWERS; i++) {
        const struct frame *frame = answers_keep(&kept, &fake.stats[0]);

        cr_assert_not_null(frame);
        cr_assert_str_eq(frame->body.stats_reply.name, "coordinator-1");
    }
    cr_assert_lt(address_space_pages() - before, MOST_PAGES);
    answers_fini(&kept);
}

Test(client_doctor, a_large_answer_is_kept_too)
{
    enum { REPLICAS = 100000 };
    struct replica_report *replicas = heap_zalloc(REPLICAS, sizeof *replicas);
    const struct frame told = {
        .kind = FRAME_ADMIN_REPLY,
        .body.admin_reply = {.message = "", .replicas = replicas, .nreplicas = REPLICAS}};
    struct kept_answers kept = {0};
    const struct frame *frame;

    cr_assert_not_null(replicas);
    for (uint32_t i = 0; i < REPLICAS; i++) {
        replicas[i] = fake.replicas[0];
        replicas[i].group = i;
    }
    frame = answers_keep(&kept, &told);
    cr_assert_not_null(frame);
    cr_assert_eq(frame->body.admin_reply.nreplicas, REPLICAS);
    cr_assert_eq(frame->body.admin_reply.replicas[REPLICAS - 1].group, REPLICAS - 1);
    answers_fini(&kept);
    heap_free(replicas);
}

/* ---- reach ---- */

static void silence(size_t at, enum status status)
{
    fake.processes[at].stats = (struct doctor_answer){.asked = true, .status = status};
}

Test(client_doctor, no_router_at_all_is_an_error_and_one_of_two_is_not)
{
    silence(1, STATUS_DEADLINE);
    (void)fake_expect(judge_reach, SEVERITY_ERROR, "reach", "router router-1", "$ORBLOOM_ROUTER");
    fake.processes[2].kind = DOCTOR_ROUTER;
    (void)fake_expect(judge_reach, SEVERITY_WARNING, "reach", "router router-1", "--router");
}

Test(client_doctor, no_coordinator_at_all_is_an_error_and_one_of_two_is_not)
{
    silence(0, STATUS_DEADLINE);
    fake.processes[0].status.frame = NULL;
    (void)fake_expect(judge_reach, SEVERITY_ERROR, "reach", "coordinator coordinator-1",
                      "orbloom playground");
    fake.processes[2].kind = DOCTOR_COORDINATOR;
    (void)fake_expect(judge_reach, SEVERITY_WARNING, "reach", "coordinator coordinator-1",
                      "--coordinator");
}

Test(client_doctor, a_node_is_out_of_reach_unless_it_is_silent_for_all)
{
    silence(3, STATUS_DEADLINE);
    (void)fake_expect(judge_reach, SEVERITY_WARNING, "reach", "node node-2", "`advertise`");
    fake.nodes[1].alive = false;
    fake_expect_none(judge_reach);
}

Test(client_doctor, a_node_that_nobody_has_just_heard_of_has_ended)
{
    const struct finding *found;

    silence(3, STATUS_DEADLINE);
    fake.nodes[1].seen_ago_ms = JUDGE_UNHEARD_MS - 1;
    found = fake_expect(judge_reach, SEVERITY_WARNING, "reach", "node node-2", "`advertise`");
    cr_assert_null(strstr(found->text, "nor has"), "%s", found->text);
    fake.nodes[1].seen_ago_ms = JUDGE_UNHEARD_MS;
    found = fake_expect(judge_reach, SEVERITY_WARNING, "reach", "node node-2", "start it");
    cr_assert_null(strstr(found->remedy, "advertise"), "%s", found->remedy);
    cr_assert_not_null(strstr(found->text, "nor has the coordinator heard of it for 3s"), "%s",
                       found->text);
}

Test(client_doctor, a_node_that_was_silent_when_it_was_asked_is_not_out_of_reach)
{
    struct node_summary then[FAKE_NODES];

    silence(3, STATUS_DEADLINE);
    fake_looked(1000000);
    memcpy(then, fake.nodes, sizeof then);
    then[1].alive = false;
    fake.earlier.nodes = then;
    fake_expect_none(judge_reach);
}

Test(client_doctor, who_is_not_let_in_can_not_tell)
{
    silence(1, STATUS_UNAUTHENTIC);
    fake_expect_none(judge_reach);
    fake_expect_omission("reach", "router-1");
    silence(0, STATUS_UNAUTHENTIC);
    fake.processes[0].status.frame = NULL; /* Another one has told. */
    fake_expect_none(judge_reach);
    fake_expect_omission("reach", "coordinator-1");
}

Test(client_doctor, who_sees_some_filters_only_has_not_found_that_all_is_well)
{
    for (size_t i = 0; i < FAKE_PROCESSES; i++) {
        silence(i, STATUS_UNAUTHENTIC);
    }
    (void)fake_expect(judge_reach, SEVERITY_WARNING, "reach", "coordinator coordinator-1",
                      "--role monitor");
    fake_expect_omission("reach", "router-1");
}

Test(client_doctor, a_cluster_that_lets_nobody_in_is_not_well)
{
    silence(0, STATUS_UNAUTHENTIC);
    fake.processes[0].status = (struct doctor_answer){.asked = true, .status = STATUS_UNAUTHENTIC};
    fake.gathered.cluster = NULL;
    (void)fake_expect(judge_reach, SEVERITY_ERROR, "reach", "coordinator coordinator-1",
                      "--credential FILE");
}

Test(client_doctor, slow_is_what_takes_a_tenth_of_a_second)
{
    fake.processes[2].round_trip_us = JUDGE_ROUND_TRIP_US - 1;
    fake_expect_none(judge_reach);
    fake.processes[2].round_trip_us = JUDGE_ROUND_TRIP_US;
    (void)fake_expect(judge_reach, SEVERITY_WARNING, "slow", "node node-1", "orbloom stats");
}

Test(client_doctor, a_router_that_only_a_coordinator_knows_is_named)
{
    fake.processes[0].upgrade = (struct doctor_answer){.asked = true, .frame = &fake.upgrade};
    fake_expect_none(judge_reach);
    cr_assert_eq(fake.findings.nomissions, 0);
    fake.features[1].name = "router-9";
    fake_expect_none(judge_reach);
    fake_expect_omission("reach", "router-9");
}

/* ---- versions ---- */

static struct upgrade_page *upgrade_page(void)
{
    fake.processes[0].upgrade = (struct doctor_answer){.asked = true, .frame = &fake.upgrade};
    fake.features[0].features = features_known();
    fake.features[1].features = features_known();
    fake.upgrade.body.admin_reply.upgrade.known = features_known();
    fake.upgrade.body.admin_reply.upgrade.in_use = features_known();
    return &fake.upgrade.body.admin_reply.upgrade;
}

Test(client_doctor, features_that_are_not_used_yet)
{
    struct upgrade_page *page = upgrade_page();

    fake_expect_none(judge_versions);
    page->in_use = feature_bit(FEATURE_BASE);
    (void)fake_expect(judge_versions, SEVERITY_WARNING, "features", "coordinator coordinator-1",
                      "orbloom upgrade finalize");
}

Test(client_doctor, a_process_that_lacks_a_feature_if_it_is_heard_of)
{
    (void)upgrade_page();
    fake.features[0].features = feature_bit(FEATURE_BASE);
    (void)fake_expect(judge_versions, SEVERITY_WARNING, "features", "node-1", "upgrade it");
    fake.features[0].heard = false;
    fake_expect_none(judge_versions);
}

Test(client_doctor, a_coordinator_of_another_version_than_the_command)
{
    struct upgrade_page *page = upgrade_page();

    page->known |= (uint64_t)1 << 40;
    page->in_use = page->known;
    fake.features[0].features = page->known;
    fake.features[1].features = page->known;
    (void)fake_expect(judge_versions, SEVERITY_INFO, "version", "coordinator coordinator-1",
                      "newest version");
}

Test(client_doctor, nodes_that_count_other_things_are_of_other_versions)
{
    fake.values[4][1].name = "newer_total";
    (void)fake_expect(judge_versions, SEVERITY_INFO, "version", "node node-3", "upgrade status");
}

/* ---- keys, clocks ---- */

Test(client_doctor, a_rotation_that_was_left_half_way)
{
    struct key_page *keys = &fake.status.body.admin_reply.keys;
    const struct key_use behind = {PROCESS_NODE, "node-3", 9};

    fake_expect_none(judge_keys);
    keys->records_left = 1;
    (void)fake_expect(judge_keys, SEVERITY_INFO, "key", "coordinator coordinator-1",
                      "orbloom key retire");
    keys->records_left = 0;
    keys->behind = &behind;
    keys->nbehind = 1;
    (void)fake_expect(judge_keys, SEVERITY_WARNING, "key", "node-3", "orbloom key list");
}

Test(client_doctor, coordinators_that_sign_with_different_keys)
{
    struct frame other = fake.status;

    fake.processes[1].kind = DOCTOR_COORDINATOR;
    fake.processes[1].status = (struct doctor_answer){.asked = true, .frame = &other};
    fake_expect_none(judge_keys);
    other.body.admin_reply.keys.signing = 8;
    (void)fake_expect(judge_keys, SEVERITY_WARNING, "key", "coordinator router-1", "SIGHUP");
}

static struct frame users;
static struct user user;
static struct user_token token;
static const uint64_t now_ms = UINT64_C(1900000000000);

static void have_users(void)
{
    user = (struct user){.name = "crawler", .tokens = &token, .ntokens = 1};
    token = (struct user_token){.id = 4};
    users.body.admin_reply.users = (struct user_page){
        .now_ms = now_ms, .users = &user, .nusers = 1};
    fake.gathered.users = (struct doctor_answer){.asked = true, .frame = &users};
    fake.gathered.users_now_ms = now_ms;
}

Test(client_doctor, clocks_are_told_of_beyond_five_seconds)
{
    have_users();
    fake.gathered.users_now_ms = now_ms + JUDGE_CLOCK_MS;
    fake_expect_none(judge_clocks);
    fake.gathered.users_now_ms = now_ms + JUDGE_CLOCK_MS + 1;
    (void)fake_expect(judge_clocks, SEVERITY_INFO, "clock", "coordinator", "NTP");
    fake.gathered.users_now_ms = now_ms - JUDGE_CLOCK_MS - 1;
    (void)fake_expect(judge_clocks, SEVERITY_INFO, "clock", "coordinator", "NTP");
}

Test(client_doctor, tokens_that_expire_within_two_weeks)
{
    have_users();
    fake_expect_none(judge_clocks);
    token.expires_ms = now_ms + JUDGE_EXPIRY_MS;
    fake_expect_none(judge_clocks);
    token.expires_ms--;
    (void)fake_expect(judge_clocks, SEVERITY_WARNING, "credential", "crawler",
                      "orbloom user token crawler add`");
    token.expires_ms = now_ms;
    (void)fake_expect(judge_clocks, SEVERITY_INFO, "credential", "crawler",
                      "orbloom user token crawler remove 4");
}

Test(client_doctor, keys_of_users_expire_likewise)
{
    struct user_key key = {.id = 5, .expires_ms = now_ms + 1000};

    have_users();
    user = (struct user){.name = "crawler", .keys = &key, .nkeys = 1};
    (void)fake_expect(judge_clocks, SEVERITY_WARNING, "credential", "crawler",
                      "orbloom user key crawler add --credential FILE");
}

/* ---- the store ---- */

Test(client_doctor, what_a_coordinator_says_first_is_an_error)
{
    fake_expect_none(judge_store);
    fake.status.body.admin_reply.message = "the store was lost: nothing is changed until "
                                           "`orbloom map restore FILE` has ...";
    (void)fake_expect(judge_store, SEVERITY_ERROR, "store", "coordinator coordinator-1",
                      "orbloom map restore");
}

/* To put an older copy into a store that is only out of reach would lose what is newer. */
Test(client_doctor, a_store_out_of_reach_is_not_to_be_restored)
{
    static const char *const messages[] = {
        "the store can't be read, so this is what was known before: etcd does not answer",
        "the store has not answered for 5s, so this is what was known before",
        "coordinator c1 does not know sites, which this cluster uses, and changes nothing",
    };

    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const struct finding *found;

        fake.status.body.admin_reply.message = messages[i];
        found = fake_expect(judge_store, SEVERITY_ERROR, "store", "coordinator coordinator-1",
                            i < 2 ? "look at etcd" : "its log");
        cr_assert_null(strstr(found->remedy, "restore"), "%s", found->remedy);
    }
}

Test(client_doctor, a_coordinator_that_can_not_tell)
{
    fake.processes[0].status = (struct doctor_answer){.asked = true, .status = STATUS_IO};
    (void)fake_expect(judge_store, SEVERITY_ERROR, "store", "coordinator coordinator-1",
                      "orbloom status --coordinator tcp://127.0.0.1:7400");
    fake.processes[0].status.status = STATUS_UNAUTHENTIC;
    fake_expect_none(judge_store);
}

/* ---- backup ---- */

Test(client_doctor, a_backup_that_is_old)
{
    fake_expect_none(judge_backup);
    fake_expect_omission("backup", "--backup FILE");
    fake.gathered.backup = (struct backup){.path = "b", .age_ms = JUDGE_BACKUP_MS, .key = 7};
    fake_expect_none(judge_backup);
    fake.gathered.backup.age_ms++;
    (void)fake_expect(judge_backup, SEVERITY_WARNING, "backup", "b", "`orbloom map backup b`");
}

Test(client_doctor, a_backup_of_another_key_or_none)
{
    fake.gathered.backup = (struct backup){.path = "b", .key = 8};
    (void)fake_expect(judge_backup, SEVERITY_WARNING, "backup", "b", "`orbloom map backup b`");
    fake.gathered.backup.status = STATUS_MALFORMED;
    fake.gathered.backup.reason = "a record is cut off";
    (void)fake_expect(judge_backup, SEVERITY_WARNING, "backup", "b", "`orbloom map backup b`");
}

/* ---- ports ---- */

Test(client_doctor, plain_ports_are_for_loopback)
{
    fake_expect_none(judge_ports);
    fake.processes[3].loopback = false;
    (void)fake_expect(judge_ports, SEVERITY_WARNING, "port", "node node-2",
                      "transport = \"curve\"");
    fake.processes[3].encrypted = true;
    fake_expect_none(judge_ports);
}

/* ---- the machine ---- */

Test(client_doctor, descriptors)
{
    fake.gathered.machine.descriptors = JUDGE_DESCRIPTORS;
    fake_expect_none(judge_machine);
    fake.gathered.machine.descriptors = JUDGE_DESCRIPTORS - 1;
    (void)fake_expect(judge_machine, SEVERITY_INFO, "descriptors", "here", "ulimit -n");
}

Test(client_doctor, a_machine_with_nodes_is_warned_of)
{
    fake.gathered.machine.descriptors = 1024;
    fake.nodes[1].host = "here";
    (void)fake_expect(judge_machine, SEVERITY_WARNING, "descriptors", "here", "LimitNOFILE");
}

Test(client_doctor, huge_pages_swap_and_overcommit)
{
    struct machine *machine = &fake.gathered.machine;

    machine->swap_bytes = MIB;
    machine->overcommit = 1;
    fake_expect_none(judge_machine);
    machine->overcommit = 2;
    (void)fake_expect(judge_machine, SEVERITY_INFO, "overcommit", "here", "sysctl");
    machine->overcommit = 0;
    machine->swap_used_bytes = 1;
    (void)fake_expect(judge_machine, SEVERITY_INFO, "swap", "here", "`memory_limit`");
    machine->swap_used_bytes = 0;
    memcpy(machine->huge_pages, "never", sizeof "never");
    (void)fake_expect(judge_machine, SEVERITY_INFO, "huge pages", "here", "madvise");
}

Test(client_doctor, the_word_in_brackets_is_what_is_chosen)
{
    char choice[MACHINE_TEXT_BYTES];

    cr_assert_str_eq(machine_choice("always [madvise] never\n", choice), "madvise");
    cr_assert_str_eq(machine_choice("[never]", choice), "never");
    cr_assert_str_eq(machine_choice("always madvise", choice), "");
    cr_assert_str_eq(machine_choice("[open", choice), "");
}

/* ---- how near etcd is to its quota ---- */

static void tell_room_by(size_t process, uint64_t bytes, uint64_t in_use, uint64_t quota)
{
    static struct stat_value values[FAKE_PROCESSES][3];

    values[process][0] = (struct stat_value){"store_bytes", bytes};
    values[process][1] = (struct stat_value){"store_in_use_bytes", in_use};
    values[process][2] = (struct stat_value){"store_quota_bytes", quota};
    fake.stats[process].body.stats_reply.values = values[process];
    fake.stats[process].body.stats_reply.nvalues = 3;
}

static void tell_room(uint64_t bytes, uint64_t in_use, uint64_t quota)
{
    tell_room_by(0, bytes, in_use, quota);
}

Test(client_doctor, a_store_that_is_nearly_full)
{
    const struct finding *found;

    tell_room(699, 699, 1000);
    fake_expect_none(judge_store);
    tell_room(700, 700, 1000);
    found = fake_expect(judge_store, SEVERITY_WARNING, "store", "coordinator coordinator-1",
                        "compact and defragment");
    cr_assert_not_null(strstr(found->text, "700 B of the 1000 B that its quota allows, 700 B in"),
                       "%s", found->text);
    tell_room(1000, 300, 1000);
    (void)fake_expect(judge_store, SEVERITY_WARNING, "store", "coordinator coordinator-1",
                      "etcdctl defrag");
    tell_room(1000, 1000, 0); /* No quota, or a file. */
    fake_expect_none(judge_store);
}

Test(client_doctor, a_store_that_is_nearly_full_is_told_once_by_who_found_the_least_room)
{
    const struct finding *found;

    fake.processes[1].kind = DOCTOR_COORDINATOR;
    tell_room_by(0, 800, 800, 1000);
    tell_room_by(1, 900, 800, 1000);
    found = fake_expect(judge_store, SEVERITY_WARNING, "store", "coordinator router-1",
                        "compact and defragment");
    cr_assert_not_null(strstr(found->text, "900 B of the 1000 B"), "%s", found->text);
    tell_room_by(0, 950, 800, 1000);
    found = fake_expect(judge_store, SEVERITY_WARNING, "store", "coordinator coordinator-1",
                        "compact and defragment");
    cr_assert_not_null(strstr(found->text, "950 B of the 1000 B"), "%s", found->text);
}

/* ---- counters ---- */

Test(client_doctor, what_a_process_should_not_have_to_count)
{
    fake.values[0][1] = (struct stat_value){"store_errors_total", 0};
    fake_expect_none(judge_counters);
    fake.values[0][1].value = 1;
    (void)fake_expect(judge_counters, SEVERITY_WARNING, "store", "coordinator coordinator-1",
                      "etcd");
    fake.values[0][1] = (struct stat_value){"no_space_total", 1};
    fake_expect_none(judge_counters); /* That is a node's. */
    fake.values[2][1] = (struct stat_value){"no_space_total", 1};
    (void)fake_expect(judge_counters, SEVERITY_WARNING, "disk", "node node-1", "`data_dir`");
}
