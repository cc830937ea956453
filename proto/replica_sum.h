/* replica_sum.h - what the reports of a filter's replicas say together.
 *
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_REPLICA_SUM_H
#define ORBLOOM_PROTO_REPLICA_SUM_H

#include "proto/codec.h"

struct report_sum {
    uint64_t keys; /* distinct, estimated: the most that any replica of each slot group holds; of a
                      window in its fullest slice */
    uint64_t keys_kept; /* in all slices, each key as often as slices have it */
    uint32_t full;
    uint32_t joining;
    uint32_t building;
};

/* Over the reports of one filter; filter_id 0: all of them are of one. */
struct report_sum report_summarize(const struct replica_report *reports, size_t count,
                                   uint64_t filter_id);

#endif
