/* coordinator.h - changes documents by compare-and-swap and asks questions. The pure core.
 *
 * It registers nodes, places replicas, creates and drops filters, and hands documents to
 * whoever asks. It sends no orders: nodes do what their newest document says. Any number
 * of coordinators may share a store; none is on the data path.
 *
 * Errors:  coordinator_create: STATUS_NOMEM, or the store's.
 * Owner:   coordinator_create()'s caller calls coordinator_destroy(). The configuration is
 *          copied, the store borrowed.
 * Threads: none; one thread drives a coordinator.
 */
#ifndef ORBLOOM_COORDINATOR_COORDINATOR_H
#define ORBLOOM_COORDINATOR_COORDINATOR_H

#include "base/actor.h"
#include "base/telemetry/audit_log.h"
#include "base/telemetry/counter.h"
#include "base/telemetry/health.h"
#include "base/telemetry/histogram.h"
#include "base/telemetry/metrics.h"
#include "coordinator/store/store.h"
#include "map/access/seal.h"
#include "map/document.h"

enum { COORDINATOR_MAX_METRICS_FILTERS = 4096 /* so that they fit a page */ };

struct coordinator_config {
    char name[DOCUMENT_NAME_BYTES];
    char site[SITE_NAME_BYTES]; /* which one of several the cluster is; "": it has no name */
    struct cluster_key key;
    uint64_t max_timeout_us;   /* longest deadline that an operator may ask for */
    uint64_t node_timeout_us;  /* a node not heard of for this long takes no new replicas */
    uint64_t fence_retry_us;   /* a node that has not confirmed a fence is asked again */
    uint64_t load_timeout_us;  /* a load that stands still for so long is given up; 0: never */
    uint64_t replace_after_us; /* silent for so long a node loses its replicas; 0: never */
    char rebalance[8];         /* "auto": whenever it gains; else when asked for */
    uint64_t moves_at_once;    /* slot groups on their way between nodes */
    uint64_t max_filters;      /* that may live at once; 0: DOCUMENT_MAX_LIVING */
    uint64_t node_groups;      /* slot groups that a node may hold; 0: any number */
    uint64_t growth_hosts;     /* of one filter, that build another geometry at a time; 0: one */
    double growth_factor;      /* by itself a filter grows to so many capacities; 0: twice */
    bool survey;               /* of all filters, for browsers: see web/web.h */
    uint64_t metrics_filters;  /* that /metrics tells one by one, the largest of all */
    const struct audit_sink *audit; /* see audit.h; borrowed; NULL: nothing is noted */
    uint64_t features;              /* that it knows, for tests of another version; 0: this one's */
};

struct coordinator;

MUST_USE enum status coordinator_create(const struct coordinator_config *config,
                                        const struct effects *effects, struct store *store,
                                        struct coordinator **out);
void coordinator_destroy(struct coordinator **coordinator);

/* The cluster key is another ring from now on: all of the store is read again, and what another
 * key than its first one has signed is signed anew. */
void coordinator_rekey(struct coordinator *coordinator, const struct cluster_key *key);

struct actor coordinator_actor(struct coordinator *coordinator);

/* The user whose key that is, by the record of users as it was read last: see
 * map/access/identity.h. Until it has heard of one it may be anybody's: PEER_PENDING. */
bool coordinator_identify(struct coordinator *coordinator, const uint8_t key[CURVE_KEY_BYTES],
                          struct peer *peer);

struct counter_table coordinator_counters(void);
const uint64_t *coordinator_counts(struct coordinator *coordinator);

/* What keeps it from being of use: it is ready while its store can be read, and is not older than
 * what nodes hold. */
void coordinator_tell_health(struct coordinator *coordinator, uint64_t now_us,
                             struct health *health);

/* What it knows of filters, nodes, users and its store, for /metrics. `store`: how long that took
 * to answer. It goes on from where it was, so one asks, not several. */
void coordinator_tell_metrics(struct coordinator *coordinator, uint64_t now_us,
                              const struct histogram *store, struct metrics *metrics);

#endif
