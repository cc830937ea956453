/* sim_window.h - filters that keep keys for a time, and a clock that runs ahead.
 *
 * All seeds of the scenario WINDOW have a filter with a window of one to three slices of a second;
 * runs are longer for it, so that slices come and go. In half of them the clock of one node jumps
 * ahead again and again, by up to two slices: keys may stay longer for it, and never go early. In
 * some replicas move between nodes meanwhile (sim_drain.h). What is drawn comes from a stream of
 * its own.
 *
 * An add promises its key until the window has passed since the operation began.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_WINDOW_H
#define ORBLOOM_TESTS_SIM_WINDOW_H

#include "tests/sim/sim_random.h"

#include <stdbool.h>
#include <stdint.h>

struct sim;

struct sim_window {
    struct sim_random random;
    bool on;
    uint32_t ahead; /* the node whose clock runs ahead, plus one; 0: none's does */
};

/* Perhaps another scenario than the one drawn; then what belongs to it. */
void sim_window_draw_scenario(struct sim *sim);
void sim_window_draw(struct sim *sim);

void sim_window_begin(struct sim *sim);

/* Is what an operation of that time promised over by now? Never without a window. */
bool sim_window_over(const struct sim *sim, uint32_t name, uint64_t begun_us);

/* Does a later promise take an earlier one's place? */
bool sim_window_renews(const struct sim *sim, uint32_t name);

#endif
