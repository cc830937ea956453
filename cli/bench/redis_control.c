/* One blocking connection for commands around a load: greeting, making and dropping the filter,
 * and the upload of a bitmap. */
#include "cli/bench/redis_control.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/bench/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { CHUNK_BYTES = 4 << 20, US_PER_S = 1000000 };

int redis_fail(struct bench_redis *self, int code, const char *format, ...)
{
    int size = snprintf(self->message, sizeof self->message, "%s: ", orbloom_code_name(code));
    va_list args;

    va_start(args, format);
    (void)vsnprintf(self->message + size, sizeof self->message - (size_t)size, format, args);
    va_end(args);
    return code;
}

int redis_connect(struct bench_redis *self, redisContext **out)
{
    const struct redis_place *place = &self->options.place;
    uint64_t timeout_us = self->options.timeout_us;
    struct timeval timeout = {.tv_sec = (time_t)(timeout_us / US_PER_S),
                              .tv_usec = (suseconds_t)(timeout_us % US_PER_S)};
    redisContext *context = place->port == 0
                                ? redisConnectUnixWithTimeout(place->name, timeout)
                                : redisConnectWithTimeout(place->name, place->port, timeout);
    int code = ORBLOOM_OK;

    *out = NULL;
    if (context == NULL) {
        return redis_fail(self, ORBLOOM_NOMEM, "no memory for a connection");
    }
    if (context->err == 0 && redisSetTimeout(context, timeout) == REDIS_OK) {
        *out = context;
        return ORBLOOM_OK;
    }
    code = redis_fail(self, ORBLOOM_IO,
                      "no connection to a Redis server at %s (%s); start one there, or give "
                      "--redis HOST:PORT or unix:PATH",
                      place->text, context->errstr);
    redisFree(context);
    return code;
}

/* What went wrong with the control connection. */
static int fail_control(struct bench_redis *self)
{
    const redisContext *control = self->control;
    const char *place = self->options.place.text;

    if (control->err == REDIS_ERR_PROTOCOL) {
        return redis_fail(self, ORBLOOM_MALFORMED,
                          "what listens at %s is no Redis server (%s); give --redis the endpoint "
                          "of one",
                          place, control->errstr);
    }
    return redis_fail(self, ORBLOOM_IO,
                      "no answer from %s (%s); is it a Redis server, and does it still run?", place,
                      control->errstr);
}

static int refuse(struct bench_redis *self, const char *command, const char *error)
{
    if (strncmp(error, "NOAUTH", 6) == 0) {
        return redis_fail(self, ORBLOOM_UNAUTHENTIC,
                          "the server at %s wants a password; measure one without",
                          self->options.place.text);
    }
    if (strncmp(command, "BF.", 3) == 0 && strstr(error, "unknown command") != NULL) {
        return redis_fail(self, ORBLOOM_UNAVAILABLE,
                          "the server has no %s; load the RedisBloom module", command);
    }
    return redis_fail(self, ORBLOOM_UNAVAILABLE, "%s refused %s: %s", self->options.place.text,
                      command, error);
}

/* The reply of a command whose first word is `command`, of the wanted type; NULL after an error
 * with the code in *code. freeReplyObject() it. */
