/* Real processes and the cluster's id: folders that were wiped, lost stores, another cluster's
 * folder; and what `orbloom upgrade` says of them. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 100, PATH_BYTES = 256, TEXT_BYTES = 900, RESTORES = 20 };

static const char keys[] = "one\ntwo\nthree\n";
static const char *const nodes[] = {"node-1", "node-2", "node-3"};

static struct playground playground;

static const char *at(const char *name)
{
    return playground_path(&playground, name);
}

static void shell(const char *a, const char *b, const char *c, const char *d)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%s %s %s %s", a, b, c, d);
    cr_assert_eq(system(text), 0, "%s", text);
}

/* It has ended, and its folder is to be empty. */
static void wipe(const char *daemon)
{
    char data[PATH_BYTES];

    (void)snprintf(data, sizeof data, "%s/%s/data", playground.dir, daemon);
    shell("rm -r", data, "&& mkdir -m 700", data);
}

static void lose_store(void)
{
    playground_kill(&playground, "coordinator");
    wipe("coordinator");
    playground_restart(&playground, "coordinator");
}

static void expect_all_keys(void)
{
    struct command command;

    command_run(&command, span_text(keys), "orbloom", "check", "kept", NULL);
    cr_assert_str_eq(command.output, "present\npresent\npresent\n", "%s", command.errors);
    command_forget(&command);
}

/* A daemon that the test had started again has said so; it is killed for that. */
static void end_and_expect(const char *daemon, const char *text)
{
    for (size_t i = 0; i < playground.ndaemons; i++) {
        struct command *started = playground.daemons[i].started;

        if (strcmp(playground.daemons[i].name, daemon) == 0) {
            cr_assert_not_null(started);
            playground_signal(&playground, daemon, SIGKILL);
            command_finish(started, PLAYGROUND_WAIT_MS);
            cr_assert_not_null(strstr(started->errors, text), "%s", started->errors);
            command_forget(started);
            free(started);
            playground.daemons[i].started = NULL;
        }
    }
}

/* Nodes answer one after the other: the command may be repeated until all have. */
static void restore(const char *backup)
{
    int status = 1;

    for (int i = 0; status != 0 && i < RESTORES; i++) {
        struct command command;

        command_run(&command, span_text(""), "orbloom", "map", "restore", backup, NULL);
        status = command.exit_status;
        command_forget(&command);
    }
    cr_assert_eq(status, 0);
}

/* Its node can't begin a folder under an id that the backup's would take the place of. */
Test(cluster_id, a_folder_and_the_store_lost_at_once, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "kept", "--capacity", "10k", "--fpr", "1%");
    PLAYGROUND_DO(keys, "add", "kept");
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    shell("cp", at("node-1/data/cluster"), at("before"), "");
    playground_kill(&playground, "node-3");
    wipe("node-3");
    lose_store();
    playground_wait_status("the store was lost");
    playground_restart(&playground, "node-3");
    restore(at("backup"));
    playground_wait_counter(&playground, "node-3", "replicas_full", 1);
    for (size_t i = 0; i < 3; i++) {
        char file[PATH_BYTES];

        (void)snprintf(file, sizeof file, "%s/%s/data/cluster", playground.dir, nodes[i]);
        shell("cmp", at("before"), file, "");
    }
    expect_all_keys();
    playground_stop(&playground);
}

Test(cluster_id, the_folder_of_another_cluster_is_refused, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    playground_kill(&playground, "node-1");
    shell("cp -a", at("node-1/data"), at("older"), "");
    for (size_t i = 1; i < 3; i++) {
        playground_kill(&playground, nodes[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        wipe(nodes[i]);
    }
    lose_store();
    playground_restart(&playground, "node-2");
    playground_wait_counter(&playground, "coordinator", "registrations_total", 1);
    shell("rm -r", at("node-1/data"), "", "");
    shell("mv", at("older"), at("node-1/data"), "");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "coordinator", "registrations_refused_total", 1);
    end_and_expect("node-1", "what this node holds belongs to cluster");
    wipe("node-1");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "coordinator", "registrations_total", 2);
    playground_stop(&playground);
}

Test(cluster_id, an_upgrade_tells_what_processes_know, .timeout = LIMIT_S)
{
    struct command command;

    playground_start(&playground, &(struct playground_plan){0});
    command_run(&command, span_text(""), "orbloom", "upgrade", "status", NULL);
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.output, "renames    in use"), "%s", command.output);
    for (size_t i = 0; i < 3; i++) {
        char text[PATH_BYTES];

        (void)snprintf(text, sizeof text,
                       "node        %s: knows renames, windows, expiry, users, sites\n", nodes[i]);
        cr_assert_not_null(strstr(command.output, text), "%s", command.output);
    }
    cr_assert_not_null(strstr(command.output, "router      router: knows"), "%s", command.output);
    cr_assert_null(strstr(command.output, "; not "), "%s", command.output);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "upgrade", "finalize", NULL);
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.output, "in use already"), "%s", command.output);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "upgrade", "backwards", NULL);
    command_expect_errors(&command, 2, "status or finalize");
    command_forget(&command);
    playground_stop(&playground);
}
