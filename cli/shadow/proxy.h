/* proxy.h - a shadow with real sockets: clients in front, a connection to the old server for each
 * of them, and one to the new server for all.
 *
 * Each of the three speaks TLS where it is told by which files.
 *
 * A new server that is slow or away costs the clients nothing, unless its answers are asked for:
 * then --new-timeout at most.
 *
 * Errors:  printed.
 * Threads: one.
 */
#ifndef ORBLOOM_CLI_SHADOW_PROXY_H
#define ORBLOOM_CLI_SHADOW_PROXY_H

#include "base/span.h"
#include "runtime/tls/tls.h"

#include <stdbool.h>
#include <stdint.h>

struct proxy_options {
    const char *listen; /* "tcp://HOST:PORT", or without the scheme */
    const char *old_server;
    const char *new_server;
    struct tls_files listen_tls; /* no certificate: clients speak no TLS */
    struct tls_files old_tls;    /* no authority: it speaks no TLS */
    struct tls_files new_tls;    /* likewise */
    struct span greeting;        /* for the new server; borrowed */
    bool answers_new;
    bool show_keys;
    uint64_t database;
    uint64_t queue_bytes;
    uint64_t new_timeout_us;
    uint64_t every_us;
    uint64_t max_clients;
};

/* Until a signal ends it. Returns the exit code: CMD_PARTIAL if adds did not reach the new server.
 */
int proxy_run(const struct proxy_options *options);

#endif
