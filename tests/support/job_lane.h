/* job_lane.h - the lanes of base/job.h, step by step: a test says when a job runs and when its
 * actor hears of it.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_JOB_LANE_H
#define ORBLOOM_TESTS_SUPPORT_JOB_LANE_H

#include "base/actor.h"

struct job_lanes {
    struct effects effects; /* submit() alone is there */
    struct job_lane_queue {
        struct job *first; /* not yet run */
        struct job *last;
        struct job *ran; /* not yet done */
        struct job *ran_last;
    } queues[JOB_NLANES];
    uint64_t submitted;
};

void job_lanes_init(struct job_lanes *self);

/* run() of the next job of a lane; false: there is none. */
bool job_lanes_run(struct job_lanes *self, enum job_lane lane);

/* done() of the next job that has run; false: there is none. */
bool job_lanes_finish(struct job_lanes *self, enum job_lane lane, uint64_t now_us);

/* Both, of all lanes, until nothing is left. */
void job_lanes_drain(struct job_lanes *self, uint64_t now_us);

/* Stop: what has not run never will, and no done() comes any more. */
void job_lanes_stop(struct job_lanes *self);

#endif
