/* sim_rebuild.h - filters that are rebuilt from lists while they serve.
 *
 * An operator begins, feeds, commits and aborts, over and over: in order mostly, but also twice,
 * without waiting, for a rebuild that is long over, or without an answer after a while. What
 * remains of a command on its way may arrive when the operator has gone on. Lists are drawn from
 * all keys: acknowledged ones, such as were never added, and such as are added at that moment.
 *
 * All seeds of the scenario REBUILD have it, and a share of the others; in some of the former
 * replicas move between nodes meanwhile (sim_drain.h). What is drawn for it comes from a stream of
 * its own.
 *
 * In the end no rebuild is left open, and the last commit is confirmed.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_REBUILD_H
#define ORBLOOM_TESTS_SIM_REBUILD_H

#include "tests/sim/sim_random.h"
#include "tests/sim/sim_view.h"

struct sim_rebuild {
    struct sim_random random;
    bool on;
    uint64_t pause_us;
    bool commits;                  /* what is left open in the end; else it is taken back */
    uint32_t known[SIM_MAX_NAMES]; /* the keyset that was begun last, as far as it was answered */
    bool asking;                   /* a command is under way: */
    uint32_t name;
    uint64_t filter_id;
    struct rebuild_parameters asked;
};

/* Perhaps another scenario than the one drawn; then what belongs to it. */
void sim_rebuild_draw_scenario(struct sim *sim);
void sim_rebuild_draw(struct sim *sim);

void sim_rebuild_begin(struct sim *sim);

/* Some filter is in the midst of one. */
bool sim_rebuild_is_open(const struct sim *sim);

/* ... or not all know that it is over, though nothing hinders its end. Says which. */
bool sim_rebuild_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES]);

#endif
