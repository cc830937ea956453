/* counts.h - what nodes count for the coordinator, each on its own clock: slices of
 * windows, and expiries of filters.
 *
 * Units:   microseconds.
 * Errors:  none.
 * Owner:   counts_forget() frees; a zeroed struct is ready.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_COUNTS_H
#define ORBLOOM_COORDINATOR_COUNTS_H

#include "map/history/window.h"

/* How long nodes have counted something, by their last word. */
struct node_counts {
    struct window_count *items; /* one a node */
    size_t count;
};

/* Without memory the node counts as silent. */
void counts_note(struct node_counts *self, uint32_t node, uint64_t counted_us);
void counts_forget(struct node_counts *self);

/* When they may have counted so much, or must be asked again as they may have restarted: from the
 * time when they were asked on. WINDOW_UNKNOWN: too few count. */
uint64_t counts_wait_us(uint64_t left_us, uint64_t retry_us);

#endif
