/* orbloom.h - a cluster as the target of a load, through the C library.
 *
 * Owner:   whoever called bench_orbloom_open() calls bench_orbloom_close(), also after an error.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_ORBLOOM_H
#define ORBLOOM_CLI_BENCH_ORBLOOM_H

#include "cli/bench/load.h"

struct bench_orbloom {
    struct bench_target target;
    const struct bench_set *set;
    struct orbloom *handle;
    uint32_t lengths[LOAD_MAX_BATCH];
    uint32_t written;                               /* keys in place below */
    uint8_t keys[LOAD_MAX_BATCH * BENCH_KEY_BYTES]; /* of all batches: submitting copies them */
};

/* `set` is borrowed until it is closed. */
int bench_orbloom_open(struct bench_orbloom *self, const struct orbloom_options *options,
                       const struct bench_set *set);
void bench_orbloom_close(struct bench_orbloom *self);

#endif
