/* median.h - what several rounds of one measurement say together.
 *
 * Errors:  none; no values give a spread of count 0, all else NAN.
 * Threads: any.
 */
#ifndef ORBLOOM_BENCH_MEDIAN_H
#define ORBLOOM_BENCH_MEDIAN_H

#include <stddef.h>

struct spread {
    double median; /* Of an even count: the mean of the middle two. */
    double min;
    double max;
    size_t count; /* Values that are numbers. */
};

/* Sorts `values`; what is no number is left out. */
struct spread spread_of(double *values, size_t count);

#endif
