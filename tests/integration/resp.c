/* Redis clients of a real cluster: redis-cli and redis-benchmark as they are, and connections that
 * send and read what no client should. */
#include "tests/support/playground.h"
#include "tests/support/redis_shell.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LIMIT_S = 120, WAIT_MS = 20000, MOST_TEXT = 4096, MANY = 1000 };

static struct playground playground;
static struct command command;
static char path[REDIS_SOCKET_BYTES];

static void start(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
}

/* ---- connections ---- */

static int dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = 0;

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    cr_assert_geq(fd, 0, "%s", strerror(errno));
    for (int tries = 0; tries < 1000; tries++) {
        error = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
        if (error == 0) {
            return fd;
        }
        (void)poll(NULL, 0, 10); /* It may be starting, or its backlog full. */
    }
    cr_assert_fail("connect: %s", strerror(error));
    return -1;
}

static void send_bytes(int fd, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t sent = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL);

        cr_assert_gt(sent, 0, "%s", strerror(errno));
        bytes = span_of(bytes.data + sent, bytes.size - (size_t)sent);
    }
}

/* Up to `size` bytes, or to the end. */
static size_t receive(int fd, char *text, size_t size)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    size_t got = 0;

    while (got < size) {
        ssize_t read;

        cr_assert_eq(poll(&polled, 1, WAIT_MS), 1, "no answer; so far: %.*s", (int)got, text);
        read = recv(fd, text + got, size - got, 0);
        if (read <= 0) {
            break;
        }
        got += (size_t)read;
    }
    return got;
}

static void expect_bytes(int fd, const char *expected)
{
    char text[MOST_TEXT] = "";
    size_t got = receive(fd, text, strlen(expected));

    cr_assert_eq(got, strlen(expected), "%zu bytes: %s", got, text);
    cr_assert_str_eq(text, expected);
}

static void expect_answer(int fd, const char *sent, const char *expected)
{
    send_bytes(fd, span_text(sent));
    expect_bytes(fd, expected);
}

static void expect_end(int fd)
{
    char text[MOST_TEXT];

    cr_assert_eq(receive(fd, text, sizeof text - 1), 0);
    (void)close(fd);
}

Test(resp, redis_cli_and_orbloom_see_the_same_filter, .timeout = LIMIT_S)
{
    start();
    redis_shell(path,
                "redis-cli $S BF.RESERVE seen 0.001 10000; redis-cli $S BF.ADD seen by-redis;"
                "redis-cli $S BF.MADD seen a b by-redis; redis-cli $S TYPE seen",
                "OK\n1\n1\n1\n0\nMBbloom--\n");
    command_run(&command, span_text("by-redis\na\nb\nc\n"), "orbloom", "check", "seen", NULL);
    cr_assert_str_eq(command.output, "present\npresent\npresent\nabsent\n", "%s", command.errors);
    command_forget(&command);
    PLAYGROUND_DO("by-orbloom\n", "add", "seen");
    redis_shell(path,
                "redis-cli $S BF.MEXISTS seen by-orbloom nobody; redis-cli $S EXISTS seen other;"
                "redis-cli $S BF.RESERVE seen 0.01 5; redis-cli $S DEL seen; redis-cli $S DBSIZE",
                "1\n0\n1\nERR item exists\n\n1\n0\n");
    playground_stop(&playground);
}

Test(resp, pipe_mode_and_the_benchmark, .timeout = LIMIT_S)
{
    start();
    redis_shell(path,
                "for i in $(seq 5000); do echo BF.ADD piped item-$i; done | redis-cli $S --pipe |"
                "tail -1",
                "errors: 0, replies: 5000\n");
    redis_shell(path,
                "for i in $(seq 5000); do echo BF.EXISTS piped item-$i; done | redis-cli $S |"
                "sort | uniq -c | tr -d ' '",
                "50001\n");
    redis_shell(path, "redis-benchmark $S -q -n 20000 -P 16 -r 1000 BF.ADD bench item:__rand_int__",
                NULL);
    playground_stop(&playground);
}

/* ---- what no client should send ---- */

Test(resp, garbage_harms_nobody_else, .timeout = LIMIT_S)
{
    static const char *const broken[] = {
        "*1\r\n$-1\r\n",
        "*99999999999\r\n",
        "*1\r\n$99999999999\r\n",
        "*1\r\n!3\r\n",
        "*1\r\n$4\r\nPINGxx\r\n",
        "\"PING\r\n",
        "*123456789012345678901234567890123\r\n",
    };
    int silent;
    int good;

    start();
    silent = dial();
    good = dial();
    send_bytes(silent, span_text("*3\r\n$6\r\nBF.ADD\r\n$4\r\nse"));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        int fd = dial();

        expect_answer(fd, broken[i], "-ERR Protocol error");
        while (receive(fd, (char[MOST_TEXT]){0}, MOST_TEXT) > 0) {
        }
        (void)close(fd);
        expect_answer(good, "PING\r\n", "+PONG\r\n");
    }
    send_bytes(good, span_of("*3\r\n$6\r\nBF.ADD\r\n$1\r\nb\r\n$4\r\n\0\r\n\xff\r\n", 33));
    expect_bytes(good, ":1\r\n");
    expect_answer(good, "\r\nBF.EXISTS b \"\\x00\\r\\n\\xff\"\r\n", ":1\r\n");
    expect_answer(silent, "en\r\n$1\r\na\r\n", ":1\r\n");
    playground_stop(&playground);
}

