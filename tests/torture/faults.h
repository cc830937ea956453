/* faults.h - faults chosen, begun, and ended when their time has come.
 *
 * Several may be under way, one a process. What destroys data (wipe, rollback, rewind) waits until
 * the cluster is whole again after the one before: W - 1 destructions at a time is what W copies
 * survive, and W is 2. A process that was killed may be hit again while it starts.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_FAULTS_H
#define ORBLOOM_TESTS_TORTURE_FAULTS_H

#include "tests/torture/coverage.h"
#include "tests/torture/folder.h"
#include "tests/torture/watch.h"

enum { FAULTS_MAX_ACTIVE = 3 };

/* What is going on with one process. */
struct fault_active {
    bool used;
    enum fault fault;
    uint64_t end_ms; /* not before, and not before the job is done */
    folder_job job;
    bool job_failed;
    uint32_t from_it; /* cut: bit sets of hosts that it can't reach ... */
    uint32_t to_it;   /* ... and that can't reach it */
};

struct faults {
    struct torture *torture;
    struct watch_thread *watch;
    struct coverage coverage;
    uint64_t random;
    uint32_t rows;                                   /* that may be injected */
    struct fault_active active[CLUSTER_MAX_DAEMONS]; /* by daemon */
    uint32_t copy_life[CLUSTER_MAX_DAEMONS];         /* 0: no copy */
    bool unhealed;        /* something was destroyed, and not everything is FULL yet */
    uint64_t unhealed_ms; /* since when */
    uint64_t ended;       /* faults that are over */
    uint64_t heals;       /* destructions that were healed */
    uint64_t heal_ms_max;
    uint64_t next_ms;
    bool crowds;      /* the next one may hit a node while another is in trouble */
    uint32_t planned; /* row chosen, waiting for its phase; COVERAGE_ROWS: none */
    enum phase phase;
    uint64_t planned_ms;
};

void faults_init(struct faults *self, struct torture *torture, struct watch_thread *watch);

/* May copies of folders be made, and put back? Not while a key is on its way out: a node that was
 * away for so long is to be started with both keys, as docs/configuration.md says. */
bool faults_may_copy(const struct torture *torture);

/* Look after everything under way; call it every few milliseconds. */
void faults_tick(struct faults *self);

/* Until every replica of every filter has been seen FULL, from now on, it is `unhealed`. */
void faults_expect_healing(struct faults *self);

/* One of the rows of the table, on daemon number `target`. */
void faults_begin(struct faults *self, uint32_t row, uint32_t target);

/* Begin one, if it is time. */
void faults_maybe_begin(struct faults *self);

/* How many processes are under a fault, or not running yet. */
uint32_t faults_count_active(const struct faults *self);

/* Destroy the data of W nodes at once, which nothing survives. */
void faults_wipe_majority(struct faults *self);

#endif
