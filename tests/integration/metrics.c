/* What processes of a real cluster tell by HTTP: every counter that there is, and how they are;
 * to whom; and that nobody who asks is in the way of what they are for. */
#include "base/telemetry/metrics.h"

#include "coordinator/coordinator.h"
#include "link/link.h"
#include "node/node.h"
#include "router/resp/front.h"
#include "runtime/http/http.h"
#include "tests/support/certificates.h"
#include "tests/support/http_peer.h"
#include "tests/support/https_peer.h"
#include "tests/support/playground.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 100, MOST = 4, PAUSE_NS = 20000000 };

static struct playground playground;

/* Where daemons tell it. */
static struct {
    const char *daemon;
    char endpoint[64];
} https[MOST];
static size_t nhttps;

TestSuite(metrics, .timeout = LIMIT_S);

static const char *http_of(const char *daemon)
{
    size_t i = 0;

    while (i < nhttps && strcmp(https[i].daemon, daemon) != 0) {
        i++;
    }
    cr_assert_lt(i, nhttps, "%s", daemon);
    return https[i].endpoint;
}

/* Start it again, with that and further lines. */
static void open_http(const char *daemon, const char *more)
{
    char lines[512];

    cr_assert_lt(nhttps, MOST);
    https[nhttps].daemon = daemon;
    (void)snprintf(https[nhttps].endpoint, sizeof https[0].endpoint, "tcp://127.0.0.1:%u",
                   resp_peer_free_port());
    (void)snprintf(lines, sizeof lines, "http_listen = \"%s\";\n%s", https[nhttps++].endpoint,
                   more);
    playground_configure(&playground, daemon, lines);
}

static unsigned ask(const char *daemon, const char *path, const char *lines)
{
    char *answer = http_peer_get(http_of(daemon), path, lines);
    unsigned code = http_peer_code(answer);

    free(answer);
    return code;
}

/* Wait until it answers so, and says `text`. */
static void wait_for(const char *daemon, const char *path, unsigned code, const char *text)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t end_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    bool so = false;
    char *answer = NULL;

    while (!so && command_now_ms() < end_ms) {
        free(answer);
        (void)nanosleep(&pause, NULL);
        answer = http_peer_get(http_of(daemon), path, "");
        so = http_peer_code(answer) == code && strstr(answer, text) != NULL;
    }
    cr_assert(so, "%s %s, not %u with %s: %s", daemon, path, code, text, answer);
    free(answer);
}

static void start(uint32_t sites)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 1, .sites = sites});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "0.01%", "--replicas", "1");
}

static void start_all(void)
{
    start(1);
    open_http("node-1", "");
    open_http("coordinator", "");
    open_http("router", "");
}

/* ---- the format ---- */

/* The value of the family, told once, with its help and type before it. */
static uint64_t value_of(const char *text, const char *name, bool counter)
{
    char line[3 * METRICS_NAME_BYTES];
    const char *at;

    (void)snprintf(line, sizeof line, "\n# TYPE %s %s\n%s ", name, counter ? "counter" : "gauge",
                   name);
    at = strstr(text, line);
    cr_assert_not_null(at, "no%s in: %s", line, text);
    cr_assert_null(strstr(at + 1, line), "twice: %s", name);
    (void)snprintf(line, sizeof line, "# HELP %s ", name);
    cr_assert_not_null(strstr(text, line), "no help of %s", name);
    at = strstr(at + 1, "\n");
    return strtoull(at + 1 + strlen(name) + 1, NULL, 10);
}

static void expect_table(const char *text, const char *prefix, struct counter_table table)
{
    for (size_t i = 0; i < table.count; i++) {
        char name[METRICS_NAME_BYTES];

        (void)metrics_name(prefix, &table.defs[i], name);
        (void)value_of(text, name, strstr(table.defs[i].name, "_total") != NULL);
    }
}

