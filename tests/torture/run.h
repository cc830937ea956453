/* run.h - one torture from its start to its end: its threads, and what its courses share.
 *
 * Two courses: mixed.h has everything happen at once; directed.h takes a filter through one kind of
 * change, again and again.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_RUN_H
#define ORBLOOM_TESTS_TORTURE_RUN_H

#include "tests/torture/adds.h"
#include "tests/torture/churn.h"
#include "tests/torture/faults.h"
#include "tests/torture/grow.h"
#include "tests/torture/move.h"
#include "tests/torture/readback.h"
#include "tests/torture/rotate.h"

#include <signal.h>

enum { RUN_ADDERS = ADDS_THREADS, RUN_MAX_READERS = 6, RUN_TICK_MS = 5 };

struct run {
    struct torture torture;
    struct watch_thread watch;
    struct faults faults;
    struct adds_thread adds[RUN_ADDERS];
    struct churn_thread churn;
    struct grow_thread grow;
    struct move_thread move;
    struct rotate_thread rotate;
    bool rotates;
    struct readback_thread readers[RUN_MAX_READERS];
    struct readback_thread endless;
    uint32_t nreaders;
    pthread_t workers[RUN_ADDERS + 5]; /* adds, checks, churn or changes, expansion, moves,
                                          rotation: until torture.ending */
    uint32_t nworkers;
    pthread_t others[RUN_MAX_READERS + 1]; /* read-backs, watch: until torture.over */
    uint64_t read_faults;                  /* that had ended when the newest read-back began */
    uint64_t start_ms;
    uint64_t progress_ms;
    bool sabotaged;
};

/* A signal asked for the end. */
extern volatile sig_atomic_t run_interrupted;

/* ---- threads (run_threads.c) ---- */

/* One that ends once torture.ending is set. */
void run_start_worker(struct run *self, void *(*body)(void *), void *context);

/* Adds and checks, read-backs when asked for, and the watch. */
void run_start_load(struct run *self);
void run_end_workers(struct run *self);
void run_end_others(struct run *self);

bool run_readers_idle(const struct run *self);
void run_read_back(struct run *self, bool all);

/* ---- what courses share ---- */

bool run_must_stop(const struct run *self);

/* Every few milliseconds, whatever the main thread waits for. */
void run_tick(struct run *self, uint64_t pause_ms);

/* Claim a batch that nobody adds, if there is one to be had: sets `sabotaged`. */
void run_claim_falsely(struct run *self);

/* The end of each course: nothing is under way, every key is read back, every daemon ends well. */
void run_finish(struct run *self);

#endif
