/* sim_behind.h - a router and some nodes that hear of nothing new, over and over: they are cut off
 * from coordinators, other routers and nodes, and clients still reach the router.
 *
 * What they serve meanwhile they serve under an old epoch. So it is where a step that goes on with
 * too few fences shows: there are as many nodes behind as still make a quorum without them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_BEHIND_H
#define ORBLOOM_TESTS_SIM_BEHIND_H

struct sim;

/* In some seeds of the scenarios REBUILD and RENAME. */
void sim_behind_begin(struct sim *sim);

#endif
