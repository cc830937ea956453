/* Whose turn it is. While the record has no users all is served as it comes. Then what clients send
 * waits for its turn by user, as copies, and each turn of the loop serves a part of it. What the
 * RESP front asks has had its turn there, and does not wait again. */
#include "base/heap.h"
#include "router/private.h"

enum {
    TURN_BYTES = 32 << 10, /* of requests of clients that one turn serves */
};

void turns_init(struct router *self)
{
    arrivals_init(&self->arrivals, self->config.max_inflight_bytes, TURN_BYTES);
}

void turns_fini(struct router *self)
{
    arrivals_fini(&self->arrivals);
}

/* Why there is no room to wait. Of all requests of nobody none is to blame. */
static const char *reason_of(const struct router *self, uint32_t user, enum status status)
{
    if (status == STATUS_NOMEM) {
        return "the router is out of memory; lower max_inflight or add memory";
    }
    return user != 0 && fair_queue_waiting(&self->arrivals.queue, user) > 0
               ? "too many requests of this user wait; slow down, retry"
               : "more requests wait for their turn than the router's max_inflight allows; slow "
                 "down, retry, or add routers";
}

bool turns_queue(struct router *self, uint64_t now_us, const struct peer *from,
                 const struct frame *frame, struct span bytes)
{
    enum status status;

    if (self->documents.users.count == 0 || from->size == 0) {
        return false;
    }
    status = arrivals_push(&self->arrivals, from->user, from,
                           serve_deadline_us(self, now_us, frame), bytes);
    if (status != STATUS_OK) {
        router_count(self, ROUTER_overloaded_total);
        router_refuse(self, from, frame, status, reason_of(self, from->user, status));
    }
    router_show_inflight(self);
    return true;
}

void turns_serve(struct router *self, uint64_t now_us)
{
    struct arrival *next;

    arrivals_turn(&self->arrivals);
    while ((next = arrivals_pop(&self->arrivals)) != NULL) {
        router_show_inflight(self);
        serve_arrival(self, now_us, next);
        heap_free(next);
    }
}
