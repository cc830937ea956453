/* The pure parts of the load generator: keys, and what it makes of answers. */
#include "cli/bench/load.h"
#include "cli/bench/place.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { STRIDE = BENCH_KEY_BYTES + 7, KEYS = 1000 };

/* ---- keys ---- */

static void expect_key(const uint8_t *key, uint64_t number)
{
    char text[BENCH_KEY_BYTES + 1];

    (void)snprintf(text, sizeof text, "https://bench.example.org/some/folder/page-%016llx?",
                   (unsigned long long)number);
    cr_assert_arr_eq(key, text, BENCH_KEY_BYTES, "%.60s is not %s", (const char *)key, text);
}

Test(bench_keys, a_number_is_written_as_16_hexadecimal_digits)
{
    static const uint64_t numbers[] = {0,
                                       9,
                                       10,
                                       15,
                                       16,
                                       0x9999999999999999,
                                       0xaaaaaaaaaaaaaaaa,
                                       0x0123456789abcdef,
                                       0xfedcba9876543210,
                                       UINT32_MAX,
                                       (uint64_t)UINT32_MAX + 1,
                                       UINT64_MAX};
    uint8_t key[BENCH_KEY_BYTES];

    key_write(key);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        key_set_number(key, numbers[i]);
        expect_key(key, numbers[i]);
    }
}

/* What a position's key is, spelled out. */
static uint64_t number_at(const struct key_choice *choice, uint64_t position)
{
    if (choice->only_fresh) {
        return choice->fresh + position;
    }
    return position % 2 == 0 ? position / 2 % choice->known : choice->fresh + position / 2;
}

static void expect_choice(const struct key_choice *choice, uint64_t first, uint32_t count)
{
    static uint8_t keys[KEYS * STRIDE];
    uint32_t known = 0;

    for (uint32_t i = 0; i < KEYS; i++) {
        key_write(keys + (size_t)i * STRIDE);
    }
    key_choose(choice, first, keys, STRIDE, count);
    for (uint32_t i = 0; i < count; i++) {
        expect_key(keys + (size_t)i * STRIDE, number_at(choice, first + i));
        known += !choice->only_fresh && (first + i) % 2 == 0;
    }
    for (uint32_t i = count; i < KEYS; i++) {
        expect_key(keys + (size_t)i * STRIDE, 0);
    }
    cr_assert_eq(key_count_known(choice, first, count), known);
}

Test(bench_keys, known_and_fresh_ones_take_turns_wherever_a_batch_begins)
{
    static const struct key_choice choices[] = {
        {.known = 1, .fresh = 1},
        {.known = 7, .fresh = 100},
        {.known = 100000, .fresh = UINT32_MAX - 20},
        {.fresh = 5, .only_fresh = true},
        {.fresh = UINT32_MAX - 20, .only_fresh = true},
    };

    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        for (uint64_t first = 0; first < 40; first++) {
            for (uint32_t count = 1; count < 60; count += 7) {
                expect_choice(&choices[i], first, count);
            }
        }
    }
}

/* ---- the judge ---- */

static struct load_result judge(const struct key_choice *choice, struct bench_batch batch,
                                const uint8_t *answers, uint64_t added)
{
    static struct load_result result;
    struct bench_completion completion = {.batch = &batch, .answers = answers, .added = added};

    result = (struct load_result){0};
    load_judge(choice, &completion, &result);
    return result;
}

static const struct key_choice mixed = {.known = 10, .fresh = 10};

Test(bench_judge, a_known_key_answered_absent_is_lost)
{
    static const uint8_t answers[] = {ORBLOOM_ABSENT, ORBLOOM_ABSENT, ORBLOOM_PRESENT,
                                      ORBLOOM_PRESENT, ORBLOOM_UNKNOWN};
    struct bench_batch batch = {.operation = ORBLOOM_CHECK, .count = 5, .first = 0};
    struct load_result result = judge(&mixed, batch, answers, 0);

    cr_assert_eq(result.lost, 1);
    cr_assert_eq(result.unanswered, 1);
    cr_assert_eq(result.absent, 2);
    cr_assert_eq(result.false_positives, 1);
}

