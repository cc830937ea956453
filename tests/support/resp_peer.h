/* resp_peer.h - a connection to a router's RESP front, byte by byte.
 *
 * Errors:  a failed cr_assert. All waiting has a deadline.
 * Owner:   resp_peer_dial()'s caller closes the descriptor.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_RESP_PEER_H
#define ORBLOOM_TESTS_SUPPORT_RESP_PEER_H

#include "base/span.h"

#include <stdbool.h>

enum { RESP_PEER_WAIT_MS = 20000 };

/* To "/a/path", or to a port of 127.0.0.1 where that is not 0. It may be starting. */
int resp_peer_dial(const char *path, unsigned port);

/* A free port, for as long as nobody else asks the kernel for one. */
unsigned resp_peer_free_port(void);

void resp_peer_send(int fd, struct span bytes);

/* Up to `size` bytes, or to the end. */
size_t resp_peer_receive(int fd, char *text, size_t size);

/* Send, then receive exactly this. */
void resp_peer_expect(int fd, const char *sent, const char *expected);

/* It ends in good order, after `expected`. Closes the descriptor. */
void resp_peer_expect_end(int fd, const char *expected);

#endif
