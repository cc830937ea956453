/* A cluster whose documents are in etcd: two coordinators, and etcd absent, killed and stopped. */
#include "tests/support/etcd.h"

#include "tests/support/command.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 3, COORDINATORS = 2, LIMIT_MS = 30000, ENDPOINT_BYTES = 64, PATH_BYTES = 128 };

static struct etcd etcd;
static struct command coordinators[COORDINATORS];
static char endpoints[COORDINATORS][ENDPOINT_BYTES];
static struct command nodes[NODES];
static struct command router;
static const char *etcd_timeout = "--etcd_timeout=1s";
static char key_flag[PATH_BYTES * 2];
static char coordinators_flag[PATH_BYTES * 2];

/* "ready ENDPOINT" is the first line of a daemon. */
static void read_ready(struct command *daemon, char endpoint[ENDPOINT_BYTES])
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    char line[ENDPOINT_BYTES + 8] = "";

    while (strchr(line, '\n') == NULL) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is not ready in time");
        cr_assert_not(command_ended(daemon, 5), "it has ended");
        cr_assert_geq(pread(daemon->output_fd, line, sizeof line - 1, 0), 0);
    }
    cr_assert_eq(sscanf(line, "ready %63s", endpoint), 1, "%s", line);
}

/* With what they need to be let in there, if etcd takes TLS. */
static void start_coordinator(unsigned i, const char *listen)
{
    bool secure = etcd.tls_port != 0;
    char listen_flag[PATH_BYTES];
    char etcd_flag[PATH_BYTES];
    char name_flag[PATH_BYTES];
    char ca_flag[PATH_BYTES];
    char cert_flag[PATH_BYTES];
    char tls_key_flag[PATH_BYTES];

    (void)snprintf(listen_flag, sizeof listen_flag, "--listen=%s", listen);
    (void)snprintf(etcd_flag, sizeof etcd_flag, "--etcd_endpoints=%s",
                   secure ? etcd.tls_endpoint : etcd.endpoint);
    (void)snprintf(name_flag, sizeof name_flag, "--name=coordinator-%u", i + 1);
    (void)snprintf(ca_flag, sizeof ca_flag, "--etcd_ca_file=%s/ca.pem", etcd.dir);
    (void)snprintf(cert_flag, sizeof cert_flag, "--etcd_cert_file=%s/client.pem", etcd.dir);
    (void)snprintf(tls_key_flag, sizeof tls_key_flag, "--etcd_key_file=%s/client.key", etcd.dir);
    command_start(&coordinators[i], span_text(""), SIGKILL, "orbloom-coordinator",
                  (const char *const[]){name_flag, listen_flag, etcd_flag, key_flag, etcd_timeout,
                                        secure ? ca_flag : NULL, cert_flag, tls_key_flag, NULL});
    read_ready(&coordinators[i], endpoints[i]);
}

/* It is ready once a coordinator has let it in, which etcd may hold up. */
static void start_node(unsigned i)
{
    char name_flag[PATH_BYTES];
    char host_flag[PATH_BYTES];
    char data_flag[PATH_BYTES];

    (void)snprintf(name_flag, sizeof name_flag, "--name=node-%u", i + 1);
    (void)snprintf(host_flag, sizeof host_flag, "--host=host-%u", i + 1);
    (void)snprintf(data_flag, sizeof data_flag, "--data_dir=%s/node-%u", etcd.dir, i + 1);
    command_start(&nodes[i], span_text(""), SIGKILL, "orbloom-node",
                  (const char *const[]){name_flag, host_flag, data_flag, key_flag,
                                        coordinators_flag, "--listen=tcp://127.0.0.1:0",
                                        "--memory_limit=100MiB", "--sync_interval=100ms", NULL});
}

