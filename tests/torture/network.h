/* network.h - the network between the processes under torture, and how to cut it.
 *
 * With namespaces every process has a network of its own: a veth pair to a bridge in a namespace
 * of the driver. All addresses of the wire are fixed by hand, so a way from one host to another is
 * cut by giving the sender a wrong one: packets go out and reach nobody, without any error, as on
 * a broken link. Namespaces end with the processes that hold them: nothing is to be removed, even
 * after kill -9 of the driver. Without the rights for that there is loopback, which can't be cut.
 *
 * Shape:   host 0 is the driver itself, hosts from 1 are processes.
 * Errors:  network_open() says on stderr why it falls back.
 * Threads: open before any thread is started; then one.
 */
#ifndef ORBLOOM_TESTS_TORTURE_NETWORK_H
#define ORBLOOM_TESTS_TORTURE_NETWORK_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { NETWORK_MAX_HOSTS = 32, NETWORK_ADDRESS_BYTES = 16 };

struct network {
    bool namespaces;
    uint32_t nhosts;
    int spaces[NETWORK_MAX_HOSTS];   /* the namespace of each */
    int controls[NETWORK_MAX_HOSTS]; /* a socket in it */
};

/* `nhosts` with the driver. */
void network_open(struct network *self, uint32_t nhosts, bool wants_namespaces);
void network_close(struct network *self);

/* "10.77.0.3", "127.0.0.1". Returns `text`. */
const char *network_address(const struct network *self, uint32_t host,
                            char text[NETWORK_ADDRESS_BYTES]);

/* In a forked child: go to the host's namespace. Safe after fork(). */
int network_enter(const struct network *self, uint32_t host);

/* Packets from one host to another get lost, or arrive again. Nothing without namespaces. */
void network_cut(const struct network *self, uint32_t from, uint32_t to, bool cut);

#endif
