/* A thread for each lane takes jobs in order; what is done waits in a queue until the loop's
 * thread delivers it. */
#include "runtime/hub_lanes.h"

#include "base/log.h"
#include "runtime/hub.h"
#include "runtime/hub_thread.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static void queue_init(struct job_queue *self)
{
    self->first = NULL;
    self->end = &self->first;
}

static void queue_push(struct job_queue *self, struct job *job)
{
    job->next = NULL;
    *self->end = job;
    self->end = &job->next;
}

static struct job *queue_pop(struct job_queue *self)
{
    struct job *job = self->first;

    if (job != NULL) {
        self->first = job->next;
        if (self->first == NULL) {
            self->end = &self->first;
        }
    }
    return job;
}

void hub_lanes_init(struct hub_lanes *self, void (*wake)(void *context), void *context)
{
    *self = (struct hub_lanes){.wake = wake, .context = context};
    /* With default attributes none of these fails. */
    (void)pthread_mutex_init(&self->mutex, NULL);
    queue_init(&self->finished);
    for (unsigned i = 0; i < JOB_NLANES; i++) {
        self->lanes[i].lanes = self;
        (void)pthread_mutex_init(&self->lanes[i].mutex, NULL);
        (void)pthread_cond_init(&self->lanes[i].filled, NULL);
        queue_init(&self->lanes[i].queue);
    }
}

static void finish(struct hub_lane *lane, struct job *job, uint64_t took_us)
{
    struct hub_lanes *self = lane->lanes;
    bool first;

    (void)pthread_mutex_lock(&self->mutex);
    histogram_add(&lane->times, took_us);
    first = self->finished.first == NULL;
    queue_push(&self->finished, job);
    atomic_store_explicit(&self->ready, true, memory_order_release);
    (void)pthread_mutex_unlock(&self->mutex);
    if (first) { /* Else the loop has been told of one that it has not fetched. */
        self->wake(self->context);
    }
}

/* The next job; NULL: the lane is to end. */
static struct job *await_job(struct hub_lane *self)
{
    struct job *job = NULL;

    (void)pthread_mutex_lock(&self->mutex);
    while (self->queue.first == NULL && !self->stopping) {
        (void)pthread_cond_wait(&self->filled, &self->mutex);
    }
    if (!self->stopping) {
        job = queue_pop(&self->queue);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return job;
}

static void *run_lane(void *context)
{
    struct hub_lane *self = context;
    struct job *job;

    while ((job = await_job(self)) != NULL) {
        uint64_t since_us = hub_now_us();

        atomic_store_explicit(&self->since_us, since_us, memory_order_relaxed);
        job->run(job);
        atomic_store_explicit(&self->since_us, 0, memory_order_relaxed);
        finish(self, job, hub_now_us() - since_us);
    }
    return NULL;
}

static bool start(struct hub_lane *self, enum job_lane lane)
{
    static const char *const names[JOB_NLANES] = {
        [JOB_COMMIT] = "commit",
        [JOB_BACKGROUND] = "background",
        [JOB_MEMORY] = "memory",
    };
    int error = hub_thread_start(&self->thread, names[lane], run_lane, self);

    if (error != 0) {
        static bool said;

        if (!said) {
            log_line(
                LOG_ERROR,
                "cannot start a thread for the disk: %s; requests wait for the disk now: raise "
                "the limit of processes (ulimit -u) and start again",
                strerror(error));
        }
        said = true;
        return false;
    }
    self->started = true;
    return true;
}

void hub_lanes_submit(struct hub_lanes *self, enum job_lane lane, struct job *job)
{
    struct hub_lane *chosen = &self->lanes[lane];

    assert(lane < JOB_NLANES && job->run != NULL && job->done != NULL);
    if (self->stopped) {
        return;
    }
    if (!chosen->started && !start(chosen, lane)) {
        uint64_t since_us = hub_now_us();

        job->run(job);
        finish(chosen, job, hub_now_us() - since_us);
        return;
    }
    (void)pthread_mutex_lock(&chosen->mutex);
    queue_push(&chosen->queue, job);
    (void)pthread_mutex_unlock(&chosen->mutex);
    (void)pthread_cond_signal(&chosen->filled); /* The lane need not wait for the mutex then. */
}

uint64_t hub_lanes_busy_us(const struct hub_lanes *self, enum job_lane lane, uint64_t now_us)
{
    uint64_t since_us;

    assert(lane < JOB_NLANES);
    since_us = atomic_load_explicit(&self->lanes[lane].since_us, memory_order_relaxed);
    return since_us != 0 && now_us > since_us ? now_us - since_us : 0;
}

void hub_lanes_times(struct hub_lanes *self, enum job_lane lane, struct histogram *out)
{
    assert(lane < JOB_NLANES);
    (void)pthread_mutex_lock(&self->mutex);
    *out = self->lanes[lane].times;
    (void)pthread_mutex_unlock(&self->mutex);
}

bool hub_lanes_deliver(struct hub_lanes *self, uint64_t now_us)
{
    struct job *job;

    if (!hub_lanes_ready(self)) {
        return false;
    }
    (void)pthread_mutex_lock(&self->mutex);
    job = self->finished.first;
    queue_init(&self->finished);
    atomic_store_explicit(&self->ready, false, memory_order_relaxed);
    (void)pthread_mutex_unlock(&self->mutex);
    while (job != NULL && !self->stopped) {
        struct job *next = job->next; /* done() may submit or free the job. */

        job->done(job, now_us);
        job = next;
    }
    return true;
}

static void stop_lane(struct hub_lane *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->stopping = true;
    (void)pthread_cond_signal(&self->filled);
    (void)pthread_mutex_unlock(&self->mutex);
}

void hub_lanes_stop(struct hub_lanes *self)
{
    if (self->stopped) {
        return;
    }
    self->stopped = true;
    for (unsigned i = 0; i < JOB_NLANES; i++) {
        stop_lane(&self->lanes[i]);
    }
    for (unsigned i = 0; i < JOB_NLANES; i++) {
        if (self->lanes[i].started) {
            (void)pthread_join(self->lanes[i].thread, NULL);
        }
        (void)pthread_cond_destroy(&self->lanes[i].filled);
        (void)pthread_mutex_destroy(&self->lanes[i].mutex);
    }
    (void)pthread_mutex_destroy(&self->mutex);
    queue_init(&self->finished);
    atomic_store(&self->ready, false);
}
