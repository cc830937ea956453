/* http_peer.h - a peer that speaks HTTP byte by byte, as wrong as a test wants.
 *
 * Errors:  a failed cr_assert. All waiting has a deadline.
 * Owner:   answers are free()d by whoever gets them; sockets are close()d.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_HTTP_PEER_H
#define ORBLOOM_TESTS_SUPPORT_HTTP_PEER_H

#include "base/span.h"

/* A connection to "tcp://HOST:PORT". It may be starting. */
int http_peer_open(const char *endpoint);

/* All of it; the other side may hang up meanwhile. */
void http_peer_send(int fd, struct span bytes);

/* What comes until the other side ends, with a NUL behind. */
char *http_peer_hear(int fd);

/* One request, and its whole answer. */
char *http_peer_ask(const char *endpoint, struct span request);

/* "GET PATH", with further lines of the head, each ended by "\r\n"; "": none. */
char *http_peer_get(const char *endpoint, const char *path, const char *lines);

/* "200" of "HTTP/1.1 200 OK"; 0: it is no answer. */
unsigned http_peer_code(const char *answer);

/* What follows the head. */
const char *http_peer_body(const char *answer);

#endif
