/* `orbloom bench --target redis` when it is called wrongly, and when the server fails or is none:
 * a message with a remedy and an exit status, never a hang. */
#include "tests/support/command.h"
#include "tests/support/redis.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 120 };

static struct redis server;
static struct command command;

#define BENCH(...) \
    command_run(&command, span_text(""), "orbloom", "bench", "--target", "redis", __VA_ARGS__, NULL)

static void stop(void)
{
    command_forget(&command);
    redis_stop(&server);
}

static void expect_usage(const char *text)
{
    command_expect_errors(&command, 2, text);
    cr_assert_eq(command.output_size, 0);
    command_forget(&command);
}

Test(redis_usage, no_server_is_taken_by_default)
{
    cr_assert_eq(unsetenv("ORBLOOM_REDIS"), 0);
    BENCH("--keys", "1k");
    expect_usage("give --redis HOST:PORT or unix:PATH, or set $ORBLOOM_REDIS");
    cr_assert_eq(setenv("ORBLOOM_REDIS", "nowhere", 1), 0);
    BENCH("--keys", "1k");
    expect_usage("\"nowhere\" is no Redis server's endpoint; write HOST:PORT or unix:PATH");
}

Test(redis_usage, what_does_not_fit_together_is_refused)
{
    cr_assert_eq(setenv("ORBLOOM_REDIS", "127.0.0.1:1", 1), 0);
    BENCH("--op", "fill");
    expect_usage("--filter NAME");
    BENCH("--op", "fill", "--filter", "x", "--filled", "--size", "1k");
    expect_usage("leave one of them out");
    BENCH("--filled", "--filter", "x");
    expect_usage("--filter NAME --size KEYS");
    BENCH("--filled", "--size", "1k");
    expect_usage("--filter NAME --size KEYS");
    BENCH("--size", "1k", "--fresh", "999");
    expect_usage("--fresh of at least --size");
    BENCH("--method", "bits", "--size", "500M");
    expect_usage("429496729 keys at most");
    BENCH("--method", "hash");
    expect_usage("--method cannot be \"hash\"; give set | bits | bloom | bloom-one");
    command_run(&command, span_text(""), "orbloom", "bench", "--method", "set", NULL);
    expect_usage("--method and --redis are for --target redis");
}

Test(redis_failures, no_server_is_named_with_the_remedy, .timeout = LIMIT_S)
{
    BENCH("--redis", "unix:/nonexistent/socket");
    command_expect_errors(
        &command, 1, "orbloom: IO: no connection to a Redis server at unix:/nonexistent/socket");
    command_expect_errors(&command, 1, "start one there, or give --redis");
    command_forget(&command);
    BENCH("--redis", "127.0.0.1:1");
    command_expect_errors(&command, 1, "127.0.0.1:1 (Connection refused)");
    command_forget(&command);
}

Test(redis_failures, a_server_without_the_module_is_told_so, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--method", "bloom");
    command_expect_errors(&command, 1, "the server has no BF.RESERVE; load the RedisBloom module");
    command_forget(&command);
    BENCH("--method", "bloom-one");
    command_expect_errors(&command, 1, "the server has no BF.RESERVE; load the RedisBloom module");
    stop();
}

Test(redis_failures, a_server_with_a_password_is_told_so, .timeout = LIMIT_S)
{
    redis_start(&server);
    (void)redis_ask(&server, "CONFIG SET requirepass secret");
    BENCH("--keys", "1k");
    command_expect_errors(&command, 1, "wants a password");
    stop();
}

/* An error reply answers no key and says what the server said. */
Test(redis_failures, a_refused_command_is_shown_in_the_servers_words, .timeout = LIMIT_S)
{
    redis_start(&server);
    (void)redis_ask(&server, "LPUSH list x");
    BENCH("--filter", "list", "--size", "1k", "--filled", "--keys", "5k");
    command_expect_errors(&command, 1, "refused SMISMEMBER: WRONGTYPE");
    command_forget(&command);
    BENCH("--filter", "list", "--keys", "5k");
    command_expect_errors(&command, 1, "refused SADD: WRONGTYPE");
    command_forget(&command);
    BENCH("--method", "bits", "--filter", "list", "--keys", "5k");
    command_expect_errors(&command, 1, "refused SETBIT: WRONGTYPE");
    stop();
}

