/* redis_control.h - single commands to a Redis server, before and after a load.
 *
 * Errors:  the codes of redis.h; `message` of the target has cause and remedy.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_REDIS_CONTROL_H
#define ORBLOOM_CLI_BENCH_REDIS_CONTROL_H

#include "base/status.h"
#include "cli/bench/redis.h"

#include <hiredis/hiredis.h>

/* Keep the code and write "CODE: cause; remedy" into self->message. Returns the code. */
int redis_fail(struct bench_redis *self, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* A new connection; *out is NULL after an error. */
int redis_connect(struct bench_redis *self, redisContext **out);

/* Is it a Redis server that serves us? */
int redis_greet(struct bench_redis *self);

int redis_create(struct bench_target *target);
int redis_drop(struct bench_target *target);
int redis_upload(struct bench_target *target, struct bench_upload *upload);

#endif
