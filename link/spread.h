/* spread.h - how a stream is spread over several connections.
 *
 * What goes by one connection comes in its order, or not at all once that has broken; what goes by
 * two may come in any. So the sender says with each batch by which connections those went that may
 * not be there yet, and the receiver remembers of each what it has told last.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LINK_SPREAD_H
#define ORBLOOM_LINK_SPREAD_H

#include "proto/site/message.h"

/* What is under way by a connection. */
struct spread_load {
    bool open;
    uint64_t bytes;
};

/* By which one the next batch goes: where the least is under way, the first of several. By the very
 * first go marks and answers, too, which should not have to wait: so it has half as much. With none
 * open: SITE_MAX_CONNECTIONS. */
uint32_t spread_choose(const struct spread_load loads[SITE_MAX_CONNECTIONS]);

/* Has each of these connections (bit i: i) told of that number, or of a later one? Then what has
 * that number and is not here will not come. */
bool spread_has_passed(const uint64_t told[SITE_MAX_CONNECTIONS], uint32_t connections,
                       uint64_t number);

#endif
