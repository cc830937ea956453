/* Opens a channel for the one question, and makes an exit code of its answer. */
#include "cli/ask.h"

#include "cli/cmd.h"
#include "client/shell_channel.h"

struct question {
    cmd_show_fn show;
    void *context;
    bool *conflict; /* NULL: it is printed as any other */
    int code;
};

static void on_done(void *context, const struct session_result *result)
{
    struct question *question = context;

    if (result->status == STATUS_OK) {
        question->code = question->show(question->context, result->frame);
    } else if (result->status == STATUS_CONFLICT && question->conflict != NULL) {
        *question->conflict = true;
        question->code = CMD_PARTIAL;
    } else {
        (void)cmd_fail(result->status, "%s", result->message);
        question->code = CMD_PARTIAL;
    }
}

int cmd_ask_again(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
                  void *context, bool *conflict)
{
    struct question question = {.show = show, .context = context, .conflict = conflict};
    struct channel_options options = {.routers = common->routers,
                                      .coordinators = common->coordinators,
                                      .credential = common->credential,
                                      .held = common->held};
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &channel, reason);

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", reason);
    }
    channel_ask(channel, common->timeout_us, frame, on_done, &question);
    channel_close(&channel);
    return cmd_close_output(question.code);
}

int cmd_ask(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
            void *context)
{
    return cmd_ask_again(common, frame, show, context, NULL);
}
