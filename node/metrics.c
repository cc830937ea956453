/* What a node tells of the disk, beyond what it counts: what the machine has measured. */
#include "node/node.h"

void node_tell_metrics(const struct node_machine *machine, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_node_log_sync_seconds", METRICS_HISTOGRAM,
                   "how long writes of the log took, until they were on the disk where that is "
                   "asked for");
    metrics_histogram(metrics, NULL, 0, &machine->log_syncs);
    if (machine->disk_known) {
        metrics_family(metrics, "orbloom_node_disk_free_bytes", METRICS_GAUGE,
                       "room on the disk of data_dir");
        metrics_count(metrics, NULL, 0, machine->disk_free_bytes);
    }
}
