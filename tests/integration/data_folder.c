/* A node and its data folder: one process at a time, and a clear word where it can't be used. */
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LIMIT_S = 60, PATH_BYTES = 128, POLL_MS = 10, LIMIT_BYTES = 8192 };

static char folder[] = "/tmp/orbloom-folder-XXXXXX";
static char key[PATH_BYTES];
static char data[PATH_BYTES];

static void set_up(void)
{
    struct command command;

    cr_assert_not_null(mkdtemp(folder), "%s", strerror(errno));
    (void)snprintf(key, sizeof key, "--cluster_key_file=%s/key", folder);
    (void)snprintf(data, sizeof data, "--data_dir=%s/data", folder);
    command_run(&command, span_text(""), "orbloom", "keygen", strchr(key, '=') + 1, NULL);
    command_expect_exit(&command, 0);
    command_forget(&command);
}

static void tear_down(void)
{
    char text[PATH_BYTES];

    (void)snprintf(text, sizeof text, "rm -rf %s", folder);
    cr_assert_eq(system(text), 0);
}

static void start_node(struct command *node)
{
    const char *words[] = {"--name=node-1", "--listen=tcp://127.0.0.1:*", key, data, NULL};

    command_start(node, span_text(""), SIGKILL, "orbloom-node", words);
}

/* Until the node has locked its folder. */
static void wait_locked(const struct command *node)
{
    uint64_t deadline_ms = command_now_ms() + COMMAND_LIMIT_MS;
    char path[PATH_BYTES];
    long pid = 0;

    (void)snprintf(path, sizeof path, "%s/data/lock", folder);
    while (pid != node->pid) {
        char *text = command_read_file(path);

        cr_assert_lt(command_now_ms(), deadline_ms, "the folder is never locked");
        pid = text != NULL ? strtol(text, NULL, 10) : 0;
        free(text);
        (void)poll(NULL, 0, POLL_MS);
    }
}

static void stop_node(struct command *node, int signal, int exit_status)
{
    cr_assert_eq(kill(node->pid, signal), 0);
    command_finish(node, COMMAND_LIMIT_MS);
    command_expect_exit(node, exit_status);
    command_forget(node);
}

/* The lock ends with the process, however that ends. */
Test(data_folder, two_nodes_in_one_folder_are_refused, .timeout = LIMIT_S)
{
    static const int signals[] = {SIGKILL, SIGTERM};
    struct command first;
    struct command second;
    char wanted[PATH_BYTES];

    set_up();
    for (int i = 0; i < 2; i++) {
        start_node(&first);
        wait_locked(&first);
        start_node(&second);
        command_finish(&second, COMMAND_LIMIT_MS);
        (void)snprintf(wanted, sizeof wanted, "in use by process %d; stop it", (int)first.pid);
        command_expect_errors(&second, 1, wanted);
        cr_assert_eq(second.output_size, 0, "it says that it is ready: %s", second.output);
        command_forget(&second);
        stop_node(&first, signals[i], signals[i] == SIGKILL ? 128 + SIGKILL : 0);
    }
    start_node(&first);
    wait_locked(&first);
    stop_node(&first, SIGTERM, 0);
    tear_down();
}

static void expect_unusable(const char *path, const char *text)
{
    char option[PATH_BYTES];
    struct command node;

    (void)snprintf(option, sizeof option, "--data_dir=%s", path);
    command_run(&node, span_text(""), "orbloom-node", "--name=node-1", "--listen=tcp://127.0.0.1:*",
                key, option, NULL);
    command_expect_errors(&node, 1, text);
    command_expect_errors(&node, 1, path);
    cr_assert_eq(node.output_size, 0, "it says that it is ready: %s", node.output);
    command_forget(&node);
}

Test(data_folder, a_folder_that_cannot_be_used_is_refused, .timeout = LIMIT_S)
{
    char path[PATH_BYTES];

    set_up();
    (void)snprintf(path, sizeof path, "%s/none/data", folder);
    expect_unusable(path, "make its parent folder first");
    (void)snprintf(path, sizeof path, "%s/key", folder);
    expect_unusable(path, "choose a folder");
    expect_unusable("/sys", "must own the folder");
    tear_down();
}

static void wait_ended(pid_t pid)
{
    uint64_t deadline_ms = command_now_ms() + COMMAND_LIMIT_MS;

    while (kill(pid, 0) == 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it goes on");
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* A write of the log that fails: the node says why and ends, the others serve, nothing is lost; and
 * with room again it goes on with what it has. */
Test(data_folder, a_node_that_cannot_write_ends_and_comes_back, .timeout = LIMIT_S)
{
    const struct rlimit limit = {.rlim_cur = LIMIT_BYTES, .rlim_max = RLIM_INFINITY};
    static struct playground playground;
    static struct flood flood;
    char *log;

    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.1%");
    flood_open(&flood, "seen");
    cr_assert_str_eq(playground.daemons[2].name, "node-1");
    cr_assert_eq(prlimit(playground.daemons[2].pid, RLIMIT_FSIZE, &limit, NULL), 0);
    flood_add(&flood, 50, NULL);
    wait_ended(playground.daemons[2].pid);
    log = playground_log(&playground, "node-1");
    cr_assert_not_null(strstr(log, "File too large; raise the limit"), "%s", log);
    cr_assert_not_null(strstr(log, "so this process ends"), "%s", log);
    free(log);
    cr_assert_eq(flood.nacked, flood.next, "%s", flood.first_error);
    flood_expect_present(&flood);
    playground_restart(&playground, "node-1");
    playground_wait_status("3 FULL 0 JOINING");
    playground_signal(&playground, "node-2", SIGSTOP);
    flood_expect_present(&flood);
    flood_add(&flood, 10, NULL);
    playground_signal(&playground, "node-2", SIGCONT);
    cr_assert_eq(flood.nacked, flood.next, "%s", flood.first_error);
    flood_close(&flood);
    playground_stop(&playground);
}
