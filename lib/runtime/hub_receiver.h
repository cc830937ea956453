/* hub_receiver.h - a thread that receives for an actor that may be held up: the coordinator's store
 * can keep the loop's thread for seconds.
 *
 * libzmq has no bound in bytes for what it has received: whoever does not receive lets it grow. So
 * this thread always receives, and lays by what fits:
 *
 *   server socket -> [first: what must not wait] ----> hub_receiver_pop(), in this order
 *                 -> [rest] -------------------------^
 *                 -> no room: whoever sent one of the rest is told at once that it was refused
 *
 * Of a peer only one waits in `first`, the newest, in the place of the oldest: so what waits there
 * is never older than its peers' last words, however slow the actor is.
 *
 * Units:   microseconds of hub_now_us(); each of the two inboxes is bounded as hub_inbox.h says.
 * Errors:  hub_receiver_start: STATUS_IO, errno tells.
 * Owner:   hub_receiver_start()'s caller calls hub_receiver_stop(); the socket is borrowed.
 * Threads: all functions the loop's; `wake`, and the functions of the intake, are called on the
 *          receiver's. The mutex covers the socket too: whoever sends locks.
 */
#ifndef ORBLOOM_RUNTIME_HUB_RECEIVER_H
#define ORBLOOM_RUNTIME_HUB_RECEIVER_H

#include "base/buffer.h"
#include "base/pulse.h"
#include "runtime/hub.h"
#include "runtime/hub_inbox.h"

#include <pthread.h>
#include <stdatomic.h>

/* What came and is not for the actor, since the last look. */
struct hub_losses {
    uint64_t malformed; /* not one frame, or of a peer with an over-long name */
    uint64_t crowded;   /* no room */
};

struct hub_receiver {
    const struct hub_intake *intake; /* NULL: not started */
    void *zmq;
    int arrived; /* libzmq's descriptor, readable only once for all that has come */
    int bell;    /* eventfd: look again, or end */
    pthread_t thread;
    atomic_bool stopping;
    atomic_uint wanting; /* threads that wait for the mutex */
    atomic_bool ready;   /* there is something to fetch */
    void (*wake)(void *context);
    void *context;

    pthread_mutex_t mutex; /* ... covers the socket, and: */
    struct pulse pulse;
    struct hub_inbox first;
    struct hub_inbox rest;
    struct hub_losses losses;
    struct buffer refusal;
};

MUST_USE enum status hub_receiver_start(struct hub_receiver *self, void *zmq,
                                        const struct hub_intake *intake,
                                        void (*wake)(void *context), void *context);

/* End the thread, forget what it has laid by. Fine if it was not started, or zeroed. */
void hub_receiver_stop(struct hub_receiver *self);

static inline bool hub_receiver_runs(const struct hub_receiver *self)
{
    return self->intake != NULL;
}

/* Around any use of the socket. */
void hub_receiver_lock(struct hub_receiver *self);
void hub_receiver_unlock(struct hub_receiver *self);

/* May pop or take_losses have something? */
static inline bool hub_receiver_ready(struct hub_receiver *self)
{
    return atomic_load_explicit(&self->ready, memory_order_acquire);
}

/* The next request, which the caller closes; with `urgent` only one that must not wait. */
bool hub_receiver_pop(struct hub_receiver *self, bool urgent, struct hub_request *out);

struct hub_losses hub_receiver_take_losses(struct hub_receiver *self);

#endif
