/* A cluster of real processes that speak CURVE: it does what a plain one does, comes to be one a
 * process at a time, changes its keys while keys go in, and nobody else gets anything. */
#include "tests/support/flood.h"
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

enum { LIMIT_S = 240, BATCHES = 100, LOG_BYTES = 1 << 20, PATH_BYTES = 128, ANSWER_MS = 1000 };

/* In the order in which a cluster changes: whoever is dialed before those that dial it, as a dialer
 * of plain goes over to CURVE, and one of CURVE never to plain. */
static const char *const daemons[] = {"coordinator", "node-1", "node-2", "node-3", "router"};

enum { NDAEMONS = sizeof daemons / sizeof daemons[0] };

static struct playground playground;
static struct flood flood;
static char key_path[PATH_BYTES];
static char credential[PATH_BYTES];

/* ---- one by one ---- */

static void to_curve(const char *daemon)
{
    playground_configure(&playground, daemon, "transport = \"curve\";\n");
}

/* All but the router, where clients come in that have no credential. */
static void to_curve_behind_the_router(void)
{
    for (size_t i = 0; i < NDAEMONS - 1; i++) {
        to_curve(daemons[i]);
    }
}

/* Who has the cluster key makes the first admin. */
static void make_admin(void)
{
    (void)snprintf(credential, sizeof credential, "%s/admin.cred", playground.dir);
    PLAYGROUND_DO("", "user", "create", "boss", "--role", "admin", "--credential", credential,
                  "--cluster-key", key_path, "--timeout", "20s");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", credential, 1), 0);
}

static void start_plain(void)
{
    (void)unsetenv("ORBLOOM_CREDENTIAL");
    playground_start(&playground, &(struct playground_plan){0});
    (void)snprintf(key_path, sizeof key_path, "%s/key", playground.dir);
}

static void start_curve(void)
{
    start_plain();
    for (size_t i = 0; i < NDAEMONS; i++) {
        to_curve(daemons[i]);
    }
    make_admin();
    playground_wait_status("node-3");
}

static void create(const char *name)
{
    PLAYGROUND_DO("", "create", name, "--capacity", "100k", "--fpr", "0.1%", "--timeout", "30s");
}

static void expect_nothing_failed(void)
{
    cr_assert_eq(flood.nfailed, 0, "%u batches failed, first: %s", flood.nfailed,
                 flood.first_error);
    cr_assert_eq(flood.nacked, flood.next, "%u of %u keys acknowledged", flood.nacked, flood.next);
    flood_expect_present(&flood);
}

/* ---- what a plain cluster does, too ---- */

static void kill_one(void)
{
    playground_kill(&playground, "node-2");
    playground_restart(&playground, "node-2");
}

Test(curve, a_cluster_adds_checks_grows_and_repairs_a_killed_node, .timeout = LIMIT_S)
{
    struct command command;

    start_curve();
    create("seen");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, kill_one);
    expect_nothing_failed();
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "300k", "--timeout", "60s");
    flood_add(&flood, BATCHES, NULL);
    expect_nothing_failed();
    playground_wait_status("FULL 0 JOINING 0 BUILDING");
    command_run(&command, span_text("never\n"), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    PLAYGROUND_DO("", "drop", "seen", "--timeout", "20s");
    flood_close(&flood);
    playground_stop(&playground);
}

/* ---- from plain to CURVE ---- */

Test(curve, a_plain_cluster_becomes_one_process_by_process, .timeout = LIMIT_S)
{
    start_plain();
    create("seen");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, to_curve_behind_the_router);
    expect_nothing_failed();
    to_curve("router");
    make_admin();
    flood_reconnect(&flood);
    flood_add(&flood, BATCHES, NULL);
    expect_nothing_failed();
    flood_close(&flood);
    playground_stop(&playground);
}

/* ---- other keys ---- */

/* What it has logged since it was started, by the test. */
static char *log_of(const char *daemon)
{
    const struct command *started = NULL;
    char *text = calloc(1, LOG_BYTES);

    cr_assert_not_null(text);
    for (size_t i = 0; i < playground.ndaemons; i++) {
        if (strcmp(playground.daemons[i].name, daemon) == 0) {
            started = playground.daemons[i].started;
        }
    }
    cr_assert_not_null(started);
    cr_assert_geq(pread(started->errors_fd, text, LOG_BYTES - 1, 0), 0);
    return text;
}

