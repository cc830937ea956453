/* The steps begin, commit and abort: asked by the rebuild's number, and again while nodes are
 * awaited. */
#include "cli/commands/rebuild_ask.h"

#include "cli/cmd.h"
#include "cli/ask.h"
#include "client/shell_channel.h"
#include "runtime/hub.h"

#include <inttypes.h>
#include <unistd.h>

enum { SLICE_US = 1000000 /* how long one question waits before whom it waits for is shown */ };

static int take_look(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct rebuild_ask *self = context;

    if (reply->nfilters != 1) {
        return cmd_fail(STATUS_MALFORMED, "the coordinator's answer tells of no filter; run the "
                                          "same version of orbloom everywhere");
    }
    self->filter_id = reply->filters[0].id;
    self->open = reply->filters[0].rebuild_keyset;
    self->serving = reply->filters[0].keyset;
    return CMD_OK;
}

int rebuild_look(struct rebuild_ask *self, const struct flags_common *common, const char *name)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_STATUS, .name = name}};

    *self = (struct rebuild_ask){.common = common, .name = name};
    return cmd_ask(common, &frame, take_look, self);
}

static struct frame frame_of(const struct rebuild_ask *self,
                             const struct rebuild_parameters *wanted)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_REBUILD,
        .name = self->name,
        .filter_id = self->filter_id,
        .rebuild = *wanted,
    };
    return frame;
}

static int take_nothing(void *context, const struct frame *frame)
{
    (void)context;
    (void)frame;
    return CMD_OK;
}

int rebuild_tell_fed(const struct rebuild_ask *self, uint64_t keys)
{
    const struct rebuild_parameters wanted = {
        .step = REBUILD_FED, .keyset = self->open, .fed_keys = keys};
    struct frame frame = frame_of(self, &wanted);

    return cmd_ask(self->common, &frame, take_nothing, NULL);
}

/* ---- steps that wait ---- */

struct waiting {
    const char *name;
    enum rebuild_step step;
    bool joins;         /* it was open before; a commit: it was written before */
    uint32_t committed; /* ... for this rebuild */
    bool terminal;
    bool last; /* there is no time for another question */
    bool over;
    int code;
};

static void clear_line(const struct waiting *self)
{
    if (self->terminal) {
        (void)fputs("\r\033[K", stderr);
    }
}

static void show_committed(const struct waiting *self)
{
    if (self->joins) {
        (void)printf("%s: rebuild %" PRIu32 " is committed already; what was neither fed nor added "
                     "since its begin is forgotten\n",
                     self->name, self->committed);
    } else {
        (void)printf("%s: committed; what was neither fed nor added since begin is forgotten\n",
                     self->name);
    }
}

static void show_done(const struct waiting *self, const struct admin_reply *reply)
{
    uint32_t keyset = reply->nfilters == 1 ? reply->filters[0].rebuild_keyset : 0;

    switch (self->step) {
    case REBUILD_BEGIN:
        (void)printf("%s: rebuild %" PRIu32 " %s\n", self->name, keyset,
                     self->joins ? "is open already" : "is open");
        (void)fprintf(stderr,
                      "Make the list of what is to be kept once the adds now under way have been "
                      "answered; then\n`orbloom rebuild %s feed FILE`, and commit.\n",
                      self->name);
        break;
    case REBUILD_COMMIT:
        show_committed(self);
        if (reply->message[0] != '\0') {
            (void)fprintf(stderr, "%s: %s\n", self->name, reply->message);
        }
        break;
    case REBUILD_ABORT:
        (void)printf("%s: aborted; all is as it was\n", self->name);
        break;
    case REBUILD_FED:
        break;
    }
}

/* Another question may be answered: nodes are awaited, or a coordinator has just started. */
static bool is_passing(enum status status)
{
    return status == STATUS_DEADLINE || status == STATUS_UNAVAILABLE || status == STATUS_OVERLOADED;
}

static void on_done(void *context, const struct session_result *result)
{
    struct waiting *self = context;

    clear_line(self);
    if (result->status == STATUS_OK) {
        show_done(self, &result->frame->body.admin_reply);
    } else if (is_passing(result->status) && !self->last) {
        if (self->terminal) {
            (void)fprintf(stderr, "\r%.200s", result->message);
        }
        return;
    } else {
        (void)cmd_fail(result->status, "%s", result->message);
        self->code = CMD_PARTIAL;
    }
    self->over = true;
}

/* Never 0, "whichever is open": somebody may begin another one just now. Where none is open it is
 * the one that was committed last, so that a commit may be repeated until all have confirmed. */
static uint32_t meant(const struct rebuild_ask *self, enum rebuild_step step)
{
    if (step == REBUILD_BEGIN) {
        return 0;
    }
    return self->open != 0 ? self->open : self->serving;
}

int rebuild_do(const struct rebuild_ask *self, enum rebuild_step step, bool yes)
{
    const struct rebuild_parameters wanted = {
        .step = step, .keyset = meant(self, step), .empty = yes};
    struct frame frame = frame_of(self, &wanted);
    struct channel_options options = {.routers = self->common->routers,
                                      .coordinators = self->common->coordinators};
    struct waiting waiting = {.name = self->name,
                              .step = step,
                              .joins = (self->open != 0) == (step == REBUILD_BEGIN),
                              .committed = self->serving,
                              .terminal = isatty(STDERR_FILENO) != 0,
                              .code = CMD_OK};
    uint64_t end_us = hub_now_us() + self->common->timeout_us;
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &channel, reason);

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", reason);
    }
    while (!waiting.over) {
        uint64_t now_us = hub_now_us();
        uint64_t left_us = end_us > now_us ? end_us - now_us : 1;

        waiting.last = left_us <= 2 * SLICE_US;
        channel_ask(channel, waiting.last ? left_us : SLICE_US, &frame, on_done, &waiting);
    }
    channel_close(&channel);
    return cmd_close_output(waiting.code);
}
