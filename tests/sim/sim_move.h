/* sim_move.h - an epoch change in flight: a replica moves to another node, under load.
 *
 * This version of orbloom has no move of its own. The simulator plays its operator, correctly
 * and at once: it writes the document of the next epoch, has the FULL replicas of the old one
 * fence it (F at least), merges what they hold into the new member's arrays, and leaves it to
 * routers and to the replica that left to learn of it. Operations in flight start over.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_MOVE_H
#define ORBLOOM_TESTS_SIM_MOVE_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* Move one replica of the name to a node that holds none; false: not possible now. Of nodes that
 * keep all in memory: arrays are moved, and no log. */
bool sim_move(struct sim *sim, uint32_t name);

#endif
