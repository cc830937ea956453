/* Turns hiredis' callbacks into one answer a key, without an object for each reply. */
#include "cli/bench/reply.h"

#include "cli/bench/bits.h"

#include <stdio.h>
#include <string.h>

/* hiredis takes NULL for "no memory"; every reply is this one. */
static char whole;

#if HIREDIS_MAJOR > 0
typedef size_t element_count;
#else
typedef int element_count;
#endif

static uint8_t answer_of(const struct reply_taker *self, long long value)
{
    bool present = self->operation == ORBLOOM_CHECK ? value != 0 : value == 0;

    return present ? ORBLOOM_PRESENT : ORBLOOM_ABSENT;
}

/* A key is present when all its bits are (were) 1. An error about one bit leaves it unknown. */
static void take_bit(struct reply_taker *self, long long bit)
{
    uint8_t *answer = &self->answers[self->key];

    if (self->hash == 0) {
        *answer = bit != 0 ? ORBLOOM_PRESENT : ORBLOOM_ABSENT;
    } else if (bit == 0 && *answer == ORBLOOM_PRESENT) {
        *answer = ORBLOOM_ABSENT;
    }
}

static void *take_integer(const redisReadTask *task, long long value)
{
    struct reply_taker *self = task->privdata;
    bool in_array = task->parent != NULL;

    if (self->wrong || self->count == 0 || value < 0 || in_array != self->is_array) {
        self->wrong = true;
    } else if (in_array) {
        self->answers[task->idx] = answer_of(self, value); /* take_array() saw their number */
    } else if (self->method == REDIS_SET) {
        self->added = (uint64_t)value;
    } else if (self->method == REDIS_BITS) {
        take_bit(self, value);
    } else {
        self->answers[self->key] = answer_of(self, value);
    }
    return &whole;
}

static void *take_array(const redisReadTask *task, element_count elements)
{
    struct reply_taker *self = task->privdata;

    if (self->count == 0 || task->parent != NULL || !self->is_array ||
        (uint64_t)elements != self->count) {
        self->wrong = true;
    }
    return &whole;
}

/* Errors are answers too; any other text is not. */
static void *take_text(const redisReadTask *task, char *text, size_t size)
{
    struct reply_taker *self = task->privdata;

    if (task->type != REDIS_REPLY_ERROR || self->count == 0) {
        self->wrong = true;
    } else if (self->error[0] == '\0') {
        (void)snprintf(self->error, sizeof self->error, "%.*s", (int)(size < 150 ? size : 150),
                       text);
    }
    if (self->count > 0 && task->parent == NULL && self->method == REDIS_BITS) {
        self->answers[self->key] = ORBLOOM_UNKNOWN;
    }
    return &whole;
}

static void *take_nil(const redisReadTask *task)
{
    ((struct reply_taker *)task->privdata)->wrong = true;
    return &whole;
}

static void forget(void *reply)
{
    (void)reply;
}

struct redisReader *reply_reader_create(struct reply_taker *self)
{
    static redisReplyObjectFunctions functions = {
        .createString = take_text,
        .createArray = take_array,
        .createInteger = take_integer,
        .createNil = take_nil,
        .freeObject = forget,
    };
    redisReader *reader = redisReaderCreateWithFunctions(&functions);

    if (reader != NULL) {
        reader->privdata = self;
    }
    return reader;
}

void reply_begin(struct reply_taker *self, enum orbloom_operation operation, uint32_t count,
                 uint8_t *answers)
{
    *self = (struct reply_taker){.method = self->method,
                                 .operation = operation,
                                 .count = count,
                                 .left = resp_replies(self->method, count),
                                 .is_array = resp_is_array(self->method, operation),
                                 .answers = answers};
    memset(answers, ORBLOOM_UNKNOWN, count);
}

bool reply_end_one(struct reply_taker *self)
{
    if (self->method == REDIS_BITS && self->hash + 1 < BITS_HASHES) {
        self->hash++;
    } else {
        self->hash = 0;
        self->key++;
    }
    self->left--;
    return self->left == 0;
}
