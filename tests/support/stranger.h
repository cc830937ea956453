/* stranger.h - peers that do not play by the rules: plain TCP, and ZeroMQ with any frames.
 *
 * Errors:  a failed cr_assert.
 * Owner:   what was opened is closed by its own function, or by the end of the test.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_STRANGER_H
#define ORBLOOM_TESTS_SUPPORT_STRANGER_H

#include "base/curve.h"
#include "base/span.h"
#include "proto/codec.h"

/* Connect to "tcp://HOST:PORT" by plain TCP, send the bytes, close. The other side may hang up
 * meanwhile. */
void stranger_tcp(const char *endpoint, struct span bytes);

struct stranger {
    void *context;
    void *socket; /* a DEALER */
};

void stranger_open(struct stranger *self, const char *endpoint);

/* By CURVE, with that pair, at a server that is expected to have that public key. */
void stranger_open_curve(struct stranger *self, const char *endpoint, const struct curve_pair *own,
                         const uint8_t server[CURVE_KEY_BYTES]);
void stranger_close(struct stranger *self);
void stranger_send(struct stranger *self, struct span frame);
void stranger_send_frame(struct stranger *self, const struct frame *frame);

/* Two parts where one is expected. */
void stranger_send_parts(struct stranger *self, struct span first, struct span second);

/* The next answer, decoded; false when there is none within `wait_ms`. Valid until the next. */
bool stranger_receive(struct stranger *self, int wait_ms, struct frame *out);

#endif
