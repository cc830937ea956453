/* What the load generator sends to a Redis server and reads from it, without any server. */
#include "base/heap.h"
#include "cli/bench/bits.h"
#include "cli/bench/reply.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 300, TEXT_BYTES = 1 << 18 };

/* ---- commands ---- */

static const struct {
    enum redis_method method;
    const char *add;
    const char *check;
    uint32_t replies; /* a key; 0: one a batch */
} methods[] = {
    {REDIS_SET, "SADD", "SMISMEMBER", 0},
    {REDIS_BITS, "SETBIT", "GETBIT", 7},
    {REDIS_BLOOM, "BF.MADD", "BF.MEXISTS", 0},
    {REDIS_BLOOM_ONE, "BF.ADD", "BF.EXISTS", 1},
};

enum { NMETHODS = sizeof methods / sizeof methods[0] };

static const uint64_t sample_bits = 1000000;

static size_t put_word(char *out, const char *word, size_t size)
{
    int head = sprintf(out, "$%zu\r\n", size);

    memcpy(out + head, word, size);
    memcpy(out + head + size, "\r\n", 2);
    return (size_t)head + size + 2;
}

static size_t put_head(char *out, size_t words, const char *command, const char *name)
{
    size_t size = (size_t)sprintf(out, "*%zu\r\n", words);

    size += put_word(out + size, command, strlen(command));
    return size + put_word(out + size, name, strlen(name));
}

static size_t put_positions(char *out, const uint8_t *key, const char *command, const char *name,
                            bool sets)
{
    uint64_t positions[BITS_HASHES];
    uint64_t hashes[BITS_BATCH];
    size_t size = 0;

    bits_hash(key, 1, hashes);
    bits_positions(hashes[0], sample_bits, positions);
    for (int i = 0; i < BITS_HASHES; i++) {
        char digits[32];

        (void)sprintf(digits, "%llu", (unsigned long long)positions[i]);
        size += put_head(out + size, sets ? 4 : 3, command, name);
        size += put_word(out + size, digits, strlen(digits));
        size += sets ? put_word(out + size, "1", 1) : 0;
    }
    return size;
}

/* The commands as Redis' protocol spells them, word by word. */
static size_t spell(char *out, size_t method, enum orbloom_operation operation, const char *name,
                    uint64_t first, uint32_t count)
{
    const char *command = operation == ORBLOOM_ADD ? methods[method].add : methods[method].check;
    bool one = methods[method].replies == 0;
    size_t size = one ? put_head(out, count + 2, command, name) : 0;

    for (uint32_t i = 0; i < count; i++) {
        uint8_t key[BENCH_KEY_BYTES];

        key_write(key);
        key_set_number(key, first + i);
        if (methods[method].method == REDIS_BITS) {
            size += put_positions(out + size, key, command, name, operation == ORBLOOM_ADD);
            continue;
        }
        size += one ? 0 : put_head(out + size, 3, command, name);
        size += put_word(out + size, (const char *)key, sizeof key);
    }
    return size;
}

static void expect_commands(struct resp_batch *batch, const struct resp_plan *plan, size_t method,
                            enum orbloom_operation operation, uint32_t count)
{
    static const struct key_choice all = {.only_fresh = true, .fresh = 0xfffffff0};
    static char expected[TEXT_BYTES];
    size_t size = spell(expected, method, operation, plan->key, all.fresh + count, count);

    resp_lay_out(batch, plan, operation, count);
    key_choose(&all, count, batch->keys, batch->stride, count);
    resp_finish(batch, plan, count);
    cr_assert_eq(batch->end - batch->begin, size, "%s, %u keys: %zu bytes, not %zu",
                 resp_command(plan->method, operation), count, batch->end - batch->begin, size);
    cr_assert_arr_eq(batch->bytes + batch->begin, expected, size, "%s, %u keys",
                     resp_command(plan->method, operation), count);
}

