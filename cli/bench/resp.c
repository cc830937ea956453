/* Lays batches out in RESP by hand, in one of three shapes: one command for all keys, one a key,
 * or one for each bit. */
#include "cli/bench/resp.h"

#include "base/heap.h"
#include "cli/bench/bits.h"

#include <assert.h>
#include <string.h>

enum {
    HEAD_BYTES = 256,  /* most of a command before its keys: words, command, Redis key */
    FRAME_BYTES = 5,   /* "$60\r\n" */
    END_BYTES = 2,     /* "\r\n" */
    NUMBER_BYTES = 32, /* "$10\r\n4294967295\r\n" */
    ONE_BYTES = 7,     /* "$1\r\n1\r\n" */
    FRAMED_KEY_BYTES = FRAME_BYTES + BENCH_KEY_BYTES + END_BYTES,
    DIGITS_MOST = 20,
};

static const struct {
    const char *add;
    const char *check;
    uint32_t commands_a_key; /* 0: one command a batch */
} shapes[] = {
    [REDIS_SET] = {"SADD", "SMISMEMBER", 0},
    [REDIS_BITS] = {"SETBIT", "GETBIT", BITS_HASHES},
    [REDIS_BLOOM] = {"BF.MADD", "BF.MEXISTS", 0},
    [REDIS_BLOOM_ONE] = {"BF.ADD", "BF.EXISTS", 1},
};

const char *resp_command(enum redis_method method, enum orbloom_operation operation)
{
    return operation == ORBLOOM_ADD ? shapes[method].add : shapes[method].check;
}

uint32_t resp_replies(enum redis_method method, uint32_t count)
{
    return shapes[method].commands_a_key == 0 ? 1 : count * shapes[method].commands_a_key;
}

bool resp_is_array(enum redis_method method, enum orbloom_operation operation)
{
    return shapes[method].commands_a_key == 0 && !(method == REDIS_SET && operation == ORBLOOM_ADD);
}

/* ---- parts ---- */

static size_t put(uint8_t *out, const void *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return size;
}

/* Two digits a division: seven positions a key go through here. */
static size_t put_digits(uint8_t *out, uint64_t value)
{
    uint8_t digits[DIGITS_MOST];
    size_t at = DIGITS_MOST;

    while (value >= 10) {
        uint32_t pair = (uint32_t)(value % 100);

        digits[--at] = (uint8_t)('0' + pair % 10);
        digits[--at] = (uint8_t)('0' + pair / 10);
        value /= 100;
    }
    if (value > 0 || at == DIGITS_MOST) {
        digits[--at] = (uint8_t)('0' + value);
    }
    return put(out, digits + at, DIGITS_MOST - at);
}

static size_t put_line(uint8_t *out, char kind, uint64_t value)
{
    size_t size = 1;

    out[0] = (uint8_t)kind;
    size += put_digits(out + size, value);
    return size + put(out + size, "\r\n", END_BYTES);
}

static size_t put_word(uint8_t *out, const char *word)
{
    size_t length = strlen(word);
    size_t size = put_line(out, '$', length);

    size += put(out + size, word, length);
    return size + put(out + size, "\r\n", END_BYTES);
}

/* The command and the Redis key, of `words` words in all. */
static size_t put_head(uint8_t *out, uint64_t words, const char *command, const char *key)
{
    size_t size = put_line(out, '*', words);

    size += put_word(out + size, command);
    size += put_word(out + size, key);
    assert(size <= HEAD_BYTES);
    return size;
}

static void put_framed_key(uint8_t *out)
{
    size_t size = put_line(out, '$', BENCH_KEY_BYTES);

    assert(size == FRAME_BYTES);
    key_write(out + size);
    (void)put(out + size + BENCH_KEY_BYTES, "\r\n", END_BYTES);
}

/* ---- one command a batch: a head that ends where the keys begin ---- */

static void lay_out_one(struct resp_batch *self, const struct resp_plan *plan,
                        enum orbloom_operation operation, uint32_t count)
{
    uint8_t head[HEAD_BYTES];
    size_t size = put_head(head, (uint64_t)count + 2, resp_command(plan->method, operation),
                           plan->key);

    if (self->operation == 0) {
        for (uint32_t i = 0; i < self->most; i++) {
            put_framed_key(self->bytes + HEAD_BYTES + (size_t)i * FRAMED_KEY_BYTES);
        }
    }
    memcpy(self->bytes + HEAD_BYTES - size, head, size);
    self->begin = HEAD_BYTES - size;
    self->end = HEAD_BYTES + (size_t)count * FRAMED_KEY_BYTES;
    self->keys = self->bytes + HEAD_BYTES + FRAME_BYTES;
    self->stride = FRAMED_KEY_BYTES;
}

