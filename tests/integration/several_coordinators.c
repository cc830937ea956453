/* Two coordinators on one store: what one of them was asked for, and comes to late, as it was
 * stopped, does nothing to what the other one has made of the name meanwhile. */
#include "proto/admin_message.h"
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 120, TEXT_BYTES = 1024, WANTED_MS = 60000 /* the command is late, not stale */ };

static struct playground playground;
static struct command other; /* the second coordinator */
static char first_endpoint[PLAYGROUND_ENDPOINT_BYTES];
static char other_endpoint[PLAYGROUND_ENDPOINT_BYTES];
static struct stranger stranger; /* a client of the first one, which gives up */

static void shell(const char *text)
{
    cr_assert_eq(system(text), 0, "%s", text);
}

/* The first one's configuration under another name, on a port of its own. */
static void start_other(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    char line[PLAYGROUND_ENDPOINT_BYTES + 8] = "";
    char conf[TEXT_BYTES / 4];
    char text[TEXT_BYTES];

    (void)snprintf(conf, sizeof conf, "%s/other.conf", playground.dir);
    (void)snprintf(text, sizeof text,
                   "sed -e 's/^name = .*/name = \"other\";/' -e 's,^listen = .*,listen = "
                   "\"tcp://127.0.0.1:*\";,' %s/coordinator/conf >%s",
                   playground.dir, conf);
    shell(text);
    command_start(&other, span_text(""), SIGKILL, "orbloom-coordinator",
                  (const char *const[]){"--config", conf, NULL});
    while (strchr(line, '\n') == NULL) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is not ready in time");
        cr_assert_not(command_ended(&other, 5), "it has ended");
        cr_assert_geq(pread(other.output_fd, line, sizeof line - 1, 0), 0);
    }
    cr_assert_eq(sscanf(line, "ready %255s", other_endpoint), 1, "%s", line);
}

/* Nodes report to one of both, and to the other one when that does not answer. */
static void tell_all_of_other(void)
{
    static const char *const daemons[] = {"node-1", "node-2", "node-3", "router"};
    char text[TEXT_BYTES];

    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        playground_kill(&playground, daemons[i]);
        (void)snprintf(
            text, sizeof text,
            "sed -i 's,^coordinators = .*,coordinators = [\"%s\"\\, \"%s\"];,' %s/%s/conf",
            first_endpoint, other_endpoint, playground.dir, daemons[i]);
        shell(text);
        playground_restart(&playground, daemons[i]);
    }
}

/* Both know all three nodes: the other one will have heard of them by the time that it is asked. */
static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    playground_endpoint(&playground, "coordinator", first_endpoint);
    start_other();
    tell_all_of_other();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("old\n", "add", "seen", "--timeout", "20s");
    stranger_open(&stranger, first_endpoint);
}

static void end(void)
{
    stranger_close(&stranger);
    cr_assert_eq(kill(other.pid, SIGTERM), 0);
    command_finish(&other, PLAYGROUND_STOP_MS);
    cr_assert_null(command_find_defect(other.errors), "%s", other.errors);
    command_forget(&other);
    playground_stop(&playground);
}

static void send_request(const struct admin_request *request)
{
    stranger_send_frame(&stranger, &(struct frame){.kind = FRAME_ADMIN_REQUEST,
                                                   .correlation = request->action,
                                                   .body.admin_request = *request});
}

static enum status receive(struct admin_seen *seen)
{
    struct frame answer;

    cr_assert(stranger_receive(&stranger, PLAYGROUND_WAIT_MS, &answer), "no answer");
    cr_assert_eq(answer.kind, FRAME_ADMIN_REPLY, "kind %d", (int)answer.kind);
    *seen = answer.body.admin_reply.seen;
    return answer.body.admin_reply.status;
}

/* The first coordinator is stopped with the command in its queue; whoever asked looked right
 * before, as all clients do. From here on everybody asks the other one. */
static void stop_before(struct admin_request *change)
{
    struct admin_request look = admin_look(change);
    struct admin_seen seen;

    look.successor = "";
    send_request(&look);
    (void)receive(&seen);
    admin_take_seen(change, &seen);
    change->timeout_ms = WANTED_MS;
    playground_signal(&playground, "coordinator", SIGSTOP);
    send_request(change);
    cr_assert_eq(setenv("ORBLOOM_COORDINATOR", other_endpoint, 1), 0);
}

static enum status go_on(void)
{
    struct admin_seen seen;

    playground_signal(&playground, "coordinator", SIGCONT);
    return receive(&seen);
}

static void expect_answer(const char *key, const char *answer)
{
    struct command command;

    command_run(&command, span_text(key), "orbloom", "check", "seen", "-q", "--timeout", "20s",
                NULL);
    cr_assert_str_eq(command.output, answer, "%s", command.errors);
    command_forget(&command);
}

static void expect_no_filter(void)
{
    struct command command;

    command_run(&command, span_text("new\n"), "orbloom", "check", "seen", NULL);
    command_expect_errors(&command, 1, "NOT_FOUND");
    command_forget(&command);
}

Test(several_coordinators, a_late_drop_leaves_the_filter_that_was_made_since, .timeout = LIMIT_S)
{
    struct admin_request drop = {.action = ADMIN_DROP, .name = "seen", .successor = ""};

    start();
    stop_before(&drop);
    PLAYGROUND_DO("", "drop", "seen", "--timeout", "20s");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "20k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("new\n", "add", "seen", "--timeout", "20s");
    cr_assert_eq(go_on(), STATUS_OK, "the one that was meant is gone");
    expect_answer("new\nold\n", "present\nabsent\n");
    cr_assert_eq(setenv("ORBLOOM_COORDINATOR", first_endpoint, 1), 0);
    playground_wait_status("1 FULL 0 JOINING 0 BUILDING");
    PLAYGROUND_DO("more\n", "add", "seen");
    expect_answer("new\nmore\n", "present\npresent\n");
    end();
}

Test(several_coordinators, a_late_create_makes_nothing_of_a_name_that_was_dropped_since,
     .timeout = LIMIT_S)
{
    struct admin_request create = {
        .action = ADMIN_CREATE,
        .name = "seen",
        .successor = "",
        .create = {.capacity = 10000,
                   .rate = 0.01,
                   .rule = {3, 2, 2},
                   .hash = HASH_SIPHASH24,
                   .when_unavailable = WHEN_UNAVAILABLE_ERROR,
                   .keylog = KEYLOG_ON},
    };

    start();
    PLAYGROUND_DO("", "drop", "seen");
    stop_before(&create);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "20k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("new\n", "add", "seen", "--timeout", "20s");
    PLAYGROUND_DO("", "drop", "seen", "--timeout", "20s");
    cr_assert_eq(go_on(), STATUS_CONFLICT);
    expect_no_filter();
    end();
}
