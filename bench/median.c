/* Sorts the values that are there, and takes the middle and both ends. */
#include "bench/median.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread spread_of(double *values, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            values[kept++] = values[i];
        }
    }
    if (kept == 0) {
        return (struct spread){.median = NAN, .min = NAN, .max = NAN};
    }
    qsort(values, kept, sizeof *values, compare);
    return (struct spread){.median = (values[(kept - 1) / 2] + values[kept / 2]) / 2,
                           .min = values[0],
                           .max = values[kept - 1],
                           .count = kept};
}
