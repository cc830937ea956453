#include "runtime/hub.h"

#include "base/heap.h"
#include "base/log.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <zmq.h>

enum {
    HUB_TURN_ROUNDS = 16,        /* how long arriving frames may keep background work waiting */
    HUB_MAX_SLEEP_US = 60000000, /* also keeps libuv from returning for want of handles */
    HUB_SPARE_SOCKETS = 16,
    HUB_LEAST_FILES = 32,
};

uint64_t hub_now_us(void)
{
    return uv_hrtime() / 1000;
}

void hub_count(struct hub *hub, unsigned counter)
{
    assert(counter < HUB_NCOUNTERS);
    hub->counters[counter]++;
}

static bool drain(struct hub *hub, uint64_t now_us)
{
    bool arrived = false;

    /* Sockets that stay dirty come again at the end: each gets its share of a round. */
    for (size_t n = hub->ndirty; n > 0 && !TAILQ_EMPTY(&hub->dirty); n--) {
        arrived |= hub_socket_drain(TAILQ_FIRST(&hub->dirty), now_us);
    }
    return arrived;
}

/* Serve what has arrived. True if anything had, or a timer was due. */
static bool serve(struct hub *hub)
{
    const struct actor *actor = &hub->actor;
    bool served = false;
    unsigned rounds = 0;
    uint64_t now_us;

    do {
        now_us = hub_now_us();
        served |= drain(hub, now_us);
        served |= hub_lanes_deliver(&hub->lanes, now_us);
        if (actor->next_us(actor->self) <= now_us) {
            actor->time(actor->self, now_us);
            served = true;
        }
        actor->turn(actor->self, now_us);
    } while ((hub->ndirty > 0 || hub_lanes_ready(&hub->lanes)) && ++rounds < HUB_TURN_ROUNDS);
    return served;
}

static bool work(struct hub *hub)
{
    return hub->actor.work(hub->actor.self, hub_now_us());
}

/* It only ends the sleep; serve() looks at the clock itself. uv_run() may find it due before it
 * looks at the descriptors, and would then wait for them without any limit: hence the stop. */
static void on_timer(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* Look for events for a while, at most until the timer is due; true when there is something to
 * serve. */
static bool spin(struct hub *hub, uint64_t left_us)
{
    uint64_t limit_us = left_us < hub->spin_us ? left_us : hub->spin_us;
    uint64_t start_us;

    if (limit_us == 0 || hub->actor.awaits == NULL || !hub->actor.awaits(hub->actor.self)) {
        return false;
    }
    start_us = hub_now_us();
    do {
        (void)uv_run(&hub->loop, UV_RUN_NOWAIT);
        if (hub->ndirty > 0 || hub->stopping || hub_lanes_ready(&hub->lanes)) {
            return true;
        }
        (void)sched_yield();
    } while (hub_now_us() - start_us < limit_us);
    return limit_us == left_us;
}

/* Let libuv look at the descriptors; sleep at most `limit_us`, and not past the actor's timer. */
static void sleep_for(struct hub *hub, uint64_t limit_us)
{
    uint64_t now_us = hub_now_us();
    uint64_t next_us = hub->actor.next_us(hub->actor.self);
    uint64_t left_us = next_us > now_us ? next_us - now_us : 0;

    left_us = left_us < limit_us ? left_us : limit_us;
    left_us = left_us < HUB_MAX_SLEEP_US ? left_us : HUB_MAX_SLEEP_US;
    if (left_us == 0 || hub->ndirty > 0) {
        (void)uv_run(&hub->loop, UV_RUN_NOWAIT);
        return;
    }
    if (spin(hub, left_us)) {
        return;
    }
    uv_update_time(&hub->loop);
    (void)uv_timer_start(&hub->timer, on_timer, (left_us + 999) / 1000, 0);
    (void)uv_run(&hub->loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&hub->timer);
}

static bool ending(const struct hub *hub)
{
    return hub->stopping || (hub->actor.failed != NULL && hub->actor.failed(hub->actor.self));
}

void hub_run(struct hub *hub)
{
    assert(hub->actor.self != NULL);
    while (!ending(hub)) {
        (void)serve(hub);
        sleep_for(hub, work(hub) || ending(hub) ? 0 : ACTOR_NEVER);
    }
    hub->stopping = false;
}

void hub_run_once(struct hub *hub, uint64_t timeout_us)
{
    bool served;

    assert(hub->actor.self != NULL);
    served = serve(hub);
    sleep_for(hub, work(hub) || served ? 0 : timeout_us);
    if (!served) {
        (void)serve(hub);
    }
}

void hub_stop(struct hub *hub)
{
    hub->stopping = true;
}

void hub_stop_lanes(struct hub *hub)
{
    hub_lanes_stop(&hub->lanes);
}

void hub_attach(struct hub *hub, const struct actor *actor)
{
    assert(hub->actor.self == NULL && actor->self != NULL);
    assert(actor->on_request != NULL && actor->on_answer != NULL && actor->turn != NULL);
    assert(actor->next_us != NULL && actor->time != NULL && actor->work != NULL);
    hub->actor = *actor;
}

void hub_set_spin(struct hub *hub, uint64_t spin_us)
{
    hub->spin_us = spin_us;
}

const struct effects *hub_effects(struct hub *hub)
{
    return &hub->effects;
}

const char *hub_endpoint(const struct hub *hub)
{
    return hub->endpoint;
}

uint64_t hub_counter(const struct hub *hub, unsigned counter)
{
    assert(counter < HUB_NCOUNTERS);
    return hub->counters[counter];
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    hub_stop(signal->data);
}

static bool watch_signals(struct hub *hub)
{
    static const int numbers[HUB_NSIGNALS] = {SIGTERM, SIGINT};

    for (size_t i = 0; i < HUB_NSIGNALS; i++) {
        hub->signals[i].data = hub;
        if (uv_signal_init(&hub->loop, &hub->signals[i]) != 0 ||
            uv_signal_start(&hub->signals[i], on_signal, numbers[i]) != 0) {
            return false;
        }
    }
    return true;
}

static const char *listen_remedy(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "another process listens there: stop it, or choose another port";
    case EADDRNOTAVAIL:
    case ENODEV:
        return "this machine has no such address: choose one of its own, 127.0.0.1, or * for all";
    case EACCES:
        return "ports below 1024 need a privilege: choose a higher one";
    case EMFILE:
    case ENFILE:
        return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
        return "make memory available";
    default:
        return "write it as tcp://HOST:PORT, with an address of this machine";
    }
}

