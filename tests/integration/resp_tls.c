/* Redis clients by TLS: real tools, real certificates, and those that mean no good. */
#include "tests/support/certificates.h"
#include "tests/support/redis_shell.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LIMIT_S = 180,
    MOST_TEXT = 2048,
    HALF_OPEN = 10000,
    LEAST_OPEN = 1500, /* more than the router lets shake hands at once */
    OTHER_FILES = 200,
    ASKED = 200,
    SWAPS = 6,
    WAIT_MS = 20000,
};

static struct playground playground;
static char folder[80];
static char path[REDIS_SOCKET_BYTES];
static unsigned port;
static size_t told; /* bytes of the log that are of no interest any more */

static void begin(void)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    (void)snprintf(folder, sizeof folder, "%s", playground.dir);
    certificates_make(folder);
    port = redis_free_port();
}

/* With a pair of files, and further lines in the router's configuration. */
static void serve(const char *pair, const char *options)
{
    char text[MOST_TEXT];

    (void)snprintf(text, sizeof text,
                   "resp_tls_listen = \"tcp://127.0.0.1:%u\";\ntls_cert_file = \"%s/%s.pem\";\n"
                   "tls_key_file = \"%s/%s.key\";\n%s",
                   port, folder, pair, folder, pair, options);
    redis_restart_router(&playground, text);
}

static void start(const char *options)
{
    begin();
    serve("server", options);
}

/* $D is the folder, $T what redis-cli needs for TLS, $C a client's certificate. */
static void expect(const char *script, const char *output)
{
    char text[MOST_TEXT * 2];

    (void)snprintf(text, sizeof text,
                   "D=%s; P=%u; T=\"-p $P --tls --cacert $D/ca.pem\"; "
                   "C=\"--cert $D/client.pem --key $D/client.key\"; %s",
                   folder, port, script);
    redis_shell(path, text, output);
}

static void expect_counter(const char *name)
{
    char script[256];

    (void)snprintf(script, sizeof script, "redis-cli $S INFO | grep -c '^%s:[1-9]'", name);
    expect(script, "1\n");
}

/* All that the router has said since the test started it; free() it. */
static char *router_log(void)
{
    const struct command *router = NULL;
    char file[64];
    char *text;

    for (size_t i = 0; i < playground.ndaemons; i++) {
        if (strcmp(playground.daemons[i].name, "router") == 0) {
            router = playground.daemons[i].started;
        }
    }
    cr_assert_not_null(router);
    (void)snprintf(file, sizeof file, "/proc/self/fd/%d", router->errors_fd);
    text = command_read_file(file);
    cr_assert_not_null(text);
    return text;
}

/* Since the last SIGHUP. */
static void wait_log(const char *text)
{
    uint64_t deadline_ms = command_now_ms() + WAIT_MS;
    bool found = false;

    while (!found) {
        char *log = router_log();

        found = strstr(log + told, text) != NULL;
        cr_assert(found || command_now_ms() < deadline_ms, "the log does not say: %s\n%s", text,
                  log);
        free(log);
        (void)poll(NULL, 0, 20);
    }
}

static void hang_up(void)
{
    char *log = router_log();

    told = strlen(log);
    free(log);
    playground_signal(&playground, "router", SIGHUP);
}

Test(resp_tls, tools_work_as_without_it, .timeout = LIMIT_S)
{
    start("");
    expect("redis-cli $T BF.ADD k a; redis-cli $T BF.ADD k a; redis-cli $T -3 BF.EXISTS k a; "
           "redis-cli $S BF.EXISTS k a",
           "1\n0\n(true)\n1\n");
    expect("seq 1 20000 | sed 's/.*/BF.ADD many &/' | redis-cli $T --pipe | tail -1; "
           "redis-cli $T BF.MEXISTS many 1 20000",
           "errors: 0, replies: 20000\n1\n1\n");
    expect("head -c 3000000 /dev/zero | tr '\\0' x | redis-cli $T -x ECHO | wc -c", "3000001\n");
    expect("redis-benchmark $T -c 20 -P 16 -n 50000 -q BF.EXISTS k a 2>&1 | tr '\\r' '\\n' | "
           "grep -c 'requests per second'",
           "1\n");
    expect(
        "printf 'PING\\r\\nQUIT\\r\\n' | openssl s_client -connect 127.0.0.1:$P -CAfile $D/ca.pem "
        "-verify_return_error -quiet -ign_eof 2>$D/errors; grep -c 'unexpected eof' $D/errors",
        "+PONG\r\n+OK\r\n0\n");
    expect_counter("resp_tls_connections_total");
    expect("redis-cli $T CLUSTER SLOTS | grep -c \"^$P$\"", "1\n");
    playground_stop(&playground);
}

