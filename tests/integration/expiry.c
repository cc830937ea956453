/* Filters that are dropped by themselves, with real processes: never before their time, whatever is
 * killed meanwhile, then gone, and the name free; through the command line and Redis' commands. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 180, TRIES = 600, PAUSE_US = 100000, MOST_TEXT = 4096 };

static struct playground playground;

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What redis-cli prints, without its last newline. */
static const char *redis(const char *words)
{
    static char text[MOST_TEXT];
    char line[MOST_TEXT];
    size_t size;
    FILE *shell;

    (void)snprintf(line, sizeof line, "redis-cli -s %s/router/resp.sock %s 2>&1", playground.dir,
                   words);
    shell = popen(line, "r");
    cr_assert_not_null(shell);
    size = fread(text, 1, sizeof text - 1, shell);
    text[size > 0 ? size - 1 : 0] = '\0';
    cr_assert_eq(pclose(shell), 0);
    return text;
}

static void expect_redis(const char *words, const char *answer)
{
    const char *said = redis(words);

    cr_assert_str_eq(said, answer, "%s: %s", words, said);
}

/* Of "guard", just now set to so many seconds. */
static void expect_ttl(long set_s)
{
    long ttl_s = strtol(redis("TTL guard"), NULL, 10);

    cr_assert(ttl_s > set_s / 2 && ttl_s <= set_s, "%ld s of %ld", ttl_s, set_s);
}

static bool is_there(const char *name)
{
    struct command command;
    bool there;

    command_run(&command, span_text(""), "orbloom", "info", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    there = strstr(command.output, name) != NULL;
    command_forget(&command);
    return there;
}

static void wait_gone(const char *name)
{
    int tries = 0;

    while (is_there(name)) {
        cr_assert_lt(tries++, TRIES, "%s never goes", name);
        (void)usleep(PAUSE_US);
    }
}

static void start(const char *name)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", name, "--capacity", "10k", "--fpr", "1%");
    PLAYGROUND_DO("a\nb\n", "add", name);
}

/* A node and the coordinator are killed while it is counted. */
Test(expiry, it_goes_when_its_time_is_over_and_not_before, .timeout = LIMIT_S)
{
    double asked_s;

    start("guard");
    asked_s = now_s();
    PLAYGROUND_DO("", "expire", "guard", "6s");
    playground_wait_status("guard: expires ");
    playground_kill(&playground, "node-1");
    playground_kill(&playground, "coordinator");
    playground_restart(&playground, "coordinator");
    playground_restart(&playground, "node-1");
    wait_gone("guard");
    cr_assert_geq(now_s() - asked_s, 6);
    PLAYGROUND_DO("", "create", "guard", "--capacity", "20k", "--fpr", "1%");
    expect_redis("BF.EXISTS guard a", "0");
    expect_redis("TTL guard", "-1");
    cr_assert_eq(playground_counter(&playground, "coordinator", "filters_expired_total"), 1);
    playground_stop(&playground);
}

Test(expiry, what_was_taken_back_stays, .timeout = LIMIT_S)
{
    start("guard");
    PLAYGROUND_DO("", "create", "other", "--capacity", "10k", "--fpr", "1%");
    expect_redis("EXPIRE guard 8", "1");
    PLAYGROUND_DO("", "expire", "guard", "never");
    expect_redis("EXPIRE other 8", "1");
    wait_gone("other");
    expect_redis("BF.EXISTS guard a", "1");
    expect_redis("TTL guard", "-1");
    playground_stop(&playground);
}

/* Nobody drops it while the coordinator is down; the next one does. */
Test(expiry, a_coordinator_that_is_down_makes_it_later, .timeout = LIMIT_S)
{
    start("guard");
    expect_redis("PEXPIRE guard 4000", "1");
    playground_kill(&playground, "coordinator");
    (void)usleep(5000000);
    expect_redis("BF.EXISTS guard a", "1");
    playground_restart(&playground, "coordinator");
    wait_gone("guard");
    playground_stop(&playground);
}

/* With two of three nodes down there are too few clocks. */
Test(expiry, too_few_nodes_make_it_later, .timeout = LIMIT_S)
{
    start("guard");
    playground_kill(&playground, "node-1");
    playground_kill(&playground, "node-3");
    expect_redis("PEXPIRE guard 500", "1");
    playground_wait_status("too few do now");
    cr_assert(is_there("guard"));
    playground_restart(&playground, "node-1");
    wait_gone("guard");
    playground_stop(&playground);
}

Test(expiry, the_commands_of_redis, .timeout = LIMIT_S)
{
    start("guard");
    expect_redis("TTL guard", "-1");
    expect_redis("EXPIRE guard 1000", "1");
    expect_ttl(1000);
    expect_redis("EXPIRE guard 2000 NX", "0");
    expect_redis("EXPIRE guard 500 GT", "0");
    expect_redis("EXPIRE guard 2000 XX GT", "1");
    expect_ttl(2000);
    expect_redis("PEXPIREAT guard 4102444800123", "1");
    expect_redis("PEXPIRETIME guard", "4102444800123");
    expect_redis("EXPIRETIME guard", "4102444800");
    expect_redis("PERSIST guard", "1");
    expect_redis("PERSIST guard", "0");
    expect_redis("EXPIRE nobody 5", "0");
    expect_redis("TTL nobody", "-2");
    expect_redis("EXPIREAT guard 1", "1");
    expect_redis("EXISTS guard", "0");
    expect_redis("BF.EXISTS guard a", "0");
    playground_stop(&playground);
}

#define EXPECT_REFUSED(time, text)                                                         \
    do {                                                                                   \
        struct command command_;                                                           \
        command_run(&command_, span_text(""), "orbloom", "expire", "guard", (time), NULL); \
        command_expect_errors(&command_, 2, text);                                         \
        command_forget(&command_);                                                         \
    } while (0)

Test(expiry, what_can_not_be_is_refused, .timeout = LIMIT_S)
{
    struct command command;

    start("guard");
    EXPECT_REFUSED("5", "TIME cannot be \"5\"");
    EXPECT_REFUSED("soon", "TIME cannot be");
    EXPECT_REFUSED("@x", "TIME cannot be");
    EXPECT_REFUSED("400000d", "1,000 years at most");
    EXPECT_REFUSED("0s", "orbloom drop");
    EXPECT_REFUSED("@1", "orbloom drop");
    command_run(&command, span_text(""), "orbloom", "expire", "nobody", "5s", NULL);
    command_expect_errors(&command, 1, "there is no filter nobody");
    command_forget(&command);
    PLAYGROUND_DO("", "expire", "guard", "@4102444800");
    command_run(&command, span_text(""), "orbloom", "info", "guard", NULL);
    cr_assert_not_null(strstr(command.output, "2100-01-01 00:00:00 UTC, or later"), "%s",
                       command.output);
    command_forget(&command);
    playground_stop(&playground);
}
