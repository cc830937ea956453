/* Starts a torture's threads, and ends them in order. */
#include "tests/torture/run.h"

#include <stdio.h>
#include <stdlib.h>

static void start(pthread_t *thread, void *(*body)(void *), void *context)
{
    if (pthread_create(thread, NULL, body, context) != 0) {
        (void)fprintf(stderr, "torture: cannot start a thread\n");
        exit(1); /* The daemons end with this process. */
    }
}

void run_start_worker(struct run *self, void *(*body)(void *), void *context)
{
    start(&self->workers[self->nworkers++], body, context);
}

static void start_readers(struct run *self)
{
    struct torture *torture = &self->torture;
    const struct daemon *router;

    for (uint32_t i = 0; (router = cluster_next(&torture->cluster, DAEMON_ROUTER, &i)) != NULL;) {
        struct readback_thread *reader = &self->readers[self->nreaders];

        reader->torture = torture;
        reader->random = torture->options.seed + 100 + self->nreaders;
        (void)snprintf(reader->router, sizeof reader->router, "%s", router->endpoint);
        start(&self->others[self->nreaders++], readback_thread, reader);
    }
}

void run_start_load(struct run *self)
{
    struct torture *torture = &self->torture;
    uint64_t seed = torture->options.seed;

    for (uint32_t i = 0; i < RUN_ADDERS; i++) {
        self->adds[i] = (struct adds_thread){.torture = torture, .random = seed + 1 + i};
        run_start_worker(self, adds_thread, &self->adds[i]);
    }
    self->endless.torture = torture;
    self->endless.random = seed + 60;
    run_start_worker(self, readback_endless, &self->endless);
    start_readers(self);
    self->watch.torture = torture;
    start(&self->others[RUN_MAX_READERS], watch_thread, &self->watch);
}

void run_end_workers(struct run *self)
{
    atomic_store(&self->torture.ending, true);
    for (uint32_t i = 0; i < self->nworkers; i++) {
        (void)pthread_join(self->workers[i], NULL);
    }
}

void run_end_others(struct run *self)
{
    atomic_store(&self->torture.over, true);
    for (uint32_t i = 0; i < self->nreaders; i++) {
        (void)pthread_join(self->others[i], NULL);
    }
    (void)pthread_join(self->others[RUN_MAX_READERS], NULL);
}

/* ---- read-backs ---- */

bool run_readers_idle(const struct run *self)
{
    for (uint32_t i = 0; i < self->nreaders; i++) {
        if (atomic_load(&self->readers[i].done) != atomic_load(&self->readers[i].wanted)) {
            return false;
        }
    }
    return true;
}

void run_read_back(struct run *self, bool all)
{
    self->read_faults = self->faults.ended;
    for (uint32_t i = 0; i < self->nreaders; i++) {
        atomic_store(&self->readers[i].all, all);
        atomic_fetch_add(&self->readers[i].wanted, 1);
    }
}
