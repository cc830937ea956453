/* The audit log of a real coordinator: what operators do is in it, rotated or not; where it can't
 * be written all else goes on. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 100, OPTION_BYTES = 512, PATH_BYTES = 256, POLL_MS = 20 };

static struct playground playground;
static char path[PATH_BYTES];
static char moved[PATH_BYTES];

/* All three have reported to the coordinator that runs now. */
static void wait_nodes(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    size_t up = 0;

    while (up < 3) {
        struct command command;

        command_run(&command, span_text(""), "orbloom", "status", NULL);
        up = 0;
        for (const char *at = command.output; (at = strstr(at, " up ")) != NULL; at++) {
            up++;
        }
        cr_assert(up >= 3 || command_now_ms() < deadline_ms, "%s", command.output);
        command_forget(&command);
        (void)poll(NULL, 0, POLL_MS);
    }
}

static void start(const char *file)
{
    char lines[OPTION_BYTES];

    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    (void)snprintf(path, sizeof path, "%s/audit.log", playground.dir);
    (void)snprintf(moved, sizeof moved, "%s/audit.log.1", playground.dir);
    (void)snprintf(lines, sizeof lines, "audit_log = \"%s\";\n", file != NULL ? file : path);
    playground_configure(&playground, "coordinator", lines);
    wait_nodes();
}

static char *content_of(const char *file)
{
    char *content = command_read_file(file);

    return content != NULL ? content : calloc(1, 1);
}

/* How many lines say all of these? A line follows its answer. */
static size_t count(const char *file, const char *a, const char *b, const char *c)
{
    char *content = content_of(file);
    size_t found = 0;
    char *rest = content;
    char *line;

    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        found += strstr(line, a) != NULL && strstr(line, b) != NULL && strstr(line, c) != NULL;
    }
    free(content);
    return found;
}

static void expect_one(const char *file, const char *a, const char *b, const char *c)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    while (count(file, a, b, c) == 0 && command_now_ms() < deadline_ms) {
        (void)poll(NULL, 0, POLL_MS);
    }
    cr_assert_eq(count(file, a, b, c), 1, "%s %s %s in %s", a, b, c, content_of(file));
}

static void wait_file(const char *file)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    while (access(file, F_OK) != 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "no %s", file);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* The coordinator, which the test has started, ends; it has said this. */
static void end_and_expect(const char *text, const char *another)
{
    for (size_t i = 0; i < playground.ndaemons; i++) {
        struct command *started = playground.daemons[i].started;

        if (strcmp(playground.daemons[i].name, "coordinator") == 0) {
            cr_assert_not_null(started);
            playground_signal(&playground, "coordinator", SIGTERM);
            command_finish(started, PLAYGROUND_WAIT_MS);
            command_expect_errors(started, 0, text);
            command_expect_errors(started, 0, another);
            command_forget(started);
            free(started);
            playground.daemons[i].started = NULL;
        }
    }
}

static void refused(const char *name)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "create", name, "--capacity", "20k", "--fpr",
                "0.1%", NULL);
    command_expect_errors(&command, 1, "EXISTS");
    command_forget(&command);
}

Test(audit, what_operators_do_is_in_it_and_it_is_rotated, .timeout = LIMIT_S)
{
    struct stat about;

    start(NULL);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%");
    refused("seen");
    expect_one(path, "\"action\":\"create\",\"filter\":\"seen\",\"capacity\":10000,\"rate\":0.01",
               "\"filter_id\":1", "\"outcome\":\"OK\"}");
    expect_one(path, "\"action\":\"create\",\"filter\":\"seen\",\"capacity\":20000,\"rate\":0.001",
               "\"peer\":\"", "\"outcome\":\"EXISTS\"}");
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);

    cr_assert_eq(rename(path, moved), 0);
    playground_signal(&playground, "coordinator", SIGHUP);
    wait_file(path);
    PLAYGROUND_DO("", "rename", "seen", "kept");
    PLAYGROUND_DO("", "drop", "kept");
    expect_one(path, "\"action\":\"rename\",\"filter\":\"seen\",\"to\":\"kept\"", "\"filter_id\":1",
               "\"outcome\":\"OK\"}");
    expect_one(path, "\"action\":\"drop\",\"filter\":\"kept\"", "\"filter_id\":1",
               "\"outcome\":\"OK\"}");
    cr_assert_eq(count(moved, "{\"time\":\"", "", ""), 2);
    cr_assert_eq(count(path, "{\"time\":\"", "", ""), 2);
    cr_assert_eq(playground_counter(&playground, "coordinator", "audit_lost_total"), 0);
    playground_stop(&playground);
}

/* What it can't open then, it does not begin; the file that is open takes lines as before. */
Test(audit, a_rotation_that_fails_leaves_the_open_file, .timeout = LIMIT_S)
{
    start(NULL);
    cr_assert_eq(rename(path, moved), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    playground_signal(&playground, "coordinator", SIGHUP);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%");
    expect_one(moved, "\"action\":\"create\"", "\"filter\":\"seen\"", "\"outcome\":\"OK\"}");
    end_and_expect("audit.log: Is a directory; name a file",
                   "SIGHUP: all options stay as they were");
    playground_restart(&playground, "coordinator");
    cr_assert_neq(playground_wait_end(&playground, "coordinator"), 0, "refused at the start");
    cr_assert_eq(rmdir(path), 0);
    playground_restart(&playground, "coordinator");
    wait_nodes();
    playground_stop(&playground);
}

Test(audit, a_full_disk_is_counted_and_holds_nothing_up, .timeout = LIMIT_S)
{
    start("/dev/full");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%");
    PLAYGROUND_DO("one\n", "add", "seen");
    PLAYGROUND_DO("", "drop", "seen");
    playground_wait_counter(&playground, "coordinator", "audit_lost_total", 2);
    end_and_expect("cannot write to audit_log /dev/full: No space left on device",
                   "a line is lost");
    playground_restart(&playground, "coordinator");
    wait_nodes();
    playground_stop(&playground);
}

static void expect_no_start(const char *file, const char *cause)
{
    char option[OPTION_BYTES];
    char config[PATH_BYTES];
    struct command command;

    (void)snprintf(config, sizeof config, "%s/coordinator/conf", playground.dir);
    (void)snprintf(option, sizeof option, "--audit_log=%s", file);
    command_run(&command, span_text(""), "orbloom-coordinator", "--config", config, option, NULL);
    command_expect_errors(&command, 1, "cannot use audit_log");
    cr_assert_not_null(strstr(command.errors, cause), "%s", command.errors);
    command_forget(&command);
}

/* Cause and remedy; before a port is opened. */
Test(audit, a_file_that_can_not_be_opened_is_refused_at_the_start, .timeout = LIMIT_S)
{
    start(NULL);
    playground_kill(&playground, "coordinator");
    expect_no_start("/nonexistent/audit.log", "No such file or directory; name a file in a folder");
    expect_no_start(playground.dir, "Is a directory");
    cr_assert_eq(chmod(path, 0644), 0);
    expect_no_start(path, "others than its owner may use it; chmod 600 it");
    cr_assert_eq(chmod(path, 0600), 0);
    playground_restart(&playground, "coordinator");
    wait_nodes();
    playground_stop(&playground);
}
