/* The example cache_guard against a real cluster and a real database: no row is ever hidden, also
 * when processes are paused or killed halfway, and most of the useless queries are saved. */
#include "tests/support/example.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct example run;

struct summary {
    size_t lookups, queries, found, false_positives;
};

static struct summary read_summary(void)
{
    struct summary s;

    example_expect_exit(&run, 0);
    cr_assert_eq(sscanf(run.command.output,
                        "%zu lookups, %zu queries got through, %zu rows found, %zu false positives",
                        &s.lookups, &s.queries, &s.found, &s.false_positives),
                 4, "%s", run.command.output);
    cr_log_info("%s", run.command.output);
    return s;
}

static void start_guard(void)
{
    const char *words[] = {"users", run.database, run.input, NULL};

    command_start(&run.command, span_text(""), SIGKILL, EXAMPLE_CACHE_GUARD, words);
}

/* Rows are 10, 20 ... 1,000,000. */
Test(cache_guard, lets_every_row_through_and_little_else, .timeout = EXAMPLE_LIMIT_S)
{
    char *ids = example_lines("", 900001, 1100001, 1);

    example_start(&run, "users", "100k", "1%");
    example_write_input(&run, ids);
    for (int round = 0; round < 2; round++) { /* The second one finds its table. */
        struct summary s;

        start_guard();
        command_finish(&run.command, COMMAND_LIMIT_MS);
        s = read_summary();
        cr_assert_eq(s.lookups, 200000);
        cr_assert_eq(s.found, 10000, "%zu of 10,000 rows", s.found);
        cr_assert_lt(s.queries, s.lookups / 2, "nothing is saved by %zu queries", s.queries);
        command_forget(&run.command);
    }
    example_stop(&run);
    free(ids);
}

static void feed(int fd, int first, int end)
{
    char *ids = example_lines("", first, end, 1);

    cr_assert_eq(write(fd, ids, strlen(ids)), (ssize_t)strlen(ids));
    free(ids);
}

/* Wait until the guard says that it is not sure. */
static void wait_unsure(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct stat said = {0};

    while (said.st_size == 0) {
        cr_assert_not(command_ended(&run.command, 20));
        cr_assert_lt(command_now_ms(), deadline_ms, "the guard is sure of everything");
        cr_assert_eq(fstat(run.command.errors_fd, &said), 0);
    }
}

/* 5,000 ids, harm, 3,000 ids, relief (if any), 5,000 ids: every tenth is a row. */
static void expect_all_found(void (*harm)(void), void (*relief)(void))
{
    struct summary s;
    int fd;

    example_start(&run, "users", "100k", "1%");
    cr_assert_eq(mkfifo(run.input, 0600), 0);
    fd = open(run.input, O_RDWR | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    start_guard();
    feed(fd, 1, 5001);
    playground_wait_counter(&run.playground, "router", "keys_checked_total", 5000);
    harm();
    feed(fd, 5001, 8001);
    wait_unsure();
    if (relief != NULL) {
        relief();
        feed(fd, 8001, 13001);
    }
    cr_assert_eq(close(fd), 0);
    command_finish(&run.command, COMMAND_LIMIT_MS);
    s = read_summary();
    example_expect_error(&run, "cache_guard: not sure: ");
    cr_assert_eq(s.lookups, relief != NULL ? 13000 : 8000);
    cr_assert_eq(s.found, s.lookups / 10, "%zu of %zu rows", s.found, s.lookups / 10);
    cr_assert_geq(s.queries, 2000, "what is unsure goes to the database: %zu", s.queries);
    cr_assert_lt(s.queries, s.lookups * 3 / 4, "nothing is saved by %zu queries", s.queries);
    command_forget(&run.command);
    example_stop(&run);
}

static void pause_nodes(void)
{
    example_pause_nodes(&run);
}

static void continue_nodes(void)
{
    example_continue_nodes(&run);
}

Test(cache_guard, finds_every_row_while_nodes_are_paused, .timeout = EXAMPLE_LIMIT_S)
{
    expect_all_found(pause_nodes, continue_nodes);
}

static void kill_two_nodes(void)
{
    playground_kill(&run.playground, "node-1");
    playground_kill(&run.playground, "node-3");
}

Test(cache_guard, finds_every_row_when_nodes_are_killed, .timeout = EXAMPLE_LIMIT_S)
{
    expect_all_found(kill_two_nodes, NULL);
}

static void kill_router(void)
{
    playground_kill(&run.playground, "router");
}

static void restart_router(void)
{
    playground_restart(&run.playground, "router");
}

Test(cache_guard, finds_every_row_when_the_router_is_killed, .timeout = EXAMPLE_LIMIT_S)
{
    expect_all_found(kill_router, NULL);
}

Test(cache_guard, finds_every_row_when_the_router_comes_back, .timeout = EXAMPLE_LIMIT_S)
{
    expect_all_found(kill_router, restart_router);
}
