/* sites_end.h - how a run ends: it waits until all sites rest, and asks the last questions.
 *
 * Errors:  the run fails where nothing comes to rest, or an answer breaks a promise.
 * Owner:   none.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_END_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_END_H

#include "tests/sim/sim.h"

/* sim_event_fn, of `struct sites`: nothing goes wrong any more. */
void sites_end_on_calm(struct sim *sim, void *data, uint64_t number);

#endif
