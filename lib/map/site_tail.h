/* site_tail.h - what a link asks of a node of its own site, and what that one answers: the tail of
 * the node's log, as far as it was added here and other sites lack it.
 *
 * A link carries adds to other sites (docs/sites.md). It reads the log of each node from a place
 * on; the node answers at once if there is something, else when there is, or when the time is
 * over. One question is about all filters that the link follows.
 *
 * Told:    records of adds that routers brought here: neither REPAIRED nor RELAYED, with or without
 *          a batch number, in the order of the log; below the log's durable end. An answer says of
 *          every filter of the list that is not among its refusals: this is all between `from` and
 *          `next`. Of what is refused it says nothing, and its place stays where it was.
 * List:    filters with the epoch that the asker has of each, named by the hash of it all. It is
 *          sent when it changes; afterwards its name will do, until the node has forgotten it.
 * STALE:   (of the whole, or `compare` of one filter) the log does not go on from that place as
 *          the asker knows it, or is not kept so far back. What was added between may be told by
 *          nobody: both sites' replicas have to be compared before the log is read on.
 * Units:   offsets of the node's log.
 * Owner:   arrays are borrowed.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_SITE_TAIL_H
#define ORBLOOM_MAP_SITE_TAIL_H

#include "base/span.h"
#include "base/status.h"
#include "map/pull_message.h"
#include "map/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SITE_TAIL_MAX_FILTERS = 4096,            /* of a list; who follows more asks with several */
    SITE_TAIL_MAX_WANTED = 1024,             /* offsets in one request */
    SITE_TAIL_MAX_SITES = SITE_SET_MAX_LIVE, /* that tell how far they are */
    SITE_TAIL_MAX_WAIT_MS = 10000,
    SITE_TAIL_MAX_RECORDS = 16384, /* in one reply */
    SITE_TAIL_MAX_KEYS = 131072,   /* fingerprints in one reply: 1 MiB */
    SITE_TAIL_MAX_DOCUMENTS = 16,  /* in one reply */
};

/* A filter that the asker follows, and the epoch that it has of it. */
struct site_tail_filter {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
};

/* How far another site has this node's log: everything below is there, for good. */
struct site_taken {
    uint64_t site_high; /* its id */
    uint64_t site_low;
    uint64_t offset; /* UINT64_MAX: it needs nothing of it any more */
};

struct site_tail_request {
    struct member source; /* who is asked, and in which life */
    uint64_t boot;        /* ... and boot: `from` is an offset of the log as it was then */
    uint64_t from;
    uint32_t max_bytes; /* of fingerprints; a reply holds one record at least */
    uint32_t wait_ms;   /* for something to be told; over SITE_TAIL_MAX_WAIT_MS: that */
    bool headers_only;  /* no fingerprints */
    uint64_t list;      /* site_tail_list() of the filters; 0: none are followed */
    const struct site_tail_filter *filters; /* ascending ids; none: the node knows the list */
    size_t nfilters;
    const uint64_t *wanted; /* ascending offsets of records, not below `from`: these and no others,
                               without waiting; none: all from `from` on */
    size_t nwanted;
    const struct site_taken *taken;
    size_t ntaken;
};

struct site_tail_record {
    uint64_t filter_id;
    uint64_t epoch;       /* under which it was added */
    uint64_t producer_id; /* 0: without a number */
    uint64_t number;
    uint64_t offset;
    uint64_t digest; /* XXH3-64, seed 0, of its fingerprints as they lie in the log */
    uint32_t group;  /* slot group */
    uint32_t count;
    uint32_t flags; /* PULL_BATCH_FED, PULL_BATCH_PARTIAL */
    const struct pull_targets *targets;
};

/* A filter of the list of which nothing is told, and why. */
struct site_tail_refusal {
    uint64_t filter_id;
    enum status status; /* STALE · NEED_DOC · CONFLICT · NOT_READY · DROPPED · NOT_FOUND (without
                           a log of keys on a disk it is in no other site) */
    bool compare;       /* STALE, for the place is not to be gone on from */
    uint64_t epoch;     /* that the node has; 0: no document */
    uint64_t epoch_hash;
};

struct site_tail_reply {
    enum status status;   /* OK · STALE (compare first) · CONFLICT (the place is one that this log
                             never had: the node's folder was put back) · NOT_FOUND (the list is not
                             known: send it) ·   NOT_READY · OVERLOADED · INVALID (no such record) */
    const char *message;  /* cause and remedy; "" when OK */
    struct member source; /* who answers */
    uint64_t boot;
    uint64_t list;     /* the request's */
    uint64_t from;     /* the request's */
    uint64_t next;     /* where to go on, in `boot`; of wanted ones the first that is not told */
    uint64_t durable;  /* end of what may be told now */
    bool headers_only; /* the request's */
    const struct site_tail_record *records; /* ascending offsets */
    size_t nrecords;
    const uint64_t *fingerprints; /* of one record after the other */
    size_t count;
    const struct site_tail_refusal *refusals;
    size_t nrefusals;
    const struct span *documents; /* signed: those that the asker is behind with, or some of them */
    size_t ndocuments;
};

/* Ascending ids, each once? */
bool site_tail_filters_good(const struct site_tail_filter *filters, size_t count);

/* The name of a list of filters; never 0, but for none. */
uint64_t site_tail_list(const struct site_tail_filter *filters, size_t count);

/* Of a record's fingerprints. */
uint64_t site_tail_digest(const uint64_t *fingerprints, size_t count);

/* Do records and fingerprints agree, and is nothing told but where all is OK? */
bool site_tail_reply_good(const struct site_tail_reply *reply);

/* Over everything that decides what is applied elsewhere, so that a torn or bent reply is refused
 * before that: XXH3-64 over words of 64 bits, little-endian; fields (seed 0), then each record with
 * its targets, all fingerprints, each refusal, each seeded with the sum of what came before. */
uint64_t site_tail_reply_sum(const struct site_tail_reply *reply);

#endif
