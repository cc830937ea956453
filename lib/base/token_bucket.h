/* token_bucket.h - so many bytes a second, on average.
 *
 * Whoever takes may overdraw once; the next one waits until the debt is paid. So one answer of
 * any size passes, and the rate holds over time. A quarter of a second may be saved up.
 *
 * Errors:  none.
 * Threads: none; time is an argument.
 */
#ifndef ORBLOOM_BASE_TOKEN_BUCKET_H
#define ORBLOOM_BASE_TOKEN_BUCKET_H

#include <stdint.h>

struct token_bucket {
    uint64_t free_us; /* when the debt is paid; zeroed: now */
    uint64_t rest;    /* ... and what is left of it, less than a microsecond */
};

/* When the next one may take: `now_us`, or later. */
uint64_t token_bucket_ready_us(const struct token_bucket *self, uint64_t now_us);

void token_bucket_take(struct token_bucket *self, uint64_t now_us, uint64_t bytes,
                       uint64_t bytes_per_second);

#endif
