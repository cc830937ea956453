/* What an actor acts through (struct effects), on real sockets: sending without a copy where it
 * can, random bits, jobs. */
#include "runtime/date.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <zmq.h>

/* Taken over by libzmq; on failure still the caller's. */
static enum status send_message(void *zmq, zmq_msg_t *message, int flags)
{
    int rc;

    do {
        rc = zmq_msg_send(message, zmq, ZMQ_DONTWAIT | flags);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? STATUS_UNAVAILABLE : STATUS_OK;
}

/* Taken over by libzmq, or closed. */
static enum status send_part(void *zmq, zmq_msg_t *part, int flags)
{
    enum status status = send_message(zmq, part, flags);

    if (status != STATUS_OK) {
        (void)zmq_msg_close(part);
    }
    return status;
}

static bool make_part(zmq_msg_t *part, struct span bytes)
{
    if (zmq_msg_init_size(part, bytes.size) != 0) {
        return false;
    }
    if (bytes.size > 0) {
        memcpy(zmq_msg_data(part), bytes.data, bytes.size);
    }
    return true;
}

static void drop_draft(struct hub *hub)
{
    if (hub->drafted) {
        hub->drafted = false;
        (void)zmq_msg_close(&hub->draft);
    }
}

/* Memory of a message: what is encoded there need not be copied into one. */
static uint8_t *make_room(void *context, size_t size)
{
    struct hub *hub = context;

    drop_draft(hub);
    hub->drafted = size <= hub->max_frame_bytes && zmq_msg_init_size(&hub->draft, size) == 0;
    return hub->drafted ? zmq_msg_data(&hub->draft) : NULL;
}

static bool is_draft(struct hub *hub, struct span frame)
{
    return hub->drafted && frame.data == zmq_msg_data(&hub->draft) &&
           frame.size == zmq_msg_size(&hub->draft);
}

static enum status send_name(struct hub_socket *socket, const struct peer *to)
{
    zmq_msg_t name;

    if (!make_part(&name, span_of(to->id, to->size))) {
        return STATUS_UNAVAILABLE;
    }
    return send_part(socket->zmq, &name, ZMQ_SNDMORE);
}

/* A draft that can't be sent stays: it may be tried on another link. */
static enum status send_draft(struct hub_socket *socket, const struct peer *to)
{
    struct hub *hub = socket->hub;
    enum status status = to != NULL ? send_name(socket, to) : STATUS_OK;

    if (status == STATUS_OK) {
        status = send_message(socket->zmq, &hub->draft, 0);
        hub->drafted = status != STATUS_OK;
    }
    return status;
}

/* All memory is had before the first part goes: a name without a frame would spoil the next. */
static enum status send_copy(struct hub_socket *socket, const struct peer *to, struct span frame)
{
    zmq_msg_t body;

    if (!make_part(&body, frame)) {
        return STATUS_UNAVAILABLE;
    }
    if (to != NULL && send_name(socket, to) != STATUS_OK) {
        (void)zmq_msg_close(&body);
        return STATUS_UNAVAILABLE;
    }
    return send_part(socket->zmq, &body, 0);
}

static enum status send_frame(struct hub_socket *socket, const struct peer *to, struct span frame)
{
    struct hub *hub = socket->hub;
    enum status status = STATUS_TOO_LARGE; /* The peer would cut the connection. */

    if (frame.size <= hub->max_frame_bytes) {
        status = is_draft(hub, frame) ? send_draft(socket, to) : send_copy(socket, to, frame);
        hub_socket_touch(socket);
    }
    if (status != STATUS_OK) {
        hub_count(hub, HUB_COUNTER_DROPPED_SENDS);
    }
    return status;
}

static enum status reply(void *context, const struct peer *to, struct span frame)
{
    struct hub *hub = context;

    assert(hub->server != NULL && to->size > 0 && to->size <= sizeof to->id);
    hub->replied_us = hub_now_us();
    return send_frame(hub->server, to, frame);
}

static enum status send_on_link(void *context, uint32_t link, struct span frame)
{
    struct hub *hub = context;
    struct hub_link *found = hub_link_find(hub, link);
    enum status status;

    if (found == NULL || found->socket == NULL) {
        return STATUS_UNAVAILABLE;
    }
    status = send_frame(found->socket, NULL, frame);
    if (status != STATUS_TOO_LARGE) {
        hub_link_sent(found, status == STATUS_OK);
    }
    return status;
}

static uint64_t draw_random(void *context)
{
    uint64_t value;
    ssize_t size;

    (void)context;
    do {
        size = getrandom(&value, sizeof value, 0);
    } while (size < 0 && errno == EINTR);
    if (size != (ssize_t)sizeof value) {
        abort(); /* No kernel that libuv runs on does this; and secrets are made from it. */
    }
    return value;
}

static uint64_t read_date(void *context)
{
    (void)context;
    return date_now_ms();
}

static uint64_t waited_us(void *context)
{
    const struct hub *hub = context;

    return pulse_waited_us(&hub->pulse, hub->pulse.last_us);
}

static uint64_t clock_us(void *context)
{
    (void)context;
    return hub_now_us();
}

static void submit(void *context, enum job_lane lane, struct job *job)
{
    struct hub *hub = context;

    hub_lanes_submit(&hub->lanes, lane, job);
}

void hub_effects_fini(struct hub *hub)
{
    drop_draft(hub);
}

void hub_effects_init(struct hub *hub)
{
    hub->effects = (struct effects){
        .context = hub,
        .reply = reply,
        .link_open = hub_link_open,
        .link_close = hub_link_close,
        .send = send_on_link,
        .random = draw_random,
        .date_ms = read_date,
        .waited_us = waited_us,
        .clock_us = clock_us,
        .room = make_room,
        .submit = submit,
        .slow_pages = true,
    };
}
