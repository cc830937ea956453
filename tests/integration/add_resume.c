/* `orbloom add --resume` goes on behind what is acknowledged, after kill -9 and after Ctrl-C,
 * leaves nothing out, and refuses what is not the same any more. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 60, NKEYS = 1000000 };

static struct playground playground;
static struct command command;
static char keys[96];
static char state[96];

static void write_keys(unsigned first, unsigned count, const char *end)
{
    FILE *file = fopen(keys, "w");

    cr_assert_not_null(file);
    for (unsigned i = 0; i < count; i++) {
        (void)fprintf(file, "key-%u\n", first + i);
    }
    (void)fputs(end, file);
    cr_assert_eq(fclose(file), 0);
}

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    (void)snprintf(keys, sizeof keys, "%s", playground_path(&playground, "keys"));
    (void)snprintf(state, sizeof state, "%s", playground_path(&playground, "state"));
    PLAYGROUND_DO("", "create", "seen", "--capacity", "4M", "--fpr", "0.01%", "--durability", "os");
}

static void stop(void)
{
    playground_stop(&playground);
}

static void add(void)
{
    command_run(&command, span_text(""), "orbloom", "add", "seen", "--resume", state, keys, NULL);
}

/* Bytes of the only file that the state says are done. */
static unsigned long long reached(void)
{
    char *text = command_read_file(state);
    const char *at = text != NULL ? strstr(text, "\nat 0 ") : NULL;
    unsigned long long offset = at != NULL ? strtoull(at + strlen("\nat 0 "), NULL, 10) : 0;

    free(text);
    return offset;
}

/* An add that is under way, and has noted so; key by key, as it would be done before that. */
static void begin_add(void)
{
    const char *const words[] = {"add", "seen",        "--resume", state, "--batch",
                                 "1",   "--in-flight", "1",        keys,  NULL};

    command_start(&command, span_text(""), SIGKILL, "orbloom", words);
    for (uint64_t end = command_now_ms() + COMMAND_LIMIT_MS;
         reached() == 0 && command_now_ms() < end;) {
        (void)usleep(20000);
    }
    cr_assert_gt(reached(), 0);
}

static void end_add(int signal)
{
    cr_assert_eq(kill(command.pid, signal), 0);
    command_finish(&command, COMMAND_LIMIT_MS);
}

/* With an add that was killed on its way. */
static void start_killed(const char *last)
{
    start();
    write_keys(0, NKEYS, last);
    begin_add();
    end_add(SIGKILL);
    command_forget(&command);
}

static void rebuild(void)
{
    PLAYGROUND_DO("listed\n", "rebuild", "seen", "feed");
    PLAYGROUND_DO("", "rebuild", "seen", "commit", "--timeout", "20s");
}

static void expect_all_present(const char *filter)
{
    command_run(&command, span_text(""), "orbloom", "check", filter, "--only", "absent", keys,
                NULL);
    cr_assert_str_eq(command.output, "", "lost: %s", command.errors);
    cr_assert_not_null(strstr(command.errors, " 0 absent"), "%s", command.errors);
    command_forget(&command);
}

Test(add_resume, after_kill_9_it_goes_on_and_leaves_nothing_out, .timeout = LIMIT_S)
{
    start_killed("\nlast");
    add();
    command_expect_errors(&command, 1, "goes on behind");
    command_expect_errors(&command, 1, "keys:1000001: empty key");
    cr_assert_neq(access(state, F_OK), 0, "all is done");
    command_forget(&command);
    expect_all_present("seen");
    stop();
}

/* The place stays before the first key that was refused, whatever was sent behind it. */
Test(add_resume, it_stops_at_a_key_that_is_not_acknowledged, .timeout = LIMIT_S)
{
    start();
    write_keys(0, NKEYS, "");
    PLAYGROUND_DO("", "create", "small", "--capacity", "50k", "--fpr", "0.01%", "--when-full",
                  "refuse");
    command_run(&command, span_text(""), "orbloom", "add", "small", "--resume", state, keys, NULL);
    command_expect_errors(&command, 1, "FULL");
    command_expect_errors(&command, 1, "repeat the command to go on");
    command_forget(&command);
    cr_assert_gt(reached(), 0);
    PLAYGROUND_DO("", "expand", "small", "--capacity", "2M");
    command_run(&command, span_text(""), "orbloom", "add", "small", "--resume", state, keys, NULL);
    command_expect_errors(&command, 0, "goes on behind");
    command_forget(&command);
    expect_all_present("small");
    stop();
}

