/* pull_plan.h - whom a replica of a slot group takes over from, by the document.
 *
 * Each slot has one reader: the member that checks ask. While a slot is a pair and reads have not
 * moved, its incoming member joins: it needs what N - W + 1 readers have in their logs. Its own
 * slot's reader counts as one of them, but comes last, as it is the one that goes. Readers that an
 * operator has given up are left out; when fewer than N - W + 1 are left, it needs all of those.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_PULL_PLAN_H
#define ORBLOOM_NODE_PULL_PULL_PLAN_H

#include "map/document.h"

enum pull_role {
    PULL_ROLE_NONE,  /* no slot names this very incarnation */
    PULL_ROLE_JOINS, /* SYNC: to be completed */
    PULL_ROLE_HOLDS, /* DELTA: keeps up with the others */
};

struct pull_plan {
    enum pull_role role;
    uint32_t needed; /* JOINS: how many sources complete it; 0: it is complete as it is */
    uint32_t nsources;
    struct member sources[QUORUM_MAX_REPLICAS]; /* in the order in which they are asked */
};

void pull_plan_make(const struct filter_document *document, uint32_t group,
                    const struct member *self, struct pull_plan *out);

/* How many complete sources make a SYNC: N - W + 1. Any acknowledged add is in the log of one of
 * them. */
uint32_t pull_sources_needed(const struct quorum_rule *rule);

#endif
