/* pull_pages.h - which pages of an array differ from the source's: the state of a comparison.
 *
 * Shape:   first one digest a shard of the group, in the order of their numbers; then, of shards
 *          that differ, one a page, PULL_MAX_PAGE_DIGESTS at a time; then the pages that differ.
 * Owner:   pull_pages_drop().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_PULL_PAGES_H
#define ORBLOOM_NODE_PULL_PULL_PAGES_H

#include "map/pull_message.h"

struct pull_pages {
    uint64_t *shards; /* digests as told; in their place first pages of those that differ */
    uint32_t nshards;
    uint32_t at;      /* shards compared; then which of those that differ */
    uint32_t ndiffer; /* shards */
    uint64_t *wanted; /* of the answer before: pages that differ */
    uint32_t nwanted;
    uint32_t had;  /* of them */
    uint64_t next; /* where digests of pages go on */
};

void pull_pages_drop(struct pull_pages *self);

/* How many of `wanted` one question names. */
uint32_t pull_pages_asked(const struct pull_pages *self);

/* Are all pages of a LINES reply among them? */
bool pull_pages_wanted(const struct pull_pages *self, const struct pull_reply *reply);

#endif