Test(add_resume, ctrl_c_says_how_to_go_on_and_another_file_is_refused, .timeout = LIMIT_S)
{
    start();
    write_keys(0, NKEYS, "");
    begin_add();
    end_add(SIGINT);
    command_expect_errors(&command, 1, "repeat the command to go on");
    command_forget(&command);
    write_keys(0, NKEYS, "more\n");
    add();
    command_expect_errors(&command, 1, "is not the file that it was");
    cr_assert_eq(access(state, F_OK), 0);
    command_forget(&command);
    cr_assert_eq(unlink(state), 0);
    add();
    command_expect_exit(&command, 0);
    command_forget(&command);
    expect_all_present("seen");
    stop();
}

Test(add_resume, another_filter_of_the_name_is_refused, .timeout = LIMIT_S)
{
    start_killed("");
    PLAYGROUND_DO("", "drop", "seen");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "4M", "--fpr", "0.01%");
    add();
    command_expect_errors(&command, 1, "of another filter");
    command_forget(&command);
    stop();
}

/* The first keys are forgotten; only those that are added from now on would be there. */
Test(add_resume, a_filter_that_was_rebuilt_since_is_refused, .timeout = LIMIT_S)
{
    start_killed("");
    PLAYGROUND_DO("", "rebuild", "seen", "begin", "--timeout", "20s");
    rebuild();
    add();
    command_expect_errors(&command, 1, "was rebuilt from a list since this began");
    command_forget(&command);
    cr_assert_eq(unlink(state), 0);
    add();
    command_expect_exit(&command, 0);
    command_forget(&command);
    expect_all_present("seen");
    stop();
}

/* Nobody can tell that its beginning was fenced before the first key was acknowledged. */
Test(add_resume, a_rebuild_that_was_open_when_it_began_counts_too, .timeout = LIMIT_S)
{
    start();
    write_keys(0, NKEYS, "");
    PLAYGROUND_DO("", "rebuild", "seen", "begin", "--timeout", "20s");
    begin_add();
    end_add(SIGKILL);
    command_forget(&command);
    rebuild();
    add();
    command_expect_errors(&command, 1, "was rebuilt from a list since this began");
    command_forget(&command);
    stop();
}

/* What was acknowledged by the filter that had the name before must not count for the next one. */
Test(add_resume, a_filter_that_is_replaced_meanwhile_ends_it, .timeout = LIMIT_S)
{
    start();
    write_keys(0, NKEYS, "");
    PLAYGROUND_DO("", "create", "next", "--capacity", "4M", "--fpr", "0.01%", "--durability", "os");
    begin_add();
    PLAYGROUND_DO("", "rename", "next", "seen", "--replace");
    command_finish(&command, COMMAND_LIMIT_MS);
    command_expect_errors(&command, 1, "is another filter than when this began");
    command_forget(&command);
    stop();
}

Test(add_resume, what_cant_be_gone_on_with_is_refused, .timeout = LIMIT_S)
{
    start();
    write_keys(0, 10, "");
    command_run(&command, span_text("a\n"), "orbloom", "add", "seen", "--resume", state, NULL);
    command_expect_errors(&command, 2, "standard input");
    command_forget(&command);
    command_run(&command, span_text("a\n"), "orbloom", "add", "seen", "--resume", keys, keys, NULL);
    command_expect_errors(&command, 1, "is no state of an add, and was left as it is");
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "add", "seen", "--resume", state, "/dev/null",
                NULL);
    command_expect_errors(&command, 2, "no regular file");
    command_forget(&command);
    add();
    command_expect_exit(&command, 0);
    stop();
}
