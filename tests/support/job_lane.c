/* Holds submitted jobs until the test has them run, and told. */
#include "tests/support/job_lane.h"

static void push(struct job **first, struct job **last, struct job *job)
{
    job->next = NULL;
    if (*first == NULL) {
        *first = job;
    } else {
        (*last)->next = job;
    }
    *last = job;
}

static struct job *pop(struct job **first)
{
    struct job *job = *first;

    *first = job != NULL ? job->next : NULL;
    return job;
}

static void submit(void *context, enum job_lane lane, struct job *job)
{
    struct job_lanes *self = context;

    self->submitted++;
    push(&self->queues[lane].first, &self->queues[lane].last, job);
}

void job_lanes_init(struct job_lanes *self)
{
    *self = (struct job_lanes){.effects = {.context = self, .submit = submit}};
}

bool job_lanes_run(struct job_lanes *self, enum job_lane lane)
{
    struct job_lane_queue *queue = &self->queues[lane];
    struct job *job = pop(&queue->first);

    if (job != NULL) {
        job->run(job);
        push(&queue->ran, &queue->ran_last, job);
    }
    return job != NULL;
}

bool job_lanes_finish(struct job_lanes *self, enum job_lane lane, uint64_t now_us)
{
    struct job *job = pop(&self->queues[lane].ran);

    if (job != NULL) {
        job->done(job, now_us);
    }
    return job != NULL;
}

void job_lanes_drain(struct job_lanes *self, uint64_t now_us)
{
    bool more = true;

    while (more) {
        more = false;
        for (int lane = 0; lane < JOB_NLANES; lane++) {
            more = job_lanes_run(self, (enum job_lane)lane) || more;
            more = job_lanes_finish(self, (enum job_lane)lane, now_us) || more;
        }
    }
}

void job_lanes_stop(struct job_lanes *self)
{
    for (int lane = 0; lane < JOB_NLANES; lane++) {
        self->queues[lane] = (struct job_lane_queue){0};
    }
}
