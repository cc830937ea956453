/* node.h - a filter node: shard replicas that take adds and answer checks. The pure core.
 *
 * A node does by itself what the newest valid document that it holds says: it builds the
 * arrays of its slots, answers requests of the document's epoch, fences older ones, and
 * frees what a dropped filter held. It asks the coordinators for documents and reports
 * its replicas to them; routers hand it documents too.
 *
 * With a disk everything that a replica accepts is in the node's log before it is answered, and
 * a started node goes on with what it reads back there, as the same incarnation; unless what is
 * there can't be all that it had acknowledged (storage.h, enum amnesia): then it is a new one.
 * A disk without anything on it is written to once a coordinator has told which cluster this is.
 * Without a disk every start is a new incarnation. Slots that name a former one are JOINING:
 * they take writes and count for nothing.
 *
 * Promise: a replica answers "absent" only if it is FULL, ready, of the asked epoch, and
 *          none of its keys' fingerprints was ever accepted here. Never while building.
 * Errors:  node_create: STATUS_NOMEM.
 * Owner:   node_create()'s caller calls node_destroy(). The configuration is copied.
 * Threads: none; one thread drives a node.
 */
#ifndef ORBLOOM_NODE_NODE_H
#define ORBLOOM_NODE_NODE_H

#include "base/actor.h"
#include "base/cluster_id.h"
#include "base/disk.h"
#include "base/link_ring.h"
#include "base/telemetry/health.h"
#include "base/telemetry/histogram.h"
#include "base/telemetry/metrics.h"
#include "map/access/seal.h"
#include "map/document.h"
#include "node/base/counters.h"
#include "node/base/steps.h"

struct node_config {
    char name[DOCUMENT_NAME_BYTES];
    char host[DOCUMENT_NAME_BYTES];
    char zone[DOCUMENT_NAME_BYTES];
    char site[SITE_NAME_BYTES];         /* of the cluster that it belongs to; "": any */
    char endpoint[DOCUMENT_TEXT_BYTES]; /* where others reach this node */
    bool curve;                         /* ... by CURVE */
    char coordinators[LINK_RING_MAX][DOCUMENT_TEXT_BYTES];
    uint32_t ncoordinators;
    struct cluster_key key;
    uint64_t memory_limit_bytes; /* for arrays */
    uint64_t sync_interval_us;   /* how often it asks and reports */
    uint64_t report_groups;      /* slot groups that it tells at once; 0: 4096 */
    uint64_t retry_memory_bytes; /* for the votes of recent adds, so that retries repeat them */
    uint64_t retry_memory_us;    /* ... and how long they are kept at most */
    struct disk *disk;           /* borrowed; NULL: all is kept in memory only */
    struct cluster_id cluster;   /* for a disk that does not say; none: a coordinator is asked */
    uint64_t kernel_boot;        /* which boot of the kernel this is */
    uint64_t segment_bytes;      /* of a file of the log */
    uint64_t retain_bytes;       /* of merged files of the log, for nodes that catch up */
    uint64_t retain_us;          /* ... and all that is not older; see storage.h */
    uint64_t site_retain_bytes;  /* ... of what other sites have not taken yet */
    uint64_t reserve_bytes;      /* of the disk, that background work leaves free */
    uint64_t imprint_bytes;      /* arrays of so many are copied to the disk, for a quick start; 0:
                                    none */
    bool imprint_eager;          /* ... however little is in runs: for tests */
    uint32_t merge_runs;         /* that become one: for tests; 0: as in log/run_merge.h */
    uint64_t gossip_delay_us;    /* how old adds get before peers are told of them; 0: 1 s */
    uint64_t catch_up_wait_us;   /* for others that do not answer, after a process that did not end
                                    in order; 0: it counts without asking them */
    uint64_t gossip_rate;        /* bytes a second for each peer that asks; 0: 200 MiB */
    uint64_t growth_rate;        /* keys a second that are read back for bigger arrays, or looked
                                    up there to verify them; 0: as many as possible */
    uint64_t probe_rate;         /* lookups of absent keys a second, to measure rates; 0: none */
    uint64_t scrub_interval_us;  /* between two comparisons with the same replica; 0: none */
    uint32_t steps[NODE_NSTEPS]; /* the most at once of what may be long; 0: see steps.h */
};

struct node;

MUST_USE enum status node_create(const struct node_config *config, const struct effects *effects,
                                 struct node **out);
void node_destroy(struct node **node);
struct actor node_actor(struct node *node);

/* The cluster key is another ring from now on; what is held stays, as it was verified. */
void node_rekey(struct node *node, const struct cluster_key *key);

/* The log can't be written: the node has said so and answers no one; the process must end. */
bool node_failed(const struct node *node);

/* In order, the lanes being stopped: sync the log and say in it that it ended so. Not OK: said
 * why. */
MUST_USE enum status node_finish(struct node *node);

/* What it counts, as of now; NODE_NCOUNTERS of them, until the next event. */
const uint64_t *node_counts(struct node *node);

/* What /metrics has beside them: how long writes of the log took. */
void node_tell_metrics(const struct histogram *log_syncs, struct metrics *metrics);

/* What keeps it from being of use: it is ready once a coordinator, or its peers, have confirmed
 * this start, and all replicas that it is to hold are FULL. */
void node_tell_health(const struct node *node, struct health *health);

/* Some coordinator has given this node its id. */
bool node_registered(const struct node *node);

/* The user whose key that is, by the record of users as it is known here: see
 * map/access/identity.h. Until it has heard of one it may be anybody's: PEER_PENDING. */
bool node_identify(const struct node *node, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer);

#endif
