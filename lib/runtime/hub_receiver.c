/* The thread's loop, what it lays by or refuses, and the lock under which the actor's thread
 * takes it over. */
#include "runtime/hub_receiver.h"

#include "runtime/hub_receive_part.h"
#include "runtime/hub_thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    RECEIVER_FRAMES = 256,  /* received under the mutex at once */
    SHARED_BYTES = 8 << 10, /* libzmq reads so much at once; frames in it share that memory */
    REFUSAL_BYTES = 4 << 10,
};

static void ring(const struct hub_receiver *self)
{
    const uint64_t one = 1;
    ssize_t size;

    do {
        size = write(self->bell, &one, sizeof one);
    } while (size < 0 && errno == EINTR); /* EAGAIN: it rings already. */
}

static void note_ready(struct hub_receiver *self)
{
    bool ready = self->first.count > 0 || self->rest.count > 0 || self->losses.malformed > 0 ||
                 self->losses.crowded > 0;

    atomic_store_explicit(&self->ready, ready, memory_order_release);
}

/* ---- in the receiver's thread, under the mutex ---- */

/* A short frame would keep all that libzmq read together with it. */
static bool own_memory(zmq_msg_t *frame)
{
    zmq_msg_t copy;
    size_t size = zmq_msg_size(frame);

    if (size > SHARED_BYTES) {
        return true;
    }
    if (zmq_msg_init_size(&copy, size) != 0) {
        return false;
    }
    if (size > 0) {
        memcpy(zmq_msg_data(&copy), zmq_msg_data(frame), size);
    }
    (void)zmq_msg_move(frame, &copy);
    (void)zmq_msg_close(&copy);
    return true;
}

