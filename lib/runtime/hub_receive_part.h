/* hub_receive_part.h - messages off a ZeroMQ socket, for whoever may use it just now.
 *
 * Never blocks. A part that was received is the caller's to close.
 */
#ifndef ORBLOOM_RUNTIME_HUB_RECEIVE_PART_H
#define ORBLOOM_RUNTIME_HUB_RECEIVE_PART_H

#include "base/actor.h"

#include <zmq.h>

/* False: nothing was received; errno tells. */
bool hub_receive_part(void *zmq, zmq_msg_t *part);

/* Forget the parts that follow. */
void hub_receive_skip(void *zmq, zmq_msg_t *part);

/* `part` names the peer, and is replaced with the frame. False: it is no request, and skipped. */
bool hub_receive_body(void *zmq, zmq_msg_t *part, struct peer *from);

static inline struct span hub_receive_content(zmq_msg_t *part)
{
    return span_of(zmq_msg_data(part), zmq_msg_size(part));
}

#endif
