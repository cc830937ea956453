/* sim_phase.h - what a node is in the midst of: the columns of the coverage table that operations
 * do not tell.
 *
 * Part of it is seen from outside, by what its process does to its disk.
 *
 *   recovery  the log is being read, or arrays are filled from it
 *   roll      a segment's header was written and is not yet synced
 *   merge     a run is being written
 *   boot      the store has not yet taken note of this boot
 *   sync      some replica of it is JOINING
 *   grow      some replica of it has arrays of two generations
 *   valve     ... and keys come through a valve
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_PHASE_H
#define ORBLOOM_TESTS_SIM_PHASE_H

struct sim_process;

/* Look at a node again, after it did something; others have no phases. Also keeps
 * process->incarnation and process->served. */
void sim_phase_follow(struct sim_process *process);

#endif