Test(resp_tls, what_does_not_belong_is_told_and_counted, .timeout = LIMIT_S)
{
    start("");
    expect("redis-cli -p $P PING 2>&1 | head -1",
           "ERR this address takes TLS only (redis-cli --tls)\n");
    expect(
        "openssl s_client -connect 127.0.0.1:$P -tls1_1 -cipher ALL:@SECLEVEL=0 </dev/null 2>&1 | "
        "grep -c 'alert protocol version'",
        "1\n");
    expect("head -c 100000 /dev/urandom | redis-cli -p $P --pipe --pipe-timeout 1 >/dev/null 2>&1; "
           "redis-cli $T PING",
           "PONG\n");
    expect("redis-cli -p $P --tls --cacert $D/other.pem PING 2>&1 | grep -c 'verify failed'; "
           "redis-cli $T PING",
           "1\nPONG\n");
    expect("echo | openssl s_client -connect 127.0.0.1:$P -CAfile $D/ca.pem 2>/dev/null | "
           "grep -c 'Secure Renegotiation IS supported'; redis-cli $T PING",
           "0\nPONG\n");
    expect_counter("resp_tls_plain_total");
    expect_counter("resp_tls_version_total");
    expect_counter("resp_tls_broken_total");
    wait_log("it speaks no TLS; clients of this address must use TLS");
    wait_log("TLS 1.2 and 1.3 are spoken here");
    playground_stop(&playground);
}

Test(resp_tls, certificates_of_clients, .timeout = LIMIT_S)
{
    char options[256];

    begin();
    (void)snprintf(options, sizeof options,
                   "tls_ca_file = \"%s/ca.pem\";\ntls_clients = \"required\";\n", folder);
    serve("server", options);
    expect("redis-cli $T $C PING; redis-cli $T PING >$D/out 2>&1; grep -c PONG $D/out; "
           "redis-cli $T --cert $D/stranger.pem --key $D/stranger.key PING >$D/out 2>&1; "
           "grep -c PONG $D/out",
           "PONG\n0\n0\n");
    expect("redis-benchmark $T $C -n 1000 -q PING 2>&1 | tr '\\r' '\\n' | "
           "grep -c 'requests per second'",
           "1\n");
    wait_log("tls_clients asks for a certificate that tls_ca_file vouches for");
    expect_counter("resp_tls_certificate_total");
    expect("sed -i 's/\"required\"/\"optional\"/' $D/router/conf", "");
    hang_up();
    wait_log("SIGHUP: tls_clients has changed");
    expect("redis-cli $T $C PING; redis-cli $T PING; "
           "redis-cli $T --cert $D/stranger.pem --key $D/stranger.key PING >$D/out 2>&1; "
           "grep -c PONG $D/out",
           "PONG\nPONG\n0\n");
    playground_stop(&playground);
}

/* Put `name`'s pair where the router reads it: each file by rename, as certbot does. */
static void put(const char *certificate, const char *key)
{
    char script[256];

    (void)snprintf(script, sizeof script,
                   "cp $D/%s.pem $D/new.pem; cp $D/%s.key $D/new.key; mv $D/new.key $D/live.key; "
                   "mv $D/new.pem $D/live.pem",
                   certificate, key);
    expect(script, "");
}

static void expect_shown(const char *subject)
{
    expect("echo | openssl s_client -connect 127.0.0.1:$P -CAfile $D/ca.pem 2>/dev/null | "
           "openssl x509 -noout -subject",
           subject);
}

static void start_live(void)
{
    begin();
    put("server", "server");
    serve("live", "");
}

Test(resp_tls, certificates_are_swapped_under_load, .timeout = LIMIT_S)
{
    start_live();
    expect_shown("subject=CN = server\n");
    expect("(until [ -e $D/stop ]; do redis-benchmark $T -c 10 -P 8 -n 5000 -q BF.EXISTS k a "
           "|| echo 'Error: it failed'; redis-cli $T PING; done >$D/bench 2>&1; touch $D/done) "
           ">/dev/null 2>&1 & true",
           "");
    for (int i = 0; i < SWAPS; i++) {
        const char *name = i % 2 == 0 ? "second" : "server";

        put(name, name);
        hang_up();
        wait_log("shows TLS clients the certificate of");
        expect_shown(i % 2 == 0 ? "subject=CN = second\n" : "subject=CN = server\n");
    }
    expect("touch $D/stop; until [ -e $D/done ]; do sleep 0.1; done; grep -c -i error $D/bench; "
           "grep -q PONG $D/bench; echo $?",
           "0\n0\n");
    playground_stop(&playground);
}

Test(resp_tls, a_bad_pair_keeps_the_old_one, .timeout = LIMIT_S)
{
    start_live();
    put("second", "server");
    hang_up();
    wait_log("it is not the key of tls_cert_file");
    wait_log("SIGHUP: all options stay as they were");
    expect_shown("subject=CN = server\n");
    expect("echo torn >$D/live.pem", "");
    hang_up();
    wait_log("it must hold certificates in PEM form");
    expect_shown("subject=CN = server\n");
    put("second", "second");
    expect("chmod 644 $D/live.key", "");
    hang_up();
    wait_log("others than its owner may use it; chmod 600 it");
    expect_shown("subject=CN = server\n");
    expect("chmod 600 $D/live.key", "");
    hang_up();
    wait_log("shows TLS clients the certificate of /CN=second");
    expect_shown("subject=CN = second\n");
    playground_stop(&playground);
}

