/* A hub's sockets, loop and signals: opened, and closed. */
#include "base/heap.h"
#include "base/log.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

enum { HUB_SPARE_SOCKETS = 16, HUB_LEAST_FILES = 32, LAST_ANSWERS_US = 200000 };

static void on_signal(uv_signal_t *signal, int number)
{
    struct hub *hub = signal->data;

    if (hub->on_signal != NULL) {
        hub->on_signal(hub->signal_context, number);
    } else {
        hub_stop(hub);
    }
}

static bool watch_signals(struct hub *hub, bool usr1)
{
    static const int numbers[HUB_NSIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    size_t count = hub->on_signal == NULL ? HUB_NSIGNALS - 2
                   : usr1                 ? HUB_NSIGNALS
                                          : HUB_NSIGNALS - 1;

    for (size_t i = 0; i < count; i++) {
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

/* On another thread. */
static void wake(void *context)
{
    struct hub *hub = context;

    (void)uv_async_send(&hub->finished);
}

static enum status open_server(struct hub *hub, const char *listen)
{
    size_t size = sizeof hub->endpoint;
    enum status status = hub->curve != NULL && hub->curve->listens ? hub_zap_open(hub) : STATUS_OK;

    if (status == STATUS_OK) {
        status = hub_socket_open(hub, listen, 0, NULL, &hub->server);
    }
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
static bool open_context(struct hub *hub, unsigned io_threads)
{
    const int sockets = HUB_MAX_LINKS + 2 * HUB_MAX_WATCHES + HUB_SPARE_SOCKETS;

    assert(io_threads <= HUB_MAX_IO_THREADS);
    hub->zmq_context = zmq_ctx_new();
    return hub->zmq_context != NULL &&
           zmq_ctx_set(hub->zmq_context, ZMQ_MAX_SOCKETS, sockets) == 0 &&
           zmq_ctx_set(hub->zmq_context, ZMQ_IO_THREADS, io_threads > 0 ? (int)io_threads : 1) == 0;
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
    self->owner = getpid();
    TAILQ_INIT(&self->dirty);
    TAILQ_INIT(&self->watched);
    self->links_next_us = self->rebind_us = ACTOR_NEVER;
    self->curve = options->curve;
    buffer_init(&self->refusal, options->max_frame_bytes);
    self->max_frame_bytes = options->max_frame_bytes;
    hub_effects_init(self);
    hub_lanes_init(&self->lanes, wake, self);
    status = STATUS_IO;
    if (!has_descriptors()) {
        log_line(LOG_ERROR, "fewer than %d files may be open; raise the limit (ulimit -n)",
                 HUB_LEAST_FILES);
        goto fail;
    }
    if (!open_loop(self) || !open_context(self, options->io_threads)) {
        log_line(LOG_ERROR,
                 "cannot open an event loop: %s; raise the limit of open files "
                 "(ulimit -n)",
                 strerror(errno));
        goto fail;
    }
    self->on_signal = options->on_signal;
    self->signal_context = options->signal_context;
    if ((options->stop_on_signals || options->on_signal != NULL) &&
        !watch_signals(self, options->on_usr1)) {
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

/* A client that finds its connection closed forgets what libzmq has read from it and it has not
 * (ZMQ_IMMEDIATE): it gets a while for the last answers. */
static void let_answers_arrive(const struct hub *hub)
{
    uint64_t since_us = hub_now_us() - hub->replied_us;

    if (hub->server != NULL && hub->replied_us != 0 && since_us < LAST_ANSWERS_US) {
        hub_nap((uint32_t)(LAST_ANSWERS_US - since_us));
    }
}

void hub_part_from_parent(struct hub *hub)
{
    if (hub->owner != getpid()) {
        hub->owner = getpid();
        (void)uv_loop_fork(
            &hub->loop); /* Failed: there is no instance, so nothing is closed in it. */
    }
}

void hub_destroy(struct hub **hub)
{
    struct hub *self = *hub;

    *hub = NULL;
    if (self == NULL) {
        return;
    }
    hub_lanes_stop(&self->lanes);
    let_answers_arrive(self);
    if (self->server != NULL) {
        (void)zmq_socket_monitor(self->server->zmq, NULL, 0);
    }
    hub_socket_close(&self->monitor);
    hub_socket_close(&self->server);
    hub_links_close(self);
    hub_socket_close(&self->zap);
    if (self->loop_ready) {
        close_loop(self);
    }
    if (self->zmq_context != NULL) {
        (void)zmq_ctx_term(self->zmq_context);
    }
    hub_inbox_fini(&self->inbox);
    hub_effects_fini(self);
    buffer_fini(&self->refusal);
    explicit_bzero(&self->served, sizeof self->served);
    heap_free(self);
}