static char *metrics_of(const char *daemon)
{
    char *answer = http_peer_get(http_of(daemon), "/metrics", "");
    char *text = strdup(http_peer_body(answer) - 1); /* With an end of line before the first. */

    cr_assert_eq(http_peer_code(answer), 200);
    cr_assert_not_null(strcasestr(answer, "\r\nContent-Type: text/plain; version=0.0.4;"));
    free(answer);
    return text;
}

static size_t count_families(const char *text)
{
    size_t count = 0;

    for (const char *at = strstr(text, "\n# TYPE "); at != NULL; at = strstr(at + 1, "\n# TYPE ")) {
        count++;
    }
    return count;
}

/* ---- tests ---- */

Test(metrics, every_counter_is_told)
{
    char *text;

    start_all();
    PLAYGROUND_DO("a\nb\nc\n", "add", "seen");

    text = metrics_of("node-1");
    expect_table(text, "orbloom_node_", node_counters());
    cr_expect_eq(value_of(text, "orbloom_node_keys_added_total", true), 3);
    cr_expect_gt(value_of(text, "orbloom_node_memory_used_bytes", false), 0);
    cr_expect_gt(value_of(text, "orbloom_node_replicas_full", false), 0);
    cr_expect_gt(value_of(text, "orbloom_http_open_connections", false), 0, "this one");
    cr_expect_gt(value_of(text, "process_resident_memory_bytes", false), 1 << 20);
    cr_expect_gt(value_of(text, "process_open_fds", false), 3);
    cr_expect_not_null(strstr(text, "\norbloom_build_info{program=\"orbloom-node\",version=\""));
    cr_expect_not_null(strstr(text, "\",name=\"node-1\"} 1\n"));
    free(text);

    text = metrics_of("router");
    expect_table(text, "orbloom_router_", router_counters());
    expect_table(text, "orbloom_router_", front_counters());
    cr_expect_eq(value_of(text, "orbloom_router_keys_added_total", true), 3);
    (void)value_of(text, "orbloom_router_hedge_delay_seconds", false);
    cr_expect_gt(count_families(text), router_counters().count + front_counters().count);
    free(text);

    text = metrics_of("coordinator");
    expect_table(text, "orbloom_coordinator_", coordinator_counters());
    free(text);
    playground_stop(&playground);
}

/* ---- series with labels ---- */

/* The value of one, told once. */
static double series_of(const char *text, const char *series)
{
    char line[256];
    const char *at;

    (void)snprintf(line, sizeof line, "\n%s ", series);
    at = strstr(text, line);
    cr_assert_not_null(at, "no %s in: %s", series, text);
    cr_assert_null(strstr(at + 1, line), "twice: %s", series);
    return strtod(at + strlen(line), NULL);
}

static void expect_series(const char *text, const char *series, double value)
{
    double is = series_of(text, series);

    cr_expect_float_eq(is, value, 1e-9, "%s is %g, not %g", series, is, value);
}

static void expect_routers(void)
{
    char *text = metrics_of("router");

    expect_series(text, "orbloom_keys_total{op=\"add\",outcome=\"acknowledged\"}", 3);
    expect_series(text, "orbloom_keys_total{op=\"check\",outcome=\"present\"}", 2);
    expect_series(text, "orbloom_keys_total{op=\"check\",outcome=\"absent\"}", 1);
    expect_series(text, "orbloom_keys_total{op=\"check\",outcome=\"unknown\"}", 0);
    expect_series(text, "orbloom_requests_total{op=\"check\",result=\"ok\"}", 1);
    expect_series(text, "orbloom_requests_total{op=\"check\",result=\"refused\"}", 1);
    expect_series(text, "orbloom_request_duration_seconds_count{op=\"check\"}", 1);
    cr_expect_gt(series_of(text, "orbloom_request_duration_seconds_sum{op=\"add\"}"), 0);
    cr_expect_geq(series_of(text, "orbloom_node_roundtrip_seconds_count{node=\"node-1\"}"), 2);
    cr_expect_gt(series_of(text, "orbloom_loop_turn_seconds_count"), 0);
    free(text);
}