static bool has_read(const char *daemon, unsigned times)
{
    static const char line[] = "SIGHUP: cluster_key_file holds other keys";
    char *log = log_of(daemon);
    unsigned found = 0;

    for (const char *at = log; (at = strstr(at, line)) != NULL; at++) {
        found++;
    }
    free(log);
    return found >= times;
}

static void hang_up_all(void)
{
    static unsigned times;
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    times++;
    for (size_t i = 0; i < NDAEMONS; i++) {
        playground_signal(&playground, daemons[i], SIGHUP);
        while (!has_read(daemons[i], times)) {
            cr_assert_lt(command_now_ms(), deadline_ms, "%s has not read its key", daemons[i]);
            (void)usleep(20000);
        }
    }
}

static void add_key(void)
{
    PLAYGROUND_DO("", "key", "add", key_path);
    hang_up_all();
}

static void promote_key(void)
{
    PLAYGROUND_DO("", "key", "promote", key_path);
    hang_up_all();
}

static void wait_signed(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct command status;
    bool done = false;

    while (!done) {
        cr_assert_lt(command_now_ms(), deadline_ms, "records are left");
        command_run(&status, span_text(""), "orbloom", "status", "--json", NULL);
        done = status.exit_status == 0 && strstr(status.output, "\"records_left\": 0") != NULL;
        command_forget(&status);
    }
}

/* It is refused until each process has told, with its next sync, that it serves with the new one.
 */
static void retire_key(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct command retire;
    bool done = false;

    while (!done) {
        command_run(&retire, span_text(""), "orbloom", "key", "retire", key_path, NULL);
        done = retire.exit_status == 0;
        cr_assert(done || strstr(retire.errors, "CONFLICT") != NULL, "%s", retire.errors);
        cr_assert(done || command_now_ms() < deadline_ms, "%s", retire.errors);
        command_forget(&retire);
    }
    hang_up_all();
}

/* Clients know the next keys of the cluster before it serves them, those that run already, too. */
static void renew(void)
{
    PLAYGROUND_DO("", "user", "renew", "--credential", credential);
}

Test(curve, keys_are_replaced_while_keys_go_in, .timeout = LIMIT_S)
{
    start_curve();
    create("seen");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, add_key);
    expect_nothing_failed();
    renew();
    flood_add(&flood, BATCHES, promote_key);
    expect_nothing_failed();
    wait_signed();
    renew();
    flood_add(&flood, BATCHES, retire_key);
    expect_nothing_failed();
    create("more");
    flood_close(&flood);
    playground_stop(&playground);
}

/* ---- strangers ---- */

static struct frame stats_request(void)
{
    return (struct frame){.correlation = 7, .kind = FRAME_STATS_REQUEST};
}

static struct frame drop_request(void)
{
    struct frame frame = {.correlation = 8, .kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request.action = ADMIN_DROP;
    frame.body.admin_request.name = "seen";
    frame.body.admin_request.successor = "";
    frame.body.admin_request.timeout_ms = ANSWER_MS;
    return frame;
}

static void expect_no_answer(struct stranger *stranger)
{
    const struct frame frames[] = {stats_request(), drop_request()};
    struct frame answer;

    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        stranger_send_frame(stranger, &frames[i]);
    }
    cr_assert_not(stranger_receive(stranger, ANSWER_MS, &answer));
}

/* An unknown key, of one who knows that of the server by a credential file that was lost. */
static void expect_nothing_for_an_unknown_key(const char *endpoint,
                                              const uint8_t server[CURVE_KEY_BYTES])
{
    struct stranger stranger;
    struct curve_pair own;
    char public[41];
    char secret[41];

    cr_assert_eq(zmq_curve_keypair(public, secret), 0);
    cr_assert_not_null(zmq_z85_decode(own.public, public));
    cr_assert_not_null(zmq_z85_decode(own.secret, secret));
    stranger_open_curve(&stranger, endpoint, &own, server);
    expect_no_answer(&stranger);
    stranger_close(&stranger);
}

static void expect_nothing_in_plain(const char *endpoint)
{
    struct stranger stranger;

    stranger_open(&stranger, endpoint);
    expect_no_answer(&stranger);
    stranger_close(&stranger);
}

