/* sim_grown.h - what is so of filters that grow, seen by somebody who sees everything.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_GROWN_H
#define ORBLOOM_TESTS_SIM_GROWN_H

#include "tests/sim/sim_view.h"

struct arrays;

/* Is some expansion under way that can come to its end, or one about to begin by itself? Says
 * which. */
bool sim_grown_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES]);

/* Does some node hold more keys than the wanted generation is for, and keep what it has? That takes
 * an operator. */
bool sim_grown_is_stuck(const struct sim *sim, uint32_t name);

/* Fewer keys than this have room in every slot group of the filter, of the smallest capacity that
 * was ever asked for, or (`settled`) of the one that it has. 0: not known. */
uint64_t sim_grown_room(const struct sim *sim, uint32_t name, bool settled);

#endif
