/* `orbloom create` while a node stands still: it waits as long as the others get on, is ended by
 * its timeout when nothing does, and can be left. */
#include "tests/support/command.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

enum { LIMIT_S = 120, TIMEOUT_MS = 8000 };

static struct playground playground;
static struct command command;

static void begin(const char *timeout)
{
    const char *words[] = {"create", "seen",      "--capacity", "100k", "--fpr",
                           "1%",     "--timeout", timeout,      NULL};

    command_start(&command, span_text(""), SIGKILL, "orbloom", words);
}

/* Two replicas are ready in the first of the timeouts, so that there is a second one. */
Test(create_waits, longer_than_its_timeout_while_replicas_get_ready, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    playground_signal(&playground, "node-3", SIGSTOP);
    begin("8s");
    cr_assert_not(command_ended(&command, TIMEOUT_MS + 1500));
    playground_signal(&playground, "node-3", SIGCONT);
    command_finish(&command, COMMAND_LIMIT_MS);
    command_expect_errors(&command, 0, "2 of 3 replicas ready");
    cr_assert_not_null(strstr(command.output, "created seen: 100,000 keys"), "%s", command.output);
    command_forget(&command);
    playground_stop(&playground);
}

Test(create_waits, and_not_for_ever_when_nothing_moves, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    playground_signal(&playground, "node-3", SIGSTOP);
    begin("2s");
    command_finish(&command, COMMAND_LIMIT_MS);
    command_expect_errors(&command, 1, "its replica on node-3 is not ready yet");
    command_forget(&command);
    playground_signal(&playground, "node-3", SIGCONT);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "1%");
    playground_stop(&playground);
}

Test(create_waits, can_be_left, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    playground_signal(&playground, "node-3", SIGSTOP);
    begin("60s");
    playground_wait_status("2 FULL");
    cr_assert_not(command_ended(&command, 1500));
    cr_assert_eq(kill(command.pid, SIGINT), 0);
    command_finish(&command, COMMAND_LIMIT_MS);
    command_expect_errors(&command, 1, "seen goes on being made");
    command_forget(&command);
    playground_signal(&playground, "node-3", SIGCONT);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "1%");
    playground_stop(&playground);
}
