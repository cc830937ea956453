/* upgrade.h - linked sites go from an older release to this one and back, process after process,
 * and in the end stay; meanwhile clients add and check at each, and filters come, grow and go.
 *
 * A kind after the other, in another order at each site, both sites at once in one round, and in
 * the next one site wholly before the other begins. Half of the processes end by kill -9. Nodes of
 * this release write imprints of small arrays, which those of an older one leave alone while they
 * log more keys.
 *
 * Nothing may be lost, and what a site's own processes answer may not be missing: verdict_fail().
 *
 * Threads: the main thread, with loads going on.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_UPGRADE_H
#define ORBLOOM_TESTS_TORTURE_SITES_UPGRADE_H

#include "tests/torture_sites/faults.h"
#include "tests/torture_sites/load.h"

struct upgrade {
    struct faults *faults;
    struct load *loads;
    uint64_t random;
    struct orbloom *handles[OPTIONS_MAX_SITES];
    uint64_t rounds; /* there and back */
    uint64_t restarts;
    uint64_t killed;   /* ... by kill -9 */
    uint64_t filters;  /* made, filled, grown and dropped */
    uint64_t imprints; /* that starts have read back */
    uint64_t steady;   /* keys in the filter that only gets more of them */
    uint64_t fast;     /* in the one that passes */
    char passing[32];  /* its name */
};

/* As --rounds says, and to this release at the end. */
void upgrade_run(struct upgrade *self, struct faults *faults, struct load *loads);

void upgrade_print(const struct upgrade *self);

#endif
