/* ask.h - one question to the cluster, for commands that ask and print.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_ASK_H
#define ORBLOOM_CLI_ASK_H

#include "cli/flags.h"
#include "client/session.h"

/* Called with an answer of STATUS_OK; what it points at is valid for the call. */
typedef int (*cmd_show_fn)(void *context, const struct frame *frame);

/* Ask and show. */
int cmd_ask(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
            void *context);

/* The same; an answer of STATUS_CONFLICT is not printed: *conflict. */
int cmd_ask_again(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
                  void *context, bool *conflict);

#endif
