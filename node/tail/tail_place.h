/* tail_place.h - may a link go on reading this node's log from the place that it names?
 *
 * A place is an offset of the log of one incarnation and boot. It goes on where that boot is the
 * present one, or the last one before it and the place is not beyond where that one ended: the log
 * is the same bytes up to there. Of boots before those nobody knows any more whether what followed
 * them had to catch up with other replicas; what came that way is told by nobody, so replicas have
 * to be compared first. Whether a filter here had to catch up since is told of each filter.
 *
 * Whoever names a place that this log never had, or a boot that it does not remember, knows more of
 * this incarnation than its folder does: that was put back to an older copy. A boot is remembered
 * for as long as RECORD_MAX_BOOTS are; who was away for longer is taken for one that knows more.
 *
 * Errors:  a constant text, cause and remedy; NULL: it goes on.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_TAIL_TAIL_PLACE_H
#define ORBLOOM_NODE_TAIL_TAIL_PLACE_H

#include "log/record.h"

#include <stdbool.h>

struct tail_place {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t offset;
};

/* Does the place tell that the folder was put back? `end`: of what is appended to the log. */
bool tail_place_tells_put_back(const struct tail_place *place,
                               const struct record_identity *identity, uint64_t end);

/* `end`: likewise. */
const char *tail_place_why_not(const struct tail_place *place,
                               const struct record_identity *identity, uint64_t end);

#endif