static void start_router(void)
{
    char endpoint[ENDPOINT_BYTES];

    command_start(
        &router, span_text(""), SIGKILL, "orbloom-router",
        (const char *const[]){key_flag, coordinators_flag, "--listen=tcp://127.0.0.1:0", NULL});
    read_ready(&router, endpoint);
    cr_assert_eq(setenv("ORBLOOM_ROUTER", endpoint, 1), 0);
}

static void ask_coordinator(unsigned i)
{
    cr_assert_eq(setenv("ORBLOOM_COORDINATOR", endpoints[i], 1), 0);
}

/* Whether the command succeeds; what it says goes to `said`. */
static bool try_create(const char *name, char said[256])
{
    struct command create;
    bool done;

    command_run(&create, span_text(""), "orbloom", "create", name, "--capacity", "10k", "--fpr",
                "1%", NULL);
    done = create.exit_status == 0;
    (void)snprintf(said, 256, "%s", create.errors);
    command_forget(&create);
    return done;
}

/* Retried until the store, and the nodes, are there. */
static void expect_create(const char *name)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    char said[256] = "";

    while (!try_create(name, said)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%s: %s", name, said);
        (void)poll(NULL, 0, 50);
    }
}

static void expect_no_create(const char *name)
{
    char said[256] = "";

    cr_assert_not(try_create(name, said));
    cr_assert_not_null(strstr(said, "IO: the store can't be read: "), "%s", said);
}

/* Adds and checks need no coordinator. */
static void expect_service(const char *key)
{
    struct command command;

    command_run(&command, span_text(key), "orbloom", "add", "urls", NULL);
    command_expect_exit(&command, 0);
    command_forget(&command);
    command_run(&command, span_text(key), "orbloom", "check", "urls", NULL);
    command_expect_exit(&command, 0);
    cr_assert_str_eq(command.output, "present\n");
    command_forget(&command);
}

static void expect_filter(const char *name)
{
    struct command info;

    command_run(&info, span_text(""), "orbloom", "info", name, NULL);
    command_expect_exit(&info, 0);
    command_forget(&info);
}

static void stop(struct command *daemon)
{
    cr_assert_eq(kill(daemon->pid, SIGTERM), 0);
    command_finish(daemon, LIMIT_MS);
    command_expect_exit(daemon, 0);
    cr_assert_null(command_find_defect(daemon->errors), "%s", daemon->errors);
    command_forget(daemon);
}

static void start_with_etcd(void)
{
    struct command keygen;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/cluster.key", etcd.dir);
    (void)snprintf(key_flag, sizeof key_flag, "--cluster_key_file=%s", path);
    command_run(&keygen, span_text(""), "orbloom", "keygen", path, NULL);
    command_expect_exit(&keygen, 0);
    command_forget(&keygen);
    for (unsigned i = 0; i < COORDINATORS; i++) {
        start_coordinator(i, "tcp://127.0.0.1:0");
    }
    (void)snprintf(coordinators_flag, sizeof coordinators_flag, "--coordinators=%s,%s",
                   endpoints[0], endpoints[1]);
    for (unsigned i = 0; i < NODES; i++) {
        start_node(i);
    }
    start_router();
}

static void start_all(void)
{
    etcd_make(&etcd);
    start_with_etcd();
}

static void stop_all(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        stop(&nodes[i]);
    }
    stop(&router);
    for (unsigned i = 0; i < COORDINATORS; i++) {
        stop(&coordinators[i]);
    }
    etcd_remove(&etcd);
}

Test(etcd, a_cluster_goes_on_without_etcd_and_changes_with_it, .timeout = 240)
{
    start_all();
    ask_coordinator(0);
    expect_no_create("urls"); /* Nothing listens yet. */
    etcd_start(&etcd);
    expect_create("urls");
    ask_coordinator(1);
    expect_filter("urls"); /* What one wrote the other one knows. */
    expect_create("more");
    ask_coordinator(0);
    expect_filter("more");

    etcd_signal(&etcd, SIGKILL);
    expect_service("while killed\n");
    expect_no_create("third");
    etcd_start(&etcd);
    expect_create("third");

    etcd_signal(&etcd, SIGSTOP);
    expect_service("while stopped\n");
    expect_no_create("fourth");
    etcd_signal(&etcd, SIGCONT);
    expect_create("fourth");
    stop_all();
}

