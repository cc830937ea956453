/* rate.h - what a check of an absent key meets now: the rate of false positives that the keys
 * and arrays of the replicas let expect.
 *
 * While a filter changes its size some replicas answer from the arrays that are being left, others
 * from the wanted ones, and a check counts their answers. What each of them has by chance is its
 * own matter, so it takes R that say "absent" of those that serve; see docs/expansion.md.
 *
 * Units:   a probability.
 * Errors:  none; what is not known counts as the worse.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_RATE_H
#define ORBLOOM_PROTO_RATE_H

#include "proto/codec.h"
#include "proto/replica_report.h"

/* How many slices a check looks into; 1 without a window. */
uint32_t rate_slices_read(const struct filter_summary *filter);

/* `sum`: of the reply's reports. */
double rate_now(const struct info_reply *reply, const struct report_sum *sum);

#endif
