/* replica_report.h - what a node says of its replicas, to coordinators and to anyone who asks.
 *
 * Units:   keys, bytes, bits.
 * Threads: none.
 */
#ifndef ORBLOOM_PROTO_REPLICA_REPORT_H
#define ORBLOOM_PROTO_REPLICA_REPORT_H

#include "map/document.h"

/* What a replica that is not ready to serve is doing about it. */
enum replica_phase {
    PHASE_NONE = 0,
    PHASE_REPLAYING = 1,
    PHASE_SYNCING = 2,
    PHASE_GROWING = 3, /* builds the wanted generation while it serves another one */
};

/* What a node says of its replica of one slot group of one filter. */
struct replica_report {
    uint64_t filter_id;
    uint32_t group;
    uint32_t node_id; /* set by whoever relays the report */
    uint64_t incarnation;
    uint64_t fence; /* lowest epoch still accepted */
    enum replica_state state;
    uint64_t bytes;
    uint64_t keys;      /* estimate of distinct keys from the fill; of the fullest slice */
    uint64_t bits_set;  /* in the sampled lines */
    uint64_t bits_seen; /* bits of the sampled lines; all of them when small */
    double progress;    /* of building, or of the phase, 0 to 1 */
    enum replica_phase phase;
    uint64_t complete;      /* JOINING: all that a SYNC under the document of this epoch asks for is
                               here, durably and in the arrays; 0: of none */
    uint64_t disk_bytes;    /* its share of the filter's sorted runs; not of the log */
    uint32_t generation;    /* that all its shards are served from, or the one that is being left */
    uint32_t shards_grown;  /* of the group, served from the wanted generation */
    uint64_t overflow_keys; /* only in arrays of the wanted one that are not complete yet */
    uint64_t keys_next;     /* estimate, of the keyset that does not serve yet; of a chain: of the
                               generation that adds go to */
    uint64_t keys_kept; /* estimate, of all slices that are kept: a key counts in each of them */
};

#endif
