/* Queues a process's jobs a lane, runs each at its instant, and tells the process later. */
#include "tests/sim/sim_jobs.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_phase.h"

#include <assert.h>

enum {
    WAKE_LEAST_US = 1, /* of the lane's thread */
    WAKE_MOST_US = 80,
    LATE_PERMILLE = 10, /* another thread has the processor */
    LATE_MOST_US = 8000,
    STORE_LEAST_US = 10,
    STORE_MOST_US = 300,
    LANE_BIT = 32,
    UNDER_WAY_PERMILLE = 700,
    CUT_AHEAD = 8, /* operations of a job cut off */
};

static void plan(struct sim_process *process, enum job_lane lane, uint64_t delay_us);

static void put(struct sim_job_queue *self, struct job *job)
{
    job->next = NULL;
    if (self->last != NULL) {
        self->last->next = job;
    } else {
        self->first = job;
    }
    self->last = job;
}

static struct job *take(struct sim_job_queue *self)
{
    struct job *job = self->first;

    if (job != NULL) {
        self->first = job->next;
        self->last = self->first != NULL ? self->last : NULL;
        job->next = NULL;
    }
    return job;
}

/* A coordinator's jobs are questions to the store, which are on their way for so long, and so are
 * the answers; the store does what it is asked for at one instant between. */
static uint64_t draw_way_us(struct sim_process *process)
{
    uint64_t slow_us = process->sim->store_slow_us;
    uint64_t way_us;

    if (process->kind != SIM_COORDINATOR) {
        return 0;
    }
    way_us = sim_random_between(&process->random, STORE_LEAST_US, STORE_MOST_US);
    return slow_us > 0 ? way_us + sim_random_below(&process->random, slow_us) : way_us;
}

static uint64_t draw_wake_us(struct sim_process *process)
{
    uint64_t delay_us = sim_random_between(&process->random, WAKE_LEAST_US, WAKE_MOST_US) +
                        draw_way_us(process);

    if (sim_random_chance(&process->random, LATE_PERMILLE)) {
        delay_us += sim_random_below(&process->random, LATE_MOST_US);
    }
    return delay_us;
}

/* How long it took is known once it has run. */
static uint64_t run(struct sim_process *process, struct job *job)
{
    struct sim *sim = process->sim;
    uint64_t took_us = draw_way_us(process);

    process->jobs.nran++;
    if (process->disk != NULL) {
        sim_disk_job_begins(process->disk);
    }
    job->run(job);
    if (process->disk != NULL) {
        took_us = sim_disk_job_ends(process->disk);
    }
    sim_phase_follow(process);
    sim_trace_hash(&sim->trace, sim->now_us, UINT64_C(2) << 32 | process->index,
                   process->disk != NULL ? process->disk->digest : process->jobs.nran);
    return took_us;
}

static uint64_t stalled_us(const struct sim_process *process, enum job_lane lane)
{
    uint64_t until_us = lane == JOB_COMMIT ? process->jobs.stalled_until_us : 0;

    return until_us > process->sim->now_us ? until_us - process->sim->now_us : 0;
}

/* The lane's next step: the end of a job that ran, or the run of one that waits. */
static void step(struct sim_process *process, enum job_lane number)
{
    struct sim_lane *lane = &process->jobs.lanes[number];

    if (lane->ran != NULL) {
        put(&process->jobs.finished, lane->ran);
        lane->ran = NULL;
        sim_process_wake(process);
        if (lane->waiting.first != NULL) {
            plan(process, number, draw_wake_us(process));
        }
    } else if (lane->waiting.first != NULL && stalled_us(process, number) > 0) {
        plan(process, number, stalled_us(process, number));
    } else if (lane->waiting.first != NULL) {
        lane->ran = take(&lane->waiting);
        plan(process, number, run(process, lane->ran));
    }
}

static void on_step(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *process = data;
    enum job_lane lane = (enum job_lane)(number >> LANE_BIT);

    (void)sim;
    if (!process->alive || process->generation != (uint32_t)number) {
        return;
    }
    process->jobs.lanes[lane].planned = false;
    if (process->paused) {
        process->jobs.lanes[lane].held = true;
    } else {
        step(process, lane);
    }
}

static void plan(struct sim_process *process, enum job_lane lane, uint64_t delay_us)
{
    assert(!process->jobs.lanes[lane].planned);
    process->jobs.lanes[lane].planned = true;
    sim_after(process->sim, delay_us, on_step, process,
              (uint64_t)lane << LANE_BIT | process->generation);
}

void sim_jobs_submit(struct sim_process *process, enum job_lane number, struct job *job)
{
    struct sim_lane *lane = &process->jobs.lanes[number];

    assert(process->alive);
    put(&lane->waiting, job);
    if (!lane->planned && !lane->held) {
        plan(process, number, draw_wake_us(process));
    }
}

void sim_jobs_finish(struct sim_process *process)
{
    struct job *job;

    while ((job = take(&process->jobs.finished)) != NULL) {
        job->done(job, sim_process_now(process));
    }
}

void sim_jobs_stall(struct sim_process *process, uint64_t duration_us)
{
    process->jobs.stalled_until_us = process->sim->now_us + duration_us;
}

void sim_jobs_resume(struct sim_process *process)
{
    for (uint32_t i = 0; i < JOB_NLANES; i++) {
        struct sim_lane *lane = &process->jobs.lanes[i];

        if (lane->held) {
            lane->held = false;
            plan(process, (enum job_lane)i, draw_wake_us(process));
        }
    }
}

/* What a lane is in the midst of when it ends. */
static struct job *under_way(struct sim_process *process, uint32_t lane)
{
    struct sim_job_queue *waiting = &process->jobs.lanes[lane].waiting;
    bool begun = process->jobs.lanes[lane].ran == NULL && waiting->first != NULL;

    return begun && sim_random_chance(&process->random, UNDER_WAY_PERMILLE) ? take(waiting) : NULL;
}

/* Whoever stops a lane waits for its job. */
void sim_jobs_stop(struct sim_process *process)
{
    for (uint32_t i = 0; i < JOB_NLANES; i++) {
        struct job *job = under_way(process, i);

        if (job != NULL) {
            (void)run(process, job);
        }
    }
    process->jobs = (struct sim_jobs){0};
}

/* What was asked of the store it may do, or have done; whoever asked does not hear of it. */
static void leave_to_store(struct sim_process *process)
{
    struct job *job = under_way(process, JOB_COMMIT);

    if (job != NULL) {
        (void)run(process, job);
    }
}

void sim_jobs_cut(struct sim_process *process)
{
    bool useful = process->disk != NULL && !process->disk->crashed;

    if (process->kind == SIM_COORDINATOR) {
        leave_to_store(process);
    }
    for (uint32_t i = 0; i < JOB_NLANES && useful; i++) {
        struct job *job = under_way(process, i);

        if (job != NULL) {
            sim_disk_fail(process->disk, SIM_DISK_CUT,
                          sim_random_between(&process->random, 1, CUT_AHEAD));
            (void)run(process, job);
            process->disk->crashed = false; /* The other lane's thread was elsewhere. */
        }
    }
    process->jobs = (struct sim_jobs){0};
}