static enum status open_server(struct hub *hub, const char *listen)
{
    size_t size = sizeof hub->endpoint;
    enum status status = hub_socket_open(hub, listen, 0, &hub->server);

    if (status == STATUS_OK) {
        /* Too long for its buffer: can't be, as what was asked for has been looked up. */
        if (zmq_getsockopt(hub->server->zmq, ZMQ_LAST_ENDPOINT, hub->endpoint, &size) != 0) {
            status = STATUS_IO;
        }
    }
    if (status == STATUS_OK) {
        status = hub_socket_monitor(hub, &hub->monitor);
    }
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "cannot listen on %s: %s; %s", listen, zmq_strerror(errno),
                 listen_remedy(errno));
    }
    return status;
}

/* Sockets come from here; so many that link_open() alone sets the limit. */
static bool open_context(struct hub *hub)
{
    hub->zmq_context = zmq_ctx_new();
    return hub->zmq_context != NULL &&
           zmq_ctx_set(hub->zmq_context, ZMQ_MAX_SOCKETS, HUB_MAX_LINKS + HUB_SPARE_SOCKETS) == 0;
}

/* libuv and libzmq abort where they can't have a descriptor of their own. */
static bool has_descriptors(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= HUB_LEAST_FILES;
}

/* It only ends the sleep, as the timer does: serve() looks itself. */
static void on_finished(uv_async_t *finished)
{
    (void)finished;
}

/* On a lane's thread. */
static void wake(void *context)
{
    struct hub *hub = context;

    (void)uv_async_send(&hub->finished);
}

static bool open_loop(struct hub *hub)
{
    hub->loop_ready = uv_loop_init(&hub->loop) == 0;
    return hub->loop_ready && uv_timer_init(&hub->loop, &hub->timer) == 0 &&
           uv_async_init(&hub->loop, &hub->finished, on_finished) == 0;
}

enum status hub_create(const struct hub_options *options, struct hub **out)
{
    enum status status = STATUS_NOMEM;
    struct hub *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL && options->max_frame_bytes > 0);
    if (self == NULL) {
        goto fail;
    }
    TAILQ_INIT(&self->dirty);
    self->max_frame_bytes = options->max_frame_bytes;
    hub_effects_init(self);
    hub_lanes_init(&self->lanes, wake, self);
    status = STATUS_IO;
    if (!has_descriptors()) {
        log_line(LOG_ERROR, "fewer than %d files may be open; raise the limit (ulimit -n)",
                 HUB_LEAST_FILES);
        goto fail;
    }
    if (!open_loop(self) || !open_context(self)) {
        log_line(LOG_ERROR,
                 "cannot open an event loop: %s; raise the limit of open files "
                 "(ulimit -n)",
                 strerror(errno));
        goto fail;
    }
    if (options->stop_on_signals && !watch_signals(self)) {
        log_line(LOG_ERROR, "cannot watch for signals: %s", strerror(errno));
        goto fail;
    }
    if (options->listen != NULL) {
        status = open_server(self, options->listen);
        if (status != STATUS_OK) {
            goto fail;
        }
    }
    *out = self;
    return STATUS_OK;

fail:
    hub_destroy(&self);
    return status;
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void close_loop(struct hub *hub)
{
    int rc;

    uv_walk(&hub->loop, close_handle, NULL);
    (void)uv_run(&hub->loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&hub->loop);
    assert(rc == 0); /* Every handle is closed, and libuv has let go of them. */
    (void)rc;
}

void hub_destroy(struct hub **hub)
{
    struct hub *self = *hub;

    *hub = NULL;
    if (self == NULL) {
        return;
    }
    hub_lanes_stop(&self->lanes);
    if (self->server != NULL) {
        (void)zmq_socket_monitor(self->server->zmq, NULL, 0);
    }
    hub_socket_close(&self->monitor);
    hub_socket_close(&self->server);
    for (size_t i = 0; i < HUB_MAX_LINKS; i++) {
        hub_socket_close(&self->links[i]);
    }
    if (self->loop_ready) {
        close_loop(self);
    }
    if (self->zmq_context != NULL) {
        (void)zmq_ctx_term(self->zmq_context);
    }
    hub_inbox_fini(&self->inbox);
    hub_effects_fini(self);
    heap_free(self);
}
