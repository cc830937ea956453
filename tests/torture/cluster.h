/* cluster.h - all processes under torture: coordinators, routers, nodes.
 *
 * Errors:  said in the journal; false.
 * Owner:   cluster_open()'s caller calls cluster_close().
 * Threads: the main thread; names and endpoints do not change once it has started.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CLUSTER_H
#define ORBLOOM_TESTS_TORTURE_CLUSTER_H

#include "tests/torture/daemon.h"
#include "tests/torture/options.h"

enum {
    CLUSTER_MAX_DAEMONS = NETWORK_MAX_HOSTS - 1,
    CLUSTER_COORDINATORS = 2, /* on one store */
    CLUSTER_LIST_BYTES = CLUSTER_MAX_DAEMONS * DAEMON_ENDPOINT_BYTES,
};

struct cluster {
    const struct options *options;
    struct network network;
    char dir[DAEMON_PATH_BYTES - 128];
    bool temporary;
    struct daemon daemons[CLUSTER_MAX_DAEMONS];
    uint32_t ndaemons;
};

/* Make the folder, the network and all configurations. */
bool cluster_open(struct cluster *self, const struct options *options);

/* Kill what is left; the folder goes too, if it was temporary and is not to be kept. */
void cluster_close(struct cluster *self, bool keep);

/* Start everything, but the last node if it is to come `late`, and wait until it is ready. */
bool cluster_start(struct cluster *self, bool late);

/* Start that node; its daemon. NULL: said in the journal. */
const struct daemon *cluster_start_late(struct cluster *self);

/* SIGTERM to all; false: one did not end in time, or not with exit status 0. */
bool cluster_stop(struct cluster *self);

/* The daemons of a kind, one after the other, from *index on; NULL: no more. */
struct daemon *cluster_next(struct cluster *self, enum daemon_kind kind, uint32_t *index);

/* "tcp://...,tcp://..." Returns `list`. */
const char *cluster_list(struct cluster *self, enum daemon_kind kind,
                         char list[CLUSTER_LIST_BYTES]);

#endif
