/* playground.h - a whole cluster on this machine: one coordinator, nodes and routers; or several of
 * them, each a site with a link, connected with each other.
 *
 * Each is its own process. The coordinators first, then the rest with their endpoints; when all
 * nodes are known to their coordinator, all routers answer, and each site is connected to all
 * others, DIR/env is written. A daemon
 * that ends is named and not started again; Ctrl-C, SIGTERM or the end of the command given
 * stops all: SIGTERM, then SIGKILL for what is left after a while.
 *
 * Threads: the main thread; owns its signals meanwhile.
 */
#ifndef ORBLOOM_CLI_PLAYGROUND_PLAYGROUND_H
#define ORBLOOM_CLI_PLAYGROUND_PLAYGROUND_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PLAYGROUND_MAX_NODES = 64,
    PLAYGROUND_MAX_ROUTERS = 8,
    PLAYGROUND_MAX_SITES = 4,
    PLAYGROUND_NODE_PORT = 10,
    PLAYGROUND_LINK_PORT = 80, /* and the next one for other sites */
    PLAYGROUND_SITE_PORTS = 100,
    PLAYGROUND_HTTP_PORTS = 1000, /* above each process' own one */
};

struct playground_options {
    const char *dir; /* NULL: a temporary folder, removed at the end */
    uint32_t nodes;
    uint32_t routers;
    uint32_t sites;     /* each with so many of all; 1: a cluster without a link */
    uint32_t hosts;     /* labels that the nodes share; as many as nodes: none shared */
    uint32_t base_port; /* 0: free ports */
    uint64_t memory_bytes;
    bool in_memory; /* nodes keep nothing on disk */
    const char *log_level;
    char **command; /* run this, then stop; NULL: run until told to stop */
};

/* Returns an exit code: the command's when there is one, else 0, or 1 when it never served. */
int playground_run(const struct playground_options *options);

#endif
