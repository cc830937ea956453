/* The functions of a target: batches go through redis_pipe.c, everything else through
 * redis_control.c. */
#include "cli/bench/redis.h"

#include "base/heap.h"
#include "cli/bench/bits.h"
#include "cli/bench/redis_control.h"
#include "cli/bench/redis_pipe.h"

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
    int code = redis_connect(self, &options.connection);

    if (code == ORBLOOM_OK) {
        self->pipe = redis_pipe_create(&options);
        if (self->pipe == NULL) {
            code = redis_fail(self, ORBLOOM_NOMEM, "no memory for a connection");
        }
    }
    return code;
}

int bench_redis_open(struct bench_redis *self, const struct bench_redis_options *options)
{
    static const struct bench_target_ops ops = {
        .create = redis_create,
        .drop = redis_drop,
        .upload = redis_upload,
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
    code = redis_connect(self, &self->control);
    if (code == ORBLOOM_OK) {
        code = redis_greet(self);
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
