/* Between two questions the channel is run in slices, so that Ctrl-C is seen soon. */
#include "cli/commands/watch.h"

#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/interrupt.h"
#include "runtime/hub.h"

enum {
    ASK_EVERY_US = 500000,
    SLICE_US = 50000,
    MAX_FAILURES = 12, /* questions in a row without an answer */
};

void watch_end(struct watch *self, int code)
{
    self->over = true;
    self->code = code;
}

static void on_done(void *context, const struct session_result *result)
{
    struct watch *self = context;

    if (result->status == STATUS_OK) {
        self->failures = 0;
        self->look(self, &result->frame->body.admin_reply);
        return;
    }
    self->failures++;
    if (result->status == STATUS_NOT_FOUND || self->failures == MAX_FAILURES) {
        progress_end(&self->progress);
        watch_end(self, cmd_fail(result->status, "%s", result->message));
    }
}

static void wait_a_while(struct channel *channel)
{
    uint64_t until_us = hub_now_us() + ASK_EVERY_US;

    while (!interrupt_came() && hub_now_us() < until_us) {
        channel_run(channel, SLICE_US);
    }
}

void watch_run(struct watch *self, const struct flags_common *common,
               const struct admin_request *request)
{
    const struct frame frame = {.kind = FRAME_ADMIN_REQUEST, .body.admin_request = *request};
    struct channel_options options = flags_channel(common);
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &channel, reason);

    if (status != STATUS_OK) {
        watch_end(self, cmd_fail(status, "%s", reason));
        return;
    }
    progress_open(&self->progress);
    interrupt_catch();
    while (!self->over && !interrupt_came()) {
        channel_ask(channel, common->timeout_us, &frame, on_done, self);
        if (!self->over) {
            wait_a_while(channel);
        }
    }
    channel_close(&channel);
    if (!self->over) {
        progress_end(&self->progress);
    }
}
