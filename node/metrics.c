/* What a node tells beside its counters. */
#include "node/node.h"

void node_tell_metrics(const struct histogram *log_syncs, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_node_log_sync_seconds", METRICS_HISTOGRAM,
                   "how long writes of the log took, until they were on the disk where that is "
                   "asked for");
    metrics_histogram(metrics, NULL, 0, log_syncs);
}
