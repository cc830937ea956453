/* Real daemons under a supervisor that asked to be told how they do, as systemd does. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LIMIT_S = 120, WORD_BYTES = 4096, SILENCE_MS = 700 };

static struct playground playground;
static int ear = -1;
static char heard[WORD_BYTES]; /* the last datagram */

/* Whoever is started from here on is to tell it, and to say that it lives five times a second. */
static void listen_here(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", playground.dir);
    ear = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(ear, 0);
    cr_assert_eq(bind(ear, (const struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    cr_assert_eq(setenv("WATCHDOG_USEC", "600000", 1), 0);
}

static bool hear(int wait_ms)
{
    struct pollfd poll_fd = {.fd = ear, .events = POLLIN};
    ssize_t size;

    if (poll(&poll_fd, 1, wait_ms) <= 0) {
        return false;
    }
    size = recv(ear, heard, sizeof heard - 1, MSG_DONTWAIT);
    cr_assert_gt(size, 0);
    heard[size] = '\0';
    return true;
}

/* A datagram with that word. What comes before it has not the one that must not. */
static void await(const char *word, const char *not_before)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    for (;;) {
        cr_assert(hear(PLAYGROUND_WAIT_MS) && command_now_ms() < deadline_ms, "no %s", word);
        if (strstr(heard, word) != NULL) {
            return;
        }
        cr_assert(not_before == NULL || strstr(heard, not_before) == NULL, "%s before %s",
                  not_before, word);
    }
}

/* Of one that was stopped. What it had said before is still to be heard. */
static void expect_silence(void)
{
    while (hear(0)) {
    }
    cr_expect_not(hear(SILENCE_MS), "a process that hangs says %s", heard);
}

static void listen_no_more(void)
{
    (void)unsetenv("NOTIFY_SOCKET");
    (void)close(ear);
    (void)unlink(playground_path(&playground, "notify"));
}

static void expect_life_of(const char *daemon)
{
    listen_here();
    playground_kill(&playground, daemon);
    playground_restart(&playground, daemon);
    await("READY=1", "WATCHDOG=1");
    await("WATCHDOG=1", NULL);
    await("WATCHDOG=1", NULL);

    playground_signal(&playground, daemon, SIGSTOP);
    expect_silence();
    playground_signal(&playground, daemon, SIGCONT);
    await("WATCHDOG=1", NULL);

    playground_signal(&playground, daemon, SIGHUP);
    await("RELOADING=1\nMONOTONIC_USEC=", NULL);
    await("READY=1", "RELOADING=1");
    await("WATCHDOG=1", NULL);

    playground_signal(&playground, daemon, SIGTERM);
    await("STOPPING=1", NULL);
    cr_assert_eq(playground_wait_end(&playground, daemon), 0);
    while (hear(0)) {
        cr_expect_null(strstr(heard, "WATCHDOG=1"), "after STOPPING=1");
    }
    listen_no_more();
    playground_restart(&playground, daemon);
}

Test(supervised, each_daemon_tells_how_it_does, .timeout = LIMIT_S)
{
    static const char *const daemons[] = {"site-1/coordinator", "site-1/router", "site-1/link",
                                          "site-1/node-1"};

    playground_start(&playground, &(struct playground_plan){.nodes = 1, .sites = 2});
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        expect_life_of(daemons[i]);
    }
    playground_stop(&playground);
}

/* It waits for as long as it has to, and says for what. */
Test(supervised, a_node_that_nobody_lets_in_is_no_failed_start, .timeout = LIMIT_S)
{
    struct command node;

    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    playground_kill(&playground, "coordinator");
    playground_kill(&playground, "node-1");
    listen_here();
    command_start(
        &node, span_text(""), SIGKILL, "orbloom-node",
        (const char *const[]){"--config", playground_path(&playground, "node-1/conf"), NULL});
    await("STATUS=starting: no coordinator has confirmed this start", "READY=1");
    await("EXTEND_TIMEOUT_USEC=600000", "READY=1");
    await("EXTEND_TIMEOUT_USEC=600000", "READY=1");
    (void)unsetenv("NOTIFY_SOCKET");
    playground_restart(&playground, "coordinator");
    await("READY=1", NULL);

    cr_assert_eq(kill(node.pid, SIGTERM), 0);
    await("STOPPING=1", NULL);
    command_finish(&node, PLAYGROUND_STOP_MS);
    command_expect_exit(&node, 0);
    command_forget(&node);
    playground_restart(&playground, "node-1");
    playground_stop(&playground);
}

/* A file that can't be taken is told, and the process is one that serves again. */
Test(supervised, a_reload_that_was_refused_shows, .timeout = LIMIT_S)
{
    FILE *conf;

    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    listen_here();
    playground_kill(&playground, "router");
    playground_restart(&playground, "router");
    await("STATUS=serving", NULL);
    conf = fopen(playground_path(&playground, "router/conf"), "ae");
    cr_assert_not_null(conf);
    (void)fputs("nonsense = \"1\";\n", conf);
    (void)fclose(conf);
    playground_signal(&playground, "router", SIGHUP);
    await("RELOADING=1", NULL);
    await("READY=1\nWATCHDOG=1\nSTATUS=serving; the last SIGHUP was refused", NULL);
    playground_stop(&playground);
}