/* The same answers one position on: what was known is fresh. */
Test(bench_judge, a_batch_may_begin_with_a_fresh_key)
{
    static const uint8_t answers[] = {ORBLOOM_ABSENT, ORBLOOM_ABSENT, ORBLOOM_PRESENT,
                                      ORBLOOM_PRESENT, ORBLOOM_UNKNOWN};
    struct bench_batch batch = {.operation = ORBLOOM_CHECK, .count = 5, .first = 7};
    struct load_result result = judge(&mixed, batch, answers, 0);

    cr_assert_eq(result.lost, 1);
    cr_assert_eq(result.unanswered, 1);
    cr_assert_eq(result.absent, 3);
    cr_assert_eq(result.false_positives, 1);
}

Test(bench_judge, adds_have_no_false_positives_but_lose_keys)
{
    static const uint8_t answers[] = {ORBLOOM_ABSENT, ORBLOOM_PRESENT, ORBLOOM_PRESENT,
                                      ORBLOOM_ABSENT};
    struct bench_batch batch = {.operation = ORBLOOM_ADD, .count = 4, .first = 0};
    struct load_result result = judge(&mixed, batch, answers, 0);

    cr_assert_eq(result.lost, 1);
    cr_assert_eq(result.absent, 0);
    cr_assert_eq(result.false_positives, 0);
}

Test(bench_judge, filling_loses_nothing)
{
    static const uint8_t answers[] = {ORBLOOM_ABSENT, ORBLOOM_PRESENT, ORBLOOM_UNKNOWN};
    static const struct key_choice fill = {.only_fresh = true};
    struct bench_batch batch = {.operation = ORBLOOM_ADD, .count = 3, .first = 3};
    struct load_result result = judge(&fill, batch, answers, 0);

    cr_assert_eq(result.lost, 0);
    cr_assert_eq(result.unanswered, 1);
}

/* Of a count alone: more new keys than fresh ones means that known ones were gone. */
Test(bench_judge, more_new_keys_than_fresh_ones_are_lost_keys)
{
    struct bench_batch batch = {.operation = ORBLOOM_ADD, .count = 5, .first = 0};

    cr_assert_eq(judge(&mixed, batch, NULL, 2).lost, 0);
    cr_assert_eq(judge(&mixed, batch, NULL, 0).lost, 0);
    cr_assert_eq(judge(&mixed, batch, NULL, 5).lost, 3);
    batch.first = 1;
    cr_assert_eq(judge(&mixed, batch, NULL, 5).lost, 2);
}

/* ---- endpoints ---- */

static void expect_place(const char *text, const char *name, int port)
{
    struct redis_place place;

    cr_assert(redis_place_parse(text, &place), "%s", text);
    cr_assert_str_eq(place.name, name);
    cr_assert_eq(place.port, port);
    cr_assert_str_eq(place.text, text);
}

Test(bench_place, hosts_and_sockets_are_understood)
{
    expect_place("127.0.0.1:6379", "127.0.0.1", 6379);
    expect_place("some.host:1", "some.host", 1);
    expect_place("[::1]:65535", "::1", 65535);
    expect_place("unix:/run/redis.sock", "/run/redis.sock", 0);
    expect_place("unix:here:there", "here:there", 0);
}

Test(bench_place, what_is_no_endpoint_is_refused)
{
    static const char *const wrongs[] = {"",      "host",    "host:",     "host:0", "host:65536",
                                         ":6379", "unix:",   "::1:6379",  "[::1]",  "[::1]x:1",
                                         "a b:1", "host:1x", "host:-1",   "[]:1",   "tcp://h:1",
                                         ":",     "host:1:", "host:99999"};
    struct redis_place place = {.port = 77};
    char path[300] = "unix:";

    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        cr_assert_not(redis_place_parse(wrongs[i], &place), "%s", wrongs[i]);
    }
    memset(path + 5, 'x', 107);
    cr_assert(redis_place_parse(path, &place));
    place.port = 77;
    memset(path + 5, 'x', 108);
    cr_assert_not(redis_place_parse(path, &place), "longer than a socket's path may be");
    memset(path + 5, 'x', 290);
    cr_assert_not(redis_place_parse(path, &place));
    cr_assert_eq(place.port, 77, "untouched");
}
