/* sites_coverage.h - what the runs have reached: what went wrong between sites, what filters and
 * clients came to, and what links have counted. After the full set of seeds none may be zero.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_COVERAGE_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_COVERAGE_H

#include "tests/sim/sim_coverage.h"

struct sites;

/* name, words */
#define SITES_FAULTS(X)                                                \
    X(CUT, "two sites cut off from each other")                        \
    X(ONE_WAY, "... one way")                                          \
    X(LONG_CUT, "... for most of a run")                               \
    X(JOIN_CUT, "... while one of them joined")                        \
    X(RESET, "connections between sites broken")                       \
    X(BROKEN, "... one of several")                                    \
    X(LINK_KILLED, "link killed and restarted")                        \
    X(LINK_PAUSED, "link paused")                                      \
    X(LINK_DOUBLED, "two links at a site")                             \
    X(BEHIND, "part of a site that hears of nothing new")              \
    X(LINKS_ALONE, "links that reach nobody of their site")            \
    X(STORM, "faults inside sites")                                    \
    X(MOVES, "slots moved between nodes")                              \
    X(GROWN, "filter grown at one site at least")                      \
    X(WITH_KEYS, "site added to a filter that had keys")               \
    X(TWO_AT_ONCE, "two sites added at once")                          \
    X(LATER, "third site added by the second one")                     \
    X(LEFT, "site that has left in order")                             \
    X(RETURNED, "... and was added again")                             \
    X(DROPPED_HERE, "... when it had dropped what it had kept")        \
    X(OUTCAST, "site cut off, removed at once and added again")        \
    X(UNHEARD, "... that added keys when it was removed")              \
    X(ORPHAN, "... that dropped the filter for all, before it heard")  \
    X(DROPPED, "filter dropped at all sites, and made anew")           \
    X(DROP_JOIN, "... while a site joined it")                         \
    X(DROP_LATE, "... before all had heard of the drop")               \
    X(BURNT, "site off for good, and removed at once")                 \
    X(BOTH, "... when another one had left, or was about to")          \
    X(LOST_WITH_IT, "... with keys that only it had acknowledged")     \
    X(PUT_BACK, "whole site put back to an older copy")                \
    X(UNDER_LINKS, "... under links that live on")                     \
    X(WIPED, "whole site that has lost all that it had")               \
    X(LOST_SINCE, "... with keys that only it had acknowledged since") \
    X(ANEW, "site that has joined anew")                               \
    X(TWO_BACK, "two sites put back at once")                          \
    X(BACK_AGAIN, "put back again, as it had just begun another life") \
    X(ANEW_CUT, "cut off while it joined anew")                        \
    X(ANEW_LINK, "link killed or paused then, of whichever site")      \
    X(ANEW_NODE, "... node")                                           \
    X(ANEW_COORDINATOR, "... coordinator")                             \
    X(FIVE, "five replicas, of which four acknowledge")

enum sites_fault {
#define X(name, words) SITES_FAULT_##name,
    SITES_FAULTS(X)
#undef X
        SITES_NFAULTS
};

struct sites_coverage {
    struct sim_coverage clusters;
    uint64_t runs;
    uint64_t three; /* with three sites */
    uint64_t virtual_us;
    uint64_t between; /* messages */
    uint64_t answers;
    uint64_t faults[SITES_NFAULTS];
    uint64_t behind;  /* answers */
    uint64_t absents; /* keys */
    uint64_t bounded_absents;
    uint64_t fresh_absents;
    uint64_t foreign_presents; /* of keys that no client had added there */
    uint64_t each_acks;        /* at another site */
    uint64_t several_acks;
};

void sites_coverage_fault(struct sites *sites, enum sites_fault fault);
void sites_coverage_print(const struct sites_coverage *self);

/* Is anything zero? Prints what. Returns how many. */
uint32_t sites_coverage_gaps(const struct sites_coverage *self);

#endif
