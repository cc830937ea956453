/* Opens a channel for the one question, and makes an exit code of its answer. */
#include "cli/ask.h"

#include "cli/cmd.h"

#include <stdio.h>

struct question {
    cmd_show_fn show;
    void *context;
    struct cmd_outcome *outcome;
    int code;
};

/* An answer may be lost, and what a store did not confirm may be in it; what was refused for good
 * was not done. */
static bool is_unsure(const struct session_result *result)
{
    static const bool unsure[] = {
        [STATUS_DEADLINE] = true,  [STATUS_UNAVAILABLE] = true, [STATUS_OVERLOADED] = true,
        [STATUS_NOT_READY] = true, [STATUS_NOMEM] = true,       [STATUS_IO] = true,
        [STATUS_INTERNAL] = true,
    };

    return result->attempts > 0 && (size_t)result->status < sizeof unsure / sizeof unsure[0] &&
           unsure[result->status];
}

static void on_done(void *context, const struct session_result *result)
{
    struct question *question = context;

    if (result->status == STATUS_OK) {
        question->code = question->show(question->context, result->frame);
        return;
    }
    question->outcome->status = result->status;
    question->outcome->unsure = is_unsure(result);
    (void)snprintf(question->outcome->message, CMD_REASON_BYTES, "%s", result->message);
    question->code = CMD_PARTIAL;
}

int cmd_ask_quietly(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
                    void *context, struct cmd_outcome *outcome)
{
    struct question question = {.show = show, .context = context, .outcome = outcome};
    struct channel_options options = flags_channel(common);
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &channel, reason);

    *outcome = (struct cmd_outcome){.status = status};
    if (status != STATUS_OK) {
        (void)snprintf(outcome->message, CMD_REASON_BYTES, "%s", reason);
        return status == STATUS_INVALID ? CMD_USAGE : CMD_PARTIAL; /* A flag is not one. */
    }
    channel_ask(channel, common->timeout_us, frame, on_done, &question);
    channel_close(&channel);
    return cmd_close_output(question.code);
}

int cmd_ask(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
            void *context)
{
    struct cmd_outcome outcome;
    int code = cmd_ask_quietly(common, frame, show, context, &outcome);

    if (outcome.status != STATUS_OK) {
        (void)cmd_fail(outcome.status, "%s", outcome.message);
    }
    return code;
}
