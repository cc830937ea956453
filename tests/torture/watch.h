/* watch.h - a thread that asks the cluster how it is: what it is doing, and whether it is whole.
 *
 * What it is doing (a replica JOINING, a log read back, runs being merged, filters growing,
 * replicas moving) only says under which phases a fault is counted. An expansion that does not come
 * to its end is a failure. Whole: every replica of every filter is FULL, as the nodes themselves
 * say, not as some coordinator remembers, and no replacement of replicas is under way.
 *
 * Threads: watch_thread() is the body of one; the rest may be read by any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_WATCH_H
#define ORBLOOM_TESTS_TORTURE_WATCH_H

#include "tests/torture/torture.h"

struct watch_thread {
    struct torture *torture;
    _Atomic bool wants_whole;  /* look, as that costs the nodes something */
    _Atomic uint64_t whole_ms; /* when a look began that found everything FULL; 0: never */
    _Atomic bool joining;
    _Atomic bool replaying;
    _Atomic bool merging;
    _Atomic bool growing;
    _Atomic bool valve;         /* keys in arrays of a wanted generation alone */
    _Atomic bool changing;      /* replicas go from one node, or life, to another */
    _Atomic uint64_t joiners;   /* bit set of daemons: nodes with a replica that is JOINING */
    _Atomic bool moving;        /* replicas leave a node that is drained or replaced */
    _Atomic uint64_t looked_ms; /* when the newest look that was answered began */
    _Atomic uint64_t calm_ms;   /* when one began that found nothing growing and nothing changing */
    _Atomic uint64_t signed_ms; /* when one began that found no record signed with an older key */
    _Atomic uint32_t slots[CLUSTER_MAX_DAEMONS]; /* of a node, by daemon */
};

/* Until torture.over. */
void *watch_thread(void *context);

#endif
