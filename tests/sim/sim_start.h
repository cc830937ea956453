/* sim_start.h - what runs in a process: makes, destroys and questions the four kinds of actor.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_START_H
#define ORBLOOM_TESTS_SIM_START_H

#include "router/router.h"
#include "tests/sim/sim_process.h"

/* False: a coordinator that cannot read its store, a node its disk. Everything else aborts on
 * failure. */
bool sim_start_actor(struct sim_process *process);

/* As routers of the cluster are configured. */
void sim_start_router_config(const struct sim_process *process, struct router_config *config);

/* Its lanes are stopped: a node ends its log in order. */
void sim_start_finish(struct sim_process *process);
void sim_start_destroy(struct sim_process *process);

/* Send a stats request into the actor; its answer ends up in sim_start_read_counters(). */
void sim_start_ask_counters(struct sim_process *process);

/* Copy the values of a stats reply to process->counters; returns how many. */
size_t sim_start_read_counters(struct sim_process *process, struct span frame);

struct counter_table sim_start_counters(enum sim_kind kind);

#endif
