/* sim_command.h - what operators ask of the cluster beside creating and dropping: one of them, with
 * one command at a time.
 *
 * They use the session of the name that is never created, once its create was refused.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_COMMAND_H
#define ORBLOOM_TESTS_SIM_COMMAND_H

#include "client/session.h"

struct sim;

typedef void (*sim_command_done_fn)(struct sim *sim, const struct session_result *result);

/* False: another one is under way, or it is too early; it is to be tried again. `done` may be
 * NULL. */
bool sim_command(struct sim *sim, const struct admin_request *request, sim_command_done_fn done);

#endif
