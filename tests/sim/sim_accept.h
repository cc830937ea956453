/* sim_accept.h - more replicas are gone than the fences allow, and an operator accepts the loss.
 *
 * ACCEPT: of a slot group so many members lose their disks, or are off, that nothing can be fenced
 * or copied any more. Some miss adds before that. An operator asks to accept the loss, at once or
 * late, again and again, for one shard or for all, and while coordinators die; who is off he
 * vouches for, and starts again later, perhaps cut off with a router soon after that. As people do
 * he may also start them before, or not ask at all. In half of these seeds nodes that stay away are
 * replaced by themselves; else he drains those that are back, or wipes their disks.
 *
 * Or he drops the filter: before, in the midst of it, or instead.
 *
 * He is honest: who is off by his word stays off as long as a command that says so is under way, or
 * a drop that has not ended; see sim_vouch.h.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_ACCEPT_H
#define ORBLOOM_TESTS_SIM_ACCEPT_H

#include "tests/sim/sim_random.h"
#include "tests/sim/sim_view.h"

#include <stdbool.h>
#include <stdint.h>

struct member;
struct sim;
struct sim_process;

struct sim_accept {
    struct sim_random random;
    struct sim_random drops;
    bool on;
    uint32_t off;        /* processes that stay off, a bit each */
    uint32_t vouched;    /* ... that a command has vouched for: one that is late gives them up */
    uint32_t asks;       /* commands of this episode to come */
    uint64_t release_us; /* no earlier than that who is off is started again */
    bool accepted;       /* in this episode */
};

/* Perhaps another scenario than the one drawn; then what belongs to it. */
void sim_accept_draw_scenario(struct sim *sim);
void sim_accept_draw(struct sim *sim);

void sim_accept_begin(struct sim *sim);

/* Is the operator not done yet? Says so. */
bool sim_accept_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES]);

/* Is the process not to be started now? */
bool sim_accept_holds(const struct sim *sim, const struct sim_process *process);

/* Does the operator vouch, just now, that the life has ended? */
bool sim_accept_is_off(const struct sim *sim, const struct member *member);

#endif