/* etcd takes TLS there, and nobody without a certificate. */
Test(etcd, a_cluster_shows_etcd_its_certificate, .timeout = 240)
{
    etcd_make(&etcd);
    etcd_make_certificates(&etcd);
    etcd_start(&etcd);
    start_with_etcd();
    ask_coordinator(0);
    expect_create("urls");
    ask_coordinator(1);
    expect_filter("urls");
    expect_service("by TLS\n");
    stop_all();
}

static void start_coordinator_again(unsigned i)
{
    char listen[ENDPOINT_BYTES];

    (void)snprintf(listen, sizeof listen, "%.*s", ENDPOINT_BYTES - 1, endpoints[i]);
    start_coordinator(i, listen);
}

static void kill_coordinator(unsigned i)
{
    cr_assert_eq(kill(coordinators[i].pid, SIGKILL), 0);
    command_finish(&coordinators[i], LIMIT_MS);
    command_forget(&coordinators[i]);
}

/* ---- etcd is full ---- */

enum { JUNK_BYTES = 3000, QUOTA_PUTS = 1000 };

/* Another program's key, again and again: until it takes no more, each value is kept. */
static void fill_etcd(void)
{
    char json[JUNK_BYTES + 64];
    int puts = 0;

    /* Noughts are base64, too. */
    (void)snprintf(json, sizeof json, "{\"key\":\"anVuaw==\",\"value\":\"%0*d\"}", JUNK_BYTES, 0);
    while (strstr(etcd_post(&etcd, "/v3/kv/put", json), "database space exceeded") == NULL) {
        cr_assert_lt(++puts, QUOTA_PUTS, "etcd takes all");
    }
}

/* The number behind the name in an answer of etcd's. */
static unsigned long long number_of(const char *answer, const char *name)
{
    const char *number = strstr(answer, name);

    cr_assert_not_null(number, "%s", answer);
    return strtoull(number + strlen(name), NULL, 10);
}

/* What docs/store.md says, by etcd's gateway. */
static void mend_etcd(void)
{
    const char *answer = etcd_post(&etcd, "/v3/kv/range", "{\"key\":\"anVuaw==\"}");
    unsigned long long member = number_of(answer, "\"member_id\":\"");
    char json[128];

    (void)snprintf(json, sizeof json, "{\"physical\":true,\"revision\":\"%llu\"}",
                   number_of(answer, "\"revision\":\""));
    (void)etcd_post(&etcd, "/v3/kv/compaction", json);
    (void)etcd_post(&etcd, "/v3/maintenance/defragment", "{}");
    (void)snprintf(json, sizeof json,
                   "{\"memberID\":\"%llu\",\"action\":\"DEACTIVATE\",\"alarm\":\"NOSPACE\"}",
                   member);
    (void)etcd_post(&etcd, "/v3/maintenance/alarm", json);
}

static void expect_doctor(const char *words)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    bool said = false;

    while (!said) {
        struct command doctor;

        cr_assert_lt(command_now_ms(), deadline_ms, "the doctor does not say: %s", words);
        command_run(&doctor, span_text(""), "orbloom", "doctor", "--look", "0s", NULL);
        said = strstr(doctor.output, words) != NULL;
        command_forget(&doctor);
    }
}

/* Once a coordinator has looked: how large etcd is, of what. */
static void expect_room(bool full)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    unsigned long long bytes = 0;
    unsigned long long quota = 0;

    while (bytes == 0) {
        struct command stats;

        cr_assert_lt(command_now_ms(), deadline_ms, "it does not tell how large etcd is");
        command_run(&stats, span_text(""), "orbloom", "stats", endpoints[1], "--json", NULL);
        command_expect_exit(&stats, 0);
        bytes = number_of(stats.output, "\"store_bytes\":");
        quota = number_of(stats.output, "\"store_quota_bytes\":");
        command_forget(&stats);
    }
    cr_assert_eq(quota, 600000);
    cr_assert_eq(bytes >= quota * 7 / 10, full, "%llu", bytes);
}

