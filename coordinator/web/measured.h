/* measured.h - the rates that nodes have met looking absent keys up, of the filters that somebody
 * looks at: their nodes are asked, as a router asks them for `orbloom info`.
 *
 * Filters are asked for in turn, the one that waits longest first, MEASURED_EACH_US apart and one
 * at a time; each again after MEASURED_AGAIN_US, until nobody has wanted to know of it for
 * MEASURED_WANTED_US. A node has one question at most: while it owes an answer, for
 * MEASURED_SILENT_US, it is left out.
 *
 * Bounds:  MEASURED_FILTERS, the first ones that are wanted. What their nodes have said counts for
 *          MEASURED_KNOWN_US.
 * Errors:  none: of what can't be asked nothing is known.
 * Owner:   the coordinator.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_WEB_MEASURED_H
#define ORBLOOM_COORDINATOR_WEB_MEASURED_H

#include "coordinator/private.h"

enum {
    MEASURED_FILTERS = 256,
    MEASURED_EACH_US = 200000,
    MEASURED_AGAIN_US = 10000000,
    MEASURED_WANTED_US = 10000000,
    MEASURED_PATIENCE_US =
        1000000, /* with the nodes of one filter, before it is the next one's turn */
    MEASURED_SILENT_US = 10000000,
    MEASURED_KNOWN_US = 60000000,
};

struct measured;

/* NULL: no memory. */
struct measured *measured_create(void);
void measured_destroy(struct measured *self);

/* Somebody looks at the filter. */
void measured_want(struct measured *self, uint64_t now_us, uint64_t filter_id);

/* Where `self` asks at all: what is due now, and when more is. */
void measured_turn(struct coordinator *self, uint64_t now_us);
uint64_t measured_next_us(const struct coordinator *self);

/* An answer by a link; false: to none of these questions. One that is late is taken, and does not
 * count. */
bool measured_hear(struct measured *self, uint64_t now_us, uint32_t link,
                   const struct frame *frame);

/* Probes and hits of all FULL replicas whose nodes have answered; the rest of it is nothing. NULL:
 * not known. Valid until the next call of another function. */
const struct report_sum *measured_of(const struct measured *self, uint64_t now_us,
                                     uint64_t filter_id);

#endif
