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

#include <stdbool.h>
#include <stdint.h>

struct node_record;
struct sim;

void sim_drain_begin(struct sim *sim);

/* Some document names the node. */
bool sim_drain_is_held(const struct sim *sim, uint32_t node);

/* One of these, by chance; NULL: there is none. */
const struct node_record *sim_drain_draw_held(struct sim *sim);

/* The node takes part again. */
void sim_drain_undo(struct sim *sim, const struct node_record *record);

/* From now on all nodes do, as soon as nothing is left on them. */
void sim_drain_over(struct sim *sim);

#endif
