/* A playground that was stopped or killed starts again in its folder, and no second one beside it.
 */
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 100, NODES = 3, PATH_BYTES = 256, BATCHES = 60, PAUSE_MS = 20 };

static struct playground playground;

/* A file of the playground; free() it. */
static char *read_own(const char *name)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/%s", playground.dir, name);
    return command_read_file(path);
}

static bool exists(const char *name)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/%s", playground.dir, name);
    return access(path, F_OK) == 0;
}

static void expect_same(const char *name, const char *before)
{
    char *now = read_own(name);

    cr_assert_not_null(now);
    cr_assert_str_eq(now, before, "%s", name);
    free(now);
}

/* Each node has locked a data folder of its own. */
static void expect_data(void)
{
    for (int i = 1; i <= NODES; i++) {
        char wanted[PATH_BYTES];
        char name[32];
        char *lock;

        (void)snprintf(name, sizeof name, "node-%d/data/lock", i);
        lock = read_own(name);
        cr_assert_not_null(lock, "%s", name);
        (void)snprintf(wanted, sizeof wanted, "%d\n", (int)playground.daemons[1 + i].pid);
        cr_assert_str_eq(lock, wanted, "%s", name);
        free(lock);
    }
}

/* All nodes are there under their old names, and the cluster takes a filter. */
static void expect_service(const char *filter)
{
    struct command command;

    playground_wait_status("node-3");
    command_run(&command, span_text(""), "orbloom", "status", "--json", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_null(strstr(command.output, "node-4"), "%s", command.output);
    command_forget(&command);
    PLAYGROUND_DO("", "create", filter, "--capacity", "10k", "--fpr", "1%");
    PLAYGROUND_DO("a\nb\n", "add", filter);
    command_run(&command, span_text("a\nc\n"), "orbloom", "check", filter, NULL);
    cr_assert_str_eq(command.output, "present\nabsent\n", "%s", command.errors);
    command_forget(&command);
}

/* It holds what expect_service() added; soon after a start some checks may find too few replicas
 * ready, and are repeated until they don't. */
static void expect_kept(const char *filter)
{
    struct command command;

    command_run(&command, span_text("a\nb\nc\n"), "orbloom", "check", filter, "--timeout", "20s",
                NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "present\npresent\nabsent\n");
    command_forget(&command);
}

/* Stale files of the one that was killed mislead nobody, and its dying daemons are waited for. */
Test(playground_again, after_kill_9_of_everything, .timeout = LIMIT_S)
{
    char *key;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    expect_data();
    expect_service("first");
    key = read_own("key");
    cr_assert_not_null(key);
    for (int round = 0; round < 3; round++) {
        char filter[32];

        (void)snprintf(filter, sizeof filter, "again-%d", round);
        playground_kill_all(&playground);
        cr_assert(exists("pid") && exists("node-1/pid"), "this test kills too softly");
        playground_start_again(&playground);
        expect_same("key", key);
        expect_data();
        expect_kept("first");
        expect_service(filter);
    }
    free(key);
    playground_stop(&playground);
}

static void kill_all(void)
{
    playground_kill_all(&playground);
}

/* Everything is killed while adds are in flight: what was acknowledged until then is there. */
Test(playground_again, acknowledged_keys_survive_kill_9_under_load, .timeout = LIMIT_S)
{
    static struct flood flood;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.1%");
    flood_open(&flood, "seen");
    flood_add(&flood, BATCHES, kill_all);
    cr_assert_gt(flood.nacked, 0);
    cr_assert_gt(flood.nfailed, 0, "nothing was in flight any more");
    playground_start_again(&playground);
    flood_reconnect(&flood);
    flood_expect_present(&flood);
    flood_close(&flood);
    playground_stop(&playground);
}

Test(playground_again, after_a_stop, .timeout = LIMIT_S)
{
    char *key;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    expect_service("first");
    key = read_own("key");
    cr_assert_not_null(key);
    playground_leave(&playground);
    cr_assert_not(exists("pid") || exists("env") || exists("node-1/pid"));
    playground_start_again(&playground);
    expect_same("key", key);
    expect_kept("first");
    expect_service("second");
    free(key);
    playground_stop(&playground);
}

/* Whoever starts a daemon again may be faster than the playground notices that it is gone: the
 * process that is noted then is the new one. */
Test(playground_again, the_process_of_one_that_was_started_again_stays_noted, .timeout = LIMIT_S)
{
    FILE *file;
    char *pid;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    cr_assert_eq(kill(playground.process.pid, SIGSTOP), 0);
    playground_signal(&playground, "node-1", SIGKILL);
    playground_signal(&playground, "node-2", SIGKILL);
    file = fopen(playground_path(&playground, "node-1/pid"), "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs("7\n", file), 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(kill(playground.process.pid, SIGCONT), 0);
    for (int ms = 0; exists("node-2/pid"); ms += PAUSE_MS) {
        cr_assert_lt(ms, PLAYGROUND_WAIT_MS, "it is not noticed that node-2 was killed");
        (void)poll(NULL, 0, PAUSE_MS);
    }
    pid = read_own("node-1/pid");
    cr_assert_not_null(pid);
    cr_assert_str_eq(pid, "7\n");
    free(pid);
    playground_stop(&playground);
}

/* Two of them would share a store and ports. The one that runs is named, and goes on. */
Test(playground_again, a_second_one_in_the_folder_is_refused, .timeout = LIMIT_S)
{
    struct command command;
    char wanted[PATH_BYTES];

    playground_start(&playground, &(struct playground_plan){.nodes = NODES});
    command_run(&command, span_text(""), "orbloom", "playground", "--base-port", "0", "--dir",
                playground.dir, NULL);
    (void)snprintf(wanted, sizeof wanted, "in use by another playground (process %d); stop it",
                   (int)playground.process.pid);
    command_expect_errors(&command, 1, wanted);
    command_forget(&command);
    cr_assert(exists("env") && exists("pid"), "the other's files are left alone");
    expect_service("first");
    playground_stop(&playground);
}

/* That of the environment is of another cluster, and would be refused here. */
Test(playground_again, its_command_has_no_credential, .timeout = LIMIT_S)
{
    static const char script[] = "test -z \"$ORBLOOM_CREDENTIAL\" && ORBLOOM_CREDENTIAL=other && "
                                 ". \"$ORBLOOM_DIR/env\" && test -z \"$ORBLOOM_CREDENTIAL\"";
    struct command command;

    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", "/nowhere/root.cred", 1), 0);
    command_run(&command, span_text(""), "orbloom", "playground", "--base-port", "0", "--nodes",
                "1", "--in-memory", "--run", "sh", "-c", script, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
}

Test(playground_again, in_memory_nodes_write_nothing, .timeout = LIMIT_S)
{
    char *conf;

    playground_start(&playground, &(struct playground_plan){.nodes = NODES, .in_memory = true});
    expect_service("first");
    conf = read_own("node-1/conf");
    cr_assert_not_null(conf);
    cr_assert_null(strstr(conf, "data_dir"), "%s", conf);
    cr_assert(exists("node-1/data"));
    cr_assert_not(exists("node-1/data/lock"));
    free(conf);
    playground_stop(&playground);
}
