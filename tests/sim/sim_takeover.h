/* sim_takeover.h - a node is cut off, and another machine takes its place while it lives on.
 *
 *   the old life A is cut off from everybody but one router, which hears of nothing new but from
 *   the one other replica, B, that it reaches; C misses what it sends
 *   a standby machine starts with an empty disk under A's name, and registers when A has been
 *   silent for long enough
 *   while the newcomer copies, its log may stall: adds through that router must not count with A
 *   when it has copied all B may be cut off too: then that router must not find two that are behind
 *   in the end all cuts heal, and A goes; its machine is the next standby
 *
 * One at a time.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_TAKEOVER_H
#define ORBLOOM_TESTS_SIM_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>

struct sim;
struct sim_process;

struct sim_takeover {
    struct sim_process *old; /* NULL: none is under way */
    struct sim_process *next;
    struct sim_process *witness; /* B */
    struct sim_process *absent;  /* C */
    struct sim_process *router;
    uint64_t until_us;
    bool started;
    bool paired; /* seen */
    bool completed;
};

/* The three replicas of the first name, A, B and C. False: no machine stands by, or A may not be
 * lost now. */
bool sim_takeover_begin(struct sim *sim, struct sim_process *const replicas[3]);

/* A process that has ended: shall it not be started again, its place being taken? */
bool sim_takeover_retires(struct sim *sim, struct sim_process *process);

/* Is there an old life? Then nobody may vouch that it is gone. */
bool sim_takeover_lives(const struct sim *sim);

/* Nothing is cut any more: end what is under way. */
void sim_takeover_calm(struct sim *sim);

#endif
