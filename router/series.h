/* series.h - what became of the requests of clients, and how long it took: for /metrics.
 *
 * A request is counted once, as it leaves, whoever has sent it: Redis clients, too. How long it
 * took is told of those that nodes were asked about; what is refused at once is quick, and would
 * hide the others.
 *
 * Units:   microseconds.
 * Errors:  none.
 * Threads: none; pure. Counting is arithmetic on arrays.
 */
#ifndef ORBLOOM_ROUTER_SERIES_H
#define ORBLOOM_ROUTER_SERIES_H

#include "base/status.h"
#include "base/telemetry/histogram.h"
#include "base/telemetry/metrics.h"

enum series_op { SERIES_CHECK, SERIES_ADD, SERIES_FEED, SERIES_OPS };

enum series_result {
    SERIES_OK,
    SERIES_UNDECIDED,
    SERIES_FULL,
    SERIES_OVERLOADED,
    SERIES_REFUSED,
    SERIES_AGAIN,
    SERIES_ERROR,
    SERIES_RESULTS
};

enum series_outcome {
    SERIES_PRESENT,
    SERIES_ABSENT,
    SERIES_MAYBE,
    SERIES_UNKNOWN,
    SERIES_ACKNOWLEDGED,
    SERIES_NOT_ACKNOWLEDGED,
    SERIES_OUTCOMES
};

/* Zeroed, nothing has left. */
struct series {
    uint64_t requests[SERIES_OPS][SERIES_RESULTS];
    uint64_t keys[SERIES_OPS][SERIES_OUTCOMES];
    struct histogram durations[SERIES_OPS];
};

/* A request is answered, or refused. */
void series_request(struct series *self, enum series_op op, enum status status);

/* Its answer has these planes of `count` keys; spare bits are 0. */
void series_keys(struct series *self, enum series_op op, const uint64_t *present,
                 const uint64_t *absent, size_t count);

/* ... and came so long after the request. */
static inline void series_duration(struct series *self, enum series_op op, uint64_t duration_us)
{
    histogram_add(&self->durations[op], duration_us);
}

void series_tell(const struct series *self, struct metrics *metrics);

/* A node as it is told of: its name, and how long its answers took. */
struct series_node {
    const char *name;
    const struct histogram *roundtrips;
};

void series_tell_nodes(const struct series_node *nodes, size_t count, struct metrics *metrics);

#endif