/* One batch is laid out again and again: growing, shrinking, for adds and checks in turn. */
Test(bench_resp, commands_are_as_the_protocol_spells_them)
{
    static const uint32_t counts[] = {1, 8, 7, 97, 98, 99, MOST, 1};

    for (size_t i = 0; i < NMETHODS; i++) {
        struct resp_plan plan = {methods[i].method, "orbloom-bench-4711", sample_bits};
        struct resp_batch batch;

        cr_assert(resp_batch_init(&batch, &plan, MOST));
        for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++) {
            expect_commands(&batch, &plan, i, ORBLOOM_CHECK, counts[j]);
            expect_commands(&batch, &plan, i, ORBLOOM_ADD, counts[j]);
            expect_commands(&batch, &plan, i, ORBLOOM_ADD, counts[j]);
        }
        resp_batch_fini(&batch);
    }
    cr_assert_eq(heap_live(), 0);
}

/* Longest names and numbers fit; under a sanitizer a byte too many is seen. */
Test(bench_resp, the_longest_name_and_positions_fit)
{
    char name[129] = "";

    memset(name, 'n', sizeof name - 1);
    for (size_t i = 0; i < NMETHODS; i++) {
        struct resp_plan plan = {methods[i].method, name, bits_most};
        struct resp_batch batch;

        cr_assert(resp_batch_init(&batch, &plan, MOST));
        for (int add = 0; add < 2; add++) {
            resp_lay_out(&batch, &plan, add ? ORBLOOM_ADD : ORBLOOM_CHECK, MOST);
            resp_finish(&batch, &plan, MOST);
            cr_assert_gt(batch.end, batch.begin);
        }
        resp_batch_fini(&batch);
    }
}

Test(bench_resp, memory_that_is_out_is_an_error)
{
    struct resp_plan plan = {REDIS_SET, "x", 0};
    struct resp_batch batch;

    heap_fault_after(0);
    cr_assert_not(resp_batch_init(&batch, &plan, MOST));
    cr_assert_null(bits_build(1000, bits_for_keys(1000)));
    heap_fault_clear();
    heap_fault_after(1);
    cr_assert_null(bits_build(1000, bits_for_keys(1000)));
    heap_fault_clear();
    cr_assert_eq(heap_live(), 0);
}

/* ---- bits ---- */

Test(bench_bits, a_filter_has_10_bits_a_key_in_whole_bytes)
{
    cr_assert_eq(bits_for_keys(1), 16);
    cr_assert_eq(bits_for_keys(4), 40);
    cr_assert_eq(bits_for_keys(1000001), 10000016);
}

static bool holds(const uint8_t *bitmap, uint64_t bits, uint64_t number)
{
    uint64_t positions[BITS_HASHES];
    uint64_t hashes[BITS_BATCH];
    uint8_t key[BENCH_KEY_BYTES];
    bool all = true;

    key_write(key);
    key_set_number(key, number);
    bits_hash(key, 1, hashes);
    bits_positions(hashes[0], bits, positions);
    for (int i = 0; i < BITS_HASHES; i++) {
        cr_assert_lt(positions[i], bits);
        all = all && (bitmap[positions[i] / 8] >> (7 - positions[i] % 8) & 1) != 0;
    }
    return all;
}

/* No key is lost, and of others as many are taken for present as the textbook says of 7 hashes
 * and 10 bits a key: 0.82 %. */
Test(bench_bits, a_bitmap_holds_its_keys_and_few_others)
{
    enum { KEYS = 100003, OTHERS = 200000 };
    uint64_t bits = bits_for_keys(KEYS);
    uint8_t *bitmap = bits_build(KEYS, bits);
    int false_positives = 0;

    cr_assert_not_null(bitmap);
    for (uint64_t i = 0; i < KEYS; i++) {
        cr_assert(holds(bitmap, bits, i), "key %d", (int)i);
    }
    for (uint64_t i = 0; i < OTHERS; i++) {
        false_positives += holds(bitmap, bits, KEYS + i);
    }
    cr_assert(false_positives > 1400 && false_positives < 1900, "%d of %d", false_positives,
              OTHERS);
    heap_pages_free(bitmap, (size_t)(bits / 8));
    cr_assert_eq(heap_live(), 0);
}

