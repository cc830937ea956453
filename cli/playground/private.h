/* private.h - the state of a playground; for cli/playground only. */
#ifndef ORBLOOM_CLI_PLAYGROUND_PRIVATE_H
#define ORBLOOM_CLI_PLAYGROUND_PRIVATE_H

#include "base/curve.h"
#include "cli/playground/playground.h"
#include "cli/playground/process.h"

enum playground_stage {
    STAGE_COORDINATOR, /* they are starting, one a site */
    STAGE_REST,        /* nodes and routers are starting, and links one after the other */
    STAGE_CHECKING,    /* all listen: do they answer, and are sites connected? */
    STAGE_SERVING,
    STAGE_STOPPING,
};

enum {
    PLAYGROUND_NSIGNALS = 3,
    PLAYGROUND_MAX_PROCESSES = PLAYGROUND_MAX_SITES *
                               (2 + PLAYGROUND_MAX_ROUTERS + PLAYGROUND_MAX_NODES),
    PLAYGROUND_SITE_BYTES = 16,
};

/* A cluster: processes in this order: coordinator, routers, nodes, and its link if it has one. */
struct playground_site {
    char name[PLAYGROUND_SITE_BYTES]; /* "site-2", its folder; "": the only one, in DIR itself */
    struct playground_process *coordinator;
    struct playground_process *routers;
    struct playground_process *nodes;
    struct playground_process *link; /* NULL: there is one site */
    struct curve_pair key;           /* then */
};

struct playground {
    const struct playground_options *options;
    struct playground_folder folder;
    struct playground_watcher watcher;
    enum playground_stage stage;
    int code;
    uint64_t start_us;
    uv_loop_t loop;
    uv_signal_t signals[PLAYGROUND_NSIGNALS];
    uv_timer_t timer;
    uv_process_t command;
    bool command_running;
    bool killed; /* what did not stop in time */
    struct playground_site sites[PLAYGROUND_MAX_SITES];
    uint32_t nprocesses;
    struct playground_process processes[PLAYGROUND_MAX_PROCESSES];
};

/* Names, ports, folders and keys of all sites and processes. */
MUST_USE enum status playground_plan(struct playground *self);

/* Write DIR/NAME/conf with the port as far as it is known. */
MUST_USE enum status playground_write_conf(const struct playground *self,
                                           const struct playground_process *process);

/* The endpoints of a site's routers, separated by commas. Returns `text`. */
const char *playground_routers(const struct playground *self, uint32_t site, char *text,
                               size_t size);

/* Do the coordinators know all nodes, does every router answer, and are all sites connected? */
bool playground_answers(const struct playground *self);

/* DIR/env and those of sites, and the first site's for our own children. */
MUST_USE enum status playground_export(const struct playground *self);

#endif
