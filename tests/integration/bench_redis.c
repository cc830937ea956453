/* `orbloom bench --target redis` against a real redis-server, and against what is none: rows
 * are right, keys of its own are gone afterwards, and whatever the server does is a message and
 * an exit status, never a hang. */
#include "tests/support/command.h"
#include "tests/support/redis.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
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

static void expect_exit(int status)
{
    cr_assert_eq(command.exit_status, status, "exit %d: %s%s", command.exit_status, command.output,
                 command.errors);
}

static void expect_errors(int status, const char *text)
{
    expect_exit(status);
    cr_assert_not_null(strstr(command.errors, text), "\"%s\" is not in: %s", text, command.errors);
}

static void expect_output(const char *text)
{
    cr_assert_not_null(strstr(command.output, text), "\"%s\" is not in: %s", text, command.output);
}

/* A member of the one object. */
static double number_of(const char *name)
{
    char quoted[64];
    const char *at;

    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    at = strstr(command.output, quoted);
    cr_assert_not_null(at, "no %s in %s", name, command.output);
    return strtod(at + strlen(quoted), NULL);
}

/* A run that went well: one line, all keys answered, none lost. */
static void expect_row(const char *method, const char *op, double keys)
{
    char member[64];

    expect_exit(0);
    cr_assert_str_empty(command.errors);
    cr_assert_eq(strchr(command.output, '\n'), command.output + command.output_size - 1,
                 "one line: %s", command.output);
    expect_output("\"target\": \"redis\"");
    (void)snprintf(member, sizeof member, "\"method\": \"%s\"", method);
    expect_output(member);
    (void)snprintf(member, sizeof member, "\"op\": \"%s\"", op);
    expect_output(member);
    cr_assert_float_eq(number_of("keys"), keys, 0.1);
    cr_assert_float_eq(number_of("lost"), 0, 0.1);
    cr_assert_float_eq(number_of("unanswered"), 0, 0.1);
    cr_assert_gt(number_of("keys_per_s"), 0);
    cr_assert_gt(number_of("redis-server"), 0, "its CPU time comes first");
    cr_assert_gt(number_of("client"), 0);
    cr_assert_gt(number_of("seconds"), 0);
}

/* ---- what works ---- */

static void expect_every_op(const char *method)
{
    static const char *const ops[] = {"check", "add", "mix"};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        BENCH("--method", method, "--op", ops[i], "--keys", "20001", "--batch", "97", "--in-flight",
              "5", "--json");
        expect_row(method, ops[i], 20001);
        cr_assert_float_eq(number_of("batch"), 97, 0.1);
        cr_assert_float_eq(number_of("in_flight"), 5, 0.1);
        cr_assert_float_eq(number_of("size"), 10001, 0.1);
        command_forget(&command);
        cr_assert_eq(redis_ask(&server, "DBSIZE"), 0, "its key is gone after %s", ops[i]);
    }
}

Test(redis_rows, a_set_answers_adds_and_checks_and_takes_nothing_for_present, .timeout = LIMIT_S)
{
    redis_start(&server);
    expect_every_op("set");
    BENCH("--keys", "20k", "--json");
    expect_row("set", "check", 20000);
    cr_assert_float_eq(number_of("absent_checked"), 10000, 0.1);
    cr_assert_float_eq(number_of("false_positives"), 0, 0.1);
    stop();
}

Test(redis_rows, bits_answer_adds_and_checks_with_a_rate_below_one_percent, .timeout = LIMIT_S)
{
    redis_start(&server);
    expect_every_op("bits");
    BENCH("--method", "bits", "--keys", "100k", "--size", "50k", "--json");
    expect_row("bits", "check", 100000);
    cr_assert_float_eq(number_of("absent_checked"), 50000, 0.1);
    cr_assert(number_of("false_positives") > 250 && number_of("false_positives") < 600, "%s",
              command.output);
    stop();
}

