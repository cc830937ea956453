/* job.h - work that may block, done elsewhere: how an actor uses a disk.
 *
 * run() is called on the lane's own thread and touches only the job's memory and the disk.
 * done() is called by the actor's thread, between events and before the next turn().
 * Jobs of one lane run one after the other, in the order in which they were submitted; done()
 * comes in that order too.
 *
 * Owner:   a job belongs to whoever submitted it and stays where it is until done() was called,
 *          or until the lanes were stopped: then neither run() nor done() comes any more.
 */
#ifndef ORBLOOM_BASE_JOB_H
#define ORBLOOM_BASE_JOB_H

#include <stdint.h>

enum job_lane {
    JOB_COMMIT,     /* what somebody waits for: writes of the log */
    JOB_BACKGROUND, /* all else: merging, reading, recovery, in slices of some milliseconds */
    JOB_MEMORY,     /* first touches of memory, which may take milliseconds a page */
    JOB_NLANES
};

struct job {
    void (*run)(struct job *self);
    void (*done)(struct job *self, uint64_t now_us);
    struct job *next; /* the lane's own */
};

#endif
