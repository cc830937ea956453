/* loss.h - when too many members of a slot group are gone with their data, and an operator accepts
 * that acknowledged keys may be lost.
 *
 * A change of replicas takes F fences and the logs of N - W + 1 members (change.h). When so
 * many are gone for good it could never go on. What an operator gives up is named in the document,
 * life by life and for one group only: such a life counts as fenced, as it never answers again, and
 * its log as read, as there is nothing to read. All members that are left must be read then: what
 * any of them has is not lost. A life that was given up never counts again, should it come back.
 *
 * Gone is a life when its node has another one by now, when its node is not listed any more, and
 * when an operator vouches for its silence: nothing else can tell it from one that is late.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_LOSS_H
#define ORBLOOM_COORDINATOR_PLAN_LOSS_H

#include "map/document.h"

enum loss_verdict {
    LOSS_NEEDED, /* nothing else helps */
    LOSS_ENOUGH, /* refused: enough is left to go on */
    LOSS_GIVEN,  /* what is gone has been given up already */
    LOSS_SILENT, /* refused: too few are heard of, and `silent` could come back with its data */
};

/* What is known of the nodes of the list, each by its place there. */
struct loss_view {
    const struct node_list *nodes;
    const bool *alive; /* heard of lately */
    const bool *off;   /* an operator vouches, with this very command, that it is gone */
};

struct loss_answer {
    enum loss_verdict verdict;
    uint8_t gone;    /* bit s: the current member of slot s */
    uint32_t left;   /* members that are not gone */
    uint32_t needed; /* ... of which it takes so many, to copy from or for fences */
    uint32_t silent; /* SILENT: a node */
    bool loses;      /* keys that were acknowledged may be with none of those left */
};

void loss_judge(const struct filter_document *document, const struct loss_view *view,
                uint32_t group, struct loss_answer *out);

/* Name what is gone, for the epoch that follows this one. */
void loss_give_up(struct filter_document *document, uint32_t group, uint8_t gone);

#endif
