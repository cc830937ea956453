/* upgrade.h - the course in which every process becomes one of the newer release, and of the older
 * one again, while filters are used as ever.
 *
 * A cluster of the older release begins. A round takes the kinds of process (coordinators, nodes,
 * routers) to the newer one in one of the six orders and back in another, process by process; half
 * of them end by SIGTERM, half by SIGKILL, and between two kinds one of any kind is killed and
 * started again. The next process waits until every replica is FULL: as an operator would. So no
 * client may ever be refused or wait in vain.
 *
 * At the end all are of the newer release, `orbloom upgrade finalize` takes its features into use,
 * and a process of the older one is refused, in words.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_UPGRADE_H
#define ORBLOOM_TESTS_TORTURE_UPGRADE_H

#include "tests/torture/run.h"

struct upgrade {
    struct run *run;
    uint64_t random;
    uint64_t rounds;   /* to their end */
    uint64_t restarts; /* as the other release */
    uint64_t killed;   /* of them, by SIGKILL */
    uint64_t refused;  /* processes of the older one, after finalize */
};

void upgrade_run(struct upgrade *self, struct run *run);

/* Totals and the closing line. Returns the exit status. */
int upgrade_report(const struct upgrade *self, uint64_t took_ms);

#endif
