/* sim_expansion.h - filters that grow: small ones, loaded past their capacity, and an operator who
 * expands, shrinks, asks for another rate and takes it back, at any moment and over and over.
 *
 * All seeds of the scenario GROW have such filters, and a share of the others; in some of these
 * replicas move between nodes meanwhile (sim_drain.h). What is drawn for it comes from a stream of
 * its own: a seed without expansion does not depend on any of this.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_EXPANSION_H
#define ORBLOOM_TESTS_SIM_EXPANSION_H

#include "tests/sim/sim_random.h"
#include "tests/sim/sim_view.h"

enum sim_moving { SIM_MOVING_NOTHING, SIM_MOVING_DRAINS, SIM_MOVING_REPLACES };

struct sim_expansion {
    struct sim_random random;
    bool on;
    enum sim_moving moving;
    uint64_t rate;  /* keys a second that a node reads back; 0: as many as it can */
    uint64_t hosts; /* that build at a time */
    uint64_t pause_us;
    uint64_t least[SIM_MAX_NAMES];                /* the smallest capacity ever asked for */
    struct expand_parameters last[SIM_MAX_NAMES]; /* what was asked for last */
    uint32_t asked;                               /* the name that a command is about */
};

/* Perhaps another scenario than the one drawn; then what belongs to it. */
void sim_expansion_draw_scenario(struct sim *sim);
void sim_expansion_draw(struct sim *sim);

void sim_expansion_begin(struct sim *sim);

#endif
