/* A router with Redis clients is told to stop, or to read its file again. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_S = 120, MOST_TEXT = 512, CHUNK = 64 << 10, ENOUGH = 5000, POLL_MS = 20 };

static struct playground playground;
static char path[100]; /* shorter than a socket's address may be */

static void append_conf(const char *options)
{
    char conf[160];
    FILE *file;

    (void)snprintf(conf, sizeof conf, "%s/router/conf", playground.dir);
    file = fopen(conf, "ae");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(options, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void start(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    (void)snprintf(path, sizeof path, "%s/router/resp.sock", playground.dir);
}

/* A router of the test's own, whose exit status it sees. */
static void start_with(const char *options)
{
    start();
    playground_kill(&playground, "router");
    append_conf(options);
    playground_restart(&playground, "router");
}

/* ---- SIGTERM ---- */

/* A client that sends adds of item-0, item-1... without end and counts their answers. */
struct pump {
    int fd;
    size_t made;     /* items that were written into `text` */
    size_t answered; /* bytes of answers */
    char text[CHUNK];
    size_t size;
    size_t sent;
    bool ended;
};

static void fill(struct pump *self)
{
    if (self->sent < self->size) {
        return;
    }
    self->size = self->sent = 0;
    while (self->size + 64 < sizeof self->text) {
        self->size += (size_t)snprintf(self->text + self->size, 64, "BF.ADD k item-%zu\r\n",
                                       self->made++);
    }
}

/* New or perhaps there before: `:1` or `:0`. */
static void check_answers(struct pump *self, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++, self->answered++) {
        size_t at = self->answered % 4;

        cr_assert(at == 1 ? text[i] == '0' || text[i] == '1' : text[i] == ":0\r\n"[at], "%.*s",
                  (int)(size - i), text + i);
    }
}

static void move(struct pump *self)
{
    struct pollfd polled = {.fd = self->fd, .events = POLLIN | POLLOUT};
    char text[CHUNK];
    ssize_t count;

    cr_assert_geq(poll(&polled, 1, RESP_PEER_WAIT_MS), 1, "nothing moves");
    count = recv(self->fd, text, sizeof text, MSG_DONTWAIT);
    cr_assert(count >= 0 || errno == EAGAIN, "a bad end: %s", strerror(errno));
    check_answers(self, text, count > 0 ? (size_t)count : 0);
    self->ended = count == 0;
    if (!self->ended && (polled.revents & POLLOUT) != 0) {
        fill(self);
        count = send(self->fd, self->text + self->sent, self->size - self->sent,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
        self->sent += count > 0 ? (size_t)count : 0;
    }
}

static void expect_every_answer_true(unsigned port)
{
    static struct pump pump;
    size_t answered;

    pump = (struct pump){.fd = resp_peer_dial(path, port)};
    while (pump.answered < ENOUGH * 4) {
        move(&pump);
        cr_assert_not(pump.ended);
    }
    playground_signal(&playground, "router", SIGTERM);
    while (!pump.ended) {
        move(&pump);
    }
    (void)close(pump.fd);
    answered = pump.answered / 4;
    cr_assert_eq(pump.answered % 4, 0, "half an answer");
    cr_assert_geq(answered, ENOUGH);
    cr_assert_eq(playground_wait_end(&playground, "router"), 0);
    playground_restart(&playground, "router");
    cr_assert_eq(numbered_keys_present("k", "item", 0, (int)answered), answered);
}

Test(resp_life, sigterm_answers_what_is_under_way_then_closes, .timeout = LIMIT_S)
{
    start_with("");
    expect_every_answer_true(0);
    playground_stop(&playground);
}

/* A connection that is closed with bytes unread would lose answers that are on their way. */
Test(resp_life, sigterm_loses_no_answer_of_tcp, .timeout = LIMIT_S)
{
    unsigned port = resp_peer_free_port();
    char option[MOST_TEXT];

    (void)snprintf(option, sizeof option, "resp_listen = \"tcp://127.0.0.1:%u\";\n", port);
    start_with(option);
    expect_every_answer_true(port);
    playground_stop(&playground);
}

static void wait_drains(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    while (access(path, F_OK) == 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it listens as before");
        (void)poll(NULL, 0, POLL_MS);
    }
}

static void stop_two_nodes(void)
{
    playground_signal(&playground, "node-1", SIGSTOP);
    playground_signal(&playground, "node-2", SIGSTOP);
}

static int start_with_an_add_under_way(const char *options)
{
    int fd;

    start_with(options);
    fd = resp_peer_dial(path, 0);
    resp_peer_expect(fd, "BF.ADD k a\r\n", ":1\r\n");
    stop_two_nodes();
    resp_peer_send(fd, span_text("PING\r\nBF.ADD k b\r\n"));
    resp_peer_expect(fd, "", "+PONG\r\n");
    return fd;
}

static void end_with_nodes(int fd, const char *answers)
{
    resp_peer_expect_end(fd, answers);
    cr_assert_eq(playground_wait_end(&playground, "router"), 0);
    playground_signal(&playground, "node-1", SIGCONT);
    playground_signal(&playground, "node-2", SIGCONT);
    playground_restart(&playground, "router");
    playground_stop(&playground);
}

Test(resp_life, a_second_sigterm_ends_at_once, .timeout = LIMIT_S)
{
    int fd = start_with_an_add_under_way("resp_timeout = \"60s\";\ndrain_timeout = \"1h\";\n");

    playground_signal(&playground, "router", SIGTERM);
    wait_drains();
    playground_signal(&playground, "router", SIGTERM);
    end_with_nodes(fd, "");
}

Test(resp_life, what_is_never_answered_is_not_waited_for_longer_than_said, .timeout = LIMIT_S)
{
    int fd = start_with_an_add_under_way("resp_timeout = \"60s\";\ndrain_timeout = \"100ms\";\n");

    playground_signal(&playground, "router", SIGTERM);
    end_with_nodes(fd, "");
}

Test(resp_life, an_end_answers_what_a_stopped_node_holds_up, .timeout = LIMIT_S)
{
    int fd = start_with_an_add_under_way("resp_timeout = \"60s\";\ndrain_timeout = \"1h\";\n");

    playground_signal(&playground, "router", SIGTERM);
    wait_drains();
    playground_signal(&playground, "node-1", SIGCONT);
    end_with_nodes(fd, ":1\r\n");
}

Test(resp_life, an_end_answers_clients_of_the_library_and_takes_no_more_of_them, .timeout = LIMIT_S)
{
    const char *const words[] = {"add", "k", "--timeout", "60s", NULL};
    struct command add;
    struct command late;
    uint64_t before;

    start_with("drain_timeout = \"1h\";\n");
    PLAYGROUND_DO("", "create", "k", "--capacity", "10k", "--fpr", "1%", "--durability", "memory");
    stop_two_nodes();
    before = playground_counter(&playground, "router", "requests_total");
    command_start(&add, span_text("c\n"), SIGKILL, "orbloom", words);
    playground_wait_counter(&playground, "router", "requests_total", before + 1);
    playground_signal(&playground, "router", SIGTERM);
    wait_drains();
    command_run(&late, span_text("a\n"), "orbloom", "check", "k", "--timeout", "200ms", NULL);
    command_expect_errors(&late, 1, "this router is about to end; ask another one");
    playground_signal(&playground, "node-1", SIGCONT);
    command_finish(&add, COMMAND_LIMIT_MS);
    command_expect_exit(&add, 0);
    cr_assert_eq(playground_wait_end(&playground, "router"), 0);
    command_forget(&add);
    command_forget(&late);
    playground_signal(&playground, "node-2", SIGCONT);
    playground_restart(&playground, "router");
    playground_stop(&playground);
}

/* ---- SIGHUP ---- */

static void write_secret(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static size_t count(const char *log, const char *text)
{
    size_t found = 0;

    for (; (log = strstr(log, text)) != NULL; log++) {
        found++;
    }
    return found;
}

static void wait_log_times(const char *daemon, const char *text, size_t times)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    bool said = false;

    while (!said) {
        char *log = playground_log(&playground, daemon);

        said = count(log, text) >= times;
        cr_assert(said || command_now_ms() < deadline_ms, "not said: %s\n%s", text, log);
        free(log);
        (void)poll(NULL, 0, said ? 0 : POLL_MS);
    }
}

static void wait_log(const char *daemon, const char *text)
{
    wait_log_times(daemon, text, 1);
}

Test(resp_life, sighup_takes_what_may_change_and_names_the_rest, .timeout = LIMIT_S)
{
    int fd;
    int other;

    start();
    fd = resp_peer_dial(path, 0);
    resp_peer_expect(fd, "BF.EXISTS none a\r\n", ":0\r\n");
    append_conf("resp_missing = \"error\";\nresp_max_clients = \"1\";\n"
                "retry_interval = \"300ms\";\n");
    playground_signal(&playground, "router", SIGHUP);
    wait_log("router", "SIGHUP: resp_missing has changed\n");
    wait_log("router", "SIGHUP: retry_interval has changed, which takes effect with a restart\n");
    resp_peer_expect(fd, "BF.EXISTS none a\r\n", "-ERR not found\r\n");
    other = resp_peer_dial(path, 0);
    resp_peer_expect_end(other, "-ERR max number of clients reached\r\n");
    resp_peer_expect(fd, "PING\r\n", "+PONG\r\n");
    playground_signal(&playground, "node-1", SIGHUP);
    wait_log("node-1", "SIGHUP: ");
    playground_signal(&playground, "coordinator", SIGHUP);
    wait_log("coordinator", "SIGHUP: ");
    playground_stop(&playground);
}

/* Rows of --help that begin with resp_, and how many of them a SIGHUP does not reach. */
static size_t count_options(const char *help, size_t *fixed)
{
    const char *row = help;
    size_t count = 0;

    *fixed = 0;
    while ((row = strstr(row, "\n  --resp_")) != NULL) {
        const char *next = strstr(row + 1, "\n  --");
        const char *live = strstr(row, "; SIGHUP reads it again");

        count++;
        *fixed += live == NULL || (next != NULL && live > next);
        row++;
    }
    return count;
}

Test(resp_life, sighup_reaches_all_options_but_the_addresses, .timeout = LIMIT_S)
{
    struct command help;
    size_t fixed;

    command_run(&help, span_text(""), "orbloom-router", "--help", NULL);
    command_expect_exit(&help, 0);
    cr_assert_gt(count_options(help.output, &fixed), 10, "%s", help.output);
    cr_assert_eq(fixed, 3, "resp_listen, resp_tls_listen and resp_socket, not %zu", fixed);
    command_forget(&help);
}

/* ... and the password, which is in a file of its own. */
Test(resp_life, sighup_takes_flush_and_the_password, .timeout = LIMIT_S)
{
    char file[160];
    char option[200];
    int fd;
    int other;

    start();
    fd = resp_peer_dial(path, 0);
    append_conf("resp_flush = \"on\";\n");
    playground_signal(&playground, "router", SIGHUP);
    wait_log("router", "SIGHUP: resp_flush has changed\n");
    resp_peer_expect(fd, "FLUSHALL\r\n", "+OK\r\n");
    (void)snprintf(file, sizeof file, "%s/password", playground.dir);
    write_secret(file, "first\n");
    (void)snprintf(option, sizeof option, "resp_password_file = \"%s\";\n", file);
    append_conf(option);
    playground_signal(&playground, "router", SIGHUP);
    wait_log("router", "SIGHUP: resp_password_file has changed\n");
    resp_peer_expect(fd, "PING\r\n", "+PONG\r\n");
    other = resp_peer_dial(path, 0);
    resp_peer_expect(other, "PING\r\nAUTH first\r\n",
                     "-NOAUTH Authentication required.\r\n+OK\r\n");
    write_secret(file, "second\n");
    playground_signal(&playground, "router", SIGHUP);
    wait_log_times("router", "SIGHUP: RESP clients must give another password", 2);
    resp_peer_expect(fd, "RESET\r\nAUTH second\r\n", "+RESET\r\n+OK\r\n");
    write_secret(file, "");
    playground_signal(&playground, "router", SIGHUP);
    wait_log("router", "SIGHUP: all options stay as they were");
    resp_peer_expect(fd, "RESET\r\nAUTH second\r\n", "+RESET\r\n+OK\r\n");
    playground_stop(&playground);
}

static void expect_refused(int fd, const char *options, const char *text)
{
    append_conf(options);
    playground_signal(&playground, "router", SIGHUP);
    wait_log("router", text);
    wait_log("router", "SIGHUP: all options stay as they were");
    resp_peer_expect(fd, "BF.EXISTS none a\r\n", ":0\r\n");
}

/* ... though what stands before the mistake is well. */
Test(resp_life, sighup_refuses_a_bad_file_as_a_whole, .timeout = LIMIT_S)
{
    int fd;

    start();
    fd = resp_peer_dial(path, 0);
    expect_refused(fd, "resp_listen = \"tcp://*:*\";\n", "resp_listen tcp://*:* is not loopback");
    expect_refused(fd, "resp_missing = \"error\";\nresp_max_capacity = \"1\";\n",
                   "resp_max_capacity must not be less");
    expect_refused(fd, "resp_timeuot = \"1s\";\n",
                   "unknown option 'resp_timeuot'; did you mean 'resp_timeout'?");
    wait_log("router", "/router/conf:");
    playground_stop(&playground);
}
