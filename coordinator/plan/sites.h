/* sites.h - the next step of a filter's set of sites, as the coordinator of one of them takes it.
 *
 * Each site edits its own document alone, one step at a time:
 *
 * - anew: this site was put back to an older copy: a link has found that another site remembers
 *   more of its nodes than they have; or another one knows a newer life of it, or that it counts,
 *   or leaves, where it does not, or a site that counts or takes adds and that this one has never
 *   heard of. It begins a life above every one heard of, and joins with all steps below. Before
 *   all else.
 * - merge: what another site of the set has fenced, and this one does not know. Before all that
 *   follows.
 * - open: a newcomer takes adds: each site of its set, itself too, has fenced the very same set,
 *   the same states in it. One of them counts: by such a one it was named.
 * - count: a newcomer has copied all others, begun when it took adds. One of them counts: where
 *   the last one that did was removed, nobody left has all keys, and nobody will. Who joins anew
 *   may be the only one that ever counted, or one of several that were put back at once: then
 *   nobody need count, as long as nobody was removed. Its copies began when the others knew in
 *   which life each of them is, so that nothing of former lives comes to them later.
 * - settle: since a site is GONE that had not left in order, all others have been compared with
 *   this one, each begun when both had fenced that.
 * - absent: a newcomer that counts, and is settled, may say "absent": each other site has fenced
 *   that it counts, and a whole mark of that one, begun after this, has been applied.
 * - gone: all that stay are done with a leaver, and have fenced that it leaves. Done is who is
 *   settled, and has applied a whole mark of every other site that began after that one had fenced
 *   the leaving: also those of other sites, as an add of theirs may have been acknowledged for
 *   being at the leaver. Somebody else counts: where all leave before they have heard of each
 *   other, nobody is gone, and each can be dumped.
 *
 * A mark is one whose source knows this site's nodes as they are: link/received/received.h.
 * Marks bring what their source took itself. What only a newcomer, or only a leaver, lacks or has
 * of a site that burnt, none of them brings: hence "settled" in the last two. Left out, each of
 * these conditions loses keys: tests/models/site_set.pml.
 *
 * To name a newcomer, to leave, and to remove a site at once are an operator's edits, not steps.
 *
 * Errors:  none.
 * Owner:   the caller's.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_SITES_H
#define ORBLOOM_COORDINATOR_PLAN_SITES_H

#include "map/sites.h"

/* What is known of another site. Evidence is of the present lives of both; who has a newer life has
 * none. Sets only grow: of several marks or comparisons the one that began last says most. */
struct sites_peer {
    struct site_id id;
    const struct site_set
        *fenced; /* F of each of its groups have, as it told last; NULL: unknown */
    const struct site_set *marked; /* what it had fenced when the mark began that was applied here;
                                      NULL: none was */
    const struct site_set *compared;        /* ... when a whole copy or comparison began that is
                                               done; NULL: none is */
    const struct site_set *compared_here;   /* ... and what was fenced here then */
    struct site_id done[SITE_SET_MAX_LIVE]; /* the leavers that it has said to be done with */
    uint32_t ndone;
};

struct sites_view {
    const struct site_set *document; /* the one that would be swapped */
    const struct site_set *fenced;   /* F of each group here have; NULL: not known */
    const struct sites_peer *peers;
    uint32_t npeers;
    bool put_back; /* in its present life others remember more of this site than it has */
    uint64_t tag;  /* random, of a life that begins */
};

enum sites_step {
    SITES_STEP_NONE = 0,
    SITES_COME_BACK,
    SITES_JOIN_ANEW,
    SITES_MERGE,
    SITES_OPEN,
    SITES_COUNT,
    SITES_SETTLE,
    SITES_SAY_ABSENT,
    SITES_GONE, /* of `leaver` */
};

enum sites_action {
    SITES_NOTHING, /* no site joins, leaves, or is to be compared */
    SITES_AWAIT,   /* for `step`; see `wait` */
    SITES_WRITE,   /* `next` is the document's set after `step` */
};

enum sites_wait {
    SITES_WAIT_NONE = 0,
    SITES_WAIT_ROOM,     /* with what `who` knows there are too many sites */
    SITES_WAIT_NAME,     /* ... two sites of one name: one of them is to be removed */
    SITES_WAIT_LIFE,     /* its end: it leaves, and `who` knows that it was put back */
    SITES_WAIT_FENCE,    /* this site's nodes have not fenced the present set */
    SITES_WAIT_NAMED,    /* `who` has not fenced the same set */
    SITES_WAIT_COUNTING, /* a site that counts: none is left, and only those have all keys */
    SITES_WAIT_COPY,     /* of `who` */
    SITES_WAIT_COMPARE,  /* with `who` */
    SITES_WAIT_COUNTED,  /* `who` has not fenced that this site counts */
    SITES_WAIT_MARK,     /* of `who` */
    SITES_WAIT_LEAVING,  /* `who` has not fenced that `leaver` leaves */
    SITES_WAIT_DONE,     /* `who` is not done with `leaver` */
    SITES_WAIT_STAYING,  /* this one is; but nobody stays who counts */
};

struct sites_decision {
    enum sites_action action;
    enum sites_step step; /* unless NOTHING */
    enum sites_wait wait;
    struct site_id who;
    struct site_id leaver;
    struct site_set next;
};

/* What comes next. Of steps that all wait, the first one in the order above is told. */
void sites_decide(const struct sites_view *view, struct sites_decision *out);

/* Is this site done with a leaver? To be told to the others. */
bool sites_done(const struct sites_view *view, const struct site_id *leaver);

#endif
