/* rhythm.h - how seldom a node reports here, and so after how long it is silent.
 *
 * A node reports to one coordinator after the other, so each of several hears it as seldom as that
 * takes. What is beyond the node timeout is no part of a rhythm but a silence, and it begins anew.
 *
 * Units:   microseconds.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_COORDINATOR_NODES_RHYTHM_H
#define ORBLOOM_COORDINATOR_NODES_RHYTHM_H

#include <stdint.h>

enum { RHYTHM_WINDOW_US = 60000000 };

struct rhythm {
    uint64_t first_us;   /* since when it has not been silent */
    uint64_t window_us;  /* since when `longest_us` is noted: for RHYTHM_WINDOW_US */
    uint64_t longest_us; /* between two reports */
    uint64_t before_us;  /* ... in the window before this one */
};

/* It is heard now; `last_us`: when it was before, 0: never. */
void rhythm_note(struct rhythm *self, uint64_t last_us, uint64_t now_us, uint64_t timeout_us);

/* Half of the timeout, or half as long again as it has taken lately; at most the timeout itself,
 * which counts also until it has been heard for so long. */
uint64_t rhythm_silent_after(const struct rhythm *self, uint64_t last_us, uint64_t timeout_us);

#endif