/* Who does not hear of it asks again. */
static void refuse(struct hub_receiver *self, const struct peer *from, struct span frame)
{
    buffer_clear(&self->refusal);
    if (self->intake->refuse(frame, &self->refusal) &&
        zmq_send(self->zmq, from->id, from->size, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0) {
        (void)zmq_send(self->zmq, self->refusal.data, self->refusal.size, ZMQ_DONTWAIT);
    }
}

static bool lay_first(struct hub_receiver *self, uint64_t since_us, const struct peer *from,
                      zmq_msg_t *frame)
{
    return own_memory(frame) && (hub_inbox_replace(&self->first, since_us, from, frame) ||
                                 hub_inbox_push(&self->first, since_us, from, frame));
}

static bool lay_rest(struct hub_receiver *self, uint64_t since_us, const struct peer *from,
                     zmq_msg_t *frame)
{
    if (!hub_inbox_fits(&self->rest, frame)) {
        refuse(self, from, hub_receive_content(frame));
        return false;
    }
    return own_memory(frame) && hub_inbox_push(&self->rest, since_us, from, frame);
}

static void lay_by(struct hub_receiver *self, uint64_t since_us, const struct peer *from,
                   zmq_msg_t *frame)
{
    bool first = self->intake->comes_first(hub_receive_content(frame));

    if (!(first ? lay_first : lay_rest)(self, since_us, from, frame)) {
        self->losses.crowded++;
    }
}

/* False: nothing has arrived. */
static bool receive_one(struct hub_receiver *self, uint64_t since_us)
{
    struct peer from = {.size = 0};
    zmq_msg_t part;

    if (!hub_receive_part(self->zmq, &part)) {
        return errno == EINTR;
    }
    if (hub_receive_body(self->zmq, &part, &from)) {
        lay_by(self, since_us, &from, &part);
    } else {
        self->losses.malformed++;
    }
    (void)zmq_msg_close(&part);
    return true;
}

/* ---- in the receiver's thread ---- */

/* What is received now has come since the pause, if this process was stopped: see pulse.h. */
static uint64_t beat(struct hub_receiver *self)
{
    uint64_t now_us = hub_now_us();

    pulse_beat(&self->pulse, now_us);
    return now_us - pulse_waited_us(&self->pulse, now_us);
}

/* True: there may be more. */
static bool receive_some(struct hub_receiver *self)
{
    bool more = true;
    uint64_t since_us;
    bool before;

    (void)pthread_mutex_lock(&self->mutex);
    since_us = beat(self);
    before = hub_receiver_ready(self);
    for (unsigned n = 0; n < RECEIVER_FRAMES && more; n++) {
        more = receive_one(self, since_us);
    }
    note_ready(self);
    (void)pthread_mutex_unlock(&self->mutex);
    if (!before && hub_receiver_ready(self)) {
        self->wake(self->context);
    }
    return more;
}

/* Sleep until something has come. libzmq's descriptor reports an arrival once only, and not at all
 * if the other thread used the socket to send meanwhile; that thread then rings the bell. */
static void await(struct hub_receiver *self)
{
    struct pollfd both[] = {{.fd = self->arrived, .events = POLLIN},
                            {.fd = self->bell, .events = POLLIN}};
    uint64_t rings;

    (void)poll(both, 2, PULSE_US / 1000);
    (void)!read(self->bell, &rings, sizeof rings); /* Not blocking. */
}

static void *run(void *context)
{
    struct hub_receiver *self = context;

    while (!atomic_load(&self->stopping)) {
        if (!receive_some(self)) {
            await(self);
        }
        /* A mutex is nobody's by turns: whoever has just left it gets it again. */
        while (atomic_load(&self->wanting) > 0) {
            (void)sched_yield();
        }
    }
    return NULL;
}

/* ---- in the loop's thread ---- */

void hub_receiver_lock(struct hub_receiver *self)
{
    (void)atomic_fetch_add(&self->wanting, 1);
    (void)pthread_mutex_lock(&self->mutex);
    (void)atomic_fetch_sub(&self->wanting, 1);
}

void hub_receiver_unlock(struct hub_receiver *self)
{
    (void)pthread_mutex_unlock(&self->mutex);
    ring(self);
}

bool hub_receiver_pop(struct hub_receiver *self, bool urgent, struct hub_request *out)
{
    bool popped;

    hub_receiver_lock(self);
    popped = hub_inbox_pop(&self->first, out) || (!urgent && hub_inbox_pop(&self->rest, out));
    note_ready(self);
    (void)pthread_mutex_unlock(&self->mutex);
    return popped;
}

struct hub_losses hub_receiver_take_losses(struct hub_receiver *self)
{
    struct hub_losses losses;

    hub_receiver_lock(self);
    losses = self->losses;
    self->losses = (struct hub_losses){0};
    note_ready(self);
    (void)pthread_mutex_unlock(&self->mutex);
    return losses;
}

enum status hub_receiver_start(struct hub_receiver *self, void *zmq,
                               const struct hub_intake *intake, void (*wake)(void *context),
                               void *context)
{
    size_t size = sizeof self->arrived;

    assert(intake->comes_first != NULL && intake->refuse != NULL && self->intake == NULL);
    *self = (struct hub_receiver){.zmq = zmq, .wake = wake, .context = context};
    if (zmq_getsockopt(zmq, ZMQ_FD, &self->arrived, &size) != 0) {
        return STATUS_IO;
    }
    self->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->bell < 0) {
        return STATUS_IO;
    }
    (void)pthread_mutex_init(&self->mutex, NULL);
    buffer_init(&self->refusal, REFUSAL_BYTES);
    self->intake = intake;
    errno = hub_thread_start(&self->thread, "receive", run, self);
    if (errno != 0) {
        self->intake = NULL;
        (void)pthread_mutex_destroy(&self->mutex);
        (void)close(self->bell);
        return STATUS_IO;
    }
    return STATUS_OK;
}

void hub_receiver_stop(struct hub_receiver *self)
{
    if (!hub_receiver_runs(self)) {
        return;
    }
    atomic_store(&self->stopping, true);
    ring(self);
    (void)pthread_join(self->thread, NULL);
    (void)pthread_mutex_destroy(&self->mutex);
    (void)close(self->bell);
    hub_inbox_fini(&self->first);
    hub_inbox_fini(&self->rest);
    buffer_fini(&self->refusal);
    self->intake = NULL;
}