static void expect_nodes(void)
{
    char *text = metrics_of("node-1");

    cr_expect_gt(series_of(text, "orbloom_node_log_sync_seconds_count"), 0);
    cr_expect_gt(series_of(text, "orbloom_node_disk_free_bytes"), 0);
    cr_expect_gt(series_of(text, "orbloom_node_memory_limit_bytes"), 0);
    expect_series(text, "orbloom_node_replicas", 1);
    expect_series(text, "orbloom_node_gossip_behind", 0);
    free(text);
}

static void expect_coordinators(void)
{
    char *text;

    wait_for("coordinator", "/metrics", 200, "\norbloom_filter_keys{filter=\"seen\"} 3\n");
    text = metrics_of("coordinator");
    expect_series(text, "orbloom_filters", 1);
    expect_series(text, "orbloom_filter_capacity_keys{filter=\"seen\"}", 10000);
    expect_series(text, "orbloom_filter_capacity_keys{filter=\"\"}", 0);
    expect_series(text, "orbloom_filter_fill_ratio{filter=\"seen\"}", 0.0003);
    expect_series(text, "orbloom_filter_asked_false_positive_ratio{filter=\"seen\"}", 0.0001);
    expect_series(text, "orbloom_filter_shards_under_replicated{filter=\"seen\"}", 0);
    expect_series(text, "orbloom_filter_quorum_lost{filter=\"seen\"}", 0);
    expect_series(text, "orbloom_node_up{node=\"node-1\"}", 1);
    cr_expect_gt(series_of(text, "orbloom_coordinator_store_seconds_count"), 0);
    free(text);
}

/* Prometheus' own tool, if it is there (Debian: prometheus), has nothing to say of what is told. */
static void expect_lint(const char *daemon)
{
    const char *path = playground_path(&playground, "told");
    char *text = metrics_of(daemon);
    FILE *file = fopen(path, "we");
    FILE *promtool;
    char line[1024];
    char said[1024];

    cr_assert_not_null(file);
    cr_assert_geq(fputs(text + 1, file), 0);
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(line, sizeof line,
                   "! command -v promtool >/dev/null || promtool check metrics <'%s' 2>&1 || "
                   "echo refused",
                   path);
    promtool = popen(line, "re");
    cr_assert_not_null(promtool);
    said[fread(said, 1, sizeof said - 1, promtool)] = '\0';
    (void)pclose(promtool);
    cr_expect_str_empty(said, "%s: %s", daemon, said);
    free(text);
}

Test(metrics, series_are_of_what_was_done)
{
    struct command command;

    start_all();
    PLAYGROUND_DO("a\nb\nc\n", "add", "seen");
    PLAYGROUND_DO("a\nb\nd\n", "check", "seen");
    command_run(&command, span_text("a\n"), "orbloom", "check", "none", NULL);
    command_forget(&command);
    expect_routers();
    expect_nodes();
    expect_coordinators();
    playground_stop(&playground);
}

Test(metrics, promtool_has_nothing_to_say)
{
    start_all();
    PLAYGROUND_DO("a\nb\nc\n", "add", "seen");
    expect_lint("node-1");
    expect_lint("coordinator");
    expect_lint("router");
    playground_stop(&playground);
}

Test(metrics, links_tell_theirs_and_their_routers)
{
    char *text;

    start(2);
    open_http("site-1/link", "");
    text = metrics_of("site-1/link");
    expect_table(text, "orbloom_link_", link_counters());
    expect_table(text, "orbloom_link_router_", router_counters());
    free(text);
    expect_lint("site-1/link");
    wait_for("site-1/link", "/metrics", 200, "\norbloom_site_connected{site=\"site-2\"} 1\n");
    wait_for("site-1/link", "/readyz", 200, "\"ok\":true");
    playground_kill(&playground, "site-2/link");
    wait_for("site-1/link", "/readyz", 503, "no link of site site-2 is heard of");
    wait_for("site-1/link", "/metrics", 200, "\norbloom_site_connected{site=\"site-2\"} 0\n");
    cr_expect_eq(ask("site-1/link", "/healthz", ""), 200);
    playground_restart(&playground, "site-2/link");
    wait_for("site-1/link", "/readyz", 200, "\"ok\":true");
    playground_stop(&playground);
}

