/* sim_accepted.h - which keys may be missing after an operator has accepted a loss.
 *
 * A key is no longer promised once the document gives up members of its slot group, if it was
 * acknowledged before that and no reader that is left holds it; an operation that began before,
 * and is answered later, promises only what W replicas hold. Its NEW may have been given before the
 * loss: of a key that was left nowhere it neither contradicts another NEW nor rules one out.
 * Nothing else is let off: what any survivor has, what is in other groups, and all that is added
 * from then on.
 *
 * A life may be given up when its data was destroyed, or its node is off by the word of an
 * operator whose command is under way. Each other one that is given up is a lost replica.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_ACCEPTED_H
#define ORBLOOM_TESTS_SIM_ACCEPTED_H

#include "tests/sim/sim_keyset.h"
#include "tests/sim/sim_view.h"

enum { SIM_MAX_GIVEN_UP = 64 };

struct sim_accepted {
    uint64_t filter_ids[SIM_MAX_NAMES]; /* of which the rest is */
    uint64_t epochs[SIM_MAX_NAMES];     /* the newest that names a loss */
    uint64_t at_us[SIM_MAX_NAMES][SIM_MAX_KEYS];
    uint64_t lives[SIM_MAX_GIVEN_UP]; /* incarnations; the oldest are forgotten */
    uint64_t nlives;
    uint64_t nkeys; /* let off so far */
};

/* The name's document in the store is another one. */
void sim_accepted_follow(struct sim *sim, uint32_t name);

/* Was this life given up, in whichever group? */
bool sim_accepted_gave_up(const struct sim *sim, const struct member *member);

/* Acknowledged to an operation that began before the loss, by lives that were given up? */
bool sim_accepted_lets_off(struct sim *sim, uint32_t name, uint32_t key, uint64_t begun_us);

#endif
