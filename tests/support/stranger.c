/* Dials a daemon by plain TCP or ZeroMQ, and sends it whatever the test likes. */
#include "tests/support/stranger.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

enum { SEND_MS = 10000, ANSWER_BYTES = 1 << 20 };

static struct sockaddr_in address_of(const char *endpoint)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    unsigned port = 0;

    cr_assert_eq(sscanf(endpoint, "tcp://%63[^:]:%u", host, &port), 2, "%s", endpoint);
    cr_assert_eq(inet_pton(AF_INET, host, &address.sin_addr), 1, "%s", host);
    address.sin_port = htons((uint16_t)port);
    return address;
}

void stranger_tcp(const char *endpoint, struct span bytes)
{
    struct sockaddr_in address = address_of(endpoint);
    struct timeval patience = {.tv_sec = SEND_MS / 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t done = 0;

    cr_assert_geq(fd, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0, "%s: %s",
                 endpoint, strerror(errno));
    while (done < bytes.size) {
        ssize_t sent = send(fd, bytes.data + done, bytes.size - done, MSG_NOSIGNAL);

        if (sent <= 0) {
            break; /* It has hung up on us: well done. */
        }
        done += (size_t)sent;
    }
    (void)close(fd);
}

static void open_socket(struct stranger *self, int linger)
{
    int limit = SEND_MS;

    self->context = zmq_ctx_new();
    self->socket = zmq_socket(self->context, ZMQ_DEALER);
    cr_assert_not_null(self->socket);
    cr_assert_eq(zmq_setsockopt(self->socket, ZMQ_SNDTIMEO, &limit, sizeof limit), 0);
    cr_assert_eq(zmq_setsockopt(self->socket, ZMQ_LINGER, &linger, sizeof linger), 0);
}

void stranger_open(struct stranger *self, const char *endpoint)
{
    open_socket(self, SEND_MS);
    cr_assert_eq(zmq_connect(self->socket, endpoint), 0);
}

/* Nothing that it is not let in for is worth waiting at its end. */
void stranger_open_curve(struct stranger *self, const char *endpoint, const struct curve_pair *own,
                         const uint8_t server[CURVE_KEY_BYTES])
{
    open_socket(self, 0);
    cr_assert_eq(zmq_setsockopt(self->socket, ZMQ_CURVE_PUBLICKEY, own->public, sizeof own->public),
                 0);
    cr_assert_eq(zmq_setsockopt(self->socket, ZMQ_CURVE_SECRETKEY, own->secret, sizeof own->secret),
                 0);
    cr_assert_eq(zmq_setsockopt(self->socket, ZMQ_CURVE_SERVERKEY, server, CURVE_KEY_BYTES), 0);
    cr_assert_eq(zmq_connect(self->socket, endpoint), 0);
}

void stranger_close(struct stranger *self)
{
    cr_assert_eq(zmq_close(self->socket), 0);
    cr_assert_eq(zmq_ctx_term(self->context), 0);
}

void stranger_send(struct stranger *self, struct span frame)
{
    cr_assert_eq(zmq_send(self->socket, frame.data, frame.size, 0), (int)frame.size, "%s",
                 zmq_strerror(errno));
}

void stranger_send_frame(struct stranger *self, const struct frame *frame)
{
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    stranger_send(self, buffer_span(&bytes));
    buffer_fini(&bytes);
}

void stranger_send_parts(struct stranger *self, struct span first, struct span second)
{
    cr_assert_eq(zmq_send(self->socket, first.data, first.size, ZMQ_SNDMORE), (int)first.size);
    stranger_send(self, second);
}

bool stranger_receive(struct stranger *self, int wait_ms, struct frame *out)
{
    static struct codec_arena *arena;
    static uint8_t bytes[ANSWER_BYTES];
    int size;

    if (arena == NULL) {
        cr_assert_eq(codec_arena_create(4 * ANSWER_BYTES, &arena), STATUS_OK);
    }
    cr_assert_eq(zmq_setsockopt(self->socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms), 0);
    size = zmq_recv(self->socket, bytes, sizeof bytes, 0);
    if (size < 0) {
        return false;
    }
    cr_assert_leq(size, (int)sizeof bytes);
    cr_assert_eq(codec_decode(arena, span_of(bytes, (size_t)size), out), STATUS_OK);
    return true;
}
