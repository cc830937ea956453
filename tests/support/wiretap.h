/* wiretap.h - stands between two processes and keeps all bytes that they say to each other: a
 * listening port, on a thread, that passes each connection on to the server whose place it takes.
 * It may be slow, and break connections.
 *
 * Errors:  a failed cr_assert when it can't be made.
 * Owner:   wiretap_start()'s caller calls wiretap_stop().
 * Threads: it has its own; what it has heard may be asked for at any time.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_WIRETAP_H
#define ORBLOOM_TESTS_SUPPORT_WIRETAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRETAP_MAX_CONNECTIONS = 512, WIRETAP_ENDPOINT_BYTES = 64 };

/* What goes one way through a connection. */
struct wiretap_stream {
    int from;
    int to;
    uint8_t *heard;
    size_t size;
};

struct wiretap {
    int listener;
    uint16_t target;
    char endpoint[WIRETAP_ENDPOINT_BYTES]; /* "tcp://127.0.0.1:PORT": its own */
    pthread_t thread;
    pthread_mutex_t lock; /* of what is below */
    bool ending;
    size_t pace;         /* bytes each way of a connection in a second; 0: as they come */
    size_t breaks;       /* so many connections are to be broken, the newest ones */
    size_t nconnections; /* all that there were */
    struct wiretap_stream streams[2 * WIRETAP_MAX_CONNECTIONS];
};

/* In the place of the server at "tcp://127.0.0.1:PORT". */
void wiretap_start(struct wiretap *self, const char *endpoint);
void wiretap_stop(struct wiretap *self);

/* By each connection no more than so many bytes go each way in a second, 100 at least. */
void wiretap_slow(struct wiretap *self, size_t pace);

/* The newest connections that there are break, so many of them. */
void wiretap_break(struct wiretap *self, size_t count);

/* How many bytes have passed, both ways. */
size_t wiretap_bytes(struct wiretap *self);

/* How often `text` was among them, within what went one way through one connection. */
size_t wiretap_count(struct wiretap *self, const char *text);

#endif