static redisReply *ask(struct bench_redis *self, int type, int *code, int nwords,
                       const char **words, const size_t *sizes)
{
    redisReply *reply = self->control->err == 0
                            ? redisCommandArgv(self->control, nwords, words, sizes)
                            : NULL;

    *code = ORBLOOM_OK;
    if (reply != NULL && reply->type == type) {
        return reply;
    }
    if (reply == NULL) {
        *code = fail_control(self);
    } else if (reply->type == REDIS_REPLY_ERROR) {
        *code = refuse(self, words[0], reply->str);
    } else {
        *code = redis_fail(self, ORBLOOM_MALFORMED, "%s answers %s like no Redis server",
                           self->options.place.text, words[0]);
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return NULL;
}

/* The same for replies whose content says nothing. */
static int tell(struct bench_redis *self, int type, int nwords, const char **words)
{
    int code;
    redisReply *reply = ask(self, type, &code, nwords, words, NULL);

    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return code;
}

int redis_greet(struct bench_redis *self)
{
    const char *words[] = {"PING"};

    return tell(self, REDIS_REPLY_STATUS, 1, words);
}

static int unlink_key(struct bench_redis *self)
{
    const char *words[] = {"UNLINK", self->plan.key};

    return tell(self, REDIS_REPLY_INTEGER, 2, words);
}

static int reserve(struct bench_redis *self)
{
    char rate[NUMBER_TEXT_BYTES];
    char capacity[NUMBER_TEXT_BYTES];
    const char *words[] = {"BF.RESERVE", self->plan.key, rate, capacity};
    int code;

    (void)snprintf(rate, sizeof rate, "%.12g", self->options.set->rate);
    (void)snprintf(capacity, sizeof capacity, "%" PRIu64, self->options.set->capacity);
    code = tell(self, REDIS_REPLY_STATUS, 4, words);
    if (code != ORBLOOM_OK && !self->options.set->own && strstr(self->message, "exists") != NULL) {
        code = ORBLOOM_OK; /* A named filter is used as it is. */
    }
    return code;
}

int redis_create(struct bench_target *target)
{
    struct bench_redis *self = (struct bench_redis *)target;
    bool bloom = self->plan.method == REDIS_BLOOM || self->plan.method == REDIS_BLOOM_ONE;
    int code = ORBLOOM_OK;

    if (self->options.set->own) {
        code = unlink_key(self); /* Of a run under our pid that was killed. */
    }
    return code == ORBLOOM_OK && bloom ? reserve(self) : code;
}

int redis_drop(struct bench_target *target)
{
    return unlink_key((struct bench_redis *)target);
}

/* ---- a bitmap in one go ---- */

static int exists(struct bench_redis *self, bool *out)
{
    const char *words[] = {"EXISTS", self->plan.key};
    int code;
    redisReply *reply = ask(self, REDIS_REPLY_INTEGER, &code, 2, words, NULL);

    if (reply != NULL) {
        *out = reply->integer != 0;
        freeReplyObject(reply);
    }
    return code;
}

/* The last bit first, so that the string has its length at once and is never moved. */
static int make_string(struct bench_redis *self)
{
    char last[NUMBER_TEXT_BYTES];
    const char *words[] = {"SETBIT", self->plan.key, last, "0"};

    (void)snprintf(last, sizeof last, "%" PRIu64, self->plan.bits - 1);
    return tell(self, REDIS_REPLY_INTEGER, 4, words);
}

static int put_chunk(struct bench_redis *self, const uint8_t *bitmap, size_t at, size_t size)
{
    char offset[NUMBER_TEXT_BYTES];
    const char *words[] = {"SETRANGE", self->plan.key, offset, (const char *)bitmap + at};
    size_t sizes[] = {strlen(words[0]), strlen(words[1]), 0, size};
    redisReply *reply;
    int code;

    sizes[2] = (size_t)snprintf(offset, sizeof offset, "%zu", at);
    reply = ask(self, REDIS_REPLY_INTEGER, &code, 4, words, sizes);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return code;
}

int redis_upload(struct bench_target *target, struct bench_upload *upload)
{
    struct bench_redis *self = (struct bench_redis *)target;
    size_t bytes = (size_t)(self->plan.bits / 8);
    bool there = false;
    uint8_t *bitmap;
    int code = self->plan.method == REDIS_BITS ? exists(self, &there) : ORBLOOM_EXISTS;

    if (code != ORBLOOM_OK || there) {
        return there ? ORBLOOM_EXISTS : code;
    }
    bitmap = bits_build(self->options.set->size, self->plan.bits);
    if (bitmap == NULL) {
        return redis_fail(self, ORBLOOM_NOMEM, "no memory for a bitmap of %zu bytes", bytes);
    }
    code = make_string(self);
    for (size_t at = 0; code == ORBLOOM_OK && at < bytes; at += CHUNK_BYTES) {
        code = put_chunk(self, bitmap, at, bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES);
        upload->requests++;
    }
    heap_pages_free(bitmap, bytes);
    upload->chunk_keys = (uint64_t)CHUNK_BYTES * 8 / BITS_A_KEY;
    return code;
}
