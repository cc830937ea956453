/* address.h - endpoints as people write them, and the addresses of sockets.
 *
 * Errors:  a length of 0: there is no such address.
 * Threads: any.
 */
#ifndef ORBLOOM_RUNTIME_ADDRESS_H
#define ORBLOOM_RUNTIME_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

enum { ADDRESS_BYTES = 320 };

/* The host of an endpoint: "redis.example", "127.0.0.1", "::1", "*". False: it has no port, or does
 * not fit. */
bool address_host(const char *endpoint, char host[ADDRESS_BYTES]);

/* "tcp://127.0.0.1:7401", "[::1]:7401", "*:*": all hosts, a free port. How long the address is. */
socklen_t address_resolve(const char *endpoint, struct sockaddr_storage *address);

/* The other way round, in numbers: "tcp://127.0.0.1:41703". As it was where that can't be told. */
void address_tell(const struct sockaddr_storage *address, socklen_t length,
                  char endpoint[ADDRESS_BYTES]);

#endif
