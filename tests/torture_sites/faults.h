/* faults.h - which faults there are, and when: chosen at random, several at a time, but of the
 * nodes of a site only one, unless all of them are killed at once.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_FAULTS_H
#define ORBLOOM_TESTS_TORTURE_SITES_FAULTS_H

#include "tests/torture_sites/lines.h"
#include "tests/torture_sites/sites.h"

enum fault {
    FAULT_KILL,      /* kill -9; started again within half a second */
    FAULT_STOP,      /* SIGSTOP for 0.2 to 8 s */
    FAULT_KILL_PAIR, /* the links of two sites at once */
    FAULT_STOP_PAIR,
    FAULT_KILL_SITE, /* all nodes of a site at once */
    FAULT_PAUSE,  /* an operator pauses another site, for the filter or for all, for 0.2 to 8 s */
    FAULT_RESYNC, /* ... has all that it has compared */
    FAULT_LEAVE,  /* a site leaves the filter, and comes back once it has left */
    FAULT_CUT,    /* a line between two sites, for seconds */
    FAULT_CUT_ONE_WAY,
    FAULT_BURST, /* it loses many packets for a while */
    FAULTS
};

/* What an operator of that site has paused. */
struct pause {
    uint32_t site;
    char words[64]; /* that resume it; "": nothing is paused */
    uint64_t due_ms;
};

/* A site that has been told to leave. */
struct leaver {
    bool away;
    uint32_t site;
    uint64_t due_ms; /* then it is told to come back, until it does */
};

struct faults {
    struct sites *sites;
    struct lines *lines;
    uint64_t random;
    uint64_t next_ms;
    uint64_t total;
    uint64_t counts[FAULTS][ROLES];
    struct pause pause;
    struct leaver leaver;
};

void faults_init(struct faults *self, struct sites *sites, struct lines *lines);

/* Begin a fault if it is time. */
void faults_begin(struct faults *self, bool spare_nodes);

/* Start what is due to start, let go on what is due; a process that ended by itself is a failure.
 */
void faults_tick(struct faults *self);

/* No more faults: lines are good again, and all processes run, which is waited for. */
bool faults_end(struct faults *self);

/* It is started again soon, by faults_tick(). */
void faults_kill(struct faults *self, struct process *victim);

/* How often which. */
void faults_print(const struct faults *self);

#endif