/* ---- replies ---- */

static struct reply_taker taker;
static uint8_t answers[MOST];

enum { WHOLE = 1, MORE = 0, WRONG = -1 };

/* Feed the text in pieces of `piece` bytes; WHOLE when the batch is complete and nothing else
 * was said. */
static int read_pieces(enum redis_method method, enum orbloom_operation operation, uint32_t count,
                       const char *text, size_t piece)
{
    redisReader *reader = reply_reader_create(&taker);
    size_t size = strlen(text);
    void *reply = NULL;
    int outcome = MORE;

    taker.method = method;
    reply_begin(&taker, operation, count, answers);
    for (size_t at = 0; at < size && outcome != WRONG; at += piece) {
        size_t part = size - at < piece ? size - at : piece;

        cr_assert_eq(redisReaderFeed(reader, text + at, part), REDIS_OK);
        do {
            bool good = redisReaderGetReply(reader, &reply) == REDIS_OK && !taker.wrong;

            cr_assert_neq(outcome, WHOLE, "more than the batch's replies");
            outcome = !good ? WRONG : reply != NULL && reply_end_one(&taker) ? WHOLE : outcome;
        } while (outcome == MORE && reply != NULL);
    }
    redisReaderFree(reader);
    return outcome;
}

/* Cut anywhere it must mean the same. */
static int read_replies(enum redis_method method, enum orbloom_operation operation, uint32_t count,
                        const char *text)
{
    int outcome = read_pieces(method, operation, count, text, SIZE_MAX / 2);

    for (size_t piece = 1; piece < 9; piece++) {
        cr_assert_eq(read_pieces(method, operation, count, text, piece), outcome, "in pieces of %d",
                     (int)piece);
    }
    return outcome;
}

static void expect_answers(const char *letters)
{
    for (size_t i = 0; letters[i] != '\0'; i++) {
        uint8_t expected = letters[i] == 'p'   ? ORBLOOM_PRESENT
                           : letters[i] == 'a' ? ORBLOOM_ABSENT
                                               : ORBLOOM_UNKNOWN;

        cr_assert_eq(answers[i], expected, "answer %d of %s is %d", (int)i, letters, answers[i]);
    }
}

Test(bench_reply, an_array_answers_key_by_key)
{
    static const char text[] = "*4\r\n:1\r\n:0\r\n:0\r\n:1\r\n";

    cr_assert_eq(read_replies(REDIS_SET, ORBLOOM_CHECK, 4, text), WHOLE);
    expect_answers("paap");
    cr_assert_eq(read_replies(REDIS_BLOOM, ORBLOOM_CHECK, 4, text), WHOLE);
    expect_answers("paap");
    /* Of an add 1 means that it was new. */
    cr_assert_eq(read_replies(REDIS_BLOOM, ORBLOOM_ADD, 4, text), WHOLE);
    expect_answers("appa");
}

Test(bench_reply, a_set_says_how_many_were_new)
{
    cr_assert_eq(read_replies(REDIS_SET, ORBLOOM_ADD, 200, ":123\r\n"), WHOLE);
    cr_assert_eq(taker.added, 123);
}

Test(bench_reply, one_integer_a_key)
{
    cr_assert_eq(read_replies(REDIS_BLOOM_ONE, ORBLOOM_CHECK, 3, ":1\r\n:0\r\n:1\r\n"), WHOLE);
    expect_answers("pap");
    cr_assert_eq(read_replies(REDIS_BLOOM_ONE, ORBLOOM_ADD, 3, ":1\r\n-ERR x\r\n:0\r\n"), WHOLE);
    expect_answers("a?p");
    cr_assert_str_eq(taker.error, "ERR x");
}

#define ONES ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"

