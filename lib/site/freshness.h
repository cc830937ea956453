/* freshness.h - what a router knows of how much of the other sites' keys is here, and what checks
 * may say by it.
 *
 * The router asks a link of its site, and notes its own clock before it does. The link tells, for
 * each other site, how old its newest mark is (mark.h). That age was worked out after the question
 * had come, so the mark was begun no later than the noted time less the age, whatever the way took;
 * the beginning is what is kept, not the age, which would stand still.
 *
 * "Absent" takes, for every other site of the set, joining and leaving ones too, that
 *   within a bound    its mark was begun less than the bound before the check came
 *   a fresh check     its mark was begun after a question that was sent after the check came. That
 *                     goes by the order of messages, not by clocks, so that it also holds where one
 *                     of them stands still, as in a virtual machine resumed from a snapshot
 * and nodes must be asked after that: votes that were asked for before don't count. Without a bound
 * nothing is asked of other sites. In no case may a site say it that is still being filled.
 *
 * Units:   microseconds of CLOCK_BOOTTIME of this machine. When a question is sent may be told by a
 *          clock that was read before; when a check came must not.
 * Errors:  as said at each function.
 * Owner:   owns nothing; a zeroed struct knows nothing and allows nothing.
 * Threads: none; pure.
 * Source:  tests/models/site_fresh.pml.
 */
#ifndef ORBLOOM_SITE_FRESHNESS_H
#define ORBLOOM_SITE_FRESHNESS_H

#include "map/sites.h"
#include "site/mark.h"

enum { FRESHNESS_MAX_QUESTIONS = 4 };

#define FRESHNESS_UNBOUNDED   UINT64_MAX /* no bound; 0: fresh */
#define FRESHNESS_PATIENCE_US 800000u /* an unanswered question makes room for another one then */

/* When a check came. */
struct freshness_moment {
    uint64_t us;
    uint64_t questions; /* those up to this number had been sent */
};

struct freshness_site {
    struct site_id id;
    struct site_life life;
    enum site_state state;
    bool known;
    int64_t begun_us; /* the newest mark, or later; below 0: before the clock began */
    uint64_t after;   /* the newest question that a mark was begun after, if it is not 0 */
};

struct freshness_question {
    uint64_t number; /* 0: none */
    uint64_t sent_us;
};

/* Of one filter. */
struct freshness {
    bool entered;
    bool says_absent;
    bool settled;
    uint32_t keyset;
    struct site_life own_life;
    struct freshness_site sites[SITE_SET_MAX_LIVE]; /* the others */
    uint32_t nsites;
    uint64_t sent; /* number of the last question */
    struct freshness_question questions[FRESHNESS_MAX_QUESTIONS];
};

/* What a link tells of one other site ... */
struct freshness_told {
    struct site_id id;
    struct site_life life;
    struct mark_told mark;
};

/* ... and of what it tells it. */
struct freshness_answer {
    struct site_life own_life;
    uint32_t keyset;
    const struct freshness_told *told;
    size_t ntold;
};

enum freshness_verdict {
    FRESHNESS_MAY_SAY,
    FRESHNESS_FILLING,   /* this site says no "absent", or nothing is known of its set */
    FRESHNESS_UNSETTLED, /* bounds mean nothing yet, as a site was removed that others have keys of
                          */
    FRESHNESS_UNHEARD,   /* nothing is known of `site` */
    FRESHNESS_BEHIND,    /* the one that is behind furthest is `site` */
};

struct freshness_ruling {
    enum freshness_verdict verdict;
    uint32_t site;      /* UNHEARD, BEHIND: an index of `sites` */
    uint64_t behind_us; /* BEHIND: its mark was begun so long before the check came; 1 at least */
};

/* `tag` is random: questions are numbered from there, so that an answer to a router that was here
 * before is not taken for one to this. */
void freshness_init(struct freshness *self, uint64_t tag);

/* The set of sites by the document that checks are answered under, and the keyset that they read.
 * What was known and asked under another one is void; so it is without sites. */
void freshness_enter(struct freshness *self, const struct site_set *set, uint32_t keyset);

/* A question is about to be sent, to any link. STATUS_OVERLOADED: as many are under way as may be.
 */
MUST_USE enum status freshness_ask(struct freshness *self, uint64_t now_us, uint64_t *number);

/* It could not be sent. */
void freshness_unsent(struct freshness *self, uint64_t number);

/* Its answer. STATUS_NOT_FOUND: no such question is under way; STATUS_STALE: it is about another
 * life of this site, or another keyset. What it says of sites or lives that are not in the set is
 * passed over. */
MUST_USE enum status freshness_answered(struct freshness *self, uint64_t number,
                                        const struct freshness_answer *answer);

/* To be noted when a check has come. */
struct freshness_moment freshness_came(const struct freshness *self, uint64_t now_us);

/* May a check that came then, and asks nodes from now on, say "absent"? */
struct freshness_ruling freshness_allows(const struct freshness *self, uint64_t bound_us,
                                         const struct freshness_moment *came);

/* Of answers that tell which sites have what was acknowledged here before a question came: how many
 * of those that count have what was acknowledged before that moment? */
uint32_t freshness_confirmed(const struct freshness *self, const struct freshness_moment *came);
bool freshness_has_confirmed(const struct freshness *self, const struct freshness_moment *came,
                             const struct site_id *id);

#endif
