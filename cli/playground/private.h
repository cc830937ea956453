/* private.h - the state of a playground; for cli/playground only. */
#ifndef ORBLOOM_CLI_PLAYGROUND_PRIVATE_H
#define ORBLOOM_CLI_PLAYGROUND_PRIVATE_H

#include "cli/playground/playground.h"
#include "cli/playground/process.h"

enum playground_stage {
    STAGE_COORDINATOR, /* it is starting */
    STAGE_REST,        /* nodes and routers are starting */
    STAGE_CHECKING,    /* all listen: do they answer? */
    STAGE_SERVING,
    STAGE_STOPPING,
};

enum {
    PLAYGROUND_NSIGNALS = 3,
    PLAYGROUND_MAX_PROCESSES = 1 + PLAYGROUND_MAX_ROUTERS + PLAYGROUND_MAX_NODES,
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
    uint32_t nprocesses;
    struct playground_process processes[PLAYGROUND_MAX_PROCESSES];
};

/* Names, ports and folders of all processes. */
MUST_USE enum status playground_plan(struct playground *self);

/* Write DIR/NAME/conf with the port as far as it is known. */
MUST_USE enum status playground_write_conf(const struct playground *self,
                                           const struct playground_process *process);

/* The routers' endpoints, separated by commas. Returns `text`. */
const char *playground_routers(const struct playground *self, char *text, size_t size);

/* Does the coordinator know all nodes, and does every router answer? */
bool playground_answers(const struct playground *self);

/* DIR/env, and the same for our own children. */
MUST_USE enum status playground_export(const struct playground *self);

#endif
