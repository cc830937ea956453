/* Real Redis clients of a real cluster, and the examples that are written with them. Run from the
 * root of the tree. */
#include "tests/support/playground.h"
#include "tests/support/terminal.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LIMIT_S = 180, MOST_TEXT = 4096 };

#define PYTHON "timeout 120 /usr/bin/python3 " /* Debian's, that has Debian's packages */

static struct playground playground;

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
}

/* Its whole output is this, and it ended well. */
static void expect_output(FILE *shell, const char *script, const char *output)
{
    char text[MOST_TEXT];
    size_t size = fread(text, 1, sizeof text - 1, shell);
    int status = pclose(shell);

    text[size] = '\0';
    cr_assert_eq(status, 0, "%s: %s", script, text);
    cr_assert_str_eq(text, output, "%s: %s", script, text);
}

/* In a shell, with the socket in $S and $ORBLOOM_RESP, a folder of its own in $D, and the examples
 * in $E. */
static void run(const char *script, const char *output)
{
    char line[MOST_TEXT];
    FILE *shell;

    (void)snprintf(line, sizeof line,
                   "S='%s/router/resp.sock'; export ORBLOOM_RESP=$S E='%s/../examples'; "
                   "D=$(mktemp -d) || exit 1; { %s; } 2>&1 | tail -c 4000; rm -r \"$D\"",
                   playground.dir, command_bin_dir(), script);
    shell = popen(line, "r");
    cr_assert_not_null(shell);
    expect_output(shell, script, output);
}

static void run_alone(const char *script, const char *output)
{
    start();
    run(script, output);
    playground_stop(&playground);
}

Test(resp_clients, redis_py, .timeout = LIMIT_S)
{
    run_alone(PYTHON "tests/clients/redis_py.py $S >$D/out 2>&1 && echo good || cat $D/out",
              "good\n");
}

Test(resp_clients, redis_cli_at_a_terminal, .timeout = LIMIT_S)
{
    TERMINAL_OR_SKIP("redis_cli_at_a_terminal");
    run_alone(PYTHON "tests/clients/redis_cli_tty.py $S && echo good", "good\n");
}

/* RESP, inline commands, an empty line between, and how the others are counted after errors. */
Test(resp_clients, redis_cli_in_pipe_mode, .timeout = LIMIT_S)
{
    run_alone("{ printf '*3\\r\\n$6\\r\\nBF.ADD\\r\\n$1\\r\\np\\r\\n$2\\r\\n\\r\\n\\r\\n\\r\\n';"
              "  seq -f 'BF.ADD p %.0f' 3000; echo BF.NOPE; seq -f 'BF.EXISTS p %.0f' 3000; } |"
              "timeout 60 redis-cli -s $S --pipe 2>&1 | tail -1;"
              "redis-cli -s $S BF.CARD p | awk '{ print ($1 > 2900 && $1 < 3100) }'",
              "errors: 1, replies: 6002\n1\n");
}

Test(resp_clients, redis_benchmark_in_both_protocols, .timeout = LIMIT_S)
{
    run_alone("for v in '' -3; do timeout 100 redis-benchmark -s $S $v -q -c 20 -n 20000 -P 16 "
              "-r 100000 BF.ADD bench item:__rand_int__ | tr '\\r' '\\n' |"
              "grep -c 'requests per second'; done 2>$D/warnings",
              "1\n1\n");
}

/* The same lines by four processes of two kinds at once: none is lost. Some leave twice, where it
 * is not sure who was first. */
#define TOGETHER                                                                                 \
    "seq 30000 >$D/in; for i in 1 2; do timeout 100 $E/resp_dedup many <$D/in >$D/c$i & " PYTHON \
    "client/examples/resp_dedup.py many <$D/in >$D/p$i & done; wait;"                            \
    "sort -nu $D/c? $D/p? | cmp - $D/in && echo none is lost"

Test(resp_clients, the_dedup_examples_share_a_filter, .timeout = LIMIT_S)
{
    start();
    run("printf 'a\\nb\\n\\na\\n' | $E/resp_dedup lines",
        "resp_dedup: a line is left out: an item has 1 to 65536 bytes\na\nb\n");
    run("printf 'b\\nc\\n' | " PYTHON "client/examples/resp_dedup.py lines", "c\n");
    run("printf 'c\\nd\\n' | $E/resp_dedup lines", "d\n");
    run(TOGETHER, "none is lost\n");
    playground_stop(&playground);
}

/* Not sure is not seen: the lines are printed, and the exit status tells. */
Test(resp_clients, the_dedup_examples_lose_no_line_without_a_quorum, .timeout = LIMIT_S)
{
    start();
    run("printf 'a\\n' | $E/resp_dedup lines", "a\n");
    playground_kill(&playground, "node-1");
    playground_kill(&playground, "node-2");
    run("printf 'a\\nb\\n' | $E/resp_dedup lines 2>$D/errors; echo $?; grep -c UNAVAIL $D/errors",
        "a\nb\n1\n2\n");
    playground_restart(&playground, "node-1");
    playground_restart(&playground, "node-2");
    playground_stop(&playground);
}

/* ---- a guard in front of a database; its rows are 10, 20 ... 1,000,000 ---- */

#define GUARD PYTHON "client/examples/resp_cache_guard.py ids "

Test(resp_clients, the_guard_lets_every_row_through_and_little_else, .timeout = LIMIT_S)
{
    run_alone("seq 900001 1100000 | " GUARD "$D/db | sed 's/ [0-9]* queries/ N queries/'; "
              "seq 900001 1100000 | " GUARD "$D/db | awk '{ print ($3 >= 10000 && $3 < 12000) }'",
              "200000 lookups, N queries got through, 10000 rows found\n1\n");
}

static void feed(FILE *ids, int first, int end)
{
    for (int id = first; id < end; id++) {
        cr_assert_gt(fprintf(ids, "%d\n", id), 0);
    }
    cr_assert_eq(fflush(ids), 0);
}

/* What can't be known goes to the database. */
Test(resp_clients, the_guard_finds_every_row_when_nodes_are_killed, .timeout = LIMIT_S)
{
    char line[MOST_TEXT];
    char pipe[128];
    FILE *ids;
    FILE *shell;

    (void)signal(SIGPIPE, SIG_IGN);
    start();
    (void)snprintf(pipe, sizeof pipe, "%s/ids", playground.dir);
    (void)snprintf(line, sizeof line,
                   "ORBLOOM_RESP=%s/router/resp.sock " GUARD "%s/db <%s 2>/dev/null |"
                   "awk '{ print $1, ($3 >= 3200 && $3 < 5000), $7 }'",
                   playground.dir, playground.dir, pipe);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    shell = popen(line, "r");
    ids = fopen(pipe, "we");
    cr_assert(shell != NULL && ids != NULL);
    feed(ids, 1, 5001);
    playground_wait_counter(&playground, "router", "keys_checked_total", 5000);
    playground_kill(&playground, "node-1");
    playground_kill(&playground, "node-3");
    feed(ids, 5001, 8001);
    cr_assert_eq(fclose(ids), 0);
    expect_output(shell, line, "8000 1 800\n");
    playground_restart(&playground, "node-1");
    playground_restart(&playground, "node-3");
    playground_stop(&playground);
}
