/* state.h - what sites tell each other of the filters that they share.
 *
 *   coordinator --sync_reply--> its links --site_filters--> links of another site
 *                                             --sync_request--> coordinator there
 *
 * A coordinator says how a filter in sites is at its own site. Links carry that, and change nothing
 * of it but the secret's seal. What they add of their own is evidence: what their streams have
 * brought.
 *
 * Order:   a state with a newer life of the site's own entry, and within a life one of a higher
 *          revision, says more; an older one never replaces a newer one. But of a life that was not
 *          fenced nobody needs to have heard: a site that was put back to before it takes another
 *          one, which may be older by its number. So one that is fenced replaces it all the same.
 *          A tombstone is the last word. See site_filter_compare().
 * Errors:  what was decoded may break any rule: site_filter_fault(), site_evidence_fault() first.
 * Owner:   as codec.h says of frames.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_PROTO_SITE_STATE_H
#define ORBLOOM_PROTO_SITE_STATE_H

#include "base/span.h"
#include "map/document.h"
#include "map/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SITE_MAX_FILTERS = 256,  /* states in one frame */
    SITE_MAX_EVIDENCE = 256, /* ... and evidence */
};

/* A filter in sites, as one of its sites has it: its coordinator says it. */
struct site_filter {
    struct filter_uid uid;
    const char *filter; /* its name at that site */
    struct site_id site;
    uint64_t revision;        /* of its document there; within one life it only rises */
    bool dropped;             /* a tombstone: all below is left out, but the last one */
    struct site_set document; /* its set, of which the site is the own one */
    bool is_fenced; /* it is known what F members of each of its slot groups have fenced: */
    struct site_set fenced;
    struct site_id done[SITE_SET_MAX_LIVE]; /* leavers that it is done with */
    uint32_t ndone;

    /* What another site needs to make its own of it. */
    enum hash_kind hash;
    uint32_t shard_bits;
    uint32_t keyset; /* the serving one */
    struct quorum_rule rule;
    double rate;
    uint64_t capacity;
    uint64_t max_capacity;
    enum durability durability;
    enum when_unavailable when_unavailable;
    uint64_t max_staleness; /* as in the document */
    uint32_t acks;          /* ... */
    uint64_t keys;          /* estimate, for people */

    /* The hash secret, for a site that joins; else empty. To a coordinator it is sealed with the
     * key of its cluster, as if site_secret_name() were the filter's id. Between links it is the
     * secret itself: they speak CURVE, with pinned keys. */
    struct span sealed_secret;

    uint64_t needs;       /* features that whoever hears it must know; see map/feature.h */
    uint64_t last_return; /* a tombstone: in which the filter was dropped; see map/sites.h */
};

/* Does a tombstone count where that site is so in a set? Not for what it is since it came back; and
 * who is GONE here has nothing to say here, until it is heard of as back. */
bool site_drop_counts(const struct site_entry *entry, uint64_t last_return);

/* What a link says of its site's filters to one of another site. */
struct site_filters {
    const struct site_filter *states;
    size_t nstates; /* at most SITE_MAX_FILTERS */
};

/* What a link's own streams from a site have brought. Sets are what had been fenced when that
 * began, as far as the link had heard; those of no entries say nothing. */
struct site_evidence {
    struct filter_uid uid;
    struct site_id site; /* whose keys were taken over */
    struct site_life source_life;
    struct site_life own_life;
    struct site_set marked;   /* by that site, when the last whole mark began that is applied */
    struct site_set compared; /* ... when the last whole copy began that is done */
    struct site_set compared_here; /* ... and what was fenced here then */

    /* Nothing of this, but: that site remembers more of a node's log here than that node has. */
    bool put_back;
};

/* NULL, or what is wrong with it. */
const char *site_filter_fault(const struct site_filter *self);
const char *site_evidence_fault(const struct site_evidence *self);

/* The life of the site that says it; of a tombstone none. */
struct site_life site_filter_life(const struct site_filter *self);

/* Below 0, 0, above 0: does `a` say less than `b`, as much (either may replace the other), more? Of
 * one filter and site. */
int site_filter_compare(const struct site_filter *a, const struct site_filter *b);

uint64_t site_secret_name(const struct filter_uid *uid);

#endif
