/* hub_lanes.h - the threads of a hub on which jobs run: see base/job.h.
 *
 * A lane's thread is started by its first job. When a job has run, its lane tells the loop's
 * thread (`wake`), which calls done() of all that have run, in hub_lanes_deliver().
 *
 *   submit -> [lane's queue] -> run() on the lane's thread -> [finished] -> done() in deliver()
 *
 * Errors:  a lane that can't have a thread runs its jobs in hub_lanes_submit(), which says so once.
 * Owner:   hub_lanes_init()'s caller calls hub_lanes_stop().
 * Threads: all functions the loop's; `wake` is called on the lanes'.
 */
#ifndef ORBLOOM_RUNTIME_HUB_LANES_H
#define ORBLOOM_RUNTIME_HUB_LANES_H

#include "base/job.h"
#include "base/telemetry/histogram.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* First in, first out. */
struct job_queue {
    struct job *first;
    struct job **end;
};

struct hub_lanes;

struct hub_lane {
    struct hub_lanes *lanes;
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct job_queue queue;
    bool stopping;
    atomic_uint_fast64_t since_us; /* it has been at its job; 0: it waits for one */
    struct histogram times;        /* of jobs that have run; by the mutex of all lanes */
};

struct hub_lanes {
    struct hub_lane lanes[JOB_NLANES];
    bool stopped;
    atomic_bool ready; /* `finished` holds something */
    pthread_mutex_t mutex;
    struct job_queue finished;
    void (*wake)(void *context);
    void *context;
};

void hub_lanes_init(struct hub_lanes *self, void (*wake)(void *context), void *context);

/* End the threads: a run() under way is waited for, all other jobs are forgotten. Nothing is run
 * or delivered any more. May be called again. */
void hub_lanes_stop(struct hub_lanes *self);

/* Forgotten at once when the lanes were stopped. */
void hub_lanes_submit(struct hub_lanes *self, enum job_lane lane, struct job *job);

/* Has a job run that was not delivered? */
static inline bool hub_lanes_ready(struct hub_lanes *self)
{
    return atomic_load_explicit(&self->ready, memory_order_acquire);
}

/* For how long a lane's thread has been at the job under way; 0: none is. */
uint64_t hub_lanes_busy_us(const struct hub_lanes *self, enum job_lane lane, uint64_t now_us);

/* How long its jobs have taken so far. */
void hub_lanes_times(struct hub_lanes *self, enum job_lane lane, struct histogram *out);

/* Call done() of what has run. True if there was any. */
bool hub_lanes_deliver(struct hub_lanes *self, uint64_t now_us);

#endif