Test(redis_failures, a_server_that_is_out_of_memory_is_shown, .timeout = LIMIT_S)
{
    redis_start(&server);
    (void)redis_ask(&server, "CONFIG SET maxmemory 2mb");
    BENCH("--keys", "2M", "--op", "add");
    command_expect_errors(&command, 1, "OOM");
    stop();
}

static void start_endless(const char *method)
{
    const char *words[] = {"bench", "--target", "redis", "--method",  method, "--keys",
                           "100G",  "--size",   "10k",   "--timeout", "2s",   NULL};

    command_start(&command, span_text(""), SIGKILL, "orbloom", words);
    redis_wait_commands(&server, 100);
    cr_assert_not(command_ended(&command, 0));
}

Test(redis_failures, a_server_killed_in_the_middle_ends_the_run, .timeout = LIMIT_S)
{
    static const char *const methods[] = {"set", "bits"};

    for (size_t i = 0; i < 2; i++) {
        redis_start(&server);
        start_endless(methods[i]);
        redis_signal(&server, SIGKILL);
        command_finish(&command, COMMAND_LIMIT_MS);
        command_expect_errors(&command, 1, "does the server still run? See its log");
        command_expect_errors(&command, 1, "keys without an answer");
        stop();
    }
}

/* It is there and says nothing: the deadline ends it. */
Test(redis_failures, a_server_stopped_in_the_middle_is_a_deadline, .timeout = LIMIT_S)
{
    redis_start(&server);
    start_endless("set");
    redis_signal(&server, SIGSTOP);
    command_finish(&command, COMMAND_LIMIT_MS);
    command_expect_errors(&command, 1, "within 2 s; give a longer --timeout");
    command_expect_errors(&command, 1, "orbloom: DEADLINE: ");
    stop();
}

static void expect_impostor(enum impostor kind, const char *text)
{
    redis_start_impostor(&server, kind);
    BENCH("--keys", "50k", "--timeout", "1s");
    command_expect_errors(&command, 1, text);
    stop();
}

Test(redis_impostors, a_web_server_is_no_redis_server, .timeout = LIMIT_S)
{
    expect_impostor(IMPOSTOR_WEB, "is no Redis server");
}

Test(redis_impostors, one_that_is_silent_is_a_deadline, .timeout = LIMIT_S)
{
    expect_impostor(IMPOSTOR_SILENT, "is it a Redis server, and does it still run?");
}

Test(redis_impostors, one_that_hangs_up_is_told, .timeout = LIMIT_S)
{
    expect_impostor(IMPOSTOR_HANGS_UP, "is it a Redis server, and does it still run?");
}

Test(redis_impostors, garbage_in_the_middle_is_told, .timeout = LIMIT_S)
{
    expect_impostor(IMPOSTOR_PONG, "is no Redis server");
}

Test(redis_impostors, silence_in_the_middle_is_a_deadline, .timeout = LIMIT_S)
{
    expect_impostor(IMPOSTOR_MUTE, "within 1 s; give a longer --timeout");
}

Test(redis_impostors, one_that_leaves_in_the_middle_is_told, .timeout = LIMIT_S)
{
    expect_impostor(IMPOSTOR_LEAVES, "closed the connection; does it still run? See its log");
}

/* A peer that reads on only when its replies were taken: both would wait for ever if we wrote
 * all before reading. */
Test(redis_impostors, replies_are_read_while_commands_are_written, .timeout = LIMIT_S)
{
    redis_start_impostor(&server, IMPOSTOR_NARROW);
    BENCH("--method", "bits", "--filter", "x", "--filled", "--size", "1k", "--keys", "20k",
          "--json");
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.output, "\"keys\": 20000,"), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "\"false_positives\": 10000,"), "%s", command.output);
    stop();
}

/* Debian has no RedisBloom: the one that says 1 to each BF.ADD and BF.EXISTS stands in. */
Test(redis_impostors, a_bloom_filter_is_reserved_filled_and_asked, .timeout = LIMIT_S)
{
    redis_start_impostor(&server, IMPOSTOR_NARROW);
    BENCH("--method", "bloom-one", "--keys", "2k", "--json");
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.output, "\"keys\": 2000,"), "%s", command.output);
    stop();
}
