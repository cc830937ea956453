/* runtime_probe.h - an actor that answers every request with its own bytes and notes what it saw.
 *
 * Hooks change what it does; NULL hooks do nothing. All waiting has a deadline.
 */
#ifndef ORBLOOM_TESTS_RUNTIME_PROBE_H
#define ORBLOOM_TESTS_RUNTIME_PROBE_H

#include "runtime/hub.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <zmq.h>

enum { PROBE_MAX_FRAME_BYTES = 1 << 16, PROBE_DEADLINE_US = 20000000, PROBE_DEADLINE_MS = 20000 };

struct probe {
    struct hub *hub;
    const struct effects *effects;
    uint64_t requests;
    uint64_t answers;
    uint64_t turns;
    uint64_t turn_us; /* when the last one was, as it was told */
    uint64_t timers;
    uint64_t slices;
    uint64_t next_us;
    uint32_t last_link;
    struct peer last_peer;
    char last[64];
    bool quiet; /* do not answer */
    uint64_t spin_us;
    uint64_t asked; /* how often whether it awaits an answer */
    void (*request_hook)(struct probe *self, struct span frame);
    void (*answer_hook)(struct probe *self);
    void (*turn_hook)(struct probe *self);
    void (*time_hook)(struct probe *self);
    bool (*work_hook)(struct probe *self);
    void (*refusal_hook)(struct probe *self);
    void *extra;
    const struct hub_curve *curve;
    uint64_t refusals;
    char cause[512];
    pthread_t thread;
};

static inline void probe_note(struct probe *self, struct span frame)
{
    size_t size = frame.size < sizeof self->last ? frame.size : sizeof self->last - 1;

    if (size > 0) {
        memcpy(self->last, frame.data, size);
    }
    self->last[size] = '\0';
}

static inline void probe_request(void *context, uint64_t now_us, const struct peer *from,
                                 struct span frame)
{
    struct probe *self = context;

    (void)now_us;
    self->requests++;
    self->last_peer = *from;
    probe_note(self, frame);
    if (self->request_hook != NULL) {
        self->request_hook(self, frame);
    }
    if (strcmp(self->last, "stop") == 0) {
        hub_stop(self->hub);
    } else if (!self->quiet) {
        (void)self->effects->reply(self->effects->context, from, frame);
    }
}

static inline void probe_answer(void *context, uint64_t now_us, uint32_t link, struct span frame)
{
    struct probe *self = context;

    (void)now_us;
    self->answers++;
    self->last_link = link;
    probe_note(self, frame);
    if (self->answer_hook != NULL) {
        self->answer_hook(self);
    }
}

static inline void probe_turn(void *context, uint64_t now_us)
{
    struct probe *self = context;

    self->turns++;
    self->turn_us = now_us;
    if (self->turn_hook != NULL) {
        self->turn_hook(self);
    }
}

static inline uint64_t probe_next(void *context)
{
    return ((struct probe *)context)->next_us;
}

static inline void probe_time(void *context, uint64_t now_us)
{
    struct probe *self = context;

    (void)now_us;
    self->timers++;
    self->next_us = ACTOR_NEVER;
    if (self->time_hook != NULL) {
        self->time_hook(self);
    }
}

static inline bool probe_work(void *context, uint64_t now_us)
{
    struct probe *self = context;

    (void)now_us;
    self->slices++;
    return self->work_hook != NULL && self->work_hook(self);
}

static inline bool probe_awaits(void *context)
{
    ((struct probe *)context)->asked++;
    return true;
}

static inline void probe_refusal(void *context, uint64_t now_us, uint32_t link, const char *cause)
{
    struct probe *self = context;

    (void)now_us;
    self->refusals++;
    self->last_link = link;
    (void)snprintf(self->cause, sizeof self->cause, "%s", cause);
    if (self->refusal_hook != NULL) {
        self->refusal_hook(self);
    }
}

/* With a server socket when `listen` is not NULL. */
static inline void probe_open(struct probe *self, const char *listen)
{
    struct hub_options options = {
        .listen = listen, .max_frame_bytes = PROBE_MAX_FRAME_BYTES, .curve = self->curve};
    struct actor actor = {
        .self = self,
        .on_request = probe_request,
        .on_answer = probe_answer,
        .turn = probe_turn,
        .next_us = probe_next,
        .time = probe_time,
        .work = probe_work,
        .awaits = probe_awaits,
        .on_shut_out = probe_refusal,
    };

    cr_assert_eq(hub_create(&options, &self->hub), STATUS_OK);
    self->next_us = ACTOR_NEVER;
    self->effects = hub_effects(self->hub);
    hub_attach(self->hub, &actor);
    hub_set_spin(self->hub, self->spin_us);
}

static inline void *probe_thread(void *context)
{
    struct probe *self = context;

    hub_run(self->hub);
    return NULL;
}

static inline void probe_start(struct probe *self)
{
    cr_assert_eq(pthread_create(&self->thread, NULL, probe_thread, self), 0);
}

/* A plain client of libzmq, so that the hub is not tested against itself alone. */
static inline void *client_open(void *context, const char *endpoint)
{
    void *client = zmq_socket(context, ZMQ_DEALER);
    int limit = PROBE_DEADLINE_MS;
    int linger = 0;

    cr_assert_not_null(client);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_RCVTIMEO, &limit, sizeof limit), 0);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_SNDTIMEO, &limit, sizeof limit), 0);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_LINGER, &linger, sizeof linger), 0);
    cr_assert_eq(zmq_connect(client, endpoint), 0);
    return client;
}

static inline void client_send(void *client, const char *text)
{
    cr_assert_eq(zmq_send(client, text, strlen(text), 0), (int)strlen(text));
}

static inline void client_expect(void *client, const char *text)
{
    char got[64] = "";
    int size = zmq_recv(client, got, sizeof got - 1, 0);

    cr_assert_geq(size, 0, "no answer before the deadline");
    cr_assert_str_eq(got, text);
}

static inline void probe_join(struct probe *self)
{
    struct timespec limit;

    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += PROBE_DEADLINE_MS / 1000;
    cr_assert_eq(pthread_timedjoin_np(self->thread, NULL, &limit), 0, "the hub goes on");
}

/* The probe's thread ends when it is asked to. */
static inline void probe_stop(struct probe *self, void *context)
{
    void *client = client_open(context, hub_endpoint(self->hub));

    client_send(client, "stop");
    probe_join(self);
    cr_assert_eq(zmq_close(client), 0);
    hub_destroy(&self->hub);
}

/* Turn the hub until `value` reaches `wanted`. */
static inline void probe_run_until(struct probe *self, const uint64_t *value, uint64_t wanted)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;

    while (*value < wanted && hub_now_us() < deadline_us) {
        hub_run_once(self->hub, 100000);
    }
    cr_assert_geq(*value, wanted, "not before the deadline");
}

#endif
