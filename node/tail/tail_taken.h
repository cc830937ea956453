/* tail_taken.h - how far other sites have read this node's log, as links tell. What they have not
 * read is kept for them.
 *
 * Kept in memory only. After a start nothing is known until a link tells, and nothing is kept for
 * sites beyond what is kept anyway.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_TAIL_TAIL_TAKEN_H
#define ORBLOOM_NODE_TAIL_TAIL_TAKEN_H

#include "map/site_tail.h"

struct tail_taken {
    uint64_t incarnation; /* whose log the offsets are of */
    uint32_t count;
    struct site_taken sites[SITE_TAIL_MAX_SITES];
};

/* A link tells. A site is never less far than it was; one that says nothing is where it was. Where
 * there is no room the one that is farthest is forgotten. Offsets beyond `end`, where the log ends,
 * say nothing. */
void tail_taken_note(struct tail_taken *self, uint64_t incarnation, uint64_t end,
                     const struct site_taken *told, size_t count);

/* Below it all have all. UINT64_MAX: nobody needs anything, as far as is known. */
uint64_t tail_taken_lowest(const struct tail_taken *self);

#endif
