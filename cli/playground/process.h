/* process.h - one daemon of a playground, as a child process.
 *
 * It is started through `orbloom playground-child`, so that it dies with the playground even
 * when that is killed. Its line on stdout, "ready ENDPOINT", says where it serves; before that a
 * link's, "sites ENDPOINT", where links of other sites get in.
 *
 * Owner:   the struct is the caller's and must stay in place while the loop runs.
 * Threads: the loop's.
 */
#ifndef ORBLOOM_CLI_PLAYGROUND_PROCESS_H
#define ORBLOOM_CLI_PLAYGROUND_PROCESS_H

#include "cli/playground/folder.h"

#include <uv.h>

enum { PLAYGROUND_NAME_BYTES = 32, PLAYGROUND_LINE_BYTES = 512 };

struct playground_process;

struct playground_watcher {
    void *context;
    void (*ready)(void *context, struct playground_process *process);
    void (*gone)(void *context, struct playground_process *process);
};

enum playground_role {
    PLAYGROUND_COORDINATOR,
    PLAYGROUND_ROUTER,
    PLAYGROUND_NODE,
    PLAYGROUND_LINK,
};

struct playground_process {
    enum playground_role role;
    uint32_t site;                    /* which, from 0 */
    char name[PLAYGROUND_NAME_BYTES]; /* and its folder: "node-1", "site-2/node-1" */
    char endpoint[DOCUMENT_TEXT_BYTES];
    char site_endpoint[DOCUMENT_TEXT_BYTES]; /* of links: for other sites */
    bool running;
    bool ready;
    int64_t exit_status;
    int exit_signal;
    const struct playground_folder *folder;
    const struct playground_watcher *watcher;
    uv_process_t handle;
    uv_pipe_t output;
    char line[PLAYGROUND_LINE_BYTES];
    size_t line_size;
};

/* "orbloom-node". */
const char *playground_program(enum playground_role role);

/* Start the daemon on DIR/NAME/conf. Errors are printed. */
MUST_USE enum status playground_process_start(struct playground_process *self, uv_loop_t *loop);

void playground_process_kill(struct playground_process *self, int signal);

/* Print how it ended and the end of its log. */
void playground_process_report(const struct playground_process *self);

#endif
