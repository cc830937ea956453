/* sim_replacement.h - directed scenarios about replacing replicas: each fault at the moment at
 * which a wrong rule would lose a key.
 *
 * Time and again while faults last, an episode of the scenario's kind:
 *
 *   LAG       adds are in the log of A, and in the buffer of B's, which stalls; C misses them.
 *             A is wiped; it comes back, and copies from B and C what lies below their fences,
 *             while the routers sleep. Then B commits, and the adds are acknowledged.
 *   TWO_JOIN  of five replicas (W=3) two miss some adds, and two that have them are wiped at once,
 *             so that each could take the other for a source.
 *
 *   OLD_LIFE  see sim_takeover.h.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_REPLACEMENT_H
#define ORBLOOM_TESTS_SIM_REPLACEMENT_H

#include <stdbool.h>

struct sim;

void sim_replacement_begin(struct sim *sim);

/* A node is in the midst of something: perhaps an episode begins. False: none does. */
bool sim_replacement_tempt(struct sim *sim);

#endif