/* A process that is of no use says why; that it moves it says all the same. */
Test(metrics, who_is_not_ready_says_why)
{
    start(1);
    open_http("coordinator", "");
    wait_for("coordinator", "/readyz", 200, "\"ok\":true");
    open_http("node-1", "");
    open_http("router", "");
    wait_for("node-1", "/readyz", 200, "\"ok\":true");
    wait_for("router", "/readyz", 200, "\"ok\":true");

    playground_kill(&playground, "coordinator");
    playground_kill(&playground, "node-1");
    playground_restart(&playground, "node-1");
    playground_kill(&playground, "router");
    playground_restart(&playground, "router");
    wait_for("node-1", "/readyz", 503, "{\"what\":\"boot\"");
    wait_for("router", "/readyz", 503, "{\"what\":\"documents\"");
    cr_expect_eq(ask("node-1", "/healthz", ""), 200);
    cr_expect_eq(ask("router", "/healthz", ""), 200);

    playground_restart(&playground, "coordinator");
    wait_for("node-1", "/readyz", 200, "\"ok\":true");
    wait_for("router", "/readyz", 200, "\"ok\":true");
    playground_stop(&playground);
}

static void write_token(const char *path, const char *token, unsigned mode)
{
    FILE *file = fopen(path, "we");

    cr_assert_not_null(file);
    cr_assert_geq(fputs(token, file), 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, mode), 0);
}

/* What curl gets as this user; "000": there is no curl. */
static void expect_curl(const char *endpoint, const char *flags, const char *code)
{
    char line[512];
    char got[8] = "";
    FILE *curl;

    (void)snprintf(line, sizeof line,
                   "curl -s -o /dev/null -w '%%{http_code}' %s http://%s/metrics 2>/dev/null || "
                   "command -v curl >/dev/null || echo none",
                   flags, endpoint + strlen("tcp://"));
    curl = popen(line, "re");
    cr_assert_not_null(curl);
    cr_assert_not_null(fgets(got, sizeof got, curl));
    (void)pclose(curl);
    cr_expect(strcmp(got, "none\n") == 0 || strcmp(got, code) == 0, "%s: %s", flags, got);
}

Test(metrics, a_token_is_asked_for_and_may_change)
{
    char lines[512];
    char path[256];

    start(1);
    (void)snprintf(path, sizeof path, "%s", playground_path(&playground, "token"));
    write_token(path, "s3cret\n", 0600);
    (void)snprintf(lines, sizeof lines, "http_token_file = \"%s\";\n", path);
    open_http("router", lines);
    cr_expect_eq(ask("router", "/metrics", ""), 401);
    cr_expect_eq(ask("router", "/healthz", ""), 401);
    cr_expect_eq(ask("router", "/nothing", "Authorization: Bearer other\r\n"), 401);
    cr_expect_eq(ask("router", "/metrics", "Authorization: Bearer s3cret\r\n"), 200);
    cr_expect_eq(ask("router", "/nothing", "Authorization: Bearer s3cret\r\n"), 404);
    expect_curl(http_of("router"), "", "401");
    expect_curl(http_of("router"), "-u prometheus:s3cret", "200");
    expect_curl(http_of("router"), "-u prometheus:other", "401");
    expect_curl(http_of("router"), "-H 'Authorization: Bearer s3cret'", "200");

    write_token(path, "n3wer\n", 0644);
    playground_signal(&playground, "router", SIGHUP);
    PLAYGROUND_DO("a\n", "add", "seen"); /* It was served after that. */
    cr_expect_eq(ask("router", "/metrics", "Authorization: Bearer s3cret\r\n"), 200,
                 "others may read the file, which so was refused");
    write_token(path, "n3wer\n", 0600);
    playground_signal(&playground, "router", SIGHUP);
    for (int i = 0; i < 200 && ask("router", "/metrics", "Authorization: Bearer n3wer\r\n") != 200;
         i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    cr_expect_eq(ask("router", "/metrics", "Authorization: Bearer n3wer\r\n"), 200);
    cr_expect_eq(ask("router", "/metrics", "Authorization: Bearer s3cret\r\n"), 401);
    playground_stop(&playground);
}

static void copy(const char *from, const char *to)
{
    char command[1024];

    (void)snprintf(command, sizeof command,
                   "cp -p %s/%s.pem %s/shown.pem && cp -p %s/%s.key "
                   "%s/shown.key",
                   to, from, to, to, from, to);
    cr_assert_eq(system(command), 0);
}

/* Wait until it shows the certificate of that name. */
static bool shows(const char *daemon, const char *authority, const char *name)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t end_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    bool so = false;

    while (!so && command_now_ms() < end_ms) {
        struct https_answer answer = https_peer_get(http_of(daemon), "/metrics", "", authority, 0);

        (void)nanosleep(&pause, NULL);
        so = answer.text != NULL && strcmp(answer.name, name) == 0 &&
             strstr(answer.text, "orbloom_certificate_end_timestamp_seconds{"
                                 "file=\"http_cert_file\"} ") != NULL;
        free(answer.text);
    }
    return so;
}

