/* figures.h - the figures to reach: what is compared with what, and the ratio wanted.
 *
 * Errors:  none.
 * Threads: any.
 */
#ifndef ORBLOOM_BENCH_REPORT_FIGURES_H
#define ORBLOOM_BENCH_REPORT_FIGURES_H

#include "bench/report/cells.h"

/* The filters' sizes and the requests in flight that the figures are about. */
enum { VERDICT_SIZE = 5000000, VERDICT_DURABLE_SIZE = 1000000, VERDICT_IN_FLIGHT = 64 };

enum quantity {
    SAME, /* reference_quantity: what is compared with it */
    KEYS_PER_S,
    REQUESTS_PER_S,
    P50_US,
    CPU_NS,
    BEYOND_BYTES, /* the worst of all rows of the cluster */
    VALUE
};

struct figure {
    const char *claim;
    const char *against; /* Names the reference. */
    enum quantity quantity;
    enum quantity reference_quantity;
    struct cell_key of;
    struct cell_key reference; /* Without target: the fixed value. */
    const char *unit;          /* Of a VALUE; see show.h. */
    double fixed;
    double bound;
    bool at_least;
};

extern const struct figure figures_all[];
extern const size_t figures_count;

#endif
