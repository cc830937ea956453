/* create_wait.h - asking for a filter, and waiting as long as its nodes get on with it.
 *
 * A large filter's arrays take longer than any one question to a coordinator may. The question is
 * asked again when its time is over, as creating what exists already does nothing, if the
 * replicas got further meanwhile. So the timeout ends a wait in which nothing moves, after once to
 * twice its length.
 *
 * Threads: the main thread; Ctrl-C ends the wait, not the filter.
 */
#ifndef ORBLOOM_CLI_COMMANDS_CREATE_WAIT_H
#define ORBLOOM_CLI_COMMANDS_CREATE_WAIT_H

#include "cli/ask.h"

/* How far a filter that is being made is. */
struct create_state {
    bool found;
    uint32_t ready;    /* replicas of slot groups that can serve ... */
    uint32_t replicas; /* ... of so many */
    double share;      /* 0 to 1, parts of replicas included */
};

struct create_state create_state_of(const struct admin_reply *reply, const char *name);

enum { CREATE_LINE_BYTES = 128 };

/* "[#####...............]  25 %, 1 of 3 replicas ready" */
const char *create_line(const struct create_state *state, char text[CREATE_LINE_BYTES]);

/* Ask with `frame`, wait, and show the answer. The exit code; what went wrong is printed. */
int create_wait_run(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
                    void *context);

#endif
