/* gateway.h - an HTTP server of one test, on a thread: it stands between a store and etcd, or
 * answers nonsense. One request a connection, one connection at a time.
 *
 * Errors:  a failed cr_assert when it can't be made.
 * Owner:   gateway_start()'s caller calls gateway_stop().
 * Threads: the handler runs on the gateway's.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_GATEWAY_H
#define ORBLOOM_TESTS_SUPPORT_GATEWAY_H

#include "base/span.h"

#include <pthread.h>
#include <stdbool.h>

enum { GATEWAY_REQUEST_BYTES = 1 << 16 };

struct gateway {
    int listener;
    pthread_t thread;
    bool ending;
    char endpoint[64]; /* "http://127.0.0.1:PORT" */
    /* All bytes to answer with; size 0: hang up. `request`: the whole of it, NUL behind. */
    struct span (*handle)(void *context, const char *request);
    void *context;
    unsigned repeat; /* send the answer so often; 0: once */
};

void gateway_start(struct gateway *self);
void gateway_stop(struct gateway *self);

/* Pass a request on to the server at "http://127.0.0.1:PORT", and give its whole answer, which is
 * valid until the next. */
struct span gateway_pass_on(const char *endpoint, const char *request);

#endif