/* ---- one command a key ---- */

static void lay_out_each(struct resp_batch *self, const struct resp_plan *plan,
                         enum orbloom_operation operation, uint32_t count)
{
    uint8_t head[HEAD_BYTES];
    size_t size = put_head(head, 3, resp_command(plan->method, operation), plan->key);

    self->stride = size + FRAMED_KEY_BYTES;
    if (self->operation != operation) {
        for (uint32_t i = 0; i < self->most; i++) {
            memcpy(self->bytes + i * self->stride, head, size);
            put_framed_key(self->bytes + i * self->stride + size);
        }
    }
    self->begin = 0;
    self->end = count * self->stride;
    self->keys = self->bytes + size + FRAME_BYTES;
}

/* ---- seven commands a key ---- */

static void lay_out_bits(struct resp_batch *self)
{
    self->stride = BENCH_KEY_BYTES;
    self->keys = self->bytes;
    self->begin = (size_t)self->most * BENCH_KEY_BYTES;
    for (uint32_t i = 0; self->operation == 0 && i < self->most; i++) {
        key_write(self->keys + i * self->stride);
    }
}

static size_t put_bits(uint8_t *out, const struct resp_plan *plan, uint64_t hash,
                       const uint8_t *head, size_t head_size, bool sets)
{
    uint64_t positions[BITS_HASHES];
    size_t size = 0;

    bits_positions(hash, plan->bits, positions);
    for (int i = 0; i < BITS_HASHES; i++) {
        uint8_t digits[DIGITS_MOST];
        size_t ndigits = put_digits(digits, positions[i]);

        size += put(out + size, head, head_size);
        size += put_line(out + size, '$', ndigits);
        size += put(out + size, digits, ndigits);
        size += put(out + size, "\r\n", END_BYTES);
        size += sets ? put(out + size, "$1\r\n1\r\n", ONE_BYTES) : 0;
    }
    return size;
}

static void finish_bits(struct resp_batch *self, const struct resp_plan *plan, uint32_t count)
{
    bool sets = self->operation == ORBLOOM_ADD;
    uint64_t hashes[BITS_BATCH];
    uint8_t head[HEAD_BYTES];
    size_t head_size = put_head(head, sets ? 4 : 3, resp_command(plan->method, self->operation),
                                plan->key);

    self->end = self->begin;
    for (uint32_t first = 0; first < count; first += BITS_BATCH) {
        uint32_t some = count - first < BITS_BATCH ? count - first : BITS_BATCH;

        bits_hash(self->keys + (size_t)first * BENCH_KEY_BYTES, some, hashes);
        for (uint32_t i = 0; i < some; i++) {
            self->end += put_bits(self->bytes + self->end, plan, hashes[i], head, head_size, sets);
        }
    }
}

/* ---- batches ---- */

static size_t bytes_a_key(const struct resp_plan *plan)
{
    uint8_t head[HEAD_BYTES];
    size_t head_size = put_head(head, 4, resp_command(plan->method, ORBLOOM_CHECK), plan->key);

    /* Of each method the command of checks is the longer one, SETBIT as long as GETBIT. */
    switch (plan->method) {
    case REDIS_BITS:
        return BENCH_KEY_BYTES + BITS_HASHES * (head_size + NUMBER_BYTES + ONE_BYTES);
    case REDIS_BLOOM_ONE:
        return head_size + FRAMED_KEY_BYTES;
    case REDIS_SET:
    case REDIS_BLOOM:
        return FRAMED_KEY_BYTES;
    }
    return 0;
}

bool resp_batch_init(struct resp_batch *self, const struct resp_plan *plan, uint32_t most)
{
    *self = (struct resp_batch){.most = most};
    self->bytes = heap_alloc(1, HEAD_BYTES + most * bytes_a_key(plan));
    return self->bytes != NULL;
}

void resp_batch_fini(struct resp_batch *self)
{
    heap_free(self->bytes);
    self->bytes = NULL;
}

void resp_lay_out(struct resp_batch *self, const struct resp_plan *plan,
                  enum orbloom_operation operation, uint32_t count)
{
    assert(count > 0 && count <= self->most);
    switch (plan->method) {
    case REDIS_SET:
    case REDIS_BLOOM:
        lay_out_one(self, plan, operation, count);
        break;
    case REDIS_BLOOM_ONE:
        lay_out_each(self, plan, operation, count);
        break;
    case REDIS_BITS:
        lay_out_bits(self);
        break;
    }
    self->operation = operation;
}

void resp_finish(struct resp_batch *self, const struct resp_plan *plan, uint32_t count)
{
    if (plan->method == REDIS_BITS) {
        finish_bits(self, plan, count);
    }
}
