/* window.h - filters that keep the keys of a window of time: their sizes, and when it moves on.
 *
 * A window is cut into slices. Adds go to the newest one, checks read all that are kept, and those
 * are one more than the window has: the newest one is never full in time. A rotation begins another
 * slice, and the oldest is forgotten. The newest slice's number is part of the epoch's content, so
 * the epoch of a request decides where its keys go, and no clock takes part in that.
 *
 * A rotation from slice s is written when
 *   1  F members of every slot group have fenced an epoch that names s: no add can be acknowledged
 *      any more that is in an older slice only;
 *   2  since then F members of every slot group have counted a full slice, each on its own
 *      monotonic clock.
 * So a key stays for the whole window since its add was sent, unless F clocks run ahead together.
 * Clocks that lag or stand still, restarts, and coordinators that nobody can reach make it stay
 * longer, never shorter. Source: the model tests/models/window.pml.
 *
 * Sizes: the numbers that a user gives are for the window. With k slices each array is made for a
 * k-th of the capacity, and for a (k + 1)-th of the rate, as a check looks into k + 1 of them.
 *
 * Units:   microseconds; keys; rates are probabilities.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_HISTORY_WINDOW_H
#define ORBLOOM_MAP_HISTORY_WINDOW_H

#include "map/document.h"

#include <stddef.h>

#define WINDOW_SLICE_MIN_US UINT64_C(1000000)
#define WINDOW_MAX_US       (UINT64_C(3650) * 24 * 3600 * 1000000)
#define WINDOW_UNKNOWN      UINT64_MAX

/* NULL, or why no filter can have such a window. Both 0: it has none. */
const char *window_fault(uint64_t window_us, uint64_t nslices);

/* ---- sizes; nslices 0: without a window ---- */

/* What one array is for. Rounded up. */
uint64_t window_set_capacity(uint32_t nslices, uint64_t capacity);
double window_set_rate(uint32_t nslices, double rate);

/* ... and what all of them are for. */
uint64_t window_capacity(uint32_t nslices, uint64_t set_capacity);

/* How many arrays a replica has of each shard: those that are kept, and one that stands ready. */
uint32_t window_sets(uint32_t nslices);

/* ---- rotation ---- */

uint64_t window_slice_us(const struct filter_document *document);

/* How long a node has counted the newest slice, or a filter's expiry. */
struct window_count {
    uint32_t node;
    uint64_t counted_us; /* 0: it does not count */
};

/* What F of every slot group have counted at least. 0: of some group fewer than F count. One count
 * a node. */
uint64_t window_counted_us(const struct filter_document *document,
                           const struct window_count *counts, size_t ncounts);

/* How much longer must they count? 0: F of every slot group have counted a full slice.
 * WINDOW_UNKNOWN: of some group fewer than F count. One count a node. */
uint64_t window_remaining_us(const struct filter_document *document,
                             const struct window_count *counts, size_t ncounts);

/* The edit: another slice, epoch and revision go up. Not while a slot is a pair, whose evidence
 * would be void. */
void window_rotate(struct filter_document *document);

#endif
