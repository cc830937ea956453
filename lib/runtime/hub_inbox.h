/* hub_inbox.h - requests that have arrived and wait for the actor: a queue bounded in bytes.
 *
 * Why: libzmq 4.3 aborts the process (an assertion on _io_error) when a peer's connection
 * breaks while its receive queue is full and a heartbeat is due, so its queues have no bound
 * (RCVHWM 0) and are emptied into this one at once, also between calls of the actor. What
 * would pass the bound is dropped: every request is asked again until it is answered.
 *
 * Units:   bytes of frames, with HUB_INBOX_FRAME_BYTES on top for each.
 * Errors:  hub_inbox_push() is false when the frame does not fit or memory is out.
 * Owner:   the inbox owns pushed messages until they are popped; hub_inbox_fini() closes them.
 * Threads: none of its own; one at a time.
 */
#ifndef ORBLOOM_RUNTIME_HUB_INBOX_H
#define ORBLOOM_RUNTIME_HUB_INBOX_H

#include "base/actor.h"

#include <stddef.h>
#include <zmq.h>

enum { HUB_INBOX_MAX_BYTES = 64 << 20, HUB_INBOX_FRAME_BYTES = 256 };

struct hub_request {
    struct peer from;
    zmq_msg_t frame;
};

struct hub_inbox {
    struct hub_request *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t first;
    size_t count;
    size_t bytes;
};

/* Takes the content of `frame`, which is empty then; untouched when false. */
bool hub_inbox_push(struct hub_inbox *self, const struct peer *from, zmq_msg_t *frame);

/* The oldest request, which the caller closes; false when there is none. */
bool hub_inbox_pop(struct hub_inbox *self, struct hub_request *out);

void hub_inbox_fini(struct hub_inbox *self);

#endif
