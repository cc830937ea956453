/* A poll handle and a timer of libuv, on the heap, as libuv lets go of each in a later turn. */
#include "runtime/hub_watch.h"

#include "base/heap.h"
#include "runtime/hub_internal.h"

#include <assert.h>

struct hub_watch {
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned handles; /* that libuv has not let go of */
    hub_watch_fn *on_event;
    void *context;
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    const struct hub_watch *watch = poll->data;

    (void)status; /* What is wrong with the descriptor its owner finds out. */
    (void)events;
    watch->on_event(watch->context);
}

static void on_timer(uv_timer_t *timer)
{
    const struct hub_watch *watch = timer->data;

    watch->on_event(watch->context);
}

static void let_go(uv_handle_t *handle)
{
    struct hub_watch *watch = handle->data;

    if (--watch->handles == 0) {
        heap_free(watch);
    }
}

enum status hub_watch_open(struct hub *hub, int descriptor, hub_watch_fn *on_event, void *context,
                           struct hub_watch **out)
{
    struct hub_watch *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL && on_event != NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    if (uv_poll_init(&hub->loop, &self->poll, descriptor) != 0) {
        heap_free(self);
        return STATUS_IO;
    }
    (void)uv_timer_init(&hub->loop, &self->timer); /* It can't fail. */
    self->handles = 2;
    self->poll.data = self->timer.data = self;
    self->on_event = on_event;
    self->context = context;
    if (uv_poll_start(&self->poll, UV_READABLE, on_poll) != 0) {
        hub_watch_close(&self);
        return STATUS_IO;
    }
    *out = self;
    return STATUS_OK;
}

void hub_watch_within(struct hub_watch *watch, uint64_t wait_ms)
{
    if (wait_ms == UINT64_MAX) {
        (void)uv_timer_stop(&watch->timer);
        return;
    }
    uv_update_time(watch->timer.loop); /* The event may have taken a while. */
    (void)uv_timer_start(&watch->timer, on_timer, wait_ms, 0);
}

void hub_watch_close(struct hub_watch **watch)
{
    struct hub_watch *self = *watch;

    *watch = NULL;
    if (self != NULL) {
        uv_close((uv_handle_t *)&self->poll, let_go);
        uv_close((uv_handle_t *)&self->timer, let_go);
    }
}