/* Changes are refused with the cause and what helps, and go on once that was done; adds and checks
 * know nothing of it, nor does a coordinator that starts meanwhile. */
Test(etcd, a_full_etcd_refuses_changes_alone, .timeout = 240)
{
    char said[256] = "";

    etcd_make(&etcd);
    etcd.quota_bytes = "600000";
    etcd_start(&etcd);
    start_with_etcd();
    ask_coordinator(0);
    expect_create("urls");
    fill_etcd();
    cr_assert_not(try_create("more", said));
    cr_assert_not_null(strstr(said, "IO: the store can't be written: etcdserver: mvcc: database "
                                    "space exceeded; compact and defragment etcd"),
                       "%s", said);
    expect_service("while full\n");
    kill_coordinator(1);
    start_coordinator_again(1);
    ask_coordinator(1);
    expect_filter("urls");
    cr_assert_not(try_create("more", said));
    expect_room(true);
    expect_doctor("etcd's database has ");
    mend_etcd();
    cr_assert_eq(kill(coordinators[1].pid, SIGKILL), 0);
    command_finish(&coordinators[1], LIMIT_MS);
    cr_assert_not_null(strstr(coordinators[1].errors, "etcd's database has "), "%s",
                       coordinators[1].errors);
    command_forget(&coordinators[1]);
    start_coordinator_again(1);
    expect_room(false);
    expect_create("more");
    ask_coordinator(0);
    expect_create("later");
    stop_all();
}

/* ---- etcd is silent ---- */

static void expect_told(const char *said, const char *const arguments[])
{
    struct command command;

    command_start(&command, span_text(""), 0, "orbloom", arguments);
    command_finish(&command, LIMIT_MS);
    cr_assert(strstr(command.output, said) != NULL || strstr(command.errors, said) != NULL,
              "%s %s: %s%s", arguments[0], said, command.output, command.errors);
    command_forget(&command);
}

/* Coordinators that would wait for etcd for a minute tell what they know, refuse what they can't do
 * before its operator gives up, and end when they are told to. */
Test(etcd, a_silent_etcd_holds_up_changes_alone, .timeout = 240)
{
    uint64_t begin_ms;

    etcd_timeout = "--etcd_timeout=60s";
    start_all();
    etcd_start(&etcd);
    ask_coordinator(0);
    expect_create("urls");
    expect_service("before\n");
    etcd_signal(&etcd, SIGSTOP);
    begin_ms = command_now_ms();
    expect_told("urls", (const char *const[]){"info", NULL});
    expect_told("the store has not answered for", (const char *const[]){"status", NULL});
    expect_told("syncs_total", (const char *const[]){"stats", endpoints[0], NULL});
    expect_told("UNAVAILABLE: the store has not answered for",
                (const char *const[]){"create", "more", "--capacity", "10k", "--fpr", "1%", NULL});
    expect_service("while silent\n");
    stop(&coordinators[0]);
    cr_assert_lt(command_now_ms() - begin_ms, LIMIT_MS);
    etcd_signal(&etcd, SIGCONT);
    start_coordinator_again(0);
    expect_create("more");
    stop_all();
}

/* ---- coordinators are killed ---- */

/* Each may be killed at any time; the other one goes on, and it comes back to the same. */
Test(etcd, coordinators_come_and_go, .timeout = 240)
{
    start_all();
    etcd_start(&etcd);
    for (unsigned i = 0; i < COORDINATORS; i++) {
        char name[16];

        ask_coordinator(i);
        (void)snprintf(name, sizeof name, "first-%u", i);
        expect_create(name);
        kill_coordinator(i);
        ask_coordinator(1 - i);
        (void)snprintf(name, sizeof name, "then-%u", i);
        expect_create(name);
        start_coordinator_again(i);
        ask_coordinator(i);
        expect_filter(name);
    }
    stop_all();
}

