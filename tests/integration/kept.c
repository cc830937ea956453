/* A router that is started while no coordinator answers goes by what it knew before, also of users,
 * at both doors. */
#include "tests/support/playground.h"
#include "tests/support/redis_shell.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 180, TEXT_BYTES = 512, NDAEMONS = 5 };

#define TOKEN "crawler-token-0123456789"

static const char *const daemons[NDAEMONS] = {"coordinator", "node-1", "node-2", "node-3",
                                              "router"};
static struct playground playground;
static char socket_path[REDIS_SOCKET_BYTES];

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned used;
    char *path = paths[used++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", playground.dir, name);
    return path;
}

static void shell(const char *text)
{
    cr_assert_eq(system(text), 0, "%s", text);
}

/* Users are made while all is plain; then each process comes back and speaks CURVE. */
static void start(void)
{
    char text[TEXT_BYTES];

    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, socket_path);
    (void)snprintf(text, sizeof text, "(umask 077; echo " TOKEN " >%s)", path_of("token"));
    shell(text);
    PLAYGROUND_DO("", "user", "create", "root", "--role", "admin", "--credential",
                  path_of("root.cred"));
    PLAYGROUND_DO("", "user", "create", "crawler", "--rights", "rw crawl", "--credential",
                  path_of("crawler.cred"));
    PLAYGROUND_DO("", "user", "token", "crawler", "add", "--token-file", path_of("token"));
    for (int i = 0; i < NDAEMONS; i++) {
        playground_configure(&playground, daemons[i], "transport = \"curve\";\n");
    }
    (void)snprintf(text, sizeof text, "kept_file = \"%s\";\n", path_of("kept"));
    playground_configure(&playground, "router", text);
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", path_of("root.cred"), 1), 0);
    playground_wait_status("node-3");
    PLAYGROUND_DO("", "create", "crawl", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("", "create", "hidden", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", path_of("crawler.cred"), 1), 0);
    PLAYGROUND_DO("a\n", "add", "crawl", "--timeout", "20s");
}

/* The file has both filters: names are in it as they are. */
static void wait_kept(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof text, "grep -q hidden %s 2>/dev/null && grep -q crawl %s",
                   path_of("kept"), path_of("kept"));
    while (system(text) != 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is not written in time");
        (void)usleep(50000);
    }
    (void)snprintf(text, sizeof text, "test $(stat -c %%a %s) = 600", path_of("kept"));
    shell(text);
}

static void expect_check(const char *filter, int status, const char *output)
{
    struct command command;

    command_run(&command, span_text("a\n"), "orbloom", "check", filter, "--timeout", "20s", NULL);
    cr_assert_eq(command.exit_status, status, "%s%s", command.output, command.errors);
    cr_assert_str_eq(command.output, output, "%s", command.errors);
    command_forget(&command);
}

Test(kept, a_router_serves_its_users_when_all_coordinators_are_down, .timeout = LIMIT_S)
{
    struct command command;
    int peer;

    start();
    wait_kept();
    playground_kill(&playground, "router");
    playground_kill(&playground, "coordinator");
    playground_restart(&playground, "router");
    expect_check("crawl", 0, "present\n");
    PLAYGROUND_DO("b\n", "add", "crawl", "--timeout", "20s");
    command_run(&command, span_text("a\n"), "orbloom", "check", "hidden", "--timeout", "20s", NULL);
    command_expect_errors(&command, 1, "UNAUTHENTIC");
    command_forget(&command);
    peer = resp_peer_dial(socket_path, 0);
    resp_peer_expect(peer, "AUTH crawler " TOKEN "\r\nBF.EXISTS crawl b\r\nBF.EXISTS hidden b\r\n",
                     "+OK\r\n:1\r\n-NOPERM No permissions to access a key\r\n");
    (void)close(peer);
    playground_restart(&playground, "coordinator");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", path_of("root.cred"), 1), 0);
    PLAYGROUND_DO("", "create", "new", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("c\n", "add", "new", "--timeout", "20s");
    playground_stop(&playground);
}
