/* sim_rebalance.h - filters of several slot groups spread over nodes that came later.
 *
 * An operator asks for it, again and again, and takes it back; nodes are drained in between and
 * take part again, empty, so that there is always something to move. Coordinators move one to four
 * slot groups at a time.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_REBALANCE_H
#define ORBLOOM_TESTS_SIM_REBALANCE_H

struct sim;

/* In the scenario REBALANCE. */
void sim_rebalance_begin(struct sim *sim);

#endif