/* ---- a prefix is lost ---- */

static int map(const char *what, const char *file, char said[256])
{
    struct command command;
    int code;

    command_run(&command, span_text(""), "orbloom", "map", what, file, NULL);
    code = command.exit_status;
    (void)snprintf(said, 256, "%s%s", command.output, command.errors);
    command_forget(&command);
    return code;
}

static void expect_restore(const char *file)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    char said[256] = "";

    while (map("restore", file, said) != 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%s", said);
        (void)poll(NULL, 0, 50);
    }
    cr_assert_not_null(strstr(said, "1 filters go on"), "%s", said);
}

/* Everything below "/orbloom/" is gone while coordinators run. These are to be started anew. */
Test(etcd, a_lost_prefix_is_restored_from_a_backup, .timeout = 240)
{
    char file[PATH_BYTES];
    char said[256];

    start_all();
    etcd_start(&etcd);
    ask_coordinator(0);
    expect_create("urls");
    expect_service("before\n");
    (void)snprintf(file, sizeof file, "%s/backup", etcd.dir);
    cr_assert_eq(map("backup", file, said), 0, "%s", said);
    (void)etcd_post(&etcd, "/v3/kv/deleterange",
                    "{\"key\":\"L29yYmxvb20v\",\"range_end\":\"L29yYmxvb20w\"}");
    cr_assert_eq(map("restore", file, said), 1);
    cr_assert_not_null(strstr(said, "restart all coordinators"), "%s", said);
    expect_service("meanwhile\n");
    for (unsigned i = 0; i < COORDINATORS; i++) {
        kill_coordinator(i);
        start_coordinator_again(i);
    }
    expect_restore(file);
    expect_service("after\n");
    expect_create("more");
    stop_all();
}

/* ---- etcd is slow ---- */

enum { QUESTIONS = 30, REPORT = 1000 };

static void ask_look(struct stranger *self, uint64_t correlation)
{
    const struct frame question = {
        .correlation = correlation,
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_LOOK,
                               .name = "urls",
                               .successor = "",
                               .timeout_ms = LIMIT_MS},
    };

    stranger_send_frame(self, &question);
}

/* Not signed: it is answered with a refusal, as soon as it is read. */
static void report(struct stranger *self)
{
    const struct frame frame = {
        .correlation = REPORT,
        .kind = FRAME_SYNC_REQUEST,
        .body.sync_request = {.role = SYNC_NODE,
                              .name = "stranger",
                              .endpoint = "tcp://127.0.0.1:1",
                              .host = "",
                              .zone = ""},
    };

    stranger_send_frame(self, &frame);
}

/* The first question is held up by etcd for a second: what nodes say is served before the others.
 */
Test(etcd, a_node_is_heard_first_while_etcd_is_slow, .timeout = 240)
{
    struct stranger stranger = {0};
    struct frame answer;
    unsigned before = 0;

    start_all();
    etcd_start(&etcd);
    ask_coordinator(0);
    expect_create("urls");
    stranger_open(&stranger, endpoints[0]);
    ask_look(&stranger, 1);
    cr_assert(stranger_receive(&stranger, LIMIT_MS, &answer));
    etcd_signal(&etcd, SIGSTOP);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        ask_look(&stranger, 2 + i);
    }
    report(&stranger);
    do {
        cr_assert(stranger_receive(&stranger, 2 * LIMIT_MS, &answer));
        before += answer.correlation != REPORT && answer.kind == FRAME_ADMIN_REPLY;
    } while (answer.correlation != REPORT);
    cr_assert_leq(before, 1);
    stranger_close(&stranger);
    etcd_signal(&etcd, SIGCONT);
    expect_service("after that\n");
    stop_all();
}
