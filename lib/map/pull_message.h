/* pull_message.h - what a node asks of another one, and what that one answers. A router that dumps
 * a filter asks for RANGES.
 *
 * Everything that replicas take over from each other is pulled: the node that lacks asks. One
 * pair of messages does it, in six kinds:
 *
 *   RUNS     a stretch of the sorted runs, ascending         to copy a replica,
 *   LOG      batches of the log, in its order                 first the runs, then the log
 *   HEADERS  which batches the log holds, without their keys to follow a replica,
 *   BODIES   the batches that headers showed to be lacking   fetching what was missed
 *   DIGESTS  of ranges of the exact set, at one moment       to find where two replicas differ,
 *   RANGES   all that the source has in some ranges          and to take over what lacks there
 *
 * DIGESTS that fix a view are of the group's shards; or, where they name ranges at once, of the
 * parts of these, for whoever has been told of ranges by others: a router that compares.
 *
 * A range is named by a prefix: the top bits that its fingerprints share. A range of a page of an
 * array is one too, so that arrays without a log can be compared in the same way.
 *
 * Filters without key log have no runs; in their place
 *
 *   LINES    pages of the array that are not all zeros, by ascending numbers: all, or those named
 *   DIGESTS  of all shards of the group (`to` is the highest number), or of pages of one shard,
 * from `from` to `to`: to find which differ
 *
 * Scope:   one slot group of one (filter, keyset, slice), under one epoch.
 * Units:   `from`, `to`, `next`, `merged`, `durable` are fingerprints for RUNS and RANGES (but
 *          `merged` and `durable` of RANGES), else offsets of
 *          the source's log. For LINES, and DIGESTS of pages, `from`, `to` and `next` are numbers
 *          of pages, all shards one after the other.
 * Owner:   arrays are borrowed.
 */
#ifndef ORBLOOM_MAP_PULL_MESSAGE_H
#define ORBLOOM_MAP_PULL_MESSAGE_H

#include "base/span.h"
#include "base/status.h"
#include "map/document.h"

enum {
    PULL_MAX_KEYS = 131072,     /* fingerprints in one reply: 1 MiB */
    PULL_MAX_BATCHES = 16384,   /* in one reply */
    PULL_MAX_TARGETS = 8,       /* of a batch */
    PULL_MAX_INTERVALS = 16384, /* in one reply */
    PULL_MAX_WANTED = 1024,     /* intervals in one request */
    PULL_PART_BITS = 6,
    PULL_PARTS = 64,           /* of a range, whose digests come together */
    PULL_MAX_PARENTS = 2048,   /* prefixes in one question for digests of their parts */
    PULL_MAX_PREFIXES = 4096,  /* prefixes in one question for ranges */
    PULL_MAX_DIGESTS = 131072, /* in one reply: 1 MiB */
    PULL_MAX_PARENT_BITS = 32,
    PULL_MAX_PREFIX_BITS = 38,
    PULL_MAX_PAGES = 256, /* in one reply: 1 MiB */
    PULL_PAGE_BYTES = 4096,
    PULL_MAX_PAGE_DIGESTS = 1024, /* in one reply: of 4 MiB */
    PULL_MAX_FILTERS = 8192,      /* ids in one reply */
};

enum pull_kind {
    PULL_RUNS = 1,
    PULL_LOG = 2,
    PULL_HEADERS = 3,
    PULL_BODIES = 4,
    PULL_DIGESTS = 5,
    PULL_RANGES = 6,
    PULL_PAGES = 7,
    PULL_FILTERS = 8, /* of no scope: which filters the log has batches of */
};

struct pull_scope {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint64_t slice;
    uint32_t keyset;
    uint32_t group;
    uint32_t generation; /* of a filter without key log, else 0: of its array */
    uint64_t geometry;   /* ... and what fixes its bits, see pull_geometry.h */
};

bool pull_scope_equal(const struct pull_scope *a, const struct pull_scope *b);

/* Batches of one producer with contiguous numbers. */
struct pull_interval {
    uint64_t producer_id;
    uint64_t epoch;
    uint64_t first;
    uint64_t count;
    uint64_t offset; /* none of them begins below it in the source's log */
};

/* What a batch of the log is, as far as others are told; the log's own flags have the same bits. */
enum pull_batch_flag {
    PULL_BATCH_RELAYED = 4,  /* came from another site, and goes no further */
    PULL_BATCH_FED = 8,      /* part of the list of a rebuild */
    PULL_BATCH_PARTIAL = 16, /* some only of the fingerprints that the number names */
    PULL_BATCH_FLAGS = PULL_BATCH_RELAYED | PULL_BATCH_FED | PULL_BATCH_PARTIAL,
};

