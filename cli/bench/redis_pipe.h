/* redis_pipe.h - the pipelining connection to a Redis server.
 *
 * Batches wait in one ring, oldest first: answered next | sent | being sent | not yet sent.
 * The socket never blocks: redis_pipe_wait() writes while it can, reads whenever something is
 * there, and sleeps only when it can do neither.
 *
 * Errors:  once a pipe is broken its code stays, and all its batches end with it.
 * Owner:   redis_pipe_create() takes the connection, also after an error.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_REDIS_PIPE_H
#define ORBLOOM_CLI_BENCH_REDIS_PIPE_H

#include "cli/bench/reply.h"
#include "cli/bench/target.h"

struct redis_pipe;

struct redis_pipe_batch {
    struct bench_batch *batch;
    struct resp_batch resp;
    uint8_t *answers;
    size_t sent; /* bytes of resp, up to resp.end */
    uint64_t submitted_us;
};

struct redis_pipe_options {
    struct redisContext *connection;
    enum redis_method method;
    uint64_t timeout_us;
    const char *place; /* for messages; borrowed */
};

/* NULL: no memory. */
struct redis_pipe *redis_pipe_create(const struct redis_pipe_options *options);
void redis_pipe_destroy(struct redis_pipe **pipe);

/* ORBLOOM_OVERLOADED: the ring is full. */
int redis_pipe_submit(struct redis_pipe *self, struct redis_pipe_batch *batch);
bool redis_pipe_wait(struct redis_pipe *self, uint32_t timeout_ms, struct bench_completion *out);
size_t redis_pipe_in_flight(const struct redis_pipe *self);

/* "CODE: cause; remedy"; "" while it is whole. */
const char *redis_pipe_error(const struct redis_pipe *self);

#endif
