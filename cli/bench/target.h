/* target.h - what a load is sent to: an orbloom cluster or a Redis server.
 *
 * A batch is laid out by its target: the target owns the memory, writes what never changes, and
 * says where the keys are; the load writes their numbers and submits. So a target may keep keys
 * inside the very bytes that it sends.
 *
 * Errors:  codes of enum orbloom_code; error() has the text of the newest.
 * Owner:   a target is closed by the module that opened it. Batches are prepared and released
 *          by the load; what a completion points at is valid until the next call.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_TARGET_H
#define ORBLOOM_CLI_BENCH_TARGET_H

#include "client/orbloom.h"

#include <stdbool.h>

struct bench_batch {
    enum orbloom_operation operation;
    uint32_t count;
    uint64_t first;   /* of its keys in the load */
    uint64_t late_us; /* the load's own: how long after its time it left */
    uint8_t *keys;    /* key i begins at keys + i * stride */
    size_t stride;
    void *slot; /* the target's own */
};

struct bench_completion {
    struct bench_batch *batch;
    int code;
    const char *message;    /* cause and remedy; "" when OK */
    const uint8_t *answers; /* one a key; NULL: only `added` is known */
    uint64_t added;         /* how many of the keys were new */
    uint64_t latency_us;
    uint32_t attempts; /* 0 and 1: no retry was needed */
};

/* The set of keys that is measured. */
struct bench_set {
    const char *name;
    uint64_t size;     /* keys that it holds before the measurement */
    uint64_t capacity; /* keys that it must have room for */
    double rate;       /* of false positives, where the target has such a thing */
    bool xxh3;         /* orbloom: the filter hashes keys by XXH3, not SipHash */
    bool own;          /* made for this run and dropped after it */
};

struct bench_upload {
    uint64_t chunk_keys; /* in one request */
    uint64_t requests;
};

struct bench_target;

struct bench_target_ops {
    /* Make the set, empty. */
    int (*create)(struct bench_target *self);
    int (*drop)(struct bench_target *self);

    /* Fill the new set with keys 0 to size - 1 faster than by adds; NULL: it can't.
     * ORBLOOM_EXISTS: not this set, use adds. */
    int (*upload)(struct bench_target *self, struct bench_upload *upload);

    /* Memory for a batch of up to `most` keys; false when it is out. */
    bool (*prepare)(struct bench_target *self, struct bench_batch *batch, uint32_t most);
    void (*release)(struct bench_target *self, struct bench_batch *batch);

    /* operation and count are set: set keys and stride, with all of each key but its number
     * in place. */
    void (*lay_out)(struct bench_target *self, struct bench_batch *batch);

    /* ORBLOOM_OVERLOADED: wait first. */
    int (*submit)(struct bench_target *self, struct bench_batch *batch);

    /* Hand out one completion, in any order, waiting for about timeout_ms. Returns whether
     * there was one. Every batch that submit() took ends in exactly one. */
    bool (*wait)(struct bench_target *self, uint32_t timeout_ms, struct bench_completion *out);
    size_t (*in_flight)(const struct bench_target *self);
    const char *(*error)(const struct bench_target *self);
};

struct bench_target {
    const struct bench_target_ops *ops;
};

#endif
