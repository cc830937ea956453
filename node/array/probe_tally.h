/* probe_tally.h - what came of lookups of absent keys in one replica's arrays, as these are now.
 *
 * Counts are of the arrays that a check looks into: with others they begin anew. Keys that come
 * make a rate grow, and so old counts give way: there are two windows, the one that is being
 * filled and the one before. A window ends after ten minutes, and none is kept that began when the
 * replica had fewer keys by a 64th of what it may hold: that is a tenth of the rate at most, or a
 * fifth where a key has two lines.
 *
 * Units:   lookups; time is monotonic, in microseconds.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_ARRAY_PROBE_TALLY_H
#define ORBLOOM_NODE_ARRAY_PROBE_TALLY_H

#include <stdint.h>

#define PROBE_WINDOW_US UINT64_C(600000000)

enum { PROBE_KEYS_SHARE = 64 /* of what a replica may hold, one such part more is too much */ };

/* What a check at the replica is decided by. */
struct probed_arrays {
    uint64_t mark; /* another one with other arrays; not 0 */
    uint64_t keys; /* in them */
    uint64_t keys_capacity;
};

struct probe_count {
    uint64_t probes;
    uint64_t hits; /* "present" */
};

struct probe_window {
    uint64_t since_us;
    uint64_t keys; /* as it began */
    struct probe_count count;
};

/* Zeroed: nothing was looked up. */
struct probe_tally {
    uint64_t mark;
    struct probe_window now;
    struct probe_window before;
};

/* That is how the arrays are: counts that are not of them go. */
void probe_tally_follow(struct probe_tally *self, uint64_t now_us,
                        const struct probed_arrays *arrays);

/* Looked up in what was followed last. */
void probe_tally_add(struct probe_tally *self, struct probe_count count);

/* Of both windows. */
struct probe_count probe_tally_sum(const struct probe_tally *self);

#endif
