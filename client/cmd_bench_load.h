/* cmd_bench_load.h - load for a cluster: batches of 60-byte URL keys, half of them present.
 *
 * Key number i of a filter is the same in every run; numbers below `known` were added before.
 * Every answer is judged: a known key answered absent is a lost key.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_CMD_BENCH_LOAD_H
#define ORBLOOM_CLIENT_CMD_BENCH_LOAD_H

#include "client/orbloom.h"

#include <stdbool.h>

enum { LOAD_KEY_BYTES = 60, LOAD_BUCKETS = 1024, LOAD_MAX_BATCH = 65536 };

enum load_kind { LOAD_CHECK, LOAD_ADD, LOAD_MIX, LOAD_FILL };

struct load {
    struct orbloom *handle;
    const char *filter;
    enum load_kind kind;
    uint64_t keys;  /* to send in all */
    uint64_t known; /* keys that the filter holds */
    uint64_t fresh; /* number of the first key that it does not; LOAD_ADD takes from there */
    uint32_t batch;
    uint32_t in_flight;
};

struct load_result {
    uint64_t keys;
    uint64_t elapsed_us;
    uint64_t lost;            /* known keys answered absent: must be 0 */
    uint64_t unanswered;      /* keys without an answer */
    uint64_t absent;          /* unknown keys checked */
    uint64_t false_positives; /* of those, answered present */
    int code;                 /* of the newest batch that was not answered whole */
    char message[256];
    uint64_t latency[LOAD_BUCKETS]; /* batches by latency */
    uint64_t batches;
};

/* Returns false when memory is out. */
bool load_run(const struct load *load, struct load_result *result);

/* The latency that a share (0 to 1) of the batches did not exceed, within 4 %. */
double load_latency_us(const struct load_result *result, double share);

/* The latency's bucket and the bucket's upper end. */
unsigned load_bucket(uint64_t latency_us);
double load_bucket_us(unsigned bucket);

#endif
