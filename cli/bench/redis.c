/* A blocking connection for commands around a load: greeting, making and dropping the filter, and
 * the upload of a bitmap. Batches go through redis_pipe.c. */
#include "cli/bench/redis.h"

#include "base/heap.h"
#include "base/number.h"
#include "base/status.h"
#include "cli/bench/bits.h"
#include "cli/bench/process_usage.h"
#include "cli/bench/redis_pipe.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CHUNK_BYTES = 4 << 20, US_PER_S = 1000000 };

/* Keep the code and write "CODE: cause; remedy" into self->message. Returns the code. */
PRINTF_LIKE(3, 4)
static int fail(struct bench_redis *self, int code, const char *format, ...)
{
    int size = snprintf(self->message, sizeof self->message, "%s: ", orbloom_code_name(code));
    va_list args;

    va_start(args, format);
    (void)vsnprintf(self->message + size, sizeof self->message - (size_t)size, format, args);
    va_end(args);
    return code;
}

/* A new connection; *out is NULL after an error. */
static int connect_to(struct bench_redis *self, redisContext **out)
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
        return fail(self, ORBLOOM_NOMEM, "no memory for a connection");
    }
    if (context->err == 0 && redisSetTimeout(context, timeout) == REDIS_OK) {
        *out = context;
        return ORBLOOM_OK;
    }
    code = fail(self, ORBLOOM_IO,
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
        return fail(self, ORBLOOM_MALFORMED,
                    "what listens at %s is no Redis server (%s); give --redis the endpoint "
                    "of one",
                    place, control->errstr);
    }
    return fail(self, ORBLOOM_IO,
                "no answer from %s (%s); is it a Redis server, and does it still run?", place,
                control->errstr);
}

static int refuse(struct bench_redis *self, const char *command, const char *error)
{
    if (strncmp(error, "NOAUTH", 6) == 0) {
        return fail(self, ORBLOOM_UNAUTHENTIC,
                    "the server at %s wants a password; measure one without",
                    self->options.place.text);
    }
    if (strncmp(command, "BF.", 3) == 0 && strstr(error, "unknown command") != NULL) {
        return fail(self, ORBLOOM_UNAVAILABLE, "the server has no %s; load the RedisBloom module",
                    command);
    }
    return fail(self, ORBLOOM_UNAVAILABLE, "%s refused %s: %s", self->options.place.text, command,
                error);
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
        *code = fail(self, ORBLOOM_MALFORMED, "%s answers %s like no Redis server",
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

/* Is it a Redis server that serves us? */
static int greet(struct bench_redis *self)
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

static int create(struct bench_target *target)
{
    struct bench_redis *self = (struct bench_redis *)target;
    bool bloom = self->plan.method == REDIS_BLOOM || self->plan.method == REDIS_BLOOM_ONE;
    int code = ORBLOOM_OK;

    if (self->options.set->own) {
        code = unlink_key(self); /* Of a run under our pid that was killed. */
    }
    return code == ORBLOOM_OK && bloom ? reserve(self) : code;
}

static int drop(struct bench_target *target)
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

static int upload_bits(struct bench_target *target, struct bench_upload *upload)
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
        return fail(self, ORBLOOM_NOMEM, "no memory for a bitmap of %zu bytes", bytes);
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

/* ---- which process of this machine is the server? Only then its CPU time can be watched; 0 where
 * that is not certain ---- */

enum { NAME_BYTES = 16, LINE_BYTES = 256 };

/* Both ends of a connection within a machine have one address. */
static bool is_on_this_machine(int fd)
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_storage own = {0};
    socklen_t peer_size = sizeof peer;
    socklen_t own_size = sizeof own;

    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &own_size) != 0) {
        return false;
    }
    if (peer.ss_family == AF_INET) {
        return ((struct sockaddr_in *)&peer)->sin_addr.s_addr ==
               ((struct sockaddr_in *)&own)->sin_addr.s_addr;
    }
    if (peer.ss_family == AF_INET6) {
        return memcmp(&((struct sockaddr_in6 *)&peer)->sin6_addr,
                      &((struct sockaddr_in6 *)&own)->sin6_addr, sizeof(struct in6_addr)) == 0;
    }
    return peer.ss_family == AF_UNIX;
}

/* The value of "name:value\r\n" in INFO's text; "" without one. */
static void find_value(const char *text, const char *name, char value[LINE_BYTES])
{
    const char *at = strstr(text, name);

    value[0] = '\0';
    if (at != NULL) {
        at += strlen(name);
        (void)snprintf(value, LINE_BYTES, "%.*s", (int)strcspn(at, "\r\n"), at);
    }
}