Test(metrics, a_certificate_is_shown_and_may_change)
{
    char authority[256];
    char lines[512];
    char folder[200];

    start(1);
    (void)snprintf(folder, sizeof folder, "%s", playground.dir);
    certificates_make(folder);
    copy("server", folder);
    (void)snprintf(authority, sizeof authority, "%s/ca.pem", folder);
    (void)snprintf(lines, sizeof lines,
                   "http_cert_file = \"%s/shown.pem\";\nhttp_key_file = \"%s/shown.key\";\n",
                   folder, folder);
    open_http("node-1", lines);
    cr_assert(shows("node-1", authority, "/CN=server"));
    cr_expect_eq(ask("node-1", "/metrics", ""), 0, "in the clear nobody is told anything");

    copy("second", folder);
    playground_signal(&playground, "node-1", SIGHUP);
    cr_assert(shows("node-1", authority, "/CN=second"));
    PLAYGROUND_DO("a\n", "add", "seen");
    playground_stop(&playground);
}

/* ---- alerts and the dashboard ---- */

/* `type`: what it begins with. */
static bool tells(char *const *texts, size_t count, const char *name, const char *type)
{
    char line[3 * METRICS_NAME_BYTES];
    bool told = false;

    (void)snprintf(line, sizeof line, "\n# TYPE %s %s", name, type);
    for (size_t i = 0; i < count; i++) {
        told = told || strstr(texts[i], line) != NULL;
    }
    return told;
}

/* Every family that the file names is told by some daemon. */
static size_t expect_names_told(const char *path, char *const *texts, size_t count)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    char *text = command_read_file(path);
    size_t names = 0;

    for (char *at = strstr(text, "orbloom_"); at != NULL; at = strstr(at, "orbloom_")) {
        char name[METRICS_NAME_BYTES];
        char *bucket;

        (void)snprintf(name, sizeof name, "%.*s", (int)strspn(at, letters), at);
        at += strlen(name);
        names++;
        bucket = strstr(name, "_bucket");
        if (bucket != NULL) {
            *bucket = '\0';
        }
        cr_expect(tells(texts, count, name, bucket != NULL ? "histogram" : ""),
                  "%s: no daemon tells %s", path, name);
    }
    free(text);
    return names;
}

static void expect_json(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

    cr_expect_not_null(json, "%s:%d: %s", path, error.line, error.text);
    json_decref(json);
}

