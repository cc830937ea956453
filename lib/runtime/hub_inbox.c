/* A ring of libzmq's messages, counted in bytes. */
#include "runtime/hub_inbox.h"

#include "base/heap.h"

#include <string.h>

enum { INBOX_FIRST_REQUESTS = 64 };

static size_t cost_of(zmq_msg_t *frame)
{
    return zmq_msg_size(frame) + HUB_INBOX_FRAME_BYTES;
}

/* libzmq's messages move by zmq_msg_move() alone, so the ring is copied one by one. */
static bool grow(struct hub_inbox *self)
{
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : INBOX_FIRST_REQUESTS;
    struct hub_request *ring = heap_zalloc(capacity, sizeof *ring);

    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < self->count; i++) {
        struct hub_request *old = &self->ring[(self->first + i) & (self->capacity - 1)];

        ring[i].from = old->from;
        (void)zmq_msg_init(&ring[i].frame);
        (void)zmq_msg_move(&ring[i].frame, &old->frame);
        (void)zmq_msg_close(&old->frame);
    }
    heap_free(self->ring);
    self->ring = ring;
    self->capacity = capacity;
    self->first = 0;
    return true;
}

bool hub_inbox_push(struct hub_inbox *self, const struct peer *from, zmq_msg_t *frame)
{
    struct hub_request *place;

    if (self->bytes + cost_of(frame) > HUB_INBOX_MAX_BYTES ||
        (self->count == self->capacity && !grow(self))) {
        return false;
    }
    place = &self->ring[(self->first + self->count) & (self->capacity - 1)];
    place->from = *from;
    self->bytes += cost_of(frame);
    (void)zmq_msg_init(&place->frame);
    (void)zmq_msg_move(&place->frame, frame);
    self->count++;
    return true;
}

bool hub_inbox_pop(struct hub_inbox *self, struct hub_request *out)
{
    struct hub_request *place;

    if (self->count == 0) {
        return false;
    }
    place = &self->ring[self->first];
    out->from = place->from;
    (void)zmq_msg_init(&out->frame);
    (void)zmq_msg_move(&out->frame, &place->frame);
    (void)zmq_msg_close(&place->frame);
    self->bytes -= cost_of(&out->frame);
    self->first = (self->first + 1) & (self->capacity - 1);
    self->count--;
    return true;
}

void hub_inbox_fini(struct hub_inbox *self)
{
    struct hub_request request;

    while (hub_inbox_pop(self, &request)) {
        (void)zmq_msg_close(&request.frame);
    }
    heap_free(self->ring);
    *self = (struct hub_inbox){0};
}
