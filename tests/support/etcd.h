/* etcd.h - an etcd server of one test: one member on loopback, in a folder of its own.
 *
 * The server is a child of the test and is killed with it. Ports are the kernel's choice; where
 * another process was faster, others are tried.
 *
 * Errors:  a failed cr_assert, also when etcd is not installed. All waiting has a deadline.
 * Owner:   who made a server removes it.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_ETCD_H
#define ORBLOOM_TESTS_SUPPORT_ETCD_H

#include <stdint.h>
#include <sys/types.h>

struct etcd {
    char dir[64];
    uint16_t client_port;
    uint16_t peer_port;
    char endpoint[64]; /* "http://127.0.0.1:PORT" */
    uint16_t tls_port; /* 0: it has no certificate */
    char tls_endpoint[64];
    const char *quota_bytes; /* from the next start on; NULL: etcd's own */
    pid_t pid;               /* 0: it does not run */
};

/* Make folder and choose ports, without starting it: nobody listens there. */
void etcd_make(struct etcd *self);

/* Before it is started: make it take TLS on a port of its own, from clients with a certificate.
 * Those of certificates.h are in its folder then. */
void etcd_make_certificates(struct etcd *self);

/* Start it, for the first time or again on the same data and ports, and wait until it answers. */
void etcd_start(struct etcd *self);

/* SIGKILL, SIGSTOP, SIGCONT; after SIGKILL it is gone when this returns. */
void etcd_signal(struct etcd *self, int signal);

/* Kill it if it runs, and remove its folder. */
void etcd_remove(struct etcd *self);

/* POST to its gateway, as another program: the whole answer. Valid until the next. */
const char *etcd_post(const struct etcd *self, const char *path, const char *json);

#endif