/* As many of HALF_OPEN as the limit of descriptors has room for. */
static int affordable(void)
{
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= HALF_OPEN + OTHER_FILES) {
        return HALF_OPEN;
    }
    cr_assert_geq(limit.rlim_cur, LEAST_OPEN + OTHER_FILES, "raise the limit of open files");
    cr_log_warn("%d connections, not %d: the limit of descriptors is %d",
                (int)limit.rlim_cur - OTHER_FILES, HALF_OPEN, (int)limit.rlim_cur);
    return (int)limit.rlim_cur - OTHER_FILES;
}

/* One request after the other. */
static void expect_served(int fd)
{
    for (int i = 0; i < ASKED; i++) {
        resp_peer_expect(fd, "BF.EXISTS k a\r\n", ":1\r\n");
    }
}

/* Most say nothing, some begin and stop, some send garbage. Who came before them is served all
 * along. */
static void open_halves(int *fds, int count, int before)
{
    for (int i = 0; i < count; i++) {
        fds[i] = resp_peer_dial(path, port);
        if (i % 3 == 0) {
            (void)send(fds[i], "\x16\x03\x01\x02\x00\x01\x00", 7, MSG_NOSIGNAL);
        } else if (i % 16 == 1) {
            (void)send(fds[i], "\x16\x03\x01\x00\x04\xff\xff\xff\xff", 9, MSG_NOSIGNAL);
        }
        if (i % 500 == 499) {
            expect_served(before);
        }
    }
}

static void expect_all_ended(const int *fds, int count)
{
    char bytes[64];

    for (int i = 0; i < count; i++) {
        struct pollfd polled = {.fd = fds[i], .events = POLLIN};
        ssize_t size;

        do { /* An alert may come first. */
            cr_assert_eq(poll(&polled, 1, WAIT_MS), 1, "number %d is still open", i);
            size = recv(fds[i], bytes, sizeof bytes, 0);
        } while (size > 0);
        (void)close(fds[i]);
    }
}

Test(resp_tls, half_open_connections_disturb_nobody, .timeout = LIMIT_S)
{
    static int fds[HALF_OPEN];
    int count = affordable();
    int fd;

    start("resp_max_clients = \"10\";\n");
    expect("redis-cli $T BF.ADD k a", "1\n");
    fd = resp_peer_dial(path, 0);
    open_halves(fds, count, fd);
    expect("for i in 1 2 3; do redis-cli $T BF.EXISTS k a; done", "1\n1\n1\n");
    expect_served(fd);
    expect_counter("resp_tls_crowded_total");
    expect_counter("resp_tls_broken_total");
    expect_all_ended(fds, count);
    expect_counter("resp_tls_late_total");
    wait_log("its handshake takes too long");
    expect_served(fd);
    (void)close(fd);
    playground_stop(&playground);
}

/* ---- what is refused at the start ---- */

static void expect_refused(const char *text, const char *const *options)
{
    const char *words[16] = {"--listen=tcp://127.0.0.1:*", "--cluster_key_file=/tmp/none"};
    struct command command;
    size_t count = 2;

    while (*options != NULL) {
        words[count++] = *options++;
    }
    words[count] = NULL;
    command_start(&command, span_text(""), SIGKILL, "orbloom-router", words);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_eq(command.exit_status, 2, "%d: %s", command.exit_status, command.errors);
    cr_assert_not_null(strstr(command.errors, text), "not '%s' but: %s", text, command.errors);
    command_forget(&command);
}

#define REFUSED(text, ...) expect_refused(text, (const char *const[]){__VA_ARGS__, NULL})
#define DOOR               "--resp_tls_listen=tcp://127.0.0.1:1", "--tls_cert_file=/c", "--tls_key_file=/k"

Test(resp_tls, options_that_do_not_go_together_are_refused, .timeout = LIMIT_S)
{
    REFUSED("tls_cert_file", "--resp_tls_listen=tcp://127.0.0.1:1");
    REFUSED("tls_key_file", "--resp_tls_listen=tcp://127.0.0.1:1", "--tls_cert_file=/c");
    REFUSED("resp_tls_listen", "--tls_cert_file=/c", "--tls_key_file=/k");
    REFUSED("add resp_tls_listen, or leave tls_clients out", "--tls_clients=required");
    REFUSED("name the tls_ca_file that has signed them", DOOR, "--tls_clients=optional");
    REFUSED("tls_ca_file is of no use while tls_clients is none", DOOR, "--tls_ca_file=/a");
    REFUSED("each needs a port of its own", DOOR, "--resp_listen=tcp://127.0.0.1:1");
    REFUSED("must be one of", DOOR, "--tls_clients=perhaps");
}
