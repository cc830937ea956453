/* Runs the loop of `orbloom bench` on a thread of its own. */
#include "bench/sites_load.h"

#include "base/heap.h"

#include <inttypes.h>
#include <stdio.h>

static bool judge(const struct sites_load *self)
{
    const struct load_result *result = &self->result;

    if (result->lost > 0 || result->unanswered > 0 || result->code != ORBLOOM_OK ||
        result->keys == 0) {
        (void)fprintf(stderr,
                      "sites: a load on %s: %" PRIu64 " keys, %" PRIu64 " lost, %" PRIu64
                      " without an answer: %s\n",
                      self->filter, result->keys, result->lost, result->unanswered,
                      result->message);
        return false;
    }
    return true;
}

static void *run(void *context)
{
    struct sites_load *self = context;
    const struct orbloom_options options = {.routers = self->site->router,
                                            .coordinators = self->site->coordinator,
                                            .max_in_flight = self->in_flight,
                                            .credential = "none"};
    const struct load load = {.kind = self->kind,
                              .choice = self->choice,
                              .keys = UINT64_MAX >> 1,
                              .pace = self->pace,
                              .for_us = self->for_us,
                              .batch = self->batch,
                              .in_flight = self->in_flight,
                              .target = &self->target->target};

    if (bench_orbloom_open(self->target, &options, &self->set) == ORBLOOM_OK) {
        self->good = load_run(&load, &self->result) && judge(self);
    } else {
        (void)fprintf(stderr, "sites: %s: %s\n", self->site->router,
                      orbloom_error(self->target->handle));
    }
    bench_orbloom_close(self->target);
    return NULL;
}

bool sites_load_start(struct sites_load *self)
{
    self->good = false;
    self->set = (struct bench_set){.name = self->filter};
    self->target = heap_zalloc(1, sizeof *self->target);
    if (self->target == NULL || pthread_create(&self->thread, NULL, run, self) != 0) {
        (void)fprintf(stderr, "sites: no thread for a load\n");
        heap_free(self->target);
        self->target = NULL;
        return false;
    }
    return true;
}

bool sites_load_join(struct sites_load *self)
{
    if (self->target == NULL) {
        return false;
    }
    (void)pthread_join(self->thread, NULL);
    heap_free(self->target);
    self->target = NULL;
    return self->good;
}

bool sites_load_run(struct sites_load *loads, int count)
{
    bool good = true;

    for (int i = 0; i < count; i++) {
        good &= sites_load_start(&loads[i]);
    }
    for (int i = 0; i < count; i++) {
        good &= sites_load_join(&loads[i]);
    }
    return good;
}
