/* pull_intervals.h - batches told as intervals of their numbers: many in a row take a few bytes.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_PULL_INTERVALS_H
#define ORBLOOM_NODE_PULL_PULL_INTERVALS_H

#include "map/pull_message.h"

/* Tell batches as intervals; `intervals` has room for as many as there are batches, which are
 * sorted here. Returns how many intervals there are. */
size_t pull_intervals_make(struct pull_batch *batches, size_t count,
                           struct pull_interval *intervals);

/* Is batch `number` of this series among what was asked for? All are when nothing is named. */
bool pull_wants(const struct pull_interval *wanted, size_t nwanted, uint64_t boot, uint64_t epoch,
                uint64_t number);

#endif
