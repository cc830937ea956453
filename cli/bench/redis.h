/* redis.h - a Redis server as the target of a load.
 *
 * One connection carries the batches, pipelined: up to `in_flight` of them are sent before the
 * first is answered, and replies are read whenever they come, so that neither side ever waits
 * for the other to read. A second one creates and drops the key.
 *
 * Errors:  ORBLOOM_IO (no or a broken connection), DEADLINE (silence), MALFORMED (no Redis
 *          server), UNAVAILABLE (the server refuses a command). After IO, DEADLINE and
 *          MALFORMED all batches in flight end with that code and none is taken any more.
 * Owner:   whoever called bench_redis_open() calls bench_redis_close(), also after an error.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_REDIS_H
#define ORBLOOM_CLI_BENCH_REDIS_H

#include "cli/bench/load.h"
#include "cli/bench/place.h"
#include "cli/bench/resp.h"

#include <stdint.h>

struct redisContext;

enum { REDIS_MESSAGE_BYTES = 512 };

struct bench_redis_options {
    struct redis_place place;
    enum redis_method method;
    uint64_t timeout_us;
    const struct bench_set *set; /* borrowed until it is closed */
};

struct redis_pipe;

struct bench_redis {
    struct bench_target target;
    struct bench_redis_options options;
    struct resp_plan plan;
    struct redisContext *control;
    struct redis_pipe *pipe;
    char message[REDIS_MESSAGE_BYTES];
};

int bench_redis_open(struct bench_redis *self, const struct bench_redis_options *options);
void bench_redis_close(struct bench_redis *self);

/* The server's process; 0 when it is not one of this machine that we can see. */
long bench_redis_pid(struct bench_redis *self);

#endif
