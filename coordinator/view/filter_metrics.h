/* filter_metrics.h - what /metrics tells of filters: each of the largest, and all others together.
 *
 * The others are added up METRICS_REST_STEP of them at a time, so that nobody waits for a look at
 * all of them: their sums are of the last pass through them that came to its end. Where there are
 * no more than that they are of now.
 *
 * Errors:  what there is no memory for is not told; metrics->status says so.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_VIEW_FILTER_METRICS_H
#define ORBLOOM_COORDINATOR_VIEW_FILTER_METRICS_H

#include "coordinator/private.h"

enum { METRICS_REST_STEP = 2048 };

void filter_metrics_tell(struct coordinator *self, uint64_t now_us, struct metrics *metrics);

#endif