/* One key a batch, and batches far beyond what the socket takes at once. */
Test(redis_rows, smallest_and_largest_batches, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--keys", "3001", "--batch", "1", "--in-flight", "1024", "--json");
    expect_row("set", "check", 3001);
    command_forget(&command);
    BENCH("--keys", "3001", "--batch", "1", "--in-flight", "1", "--method", "bits", "--json");
    expect_row("bits", "check", 3001);
    command_forget(&command);
    BENCH("--keys", "300k", "--batch", "65536", "--in-flight", "8", "--json");
    expect_row("set", "check", 300000);
    command_forget(&command);
    BENCH("--keys", "200k", "--batch", "65536", "--method", "bits", "--op", "mix", "--json");
    expect_row("bits", "mix", 200000);
    stop();
}

Test(redis_rows, text_has_columns_for_target_and_method, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--keys", "2k");
    expect_exit(0);
    expect_output("target  method    op ");
    expect_output("\nredis   set       check    1000        32        2,000 ");
    expect_output(" redis-server ");
    stop();
}

/* ---- filters that stay ---- */

static void fill_and_use(const char *method)
{
    BENCH("--method", method, "--op", "fill", "--filter", "kept", "--size", "30k", "--json");
    expect_row(method, "fill", 30000);
    command_forget(&command);
    cr_assert_eq(redis_ask(&server, "EXISTS kept"), 1);
    for (int run = 0; run < 2; run++) {
        char fresh[16];

        BENCH("--method", method, "--filter", "kept", "--size", "30k", "--filled", "--keys", "10k",
              "--json");
        expect_row(method, "check", 10000);
        command_forget(&command);
        (void)snprintf(fresh, sizeof fresh, "%d", 100000 + run * 5000);
        BENCH("--method", method, "--filter", "kept", "--size", "30k", "--filled", "--op", "add",
              "--fresh", fresh, "--keys", "10k", "--json");
        expect_row(method, "add", 10000);
        command_forget(&command);
    }
    cr_assert_eq(redis_ask(&server, "EXISTS kept"), 1, "nothing is dropped");
}

Test(redis_filters, a_set_is_filled_once_and_used_again, .timeout = LIMIT_S)
{
    redis_start(&server);
    fill_and_use("set");
    cr_assert_eq(redis_ask(&server, "SCARD kept"), 40000);
    stop();
}

Test(redis_filters, bits_are_filled_once_and_used_again, .timeout = LIMIT_S)
{
    redis_start(&server);
    fill_and_use("bits");
    cr_assert_eq(redis_ask(&server, "STRLEN kept"), 300000 / 8);
    stop();
}

/* A bitmap that was uploaded has the very bits that SETBIT sets. */
Test(redis_filters, uploading_and_setting_bits_are_the_same, .timeout = LIMIT_S)
{
    redisReply *one;
    redisReply *other;

    redis_start(&server);
    BENCH("--method", "bits", "--op", "fill", "--filter", "uploaded", "--size", "20k");
    expect_exit(0);
    command_forget(&command);
    (void)redis_ask(&server, "SETBIT set 199999 0"); /* What is there is never overwritten. */
    BENCH("--method", "bits", "--op", "fill", "--filter", "set", "--size", "20k");
    expect_exit(0);
    one = redisCommand(server.client, "GET uploaded");
    other = redisCommand(server.client, "GET set");
    cr_assert(one != NULL && other != NULL);
    cr_assert_eq(one->len, 25000);
    cr_assert_eq(other->len, one->len);
    cr_assert_arr_eq(one->str, other->str, one->len);
    freeReplyObject(one);
    freeReplyObject(other);
    stop();
}

/* The judge sees what is missing: a filter that holds less than it is said to. */
Test(redis_filters, keys_that_are_gone_are_lost_keys, .timeout = LIMIT_S)
{
    static const char *const methods[] = {"set", "bits"};
    static const char *const ops[] = {"check", "add"};

    redis_start(&server);
    for (size_t i = 0; i < 4; i++) {
        (void)redis_ask(&server, "FLUSHALL");
        BENCH("--method", methods[i / 2], "--filter", "half", "--op", "fill", "--size", "1k");
        expect_exit(0);
        command_forget(&command);
        BENCH("--method", methods[i / 2], "--filter", "half", "--size", "2k", "--fresh", "9k",
              "--filled", "--op", ops[i % 2], "--keys", "4k");
        expect_errors(1, "added keys were answered absent");
        command_forget(&command);
    }
    redis_stop(&server);
}

