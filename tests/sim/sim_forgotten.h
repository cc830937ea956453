/* sim_forgotten.h - what was forgotten stays so: no replica has a key in a keyset that nobody can
 * have put there.
 *
 *   of each keyset that a live name's document names neither arrays nor disk of any node have a
 *   key that was not fed into it, and that no add since its `begin` was about
 *
 * So nothing comes back from an old log, with a node that returns, or by what nodes take over from
 * each other; nor out of a filter that was dropped into the next one of its name.
 *
 * Looked at in seeds with rebuilds, and of the scenario RENAME, whenever all acknowledged keys are.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_FORGOTTEN_H
#define ORBLOOM_TESTS_SIM_FORGOTTEN_H

#include <stdint.h>

struct sim;

void sim_forgotten_check(struct sim *sim, uint32_t name);

#endif
