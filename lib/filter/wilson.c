/* The score interval of a probability. */
#include "filter/wilson.h"

#include <assert.h>
#include <math.h>

struct wilson wilson_interval(uint64_t hits, uint64_t trials, double z)
{
    double n = (double)trials;
    double share;
    double middle;
    double reach;

    assert(hits <= trials);
    if (trials == 0) {
        return (struct wilson){.low = 0, .high = 1};
    }
    share = (double)hits / n;
    middle = (share + z * z / (2 * n)) / (1 + z * z / n);
    reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n);
    return (struct wilson){
        .low = hits == 0 ? 0 : fmax(middle - reach, 0),
        .high = hits == trials ? 1 : fmin(middle + reach, 1),
    };
}