Test(metrics, what_alerts_and_the_dashboard_name_is_told)
{
    char lines[512];
    char authority[256];
    char folder[200];
    char *texts[MOST];

    start(2);
    (void)snprintf(folder, sizeof folder, "%s", playground.dir);
    certificates_make(folder);
    (void)snprintf(authority, sizeof authority, "%s/ca.pem", folder);
    (void)snprintf(lines, sizeof lines,
                   "http_cert_file = \"%s/server.pem\";\nhttp_key_file = \"%s/server.key\";\n",
                   folder, folder);
    open_http("site-1/node-1", lines);
    open_http("site-1/coordinator", "");
    open_http("site-1/router", "");
    open_http("site-1/link", "");
    texts[0] = https_peer_get(http_of("site-1/node-1"), "/metrics", "", authority, 0).text;
    texts[1] = metrics_of("site-1/coordinator");
    texts[2] = metrics_of("site-1/router");
    texts[3] = metrics_of("site-1/link");
    cr_assert_not_null(texts[0]);
    cr_expect_gt(expect_names_told("deploy/prometheus/rules.yml", texts, MOST), 20);
    cr_expect_gt(expect_names_told("deploy/grafana/orbloom.json", texts, MOST), 20);
    expect_json("deploy/grafana/orbloom.json");
    for (size_t i = 0; i < MOST; i++) {
        free(texts[i]);
    }
    playground_stop(&playground);
}

/* Refused with where and what to do, before anything is opened. */
Test(metrics, open_to_the_world_must_be_meant)
{
    static const struct {
        const char *flag;
        const char *second;
        int status;
        const char *says;
    } cases[] = {
        {"--http-listen=tcp://*:9090", "--log_level=info", 2, "http_open = \"on\""},
        {"--http-listen=tcp://192.0.2.1:9090", "--log_level=info", 2, "is not loopback"},
        {"--http-listen=tcp://*:9090", "--http-open=on", 0, ""},
        {"--http-listen=tcp://127.0.0.1:9090", "--log_level=info", 0, ""},
        {"--http-open=on", "--log_level=info", 2, "http_listen"},
        {"--http-token-file=/nowhere", "--log_level=info", 2, "http_listen"},
        {"--http-listen=tcp://*:9090", "--http-token-file=/nowhere", 1, "the http_token_file"},
        {"--http-listen=tcp://*:9090", "--listen=tcp://127.0.0.1:9090", 2, "one address"},
        {"--http-listen=tcp://127.0.0.1:9090", "--http-key-file=/nowhere", 2, "http_cert_file"},
        {"--http-listen=tcp://127.0.0.1:9090", "--http-cert-file=/nowhere", 2, "http_key_file"},
    };
    static const char *const daemons[] = {"node-1", "router", "coordinator"};
    static const char *const programs[] = {"orbloom-node", "orbloom-router", "orbloom-coordinator"};

    start(1);
    for (size_t d = 0; d < 3; d++) {
        char conf[256];

        (void)snprintf(conf, sizeof conf, "%s/%s/conf", playground.dir, daemons[d]);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct command command;

            command_run(&command, span_text(""), programs[d], "--config", conf, "--check-config",
                        cases[i].flag, cases[i].second, NULL);
            cr_expect_eq(command.exit_status, cases[i].status, "%s case %zu: %s", programs[d], i,
                         command.errors);
            cr_expect_not_null(strstr(command.errors, cases[i].says), "%s case %zu: %s",
                               programs[d], i, command.errors);
            command_forget(&command);
        }
    }
    playground_stop(&playground);
}

/* The file and the line are named. */
Test(metrics, a_line_of_the_file_is_to_blame)
{
    struct command command;
    char conf[256];
    FILE *file;

    start(1);
    (void)snprintf(conf, sizeof conf, "%s/router/conf", playground.dir);
    file = fopen(conf, "ae");
    cr_assert_not_null(file);
    cr_assert_geq(fputs("http_listen = \"tcp://*:9090\";\n", file), 0);
    cr_assert_eq(fclose(file), 0);
    command_run(&command, span_text(""), "orbloom-router", "--config", conf, NULL);
    cr_expect_eq(command.exit_status, 2);
    cr_expect_not_null(strstr(command.errors, "router/conf:"), "%s", command.errors);
    cr_expect_not_null(strstr(command.errors, "http_token_file"), "%s", command.errors);
    command_forget(&command);
    playground_stop(&playground);
}

