/* sim_faults.h - what goes wrong: single faults that end by themselves, and storms of them.
 *
 * Every fault counts itself in the coverage. sim_faults_calm() ends all of them for good.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_FAULTS_H
#define ORBLOOM_TESTS_SIM_FAULTS_H

#include "tests/sim/sim_process.h"

/* SIGSTOP for a while. */
void sim_fault_pause(struct sim *sim, struct sim_process *process, uint64_t duration_us);

/* kill -9, and started again after a while: in memory nothing is left. */
void sim_fault_restart(struct sim *sim, struct sim_process *process, uint64_t down_us);

/* SIGTERM, and started again after a while. */
void sim_fault_stop(struct sim *sim, struct sim_process *process, uint64_t down_us);

/* The process can't go on, and ends by itself now. */
void sim_fault_ended(struct sim *sim, struct sim_process *process);

/* A dead process is started after a while, and again until it runs. */
void sim_fault_start_later(struct sim *sim, struct sim_process *process, uint64_t down_us);

/* Cut the processes of the set off from all others; `sides`: bit 0 to them, bit 1 from them. */
void sim_fault_partition(struct sim *sim, uint32_t set, unsigned sides, enum sim_cut cut,
                         uint64_t duration_us);

/* Cut every process of one set off from every process of the other. */
void sim_fault_separate(struct sim *sim, uint32_t set, uint32_t others, uint64_t duration_us);

/* The store refuses everything for a while. */
void sim_fault_store(struct sim *sim, uint64_t duration_us);
void sim_fault_store_slow(struct sim *sim, uint64_t way_us, uint64_t duration_us);

/* Random faults from now until the calm, about one every `mean_us`. */
void sim_fault_storm(struct sim *sim, uint64_t mean_us);

/* A node has just come into a phase (sim_phase.h) that may be over soon, or very soon (`brief`):
 * perhaps something goes wrong in its midst. Storms alone would hardly ever meet it. */
void sim_fault_tempt(struct sim *sim, bool brief);

/* Everything works from now on: nothing is lost, cut, paused or dead. */
void sim_faults_calm(struct sim *sim);

#endif
