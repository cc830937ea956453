/* sim_final.h - the end of a run: once nothing is wrong any more, everything must work.
 *
 * Every acknowledged key is checked through every router, new ones are added, and the status of
 * the cluster is compared with what the simulator knows. Where too few replicas are FULL for
 * good, the same questions must end without certainty.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_FINAL_H
#define ORBLOOM_TESTS_SIM_FINAL_H

struct sim;

/* Faults have just ended: ask once the cluster has settled, then end the run. */
void sim_final_plan(struct sim *sim);

#endif