struct pull_target {
    uint64_t slice;
    uint32_t keyset;
};

/* All that a batch was written to, each once. */
struct pull_targets {
    uint32_t count;
    struct pull_target items[PULL_MAX_TARGETS];
};

/* One batch of LOG or BODIES; its fingerprints follow those of the batches before. */
struct pull_batch {
    uint64_t producer_id; /* 0: has no number, being taken over from runs */
    uint64_t number;
    uint64_t epoch;
    uint64_t offset;
    uint32_t count;
    uint32_t flags;                     /* enum pull_batch_flag */
    const struct pull_targets *targets; /* the scope's among them; NULL: that alone */
};

struct pull_request {
    enum pull_kind kind;
    struct pull_scope scope;
    struct member source; /* who is asked; incarnation 0: any */
    bool sync;            /* to complete a replica that joins: from FULL ones that have fenced */
    uint64_t from;
    uint64_t to;        /* RUNS: highest fingerprint wanted; else where to stop, 0: at the end */
    uint32_t max_bytes; /* of fingerprints; a reply holds one batch at least */
    const struct pull_interval *wanted; /* BODIES: these; none: all */
    size_t nwanted;

    uint64_t view;            /* DIGESTS, RANGES: told by the answer before; 0: fix one */
    uint32_t prefix_bits;     /* how long prefixes are */
    const uint64_t *prefixes; /* ascending, each once; DIGESTS: none, with `view` 0: of shards;
                                 LINES: numbers of the pages that are wanted, PULL_MAX_PAGES at
                                 most; none: all */
    size_t nprefixes;
};

struct pull_reply {
    enum status status; /* OK · STALE (with the newer document) · NEED_DOC · NOT_READY · CONFLICT ·
                           DROPPED · OVERLOADED · NOT_FOUND (`from` is not kept any more) */
    enum pull_kind kind;     /* the request's */
    struct pull_scope scope; /* the request's; unless OK the epoch that the source holds */
    struct member source;    /* who answers */
    uint64_t boot;
    enum replica_state state;
    uint64_t fence_epoch; /* durable before this was sent */
    uint64_t fence_position;

    uint64_t from;    /* the request's */
    uint64_t next;    /* where to go on */
    bool end;         /* nothing is left up to `to` */
    uint64_t merged;  /* RUNS, LINES: all batches below it are in what was read */
    uint64_t durable; /* end of the source's log that no crash takes back */

    uint64_t view;           /* DIGESTS, RANGES: names what was fixed; not 0 */
    uint64_t view_end;       /* all of the source's log below it is in the view */
    const uint64_t *digests; /* DIGESTS: of the group's shards, or PULL_PARTS a prefix */
    size_t ndigests;
    const uint64_t *counts; /* with those of shards: how many fingerprints each has */
    size_t ncounts;

    const struct pull_batch *batches; /* LOG, BODIES */
    size_t nbatches;
    const struct pull_interval *intervals; /* HEADERS */
    size_t nintervals;
    const uint64_t *fingerprints; /* FILTERS: ids of filters, ascending, each once */
    size_t count;
    const uint64_t *page_ids; /* LINES */
    const uint8_t *pages;     /* PULL_PAGE_BYTES each; see pull_geometry.h */
    size_t npages;
    struct span document; /* signed, after STALE */
};

/* Are they 1 to PULL_MAX_TARGETS, each once, the scope's among them? */
bool pull_targets_good(const struct pull_targets *targets, const struct pull_scope *scope);

bool pull_targets_equal(const struct pull_targets *a,
                        const struct pull_targets *b); /* NULL: none */

/* Does this kind name ranges by prefixes, in a view? */
static inline bool pull_kind_reads_view(enum pull_kind kind)
{
    return kind == PULL_DIGESTS || kind == PULL_RANGES;
}

/* Are prefixes of a request what its kind allows: as many, as long, ascending? */
bool pull_prefixes_good(const struct pull_request *request);

/* Over everything that decides what is merged, so that a torn or bent reply is refused before
 * that: XXH3-64 over words of 64 bits, little-endian; fields (seed 0), each batch (and then, where
 * it has any, flags, count of targets, slice and keyset of each), each interval and the
 * fingerprints one after the other (then for LINES, and DIGESTS of an array, generation, geometry
 * and count of pages, their numbers, their bytes), each seeded with the sum of what came before. */
uint64_t pull_reply_sum(const struct pull_reply *reply);

#endif
