/* cells.h - rows of the same measurement, over all rounds, as one cell.
 *
 * Errors:  STATUS_NOMEM.
 * Owner:   cells_fini() frees; cells borrow the texts of their rows.
 * Threads: none.
 */
#ifndef ORBLOOM_BENCH_REPORT_CELLS_H
#define ORBLOOM_BENCH_REPORT_CELLS_H

#include "bench/median.h"
#include "bench/report/rows.h"

/* What was measured: all that two rounds of one measurement share. */
struct cell_key {
    const char *target;
    const char *method;
    const char *op;
    uint64_t batch;
    uint64_t in_flight;
    uint64_t size;
    uint64_t z;
};

struct cell {
    struct cell_key key;
    struct spread keys_per_s;
    struct spread requests_per_s;
    struct spread p50_us;
    struct spread p99_us;
    struct spread cpu_service_ns;
    struct spread cpu_client_ns;
    struct spread beyond_bytes;
    struct spread value;
    uint64_t absent_checked; /* Sums over the rounds. */
    uint64_t false_positives;
    const char *unit;    /* Of the value; "" without one. */
    const char *note;    /* What it is of; of the last round. */
    const char *not_run; /* Why, when no round measured it; else "". */
};

struct cells {
    struct cell *items; /* In the order of their first rows. */
    size_t count;
};

MUST_USE enum status cells_make(struct cells *self, const struct rows *rows);
void cells_fini(struct cells *self);

/* NULL when there is none. */
const struct cell *cells_find(const struct cells *self, const struct cell_key *key);

/* Its median of keys a second; NAN when it was not measured. `cell` may be NULL. */
double cell_rate(const struct cell *cell);

#endif
