/* sim_invariant.h - what must be so at any moment, whoever asks: acknowledged keys are held.
 *
 *   every acknowledged key of a live name is held by at least W replicas of each shard, counting
 *   those whose data was destroyed and which nobody has replaced yet
 *
 * A replica holds a key when its array has all the key's bits while it serves, and when its node's
 * disk has it in a batch or a run, if there is a disk. While it does not serve (dead, recovering)
 * the disk alone decides. Of a slot under change the member that reads ask is looked at.
 *
 * A keyset is a set of keys of its own: so it is for each, whether checks read it yet or not.
 *
 * It is checked for the keys of every acknowledged add at its end, and for all keys after every
 * fault but those of single messages, after every change of a document, and at the end of a run.
 *
 * In that end, with everybody well, gossip must make the FULL replicas of a slot group equal.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_INVARIANT_H
#define ORBLOOM_TESTS_SIM_INVARIANT_H

#include "tests/sim/sim_oracle.h"

struct sim_invariant {
    bool due;        /* something has happened: check all */
    uint64_t checks; /* of a key */
    struct {
        uint64_t filter_id; /* of which the fingerprints are; 0: none */
        uint64_t fingerprints[SIM_MOST_KEYS];
    } names[SIM_MAX_NAMES];
};

/* Keys that have just been acknowledged in the name's newest binding, in each keyset that the
 * document names. */
void sim_invariant_check(struct sim *sim, uint32_t name, const uint32_t *keys, uint32_t count);

/* Do so many readers that were not given up hold it? 0: in the keyset that serves. */
bool sim_invariant_is_left(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key,
                           uint32_t count);

/* All acknowledged keys, if it is due. */
void sim_invariant_check_all(struct sim *sim);

/* Of all keys of the load; NULL: there is no such filter any more. */
const uint64_t *sim_invariant_fingerprints(struct sim *sim, uint32_t name,
                                           const struct filter_document *document);

enum sim_agreement {
    SIM_EQUAL,
    SIM_DIFFER,
};

/* Of the arrays of the FULL replicas of each live name. Says which differ in what. */
enum sim_agreement sim_invariant_agreement(struct sim *sim, char text[SIM_UNREST_BYTES]);

#endif
