/* What is said of replicas, in several conversations. */
#include "proto/codec_field.h"

static const struct binding replica_report_rows[] = {
    ROW(replica_report, filter_id, UINT64),
    ROW(replica_report, group, UINT32),
    ROW(replica_report, node_id, UINT32),
    ROW(replica_report, incarnation, UINT64),
    ROW(replica_report, fence, UINT64),
    ENUM(replica_report, state, REPLICA_NONE, REPLICA_FULL),
    ROW(replica_report, bytes, UINT64),
    ROW(replica_report, keys, UINT64),
    ROW(replica_report, bits_set, UINT64),
    ROW(replica_report, bits_seen, UINT64),
    ROW(replica_report, progress, FRACTION),
    ENUM(replica_report, phase, PHASE_NONE, PHASE_GROWING),
    ROW(replica_report, complete, UINT64),
    ROW(replica_report, disk_bytes, UINT64),
    ROW(replica_report, generation, UINT32),
    ROW(replica_report, shards_grown, UINT32),
    ROW(replica_report, overflow_keys, UINT64),
    ROW(replica_report, keys_next, UINT64),
    ROW(replica_report, keys_kept, UINT64),
};

static enum status check(const void *ours)
{
    const struct replica_report *report = ours;

    return report->bits_set <= report->bits_seen ? STATUS_OK : STATUS_MALFORMED;
}

BINDING_TABLE(replica_report, replica_report, check);
