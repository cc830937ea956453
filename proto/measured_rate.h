/* measured_rate.h - the rate of false positives that nodes have met looking absent keys up, and
 * between what it is with 99.9 %.
 *
 * Units:   probabilities.
 * Errors:  none.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_MEASURED_RATE_H
#define ORBLOOM_PROTO_MEASURED_RATE_H

#include "base/json.h"
#include "filter/wilson.h"
#include "proto/replica_report.h"

/* Of probes there are some. */
double measured_rate(const struct report_sum *sum);

/* 0 to 1 without any. */
struct wilson measured_rate_interval(const struct report_sum *sum);

/* Members of an object; NULL: nobody has told yet. */
void measured_rate_json(struct json *json, const struct report_sum *sum);

#endif