/* 10 MB of commands whose answers are never read. */
Test(resp, who_reads_nothing_does_not_hold_up_others, .timeout = LIMIT_S)
{
    static const char piece[] = "BF.EXISTS k item\r\nCLIENT LIST\r\nPING\r\n";
    int mute;
    int good;

    start();
    mute = dial();
    good = dial();
    for (size_t sent = 0; sent < 10 << 20;) {
        ssize_t now = send(mute, piece, sizeof piece - 1, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (now < (ssize_t)sizeof piece - 1) {
            break; /* It is not read from any more. */
        }
        sent += (size_t)now;
    }
    for (int i = 0; i < 100; i++) {
        expect_answer(good, "BF.ADD k item\r\nBF.EXISTS k item\r\n",
                      i == 0 ? ":1\r\n:1\r\n" : ":0\r\n:1\r\n");
    }
    (void)close(mute);
    expect_answer(good, "PING\r\n", "+PONG\r\n");
    playground_stop(&playground);
}

Test(resp, a_thousand_connections_and_a_node_killed_meanwhile, .timeout = LIMIT_S)
{
    static int fds[MANY];
    char text[128];

    start();
    for (int i = 0; i < MANY; i++) {
        fds[i] = dial();
    }
    expect_answer(fds[0], "BF.ADD k first\r\n", ":1\r\n");
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "BF.ADD k item-%d\r\nBF.EXISTS k item-%d\r\n", i, i);
        send_bytes(fds[i], span_text(text));
        if (i == MANY / 2) {
            playground_kill(&playground, "node-2");
        }
    }
    for (int i = 0; i < MANY; i++) {
        char answer[9] = "";

        cr_assert_eq(receive(fds[i], answer, 8), 8);
        cr_assert_str_eq(answer + 4, ":1\r\n", "%d: %s", i, answer);
        (void)close(fds[i]);
    }
    playground_restart(&playground, "node-2");
    playground_wait_status("node-2");
    playground_stop(&playground);
}

/* ---- the router's options and its end ---- */

Test(resp, one_too_many_is_told_so, .timeout = LIMIT_S)
{
    int fds[2];
    int third;

    start();
    redis_restart_router(&playground, "resp_max_clients = \"2\";\n");
    for (int i = 0; i < 2; i++) {
        fds[i] = dial();
        expect_answer(fds[i], "PING\r\n", "+PONG\r\n");
    }
    third = dial();
    expect_bytes(third, "-ERR max number of clients reached\r\n");
    expect_end(third);
    expect_answer(fds[0], "QUIT\r\n", "+OK\r\n");
    expect_end(fds[0]);
    third = dial();
    expect_answer(third, "PING\r\n", "+PONG\r\n");
    playground_stop(&playground);
}

Test(resp, tcp_and_an_end_with_connections_open, .timeout = LIMIT_S)
{
    char text[256];
    unsigned port = redis_free_port();
    int waiting;

    start();
    (void)snprintf(text, sizeof text, "resp_listen = \"tcp://127.0.0.1:%u\";\n", port);
    redis_restart_router(&playground, text);
    waiting = dial();
    (void)snprintf(text, sizeof text,
                   "redis-cli -p %u BF.ADD k a; redis-cli -3 -p %u BF.EXISTS k a", port, port);
    redis_shell(path, text, "1\n(true)\n");
    expect_answer(waiting, "PING\r\n", "+PONG\r\n");
    playground_signal(&playground, "router", SIGTERM);
    expect_end(waiting);
    cr_assert_neq(access(path, F_OK), 0, "its socket goes with it");
    playground_stop(&playground);
}

static void expect_refused(const char *options, const char *text)
{
    char conf[] = "/tmp/orbloom-test-XXXXXX";
    int fd = mkstemp(conf);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, options, strlen(options)), (ssize_t)strlen(options));
    (void)close(fd);
    command_run(&command, span_text(""), "orbloom-router", "--config", conf, "--check-config",
                NULL);
    cr_assert_neq(command.exit_status, 0, "%s", options);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
    (void)unlink(conf);
}

Test(resp, options_that_can_not_be_are_refused, .timeout = LIMIT_S)
{
    static const char key[] = "cluster_key_file = \"/tmp/key\";\n";
    static const struct {
        const char *options;
        const char *text;
    } cases[] = {
        {"resp_listen = \"6380\";\n", "resp_listen"},
        {"resp_max_clients = \"0\";\n", "resp_max_clients"},
        {"resp_error_rate = \"0\";\n", "resp_error_rate must be"},
        {"resp_capacity = \"2M\";\nresp_max_capacity = \"1M\";\n", "resp_max_capacity must not"},
        {"resp_missing = \"perhaps\";\n", "resp_missing"},
        {"resp_max_unread = \"1KiB\";\n", "resp_max_unread"},
        {"resp_listen = \"tcp://*:6380\";\n", "name a file with one as resp_password_file"},
        {"resp_listen = \"tcp://10.0.0.1:6380\";\n", "say resp_open = \"on\" if that is meant"},
        {"resp_listen = \"tcp://10.0.0.1:6380\";\n", "resp_users = \"required\""},
        {"resp_listen = \"tcp://127.0.0.1.example:6380\";\n", "is not loopback"},
        {"resp_tls_listen = \"tcp://*:6380\";\ntls_cert_file = \"/tmp/c\";\n"
         "tls_key_file = \"/tmp/k\";\n",
         "name a file with one as resp_password_file"},
    };
    char text[512];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text, "%s%s", key, cases[i].options);
        expect_refused(text, cases[i].text);
    }
}
