/* replica_report.h - what a node says of its replicas, to coordinators and to anyone who asks.
 *
 * Slot groups are in order of filter id and number. A node tells a coordinator all of them in
 * pages, one behind the other, from the first to the end: a round. A page is all that the node has
 * in that stretch as it is sent, and says nothing of what is beyond.
 *
 * Units:   keys, bytes, bits.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_REPLICA_REPORT_H
#define ORBLOOM_PROTO_REPLICA_REPORT_H

#include "map/document.h"

#include <stdbool.h>
#include <stddef.h>

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
    uint64_t keys_kept;  /* estimate, of all slices that are kept: a key counts in each of them */
    uint64_t probes;     /* absent keys that were looked up in its arrays as they are; told only to
                            who asks for a filter */
    uint64_t probe_hits; /* ... of them, called present */
};

/* ---- pages ---- */

struct report_place {
    uint64_t filter_id; /* 0: none */
    uint32_t group;
};

/* Zeroed it is of everything. */
struct report_page {
    struct report_place from; /* the first one; none: from the beginning */
    struct report_place to;   /* the first one beyond; none: to the end */
};

/* Below 0, 0 or above, as a is before b, the same, or behind it. */
int report_place_compare(struct report_place a, struct report_place b);

static inline bool report_page_begins(const struct report_page *page)
{
    return page->from.filter_id == 0;
}

static inline bool report_page_ends(const struct report_page *page)
{
    return page->to.filter_id == 0;
}

/* Is it a stretch, and are the reports in it, in order and each once? */
bool report_page_fits(const struct report_page *page, const struct replica_report *reports,
                      size_t count);

/* Of reports in order: how many are before the place. */
size_t report_place_find(const struct replica_report *reports, size_t count,
                         struct report_place place);

/* ---- the reports of a filter together ---- */

struct report_sum {
    uint64_t keys; /* distinct, estimated: the most that any replica of each slot group holds; of a
                      window in its fullest slice */
    uint64_t keys_kept; /* in all slices, each key as often as slices have it */
    uint64_t probes;    /* of FULL replicas */
    uint64_t probe_hits;
    uint32_t full;
    uint32_t joining;
    uint32_t building;
};

/* How much of it is served from the wanted generation, from 0 to 1. */
double report_grown(const struct replica_report *report, uint32_t wanted);

/* How many keys a filter has: of a window, of `nslices`, those of all slices, where a key counts in
 * each; 0 slices: no window. */
static inline uint64_t report_sum_keys(const struct report_sum *self, uint32_t nslices)
{
    return nslices > 0 ? self->keys_kept : self->keys;
}

/* How full it is, of its capacity: from 1 on new keys are refused. A window is as full as its
 * fullest slice; without a capacity: 0. */
double report_sum_fill(const struct report_sum *self, uint32_t nslices, uint64_t capacity);

/* Further probes and hits among them, at most as many: the sums come to no more than fits, and so
 * hits to no more than probes. */
void report_sum_probes(struct report_sum *self, uint64_t probes, uint64_t hits);

/* Over the reports of one filter; filter_id 0: all of them are of one. */
struct report_sum report_summarize(const struct replica_report *reports, size_t count,
                                   uint64_t filter_id);

#endif
