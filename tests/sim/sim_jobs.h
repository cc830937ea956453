/* sim_jobs.h - the lanes of one process (base/job.h) in virtual time.
 *
 *   submitted -> [waits for the lane] -> run() -> [what the disk takes] -> finished -> done()
 *
 * run() happens at one instant, some time after it was submitted; done() comes with a turn of the
 * process after the disk, or the store, was through with it. A paused process holds both. A killed
 * one may have run a job and never hear of it, and is often in the midst of one: then the job that
 * waits runs up to some operation of the disk, which has some of its effect.
 *
 * Owner:   jobs belong to who submitted them; nothing to free.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_JOBS_H
#define ORBLOOM_TESTS_SIM_JOBS_H

#include "base/job.h"

#include <stdbool.h>
#include <stddef.h>

struct sim_process;

struct sim_job_queue {
    struct job *first;
    struct job *last;
};

struct sim_lane {
    struct sim_job_queue waiting;
    struct job *ran; /* its end is to come */
    bool planned;    /* an event is on its way */
    bool held;       /* it came while the process was paused */
};

struct sim_jobs {
    struct sim_lane lanes[JOB_NLANES];
    struct sim_job_queue finished; /* done() is to be called, in this order */
    uint64_t nran;
    uint64_t stalled_until_us; /* the disk takes no commit before that */
};

void sim_jobs_submit(struct sim_process *process, enum job_lane lane, struct job *job);

/* Call done() of what has finished. */
void sim_jobs_finish(struct sim_process *process);

/* What is to be committed waits that long, whatever else the disk does. */
void sim_jobs_stall(struct sim_process *process, uint64_t duration_us);

/* The process goes on after a pause. */
void sim_jobs_resume(struct sim_process *process);

/* The process ends, in order or in the midst of a job; its disk is still there. */
void sim_jobs_stop(struct sim_process *process);
void sim_jobs_cut(struct sim_process *process);

#endif
