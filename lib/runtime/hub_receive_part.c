/* Reads messages part by part; one of another shape than ours is taken off the socket whole and
 * dropped. */
#include "runtime/hub_receive_part.h"

#include <errno.h>
#include <string.h>

bool hub_receive_part(void *zmq, zmq_msg_t *part)
{
    (void)zmq_msg_init(part);
    if (zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) >= 0) {
        return true;
    }
    (void)zmq_msg_close(part);
    return false;
}

/* libzmq delivers the parts of a message together, so the rest is there already. */
void hub_receive_skip(void *zmq, zmq_msg_t *part)
{
    while (zmq_msg_more(part)) {
        if (zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) < 0 && errno != EINTR) {
            break;
        }
    }
}

bool hub_receive_body(void *zmq, zmq_msg_t *part, struct peer *from)
{
    size_t size = zmq_msg_size(part);
    bool fits = size > 0 && size <= sizeof from->id;

    if (fits) {
        from->size = (uint8_t)size;
        memcpy(from->id, zmq_msg_data(part), size);
    }
    while (zmq_msg_more(part) && zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    if (!fits || zmq_msg_more(part)) {
        hub_receive_skip(zmq, part);
        return false;
    }
    return true;
}