/* The first public key of that kind in the credential file. */
static void read_server_key(const char *kind, uint8_t key[CURVE_KEY_BYTES])
{
    char *text = command_read_file(credential);
    char word[16];
    const char *at;

    cr_assert_not_null(text);
    (void)snprintf(word, sizeof word, "\n%s ", kind);
    at = strstr(text, word);
    cr_assert_not_null(at, "no line of %s", kind);
    at += strlen(word);
    for (size_t i = 0; i < CURVE_KEY_BYTES; i++) {
        unsigned byte;

        cr_assert_eq(sscanf(at + 2 * i, "%2x", &byte), 1);
        key[i] = (uint8_t)byte;
    }
    free(text);
}

static void shout(const char *endpoint)
{
    static const uint8_t greeting[64] = {0xff, 0, 0, 0,   0,   0,   0,   0,  1,
                                         0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    uint8_t bytes[400];

    stranger_tcp(endpoint, span_text("GET / HTTP/1.1\r\nHost: orbloom\r\n\r\n"));
    memset(bytes, 0xa5, sizeof bytes);
    stranger_tcp(endpoint, span_of(bytes, sizeof bytes));
    memcpy(bytes, greeting, sizeof greeting);
    memcpy(bytes + sizeof greeting, "\x04\xc8\x05HELLO\x01", 9);
    for (size_t size = 9; size < sizeof bytes; size += 23) {
        stranger_tcp(endpoint, span_of(bytes, size));
    }
}

/* A command fails at once, with cause and remedy, long before its time is over. */
static void expect_unauthentic(const char *file)
{
    struct command command;

    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", file, 1), 0);
    command_run(&command, span_text("key\n"), "orbloom", "add", "seen", "--timeout", "20s", NULL);
    command_expect_errors(&command, 1, "UNAUTHENTIC");
    command_expect_errors(&command, 1, "does not let us in");
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "drop", "seen", "--timeout", "20s", NULL);
    command_expect_errors(&command, 1, "UNAUTHENTIC");
    command_forget(&command);
    command_run(&command, span_text("key\n"), "orbloom", "check", "seen", "--timeout", "20s", NULL);
    command_expect_errors(&command, 1, "UNAUTHENTIC");
    command_forget(&command);
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", credential, 1), 0);
}

Test(curve, strangers_get_nothing_on_any_port_and_harm_nothing, .timeout = LIMIT_S)
{
    static const char *const kinds[] = {"coordinator", "node", "node", "node", "router"};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    uint8_t server[CURVE_KEY_BYTES];

    start_curve();
    create("seen");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES / 2, NULL);
    for (size_t i = 0; i < NDAEMONS; i++) {
        playground_endpoint(&playground, daemons[i], endpoint);
        expect_nothing_in_plain(endpoint);
        read_server_key(kinds[i], server);
        expect_nothing_for_an_unknown_key(endpoint, server);
        shout(endpoint);
    }
    for (size_t i = 0; i < NDAEMONS; i++) {
        cr_assert_gt(playground_counter(&playground, daemons[i], "peers_refused_total"), 0, "%s",
                     daemons[i]);
        cr_assert_eq(playground_counter(&playground, daemons[i], "frames_refused_total"), 0);
    }
    expect_unauthentic("none");
    flood_add(&flood, BATCHES / 2, NULL);
    expect_nothing_failed();
    playground_wait_status("seen");
    flood_close(&flood);
    playground_stop(&playground);
}

/* ---- what does not start ---- */

static void expect_usage(const char *listen, const char *transport, const char *allow, int status,
                         const char *text)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom-router", "--cluster_key_file=/nonexistent",
                listen, transport, allow, NULL);
    cr_assert_eq(command.exit_status, status, "%s", command.errors);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
}

Test(curve, plain_where_others_reach_it_must_be_meant, .timeout = LIMIT_S)
{
    expect_usage("--listen=tcp://*:*", "--transport=plain", "--allow_plain=off", 2, "allow_plain");
    expect_usage("--listen=tcp://*:*", "--transport=plain", "--allow_plain=on", 1, "/nonexistent");
    expect_usage("--listen=tcp://127.0.0.1:*", "--transport=plain", "--allow_plain=off", 1,
                 "/nonexistent");
    expect_usage("--listen=tcp://*:*", "--transport=auto", "--allow_plain=off", 1, "/nonexistent");
}
