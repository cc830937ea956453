/* sites_put_back.h - a whole site becomes again what it was, as when its machines are rolled back:
 * its store and the folders of all its nodes, at once; or all of it is gone.
 *
 * All its processes but clients end, and sometimes links, and start again on what was put back.
 * Whatever was on its way between them is gone by then; what is on its way between sites is not.
 *
 * Owner:   sites_copy_free(); zeroed there is none.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_PUT_BACK_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_PUT_BACK_H

#include "tests/sim/sim_losses.h"
#include "tests/sim/sim_network.h"
#include "tests/support/memory_store.h"

struct memory_disk;
struct site;

struct sites_copy {
    uint64_t at_us; /* 0: none was taken */
    struct memory_store store;
    struct memory_disk *folders[SIM_MAX_PROCESSES];
    uint64_t incarnations[SIM_MAX_PROCESSES]; /* of nodes; 0: unknown */
    struct sim_losses losses;
};

void sites_copy_take(struct site *site);
void sites_copy_free(struct sites_copy *copy);

/* To its copy; one that was never taken is that of an empty site. */
void sites_put_back(struct site *site);

#endif
