/* sim_remade.h - what a FULL replica answers from can be made again from its disk.
 *
 *   every bit of its arrays is one of a fingerprint, a page or a snapshot that the node's disk has,
 *   as a power loss would leave it (where adds are acknowledged unsynced: as a kill would), or of a
 *   record that was appended and is on its way there
 *
 * Else some quorum counts on what is gone at the next start. It is looked at whenever all keys are
 * (sim_invariant.h), and of a node whose process ends just before that, so at every restart. Bits
 * of adds that were refused after all are in no log: the node marks such arrays as having strays,
 * and they are passed over.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_REMADE_H
#define ORBLOOM_TESTS_SIM_REMADE_H

#include <stdint.h>

struct sim;
struct sim_process;

struct sim_remade {
    uint64_t arrays; /* of FULL replicas that were looked at */
    uint64_t strays; /* ... that were passed over */
};

/* A node, its process being alive. */
void sim_remade_check(struct sim *sim, struct sim_process *process);

/* All of them. */
void sim_remade_check_all(struct sim *sim);

#endif
