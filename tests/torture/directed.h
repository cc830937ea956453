/* directed.h - the course that kills each kind of process in each phase of one kind of change.
 *
 * One filter is filled, and goes through the change again and again while keys are added and
 * checked. The table counts kills by the phase that the logs show: of a node that builds the very
 * phase that it died in, else one that held both before and after the signal.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_DIRECTED_H
#define ORBLOOM_TESTS_TORTURE_DIRECTED_H

#include "tests/torture/changes.h"
#include "tests/torture/kills.h"
#include "tests/torture/run.h"
#include "tests/torture/stages.h"
#include "tests/torture/tail.h"

struct directed {
    struct run *run;
    struct changes_thread changes;
    struct stages stages;
    struct kills kills;
    struct tail tails[CLUSTER_MAX_DAEMONS]; /* of their logs, */
    int written;                            /* ... and an inotify of them */
    uint64_t random;
    uint64_t soon_ms;      /* no kill before, */
    uint64_t next_ms;      /* ... none before this unless a cell is empty, */
    uint64_t next_node_ms; /* ... and none of a node before this */
    uint64_t joiners;      /* as last seen: they are FULL before the move is over */
    uint64_t keys_before;  /* acknowledged before the first change */
};

/* Create the filter, as yet without any room for more than the first keys. */
bool directed_begin(struct torture *torture);

void directed_run(struct directed *self, struct run *run);

/* Totals, the table and the closing line. Returns the exit status. */
int directed_report(struct directed *self, uint64_t took_ms);

#endif
