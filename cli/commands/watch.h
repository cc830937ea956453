/* watch.h - a command that asks a coordinator the same thing again and again, shows how far that
 * is, and can be left by Ctrl-C while it goes on.
 *
 * Errors:  a question that is not answered is asked again; the filter that is not there, and many
 *          unanswered questions in a row, end it with what the coordinator, or nobody, said.
 * Owner:   the caller's, as the first member of what it looks with.
 * Threads: one.
 */
#ifndef ORBLOOM_CLI_COMMANDS_WATCH_H
#define ORBLOOM_CLI_COMMANDS_WATCH_H

#include "cli/flags.h"
#include "cli/progress.h"
#include "proto/codec.h"

#include <stdbool.h>
#include <stdint.h>

struct watch {
    /* At an answer. Calls watch_end() when it is over, having ended the progress. */
    void (*look)(struct watch *self, const struct admin_reply *reply);
    struct progress progress;
    uint32_t failures; /* in a row */
    bool over;
    int code; /* the command's exit code, once it is over */
};

void watch_end(struct watch *self, int code);

/* Until it is over, or was left: then `over` is false still. */
void watch_run(struct watch *self, const struct flags_common *common,
               const struct admin_request *request);

#endif