/* A router tells of what it shows to Redis clients, beside what it shows here. */
Test(metrics, the_certificate_for_redis_clients_is_told, .timeout = LIMIT_S)
{
    char lines[1024];
    const char *folder;
    char *text;

    start(1);
    folder = playground.dir;
    certificates_make(folder);
    (void)snprintf(lines, sizeof lines,
                   "resp_tls_listen = \"tcp://127.0.0.1:%u\";\ntls_cert_file = \"%s/server.pem\";\n"
                   "tls_key_file = \"%s/server.key\";\n",
                   resp_peer_free_port(), folder, folder);
    open_http("router", lines);
    text = metrics_of("router");
    cr_expect_not_null(strstr(text, "\norbloom_certificate_end_timestamp_seconds{"
                                    "file=\"tls_cert_file\"} "));
    cr_expect_null(strstr(text, "http_cert_file"));
    free(text);
    playground_stop(&playground);
}

/* Its name is another one's: it listens, and is of no use. */
Test(metrics, a_node_that_is_refused_is_not_ready)
{
    struct command twin;
    char conf[256];
    char data[256];
    char http[128];
    char output[1024] = "";

    start(1);
    (void)snprintf(conf, sizeof conf, "%s/node-1/conf", playground.dir);
    (void)snprintf(data, sizeof data, "--data-dir=%s/twin", playground.dir);
    https[nhttps].daemon = "twin";
    (void)snprintf(https[nhttps].endpoint, sizeof https[0].endpoint, "tcp://127.0.0.1:%u",
                   resp_peer_free_port());
    (void)snprintf(http, sizeof http, "--http-listen=%s", https[nhttps++].endpoint);
    command_start(
        &twin, span_text(""), SIGKILL, "orbloom-node",
        (const char *const[]){"--config", conf, "--listen=tcp://127.0.0.1:*", data, http, NULL});
    wait_for("twin", "/readyz", 503, "{\"what\":\"boot\"");
    cr_expect_not(command_ended(&twin, 1000));
    wait_for("twin", "/readyz", 503, "{\"what\":\"boot\"");
    cr_assert_geq(pread(twin.output_fd, output, sizeof output - 1, 0), 0);
    cr_expect_not_null(strstr(output, "http tcp://"), "%s", output);
    cr_expect_null(strstr(output, "ready tcp://"), "%s", output);
    cr_assert_eq(kill(twin.pid, SIGTERM), 0);
    command_finish(&twin, PLAYGROUND_STOP_MS);
    cr_expect_not_null(strstr(twin.errors, "refuses this node"), "%s", twin.errors);
    command_forget(&twin);
    playground_stop(&playground);
}

/* All places are taken by who says nothing, and strangers send what they like. */
Test(metrics, who_asks_is_in_nobodys_way)
{
    char garbage[10000];
    int idle[2 * HTTP_MAX_CONNECTIONS];

    start(1);
    open_http("router", "");
    open_http("node-1", "");
    for (size_t i = 0; i < sizeof garbage; i++) {
        garbage[i] = (char)(i * 131 + 7);
    }
    free(http_peer_ask(http_of("router"), span_of(garbage, sizeof garbage)));
    free(http_peer_ask(http_of("node-1"), span_of(garbage, sizeof garbage)));
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        idle[i] = http_peer_open(http_of(i % 2 == 0 ? "router" : "node-1"));
        http_peer_send(idle[i], span_text("GET /metrics HTTP/1.1\r\n"));
    }
    PLAYGROUND_DO("a\nb\n", "add", "seen");
    cr_expect_eq(ask("router", "/healthz", ""), 200);
    playground_stop(&playground); /* In order, with all of them open. */
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        (void)close(idle[i]);
    }
}
