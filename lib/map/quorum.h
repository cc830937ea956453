/* quorum.h - when N, W and R make an answer certain: votes of a batch, 64 keys a step.
 *
 * A replica's reply about a batch is two bit planes, bit i of each for key i:
 *
 *   present absent   a check's reply            an add's reply
 *      0      0      no answer                  not accepted
 *      1      0      present                    accepted; all its bits were set before
 *      0      1      absent                     accepted; it was new here
 *      1      1      (never)                    written by a replica that is not read: counts
 *                                                only as the other half of a pair
 *
 * The verdict of a batch is two planes of the same shape, for clients:
 *
 *      0      0      unknown                    not acknowledged
 *      1      0      present                    PRESENT: acknowledged before
 *      0      1      absent                     NEW: never acknowledged before
 *      1      1      maybe (fail open)          MAYBE_NEW: acknowledged, history unsure
 *
 * All zeros always means "not sure", so nothing forgotten or cut can read as "absent".
 * Only replies of one epoch from FULL replicas of the named incarnation may be passed in;
 * who sees to that is the router's vote collection.
 *
 * Shape:   planes are uint64_t words, LSB first; spare bits of the last word are 0.
 * Errors:  STATUS_INVALID for a rule that cannot be certain.
 * Threads: none; pure.
 * Source:  W + R > N makes any write and read quorum meet (Gifford, "Weighted Voting for
 *          Replicated Data", SOSP 1979); 2W > N makes any two write quorums meet.
 */
#ifndef ORBLOOM_MAP_QUORUM_H
#define ORBLOOM_MAP_QUORUM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUORUM_MAX_REPLICAS = 7 };

struct quorum_rule {
    uint32_t replicas; /* N: 1 to QUORUM_MAX_REPLICAS */
    uint32_t write;    /* W: acknowledgements that make an add durable */
    uint32_t read;     /* R: absent replies that prove absence */
};

/* 1 <= W, R <= N <= 7, W + R > N and 2W > N; else STATUS_INVALID. */
MUST_USE enum status quorum_rule_check(const struct quorum_rule *rule);

/* F = N - min(W, R) + 1: how many fences make an epoch dead for writers and readers. */
uint32_t quorum_fences(const struct quorum_rule *rule);

/* One batch's replies: for each slot its two planes, or NULL for a slot without a reply. */
struct quorum_votes {
    const uint64_t *present[QUORUM_MAX_REPLICAS];
    const uint64_t *absent[QUORUM_MAX_REPLICAS];
    bool tainted[QUORUM_MAX_REPLICAS]; /* add only: may have seen an earlier attempt of this add */
};

/* Verdict of a check. `last`: no further reply can be expected, so one "present" is enough.
 * Returns how many keys are still unknown. */
size_t quorum_check(const struct quorum_rule *rule, const struct quorum_votes *votes, size_t nkeys,
                    bool last, uint64_t *present, uint64_t *absent);

/* Verdict of an add. Returns how many keys are not acknowledged. *nunsure counts those
 * acknowledged as MAYBE_NEW. */
size_t quorum_add(const struct quorum_rule *rule, const struct quorum_votes *votes, size_t nkeys,
                  uint64_t *present, uint64_t *absent, size_t *nunsure);

#endif
