/* What can't be done is refused when it is asked, with what lacks and what helps; nothing is
 * accepted only to stand. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_S = 120, PATH_BYTES = 128, NUMBER_BYTES = 24 };

static struct playground playground;
static struct command command;

#define EXPECT_REFUSED(text, ...)                                           \
    do {                                                                    \
        command_run(&command, span_text(""), "orbloom", __VA_ARGS__, NULL); \
        command_expect_errors(&command, 1, text);                           \
        command_forget(&command);                                           \
    } while (0)

static void expect_status(const char *text)
{
    command_run(&command, span_text(""), "orbloom", "status", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, text), "status does not say %s:\n%s", text,
                       command.output);
    command_forget(&command);
}

/* Many times, as a report may happen to come between load and command. */
Test(refusals, to_less_than_was_just_added, .timeout = LIMIT_S)
{
    enum { ROUNDS = 5, KEYS = 20000 };
    char capacity[NUMBER_BYTES];

    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "200k", "--fpr", "1%", "--when-full",
                  "refuse");
    for (int i = 0; i < ROUNDS; i++) {
        numbered_keys_add("seen", "key", i * KEYS, KEYS);
        (void)snprintf(capacity, sizeof capacity, "%d", i * KEYS + KEYS * 9 / 10);
        EXPECT_REFUSED("more than the capacity of", "expand", "seen", "--capacity", capacity,
                       "--detach");
    }
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "110k");
    playground_stop(&playground);
}

/* Nodes are asked; one that does not answer holds up nobody else, and is left out in the end. */
Test(refusals, to_less_while_a_node_does_not_answer, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "200k", "--fpr", "1%", "--when-full",
                  "refuse");
    numbered_keys_add("seen", "key", 0, 1000);
    playground_signal(&playground, "node-2", SIGSTOP);
    EXPECT_REFUSED("node node-2 was asked and has not answered", "expand", "seen", "--capacity",
                   "100k", "--timeout", "1s", "--detach");
    expect_status("200,000");
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "100k", "--timeout", "20s", "--detach");
    playground_signal(&playground, "node-2", SIGCONT);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "100k");
    playground_stop(&playground);
}

Test(refusals, a_drain_with_too_few_nodes, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "50k", "--fpr", "1%");
    EXPECT_REFUSED("filter seen: no other node can take group 0 from node-2", "node", "drain",
                   "node-2");
    expect_status("All shards have all their replicas FULL.");
    playground_stop(&playground);
}

/* Four nodes hold three quarters each; three would have to hold all, and can't. */
Test(refusals, a_drain_or_replacement_without_memory, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 4, .memory = "2MiB"});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "2M", "--fpr", "1%");
    EXPECT_REFUSED("raise its memory_limit or start one more node", "node", "drain", "node-2");
    EXPECT_REFUSED("NO_SPACE: ", "node", "drain", "node-3");
    PLAYGROUND_DO("", "drop", "seen");
    PLAYGROUND_DO("", "node", "drain", "node-2");
    playground_stop(&playground);
}

/* ---- a store that another process keeps locked ---- */

static sqlite3 *lock_store(void)
{
    char path[PATH_BYTES];
    sqlite3 *connection = NULL;

    (void)snprintf(path, sizeof path, "%s/coordinator/data/store.sqlite", playground.dir);
    cr_assert_eq(sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(connection, PLAYGROUND_WAIT_MS);
    cr_assert_eq(sqlite3_exec(connection, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return connection;
}

static void unlock_store(sqlite3 *connection)
{
    cr_assert_eq(sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_close(connection), SQLITE_OK);
}

Test(refusals, while_the_store_can_not_be_written, .timeout = LIMIT_S)
{
    static const char reason[] = "the store can't be written: database is locked; another process";
    sqlite3 *lock;

    playground_start(&playground, &(struct playground_plan){.nodes = 4});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "20k", "--fpr", "1%");
    PLAYGROUND_DO("", "create", "other", "--capacity", "20k", "--fpr", "1%");
    lock = lock_store();
    numbered_keys_add("seen", "key", 0, 18000);
    playground_wait_status("seen: due to grow, and can't: the store can't be written: database is "
                           "locked; another process");
    EXPECT_REFUSED(reason, "expand", "other", "--capacity", "50k");
    EXPECT_REFUSED(reason, "node", "drain", "node-4");
    EXPECT_REFUSED(reason, "create", "third", "--capacity", "50k", "--fpr", "1%");
    EXPECT_REFUSED(reason, "drop", "other");
    unlock_store(lock);
    playground_wait_status("40,000");
    PLAYGROUND_DO("", "expand", "other", "--capacity", "50k");
    playground_stop(&playground);
}
