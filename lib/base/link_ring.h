/* link_ring.h - outgoing links to endpoints that are as good as each other, used in turn.
 *
 * Errors:  link_ring_send() is false when no link is connected; try again later.
 * Owner:   endpoints are borrowed for the ring's life; links close with the process.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_LINK_RING_H
#define ORBLOOM_BASE_LINK_RING_H

#include "base/actor.h"

enum { LINK_RING_MAX = 8 };

struct link_ring {
    const char *endpoints[LINK_RING_MAX];
    uint32_t links[LINK_RING_MAX]; /* 0: not opened yet */
    uint32_t count;
    uint32_t next; /* whose turn it is */
};

/* Whose turn it is, if there are any; the next one is next. */
uint32_t link_ring_turn(struct link_ring *self);

/* To that one; false: it is not connected. */
bool link_ring_send_to(struct link_ring *self, const struct effects *effects, uint32_t which,
                       struct span frame);

/* Send to the one whose turn it is, or to the next that is connected. */
bool link_ring_send(struct link_ring *self, const struct effects *effects, struct span frame);

/* Is the link one of the ring's? */
bool link_ring_has(const struct link_ring *self, uint32_t link);

#endif
