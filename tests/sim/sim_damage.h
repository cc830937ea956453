/* sim_damage.h - what goes wrong with machines and their disks.
 *
 * A process that a fault ends is started again after a while. What destroys a node's data, or may,
 * is noted in sim_losses.h, and drawn only within the budget told there.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_DAMAGE_H
#define ORBLOOM_TESTS_SIM_DAMAGE_H

#include "tests/sim/sim_disk.h"

#include <stdbool.h>

struct sim;
struct sim_process;

/* The node's machine loses power. Where adds are acknowledged unsynced that may destroy data. */
void sim_damage_power(struct sim *sim, struct sim_process *node, uint64_t down_us);

/* All nodes at once; with `power` also their machines. */
void sim_damage_all(struct sim *sim, bool power);

/* The folder is empty; or as it was when a copy was taken, in an earlier life of the process
 * than one that has served (false: there is none); or has one bit changed. */
void sim_damage_wipe(struct sim *sim, struct sim_process *node, uint64_t down_us);
/* Take a copy of its disk, unless there is one that could be put back already. */
void sim_damage_copy(struct sim *sim, struct sim_process *node);
bool sim_damage_roll_back(struct sim *sim, struct sim_process *node);

/* ... or in the very life that is there now (false: none that coordinators would notice: until the
 * node is another incarnation they must not be restarted). */
bool sim_damage_rewind(struct sim *sim, struct sim_process *node);
void sim_damage_flip(struct sim *sim, struct sim_process *node);

/* Some operation soon fails, or is the process's last. */
void sim_damage_operation(struct sim *sim, struct sim_process *node, enum sim_disk_fault fault);

/* No room for new files for a while. */
void sim_damage_no_space(struct sim *sim, struct sim_process *node, uint64_t duration_us);

/* Nothing is committed for a while. */
void sim_damage_stall(struct sim *sim, struct sim_process *node, uint64_t duration_us);

/* Copies are taken from now on, each of a random node's folder. */
void sim_damage_begin(struct sim *sim);

/* One of all these, drawn, within the budget. */
void sim_damage_draw(struct sim *sim);

/* The disks are good and fast from now on. */
void sim_damage_calm(struct sim *sim);

/* struct sim_disk's on_fault: of a process. */
bool sim_damage_struck(void *process, enum sim_disk_fault fault);

/* The process was started: perhaps its disk fails soon. */
void sim_damage_started(struct sim *sim, struct sim_process *process);

#endif
