/* The functions of a target, by way of liborbloom's submit and wait; keys of all batches share
 * one place in memory. */
#include "cli/bench/orbloom.h"

static struct orbloom *handle_of(const struct bench_target *target)
{
    return ((const struct bench_orbloom *)target)->handle;
}

static int create(struct bench_target *target)
{
    const struct bench_set *set = ((struct bench_orbloom *)target)->set;
    struct orbloom_filter filter = {.name = set->name,
                                    .capacity = set->capacity,
                                    .rate = set->rate,
                                    .hash = set->xxh3 ? ORBLOOM_XXH3 : ORBLOOM_SIPHASH,
                                    .refuse_when_full = 1}; /* Expansion would be measured, too. */

    return orbloom_create(handle_of(target), &filter, NULL);
}

static int drop(struct bench_target *target)
{
    return orbloom_drop(handle_of(target), ((struct bench_orbloom *)target)->set->name);
}

/* One place for the keys of all batches stays in the cache. */
static bool prepare(struct bench_target *target, struct bench_batch *batch, uint32_t most)
{
    struct bench_orbloom *self = (struct bench_orbloom *)target;

    for (; self->written < most; self->written++) {
        key_write(self->keys + (size_t)self->written * BENCH_KEY_BYTES);
        self->lengths[self->written] = BENCH_KEY_BYTES;
    }
    batch->keys = self->keys;
    batch->stride = BENCH_KEY_BYTES;
    return true;
}

static void release(struct bench_target *target, struct bench_batch *batch)
{
    (void)target;
    batch->keys = NULL;
}

static void lay_out(struct bench_target *target, struct bench_batch *batch)
{
    (void)target; /* Only numbers change. */
    (void)batch;
}

static int submit(struct bench_target *target, struct bench_batch *batch)
{
    const struct bench_orbloom *self = (const struct bench_orbloom *)target;
    struct orbloom_request request = {.filter = self->set->name,
                                      .operation = batch->operation,
                                      .keys = {batch->keys, self->lengths, batch->count},
                                      .user = batch};

    return orbloom_submit(self->handle, &request);
}

static bool wait_one(struct bench_target *target, uint32_t timeout_ms, struct bench_completion *out)
{
    struct orbloom_completion completion;

    if (orbloom_wait(handle_of(target), timeout_ms, &completion) == 0) {
        return false;
    }
    *out = (struct bench_completion){.batch = completion.user,
                                     .code = completion.code,
                                     .message = completion.message,
                                     .answers = completion.answers,
                                     .latency_us = completion.latency_us,
                                     .attempts = completion.attempts};
    return true;
}

static size_t in_flight(const struct bench_target *target)
{
    return orbloom_in_flight(handle_of(target));
}

static const char *error(const struct bench_target *target)
{
    return orbloom_error(handle_of(target));
}

int bench_orbloom_open(struct bench_orbloom *self, const struct orbloom_options *options,
                       const struct bench_set *set)
{
    static const struct bench_target_ops ops = {
        .create = create,
        .drop = drop,
        .prepare = prepare,
        .release = release,
        .lay_out = lay_out,
        .submit = submit,
        .wait = wait_one,
        .in_flight = in_flight,
        .error = error,
    };

    self->target.ops = &ops;
    self->set = set;
    return orbloom_connect(options, &self->handle);
}

void bench_orbloom_close(struct bench_orbloom *self)
{
    orbloom_close(&self->handle);
}
