/* fault_act.h - one fault on one process: what is done to it, and undone.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_FAULT_ACT_H
#define ORBLOOM_TESTS_TORTURE_FAULT_ACT_H

#include "tests/torture/faults.h"

/* On daemon number `index`, which is under none. FAULT_KILL_ALL is for the caller to spread. */
void fault_act_begin(struct faults *self, uint32_t index, enum fault fault);

/* Has it ended? Then the process is as before, or starting. */
bool fault_act_tick(struct faults *self, uint32_t index);

#endif
