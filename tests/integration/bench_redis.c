/* `orbloom bench --target redis` against a real redis-server: rows are right, every answer is
 * judged, and keys of its own are gone afterwards. */
#include "tests/support/command.h"
#include "tests/support/redis.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    command_expect_exit(&command, 0);
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
        cr_assert_float_eq(number_of("size"), 10000, 0.1);
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
    command_expect_exit(&command, 0);
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

static long long holds_member(unsigned number)
{
    char text[128];

    (void)snprintf(text, sizeof text,
                   "SISMEMBER kept https://bench.example.org/some/folder/page-%016x?", number);
    return redis_ask(&server, text);
}

/* Keys 0 to size - 1 are added beforehand, fresh ones begin there. */
Test(redis_filters, fresh_keys_begin_behind_the_size, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--op", "fill", "--filter", "kept", "--size", "3k");
    command_expect_exit(&command, 0);
    command_forget(&command);
    cr_assert_eq(redis_ask(&server, "SCARD kept"), 3000);
    cr_assert(holds_member(0) == 1 && holds_member(2999) == 1 && holds_member(3000) == 0);
    BENCH("--op", "add", "--filter", "kept", "--size", "3k", "--filled", "--keys", "200");
    command_expect_exit(&command, 0);
    cr_assert_eq(redis_ask(&server, "SCARD kept"), 3100);
    cr_assert(holds_member(3000) == 1 && holds_member(3099) == 1);
    stop();
}

static redisReply *get(const char *command_text)
{
    redisReply *reply = redisCommand(server.client, command_text);

    cr_assert_not_null(reply, "%s", server.client->errstr);
    cr_assert_eq(reply->type, REDIS_REPLY_STRING);
    cr_assert_eq(reply->len, 25000);
    return reply;
}

static unsigned find_zero_byte(const redisReply *bitmap)
{
    unsigned at = 0;

    while (bitmap->str[at] != 0) {
        at++;
        cr_assert_lt(at, bitmap->len);
    }
    return at;
}

/* A bitmap that was uploaded has the very bits that SETBIT sets; and one that is there already
 * is added to, not replaced. */
Test(redis_filters, uploading_and_setting_bits_are_the_same, .timeout = LIMIT_S)
{
    char command_text[64];
    redisReply *one;
    redisReply *other;
    unsigned zero;

    redis_start(&server);
    BENCH("--method", "bits", "--op", "fill", "--filter", "uploaded", "--size", "20k");
    command_expect_exit(&command, 0);
    command_forget(&command);
    one = get("GET uploaded");
    zero = find_zero_byte(one);
    (void)redis_ask(&server, "SETBIT set 199999 0");
    (void)snprintf(command_text, sizeof command_text, "SETBIT set %u 1", 8 * zero);
    (void)redis_ask(&server, command_text);
    BENCH("--method", "bits", "--op", "fill", "--filter", "set", "--size", "20k");
    command_expect_exit(&command, 0);
    other = get("GET set");
    cr_assert_eq((uint8_t)other->str[zero], 0x80, "the bit that was there");
    one->str[zero] = other->str[zero];
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
        command_expect_exit(&command, 0);
        command_forget(&command);
        BENCH("--method", methods[i / 2], "--filter", "half", "--size", "2k", "--fresh", "9k",
              "--filled", "--op", ops[i % 2], "--keys", "4k");
        command_expect_errors(&command, 1, "added keys were answered absent");
        command_forget(&command);
    }
    redis_stop(&server);
}

/* ... and a set that holds more: it has no false positives. */
Test(redis_filters, a_set_with_keys_that_were_never_added_is_an_error, .timeout = LIMIT_S)
{
    redis_start(&server);
    BENCH("--filter", "more", "--op", "fill", "--size", "2k");
    command_expect_exit(&command, 0);
    command_forget(&command);
    BENCH("--filter", "more", "--size", "1k", "--filled", "--keys", "4k");
    command_expect_errors(&command, 1,
                          "1000 keys that were never added were answered present, by a set");
    stop();
}
