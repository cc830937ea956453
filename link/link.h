/* link.h - a link: what is acknowledged at its site it sends to the links of other sites, and what
 * those send it applies. The pure core.
 *
 * A link is the only process that speaks across sites, and keeps nothing on a disk. Any number of
 * them may run at a site, and any may be killed at any moment: repeats are harmless, and who has
 * lost its place finds it in the logs of its own nodes, or compares the sites.
 *
 * It hosts a router's core (router/router.h), by which it adds with ordinary quorums, learns
 * documents and asks nodes; and it has two faces, an actor each: the inner one speaks with the
 * site's own processes, the outer one with links of other sites, by sockets and keys of its own.
 *
 *   own nodes --tails of their logs--> outflow --batches--> the other link's inflow
 *                                                    --> relayed adds --> its nodes
 *
 * Stream:  of one filter from one site to another. The receiver opens it, naming how far it has the
 *          logs of the source's nodes; the source sends batches with rising numbers, and with each
 *          how far those logs are covered by it. The receiver applies them with its write quorum
 *          and tells up to which number all are applied; that also is what lets more be sent.
 * Mark:    the receiver asks by which batch it will have all that was acknowledged at the source
 *          before the question came. The source asks R replicas of each slot group for the durable
 *          ends of their logs, and answers with them once the stream has passed those. When that
 *          batch is applied, every plain check at the receiver finds all of it.
 * Confirm: a link asks another site's whether all is there that is acknowledged here now. That one
 *          begins a mark, unless the ends that it would be answered with come along, and answers
 *          once it counts.
 * Place:   how far a log of the source's nodes is applied. W nodes of the receiver note it behind
 *          the keys, about once a second; a link that begins reads it from R of them.
 * Channel: links greet each other every LINK_HELLO_US. Either side may dial. Where one connection
 *          is too few for what is to be sent there are more of them, for batches.
 *
 * Errors:  link_create: STATUS_NOMEM. What goes wrong later is logged, told to the other side, and
 *          begun anew.
 * Owner:   link_create()'s caller calls link_destroy(), after the router's. What it is given is
 *          copied.
 * Threads: none; one thread drives it.
 */
#ifndef ORBLOOM_LINK_LINK_H
#define ORBLOOM_LINK_LINK_H

#include "base/actor.h"
#include "base/telemetry/counter.h"
#include "base/telemetry/health.h"
#include "base/telemetry/metrics.h"
#include "map/document.h"
#include "map/sites.h"
#include "router/router.h"

enum {
    LINK_MAX_SITES = SITE_SET_MAX_LIVE - 1,
    LINK_HELLO_US = 1000000,
    LINK_MARK_INTERVAL_US = 250000, /* as marks are asked for by default */
    LINK_SILENT_US = 5000000,       /* who says nothing for so long is gone */
    LINK_WINDOW_MIN = 1 << 16,
    LINK_WINDOW_MAX = 1 << 30,
    LINK_HELD_BYTES = 256 << 20,
    LINK_CROWD_BYTES = 32 << 10,
    LINK_OFFERED_KEYS = 512, /* 8 for each part of a range, of which digests cost 8 bytes */
};

/* Another site. */
struct other_site {
    char name[SITE_NAME_BYTES];
    struct site_id id;                  /* made of the key that is pinned for it */
    char endpoint[DOCUMENT_TEXT_BYTES]; /* of its links; "": it dials */
};

struct link_config {
    char name[DOCUMENT_NAME_BYTES]; /* of the process */
    char site[SITE_NAME_BYTES];     /* its own one */
    struct site_id id;
    struct other_site peers[LINK_MAX_SITES];
    uint32_t npeers;
    uint64_t flush_us;         /* what is to be sent waits so long for more */
    uint64_t mark_interval_us; /* marks that somebody wants are begun so often; 0: never */
    uint64_t window;  /* bytes of batches that a stream may be sent before they are applied */
    uint64_t held;    /* bytes of batches that wait until they are applied, of all streams together:
                         by that they are given less than `window`; 0: LINK_HELD_BYTES */
    uint32_t offered; /* keys that a range of a copy has at least of which the other site is asked
                         first what it has: fewer are sent; 0: LINK_OFFERED_KEYS */
    uint64_t scrub_us;    /* all of a filter is compared with each other site so often; 0: never */
    uint64_t connections; /* to one other link, at most; 0: one */
    uint64_t crowd;       /* bytes of batches under way by one from which it is too few; 0:
                             LINK_CROWD_BYTES */
    uint64_t rate; /* bytes of batches that are sent in a second, to all sites; 0: no bound */
    char endpoint[DOCUMENT_TEXT_BYTES]; /* where its own site's processes reach it; "": nowhere,
                                           and coordinators are told of no link */
    bool curve;                         /* ... by CURVE */
};

struct link;

/* `inner`: towards its own site; `outer`: towards the others. */
MUST_USE enum status link_create(const struct link_config *config, const struct effects *inner,
                                 const struct effects *outer, struct link **out);
void link_destroy(struct link **link);

/* What the router is to act through. */
const struct effects *link_router_effects(struct link *link);

/* The router and its actor. Once, before anything happens. */
void link_attach(struct link *link, struct router *router, const struct actor *actor);

/* Towards its own site; what is not the link's goes on to the router. It answers for its counters
 * with those of both, tells routers how much of other sites' keys is here, or of this site's there
 * (SITE_AGE_REQUEST), and whoever wants to know how far sites are (SITE_LAG_REQUEST), and refuses
 * what clients ask routers for. */
struct actor link_inner_actor(struct link *link);

/* Towards the others: of a request's peer `user` is the number of the site that has proved its key,
 * its place in the configuration plus 1. */
struct actor link_outer_actor(struct link *link);

struct counter_table link_counters(void);
const uint64_t *link_counts(const struct link *link);

/* What keeps it from being of use: it is ready while it hears a link of each other site, and its
 * router is. */
void link_tell_health(const struct link *link, struct health *health);

/* How each other site is, as seen from here: families with labels. */
void link_tell_metrics(const struct link *link, struct metrics *metrics);

#endif
