/* sites_load.h - the load: clients of all sites, who add and check keys that all sites share.
 *
 * A few keys in use slide through a window, so that sites add the same ones at once; now and then
 * comes a batch of many more, by which logs grow.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_LOAD_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_LOAD_H

#include "tests/sim/sim_random.h"
#include "tests/sim_sites/sites_oracle.h"

enum { SITES_MAX_OPS = 256 };

struct sites_load {
    struct sim_random random;
    bool running;
    uint64_t pause_us; /* mean time between two operations of a client */
    uint32_t many_permille;
    uint64_t serial;
    struct sites_op ops[SITES_MAX_OPS];
    uint32_t nopen;
};

void sites_load_start(struct sites *sites);
void sites_load_stop(struct sites *sites);

/* Begin one now; `op` has what is wanted: site, operation, keys, bound, acks, success. */
void sites_load_submit(struct sites *sites, const struct sites_op *op, uint64_t timeout_us);

/* The clients of a site have died: nothing of theirs is answered any more. */
void sites_load_forget(struct sites *sites, const struct site *site);

#endif
