/* Real nodes that start again: on a folder that was copied while they ran, and while no coordinator
 * is there. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 120, KEYS = 3000, KEY_BYTES = 12, WORDS = 512 };

static struct playground playground;
static char early[KEYS * KEY_BYTES];
static char late[KEYS * KEY_BYTES];

static void make_keys(const char *prefix, char *out)
{
    size_t size = 0;

    for (int i = 0; i < KEYS; i++) {
        size += (size_t)snprintf(out + size, KEY_BYTES, "%s-%d\n", prefix, i);
    }
}

static void begin(void)
{
    make_keys("early", early);
    make_keys("late", late);
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "1%");
    PLAYGROUND_DO(early, "add", "seen");
}

/* In the playground's folder. */
static void shell(const char *command)
{
    char words[WORDS];

    (void)snprintf(words, sizeof words, "cd %s && %s", playground.dir, command);
    cr_assert_eq(system(words), 0, "%s", words);
}

/* None of them is ever called absent, whichever replicas are asked, and in the end all answer. */
static void expect_all(const char *keys)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    bool all = false;

    while (!all) {
        struct command command;

        command_run(&command, span_text(keys), "orbloom", "check", "seen", "--replicas", "all",
                    NULL);
        cr_assert_null(strstr(command.output, "absent"), "a key is lost:\n%s", command.errors);
        all = strstr(command.output, "unknown") == NULL;
        command_forget(&command);
        cr_assert(all || command_now_ms() < deadline_ms, "not all answer");
    }
}

/* The copy is as young as can be: nobody may have heard how far the log was. */
Test(starts, a_folder_that_was_copied_alive_loses_nothing, .timeout = LIMIT_S)
{
    begin();
    playground_signal(&playground, "node-1", SIGSTOP);
    shell("cp -a node-1/data node-1/copy");
    playground_signal(&playground, "node-1", SIGCONT);
    playground_signal(&playground, "node-3", SIGSTOP);
    PLAYGROUND_DO(late, "add", "seen");
    playground_kill(&playground, "node-1");
    playground_signal(&playground, "node-3", SIGCONT);
    shell("rm -r node-1/data && mv node-1/copy node-1/data");
    playground_restart(&playground, "node-1");
    expect_all(late);
    expect_all(early);
    playground_stop(&playground);
}

/* The others stand in for the store, which is told later. */
Test(starts, a_node_starts_without_any_coordinator, .timeout = LIMIT_S)
{
    begin();
    playground_kill(&playground, "coordinator");
    for (int i = 0; i < 2; i++) {
        playground_kill(&playground, "node-2");
        playground_restart(&playground, "node-2");
        playground_wait_counter(&playground, "node-2", "replicas_full", 1);
    }
    expect_all(early);
    PLAYGROUND_DO(late, "add", "seen");
    expect_all(late);
    playground_restart(&playground, "coordinator");
    playground_wait_status("3 FULL 0 JOINING");
    expect_all(late);
    cr_assert_eq(playground_counter(&playground, "node-2", "confirmed_by_peers_total"), 1);
    cr_assert_eq(playground_counter(&playground, "node-2", "amnesia_total"), 0);
    playground_stop(&playground);
}
