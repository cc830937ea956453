/* ask.h - one question to the cluster, for commands that ask and print.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_ASK_H
#define ORBLOOM_CLI_ASK_H

#include "cli/flags.h"
#include "client/session.h"

enum { CMD_REASON_BYTES = 768 };

/* Called with an answer of STATUS_OK; what it points at is valid for the call. */
typedef int (*cmd_show_fn)(void *context, const struct frame *frame);

/* Ask and show. */
int cmd_ask(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
            void *context);

/* What became of a question. */
struct cmd_outcome {
    enum status status;
    bool unsure; /* a change that was asked for may have been made all the same, or be made yet */
    char message[CMD_REASON_BYTES]; /* unless STATUS_OK: cause and remedy */
};

/* The same; that the question was refused, or not answered, is not printed. */
int cmd_ask_quietly(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
                    void *context, struct cmd_outcome *outcome);

#endif