Test(bench_reply, a_key_is_present_when_all_its_bits_are_set)
{
    cr_assert_eq(read_replies(REDIS_BITS, ORBLOOM_CHECK, 3,
                              ONES ":1\r\n"
                                   ":0\r\n" ONES ONES ":0\r\n"),
                 WHOLE);
    expect_answers("paa");
    cr_assert_eq(read_replies(REDIS_BITS, ORBLOOM_ADD, 1, ONES ":0\r\n"), WHOLE);
    expect_answers("a");
    cr_assert_eq(
        read_replies(REDIS_BITS, ORBLOOM_CHECK, 2, "-ERR first\r\n" ONES ONES "-ERR last\r\n"),
        WHOLE);
    expect_answers("??");
    cr_assert_str_eq(taker.error, "ERR first");
}

Test(bench_reply, what_has_not_come_is_unknown)
{
    cr_assert_eq(read_replies(REDIS_SET, ORBLOOM_CHECK, 3, "*3\r\n:1\r\n:0\r\n:"), MORE);
    expect_answers("pa?");
    cr_assert_eq(read_replies(REDIS_BLOOM_ONE, ORBLOOM_CHECK, 3, ":1\r\n:0\r\n"), MORE);
    expect_answers("pa?");
}

Test(bench_reply, an_error_answers_no_key)
{
    cr_assert_eq(read_replies(REDIS_SET, ORBLOOM_CHECK, 3, "-WRONGTYPE of value\r\n"), WHOLE);
    expect_answers("???");
    cr_assert_str_eq(taker.error, "WRONGTYPE of value");
    cr_assert_eq(read_replies(REDIS_BLOOM, ORBLOOM_ADD, 3, "*3\r\n:1\r\n-ERR full\r\n:0\r\n"),
                 WHOLE);
    expect_answers("a?p");
    cr_assert_str_eq(taker.error, "ERR full");
}

Test(bench_reply, a_long_error_is_cut)
{
    static char text[1000];

    memset(text, 'e', sizeof text - 1);
    text[0] = '-';
    memcpy(text + sizeof text - 3, "\r\n", 3);
    cr_assert_eq(read_replies(REDIS_SET, ORBLOOM_ADD, 3, text), WHOLE);
    cr_assert_eq(strlen(taker.error), 150);
}

/* Replies of the wrong kind, length or depth: whatever this is, it is not our server. */
Test(bench_reply, other_replies_are_wrong)
{
    static const struct {
        enum redis_method method;
        enum orbloom_operation operation;
        const char *text;
    } wrongs[] = {
        {REDIS_SET, ORBLOOM_CHECK, ":1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "+OK\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "$2\r\nab\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "$-1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*-1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*1\r\n:1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*300\r\n:1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*2000000000\r\n:1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*2\r\n*2\r\n:1\r\n:1\r\n:1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*2\r\n:1\r\n$-1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "*2\r\n:1\r\n:-1\r\n"},
        {REDIS_SET, ORBLOOM_CHECK, "HTTP/1.1 400 Bad Request\r\n"},
        {REDIS_SET, ORBLOOM_ADD, "*2\r\n:1\r\n:1\r\n"},
        {REDIS_SET, ORBLOOM_ADD, ":-2\r\n"},
        {REDIS_BITS, ORBLOOM_CHECK, "*2\r\n:1\r\n:1\r\n"},
        {REDIS_BITS, ORBLOOM_ADD, "+QUEUED\r\n"},
        {REDIS_BLOOM_ONE, ORBLOOM_ADD, "*1\r\n:1\r\n"},
    };

    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        cr_assert_eq(read_replies(wrongs[i].method, wrongs[i].operation, 2, wrongs[i].text), WRONG,
                     "%s", wrongs[i].text);
    }
}

/* Before any batch was sent nothing may be said. */
Test(bench_reply, a_reply_that_nobody_asked_for_is_wrong)
{
    static const char *const texts[] = {":1\r\n", "*0\r\n", "-ERR x\r\n", "+OK\r\n"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        redisReader *reader = reply_reader_create(&taker);
        void *reply = NULL;

        taker = (struct reply_taker){.method = REDIS_SET};
        cr_assert_eq(redisReaderFeed(reader, texts[i], strlen(texts[i])), REDIS_OK);
        (void)redisReaderGetReply(reader, &reply);
        cr_assert(taker.wrong, "%s", texts[i]);
        redisReaderFree(reader);
    }
}
