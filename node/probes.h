/* probes.h - which filter's absent keys are looked up next, and when: see array/probe.h.
 *
 * Some are looked up at once, of one filter, then for as long as `probe_rate` says none are. What
 * comes late is not made up for.
 *
 * Units:   lookups; time is monotonic, in microseconds.
 * Errors:  none.
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_PROBES_H
#define ORBLOOM_NODE_PROBES_H

#include <stdint.h>

struct node;

/* Zeroed: it has not begun. */
struct node_probes {
    uint64_t next_us;
    uint64_t next_id; /* of the filter, or the one after it */
    uint64_t random;  /* state of the generator; 0: not seeded */
};

/* When the next ones are due; ACTOR_NEVER: nothing is probed. */
uint64_t node_probes_next_us(const struct node *self);

/* Looks some up if they are due. */
void node_probes_turn(struct node *self, uint64_t now_us);

#endif
