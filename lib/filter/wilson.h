/* wilson.h - between what a probability is, as so many of so many trials came out.
 *
 * The score interval: all p of which the share of hits seen is no further away than `z` standard
 * deviations of p's own. With n trials and the share s of hits,
 *     (s + z^2 / 2n  -+  z sqrt(s (1 - s) / n + z^2 / 4n^2)) / (1 + z^2 / n)
 * It is of use also where hits are few, or none.
 *
 * Units:   probabilities.
 * Errors:  none.
 * Threads: any; pure.
 * Source:  Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal
 *          of the American Statistical Association 22 (1927), 209-212.
 */
#ifndef ORBLOOM_FILTER_WILSON_H
#define ORBLOOM_FILTER_WILSON_H

#include <stdint.h>

/* Quantiles of the normal distribution: 99.9 % lie below the first, or between the second and its
 * negative. */
#define WILSON_ONE_SIDED_999 3.0902323061678
#define WILSON_TWO_SIDED_999 3.2905267314919

struct wilson {
    double low;
    double high;
};

/* hits <= trials; of no trials: 0 to 1. */
struct wilson wilson_interval(uint64_t hits, uint64_t trials, double z);

#endif