/* ... and a set that holds more: it has no false positives. */
Test(redis_filters, a_set_with_keys_that_were_never_added_is_an_error, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--filter", "more", "--op", "fill", "--size", "2k");
    expect_exit(0);
    command_forget(&command);
    BENCH("--filter", "more", "--size", "1k", "--filled", "--keys", "4k");
    expect_errors(1, "1000 keys that were never added were answered present, by a set");
    stop();
}

/* ---- what does not ---- */

static void expect_usage(const char *text)
{
    expect_errors(2, text);
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
    expect_errors(1, "orbloom: IO: no connection to a Redis server at unix:/nonexistent/socket");
    expect_errors(1, "start one there, or give --redis");
    command_forget(&command);
    BENCH("--redis", "127.0.0.1:1");
    expect_errors(1, "127.0.0.1:1 (Connection refused)");
    command_forget(&command);
}

Test(redis_failures, a_server_without_the_module_is_told_so, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--method", "bloom");
    expect_errors(1, "the server has no BF.RESERVE; load the RedisBloom module");
    command_forget(&command);
    BENCH("--method", "bloom-one");
    expect_errors(1, "the server has no BF.RESERVE; load the RedisBloom module");
    stop();
}

Test(redis_failures, a_server_with_a_password_is_told_so, .timeout = LIMIT_S)
{
    redis_start(&server);
    (void)redis_ask(&server, "CONFIG SET requirepass secret");
    BENCH("--keys", "1k");
    expect_errors(1, "wants a password");
    stop();
}

/* An error reply answers no key and says what the server said. */
Test(redis_failures, a_refused_command_is_shown_in_the_servers_words, .timeout = LIMIT_S)
{
    redis_start(&server);
    (void)redis_ask(&server, "LPUSH list x");
    BENCH("--filter", "list", "--size", "1k", "--filled", "--keys", "5k");
    expect_errors(1, "refused SMISMEMBER: WRONGTYPE");
    command_forget(&command);
    BENCH("--filter", "list", "--keys", "5k");
    expect_errors(1, "refused SADD: WRONGTYPE");
    command_forget(&command);
    BENCH("--method", "bits", "--filter", "list", "--keys", "5k");
    expect_errors(1, "refused SETBIT: WRONGTYPE");
    stop();
}

Test(redis_failures, a_server_that_is_out_of_memory_is_shown, .timeout = LIMIT_S)
{
    redis_start(&server);
    (void)redis_ask(&server, "CONFIG SET maxmemory 2mb");
    BENCH("--keys", "2M", "--op", "add");
    expect_errors(1, "OOM");
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
        expect_errors(1, "does the server still run? See its log");
        expect_errors(1, "keys without an answer");
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
    expect_errors(1, "within 2 s; give a longer --timeout");
    expect_errors(1, "orbloom: DEADLINE: ");
    stop();
}

static void expect_impostor(enum impostor kind, const char *text)
{
    redis_start_impostor(&server, kind);
    BENCH("--keys", "50k", "--timeout", "1s");
    expect_errors(1, text);
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

/* A peer that reads on only when its replies were taken: both would wait for ever if we wrote
 * all before reading. */
Test(redis_impostors, replies_are_read_while_commands_are_written, .timeout = LIMIT_S)
{
    redis_start_impostor(&server, IMPOSTOR_NARROW);
    BENCH("--method", "bits", "--filter", "x", "--filled", "--size", "1k", "--keys", "20k",
          "--json");
    expect_exit(0);
    cr_assert_float_eq(number_of("keys"), 20000, 0.1);
    cr_assert_float_eq(number_of("false_positives"), 10000, 0.1);
    stop();
}