/* A server in a container of its own counts processes from 1: is it the one we see here? */
static bool is_its_name(long pid, const char *executable)
{
    const char *slash = strrchr(executable, '/');
    char name[NAME_BYTES];

    executable = slash != NULL ? slash + 1 : executable;
    return process_name(pid, name, sizeof name) && strncmp(name, executable, sizeof name - 1) == 0;
}

long bench_redis_pid(struct bench_redis *self)
{
    char executable[LINE_BYTES];
    char number[LINE_BYTES];
    redisReply *reply;
    long pid = 0;

    if (!is_on_this_machine(self->control->fd)) {
        return 0;
    }
    reply = redisCommand(self->control, "INFO server");
    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        find_value(reply->str, "process_id:", number);
        find_value(reply->str, "executable:", executable);
        pid = strtol(number, NULL, 10);
        pid = is_its_name(pid, executable) ? pid : 0;
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return pid;
}

/* ---- the functions of a target ---- */

static void release(struct bench_target *target, struct bench_batch *batch)
{
    struct redis_pipe_batch *slot = batch->slot;

    (void)target;
    if (slot != NULL) {
        resp_batch_fini(&slot->resp);
        heap_free(slot->answers);
        heap_free(slot);
        batch->slot = NULL;
    }
}

static bool prepare(struct bench_target *target, struct bench_batch *batch, uint32_t most)
{
    const struct bench_redis *self = (const struct bench_redis *)target;
    struct redis_pipe_batch *slot = heap_zalloc(1, sizeof *slot);

    if (slot == NULL) {
        return false;
    }
    batch->slot = slot;
    slot->batch = batch;
    slot->answers = heap_alloc(most, sizeof *slot->answers);
    if (slot->answers == NULL || !resp_batch_init(&slot->resp, &self->plan, most)) {
        release(target, batch);
        return false;
    }
    return true;
}

static void lay_out(struct bench_target *target, struct bench_batch *batch)
{
    const struct bench_redis *self = (const struct bench_redis *)target;
    struct resp_batch *resp = &((struct redis_pipe_batch *)batch->slot)->resp;

    resp_lay_out(resp, &self->plan, batch->operation, batch->count);
    batch->keys = resp->keys;
    batch->stride = resp->stride;
}

static int submit(struct bench_target *target, struct bench_batch *batch)
{
    struct bench_redis *self = (struct bench_redis *)target;
    struct redis_pipe_batch *slot = batch->slot;

    resp_finish(&slot->resp, &self->plan, batch->count);
    return redis_pipe_submit(self->pipe, slot);
}

static bool wait_one(struct bench_target *target, uint32_t timeout_ms, struct bench_completion *out)
{
    return redis_pipe_wait(((struct bench_redis *)target)->pipe, timeout_ms, out);
}

static size_t in_flight(const struct bench_target *target)
{
    return redis_pipe_in_flight(((const struct bench_redis *)target)->pipe);
}

static const char *error(const struct bench_target *target)
{
    const struct bench_redis *self = (const struct bench_redis *)target;
    const char *broken = self->pipe != NULL ? redis_pipe_error(self->pipe) : "";

    return broken[0] != '\0' ? broken : self->message;
}

static int open_pipe(struct bench_redis *self)
{
    struct redis_pipe_options options = {.method = self->options.method,
                                         .timeout_us = self->options.timeout_us,
                                         .place = self->options.place.text};
    int code = connect_to(self, &options.connection);

    if (code == ORBLOOM_OK) {
        self->pipe = redis_pipe_create(&options);
        if (self->pipe == NULL) {
            code = fail(self, ORBLOOM_NOMEM, "no memory for a connection");
        }
    }
    return code;
}

int bench_redis_open(struct bench_redis *self, const struct bench_redis_options *options)
{
    static const struct bench_target_ops ops = {
        .create = create,
        .drop = drop,
        .upload = upload_bits,
        .prepare = prepare,
        .release = release,
        .lay_out = lay_out,
        .submit = submit,
        .wait = wait_one,
        .in_flight = in_flight,
        .error = error,
    };
    int code;

    *self = (struct bench_redis){.target = {.ops = &ops}, .options = *options};
    self->plan = (struct resp_plan){.method = options->method,
                                    .key = options->set->name,
                                    .bits = bits_for_keys(options->set->size)};
    code = connect_to(self, &self->control);
    if (code == ORBLOOM_OK) {
        code = greet(self);
    }
    return code == ORBLOOM_OK ? open_pipe(self) : code;
}

void bench_redis_close(struct bench_redis *self)
{
    redis_pipe_destroy(&self->pipe);
    if (self->control != NULL) {
        redisFree(self->control);
        self->control = NULL;
    }
}
