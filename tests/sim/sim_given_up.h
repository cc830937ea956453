/* sim_given_up.h - operators who give a drop up: it ended without success, and the filter is to
 * stay.
 *
 * By then a coordinator that was stopped may have the command before it. Once it has gone on, and
 * the time for which the command was wanted is over by its clock too, the operator looks: a filter
 * that is not being dropped stays for good. So from the last frame's arrival on it waits for as
 * long as the command was wanted, and for what a coordinator does not notice of its own pauses
 * (pulse.h).
 *
 * In RENAME, where coordinators are often stopped right then.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_GIVEN_UP_H
#define ORBLOOM_TESTS_SIM_GIVEN_UP_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* A drop begins: will it be given up? Its operator has little patience then. */
void sim_given_up_draw(struct sim *sim, uint32_t name);

/* A frame of a command arrives at that time. */
void sim_given_up_note(struct sim *sim, uint32_t command, uint64_t arrival_us);

/* A drop has ended without success. False: it is to be repeated. */
bool sim_given_up_begins(struct sim *sim, uint32_t name);

/* What the store says of the name may have changed: what nobody wants to go is there still. */
void sim_given_up_follow(struct sim *sim, uint32_t name);

#endif
