/* load.h - a load: which keys go to a target in which batches, and a judge of what
 * comes back.
 *
 * Every answer is judged: a known key answered absent is a lost key.
 *
 * With a pace each batch has its time, and its latency counts from then: what waits behind a slow
 * answer is slow itself.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_LOAD_H
#define ORBLOOM_CLI_BENCH_LOAD_H

#include "base/telemetry/latency.h"
#include "cli/bench/keys.h"
#include "cli/bench/target.h"

enum { LOAD_MAX_BATCH = 65536, LOAD_MAX_IN_FLIGHT = 1024 };

enum load_kind { LOAD_CHECK, LOAD_ADD, LOAD_MIX };

struct load {
    struct bench_target *target;
    enum load_kind kind;
    struct key_choice choice;
    uint64_t keys;   /* to send in all */
    uint64_t pace;   /* keys a second, whatever the answers; 0: as fast as they come */
    uint64_t for_us; /* nothing more is sent after this; 0: all keys are sent */
    uint32_t batch;
    uint32_t in_flight;
};

struct load_result {
    uint64_t keys;
    uint64_t batches;
    uint64_t elapsed_us;
    uint64_t lost;            /* known keys answered absent: must be 0 */
    uint64_t unanswered;      /* keys without an answer */
    uint64_t retries;         /* frames sent again, as the first was not answered for good */
    uint64_t absent;          /* fresh keys checked */
    uint64_t false_positives; /* of those, answered present */
    int code;                 /* of the newest batch that was not answered whole */
    char message[512];
    struct latency latency; /* of batches */
};

/* Returns false when memory is out. */
bool load_run(const struct load *load, struct load_result *result);

/* Add what a completion says to `result`. */
void load_judge(const struct key_choice *choice, const struct bench_completion *completion,
                struct load_result *result);

#endif
