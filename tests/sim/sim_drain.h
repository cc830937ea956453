/* sim_drain.h - replicas move between nodes, by the coordinators' own doing.
 *
 *   DRAIN    a node is drained until nothing is left on it, then takes part again; the next one
 *   REPLACE  a node dies, with its data or without, and a spare takes its place: by a command, with
 *            or without the operator's word that it is off, or by itself after a while
 *
 * Operators are as people are: they ask again, and drain a node that just died.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_DRAIN_H
#define ORBLOOM_TESTS_SIM_DRAIN_H

struct sim;

void sim_drain_begin(struct sim *sim);

#endif
