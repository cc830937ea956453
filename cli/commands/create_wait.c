/* The question is asked anew while nodes get on with the filter; a progress line tells how far
 * they are. */
#include "cli/commands/create_wait.h"

#include "cli/cmd.h"
#include "cli/progress.h"
#include "client/shell_channel.h"
#include "runtime/hub.h"
#include "runtime/interrupt.h"

#include <string.h>

enum {
    LOOK_EVERY_US = 500000,
    SLICE_US = 50000,
};

/* ---- how far ---- */

static double made_part(const struct replica_report *report)
{
    bool ready = report->state == REPLICA_FULL || report->state == REPLICA_JOINING;

    return ready ? 1 : report->state == REPLICA_BUILDING ? report->progress : 0;
}

struct create_state create_state_of(const struct admin_reply *reply, const char *name)
{
    struct create_state state = {0};
    uint64_t id = 0;
    double sum = 0;

    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->state == FILTER_ACTIVE && strcmp(filter->name, name) == 0) {
            state.found = true;
            state.replicas = filter->rule.replicas * filter->ngroups;
            id = filter->id;
        }
    }
    for (size_t i = 0; state.found && i < reply->nreplicas; i++) {
        if (reply->replicas[i].filter_id == id) {
            double part = made_part(&reply->replicas[i]);

            sum += part;
            state.ready += part >= 1 && reply->replicas[i].state != REPLICA_BUILDING;
        }
    }
    state.share = sum < state.replicas ? sum / state.replicas : state.found;
    return state;
}

const char *create_line(const struct create_state *state, char text[CREATE_LINE_BYTES])
{
    char bar[PROGRESS_BAR_BYTES];

    (void)snprintf(text, CREATE_LINE_BYTES, "%s %3.0f %%, %u of %u replicas ready",
                   progress_bar(state->share, bar), 100 * state->share, state->ready,
                   state->replicas);
    return text;
}

/* ---- waiting ---- */

struct wait {
    const struct frame *frame;
    cmd_show_fn show;
    void *context;
    struct channel *channel;
    struct progress progress;
    double share;     /* the most that was seen */
    bool found;       /* it is being made */
    bool moved;       /* since the question under way was asked */
    bool looking;     /* the state is being asked for */
    uint64_t look_us; /* when to look again */
    bool answered;    /* the question is */
    bool over;
    int code;
};

static void finish(struct wait *self, int code)
{
    self->over = true;
    self->code = code;
}

/* What was seen being made has been made by now, whichever of the questions did it. */
static int show_made(struct wait *self, const struct frame *frame)
{
    struct frame answer = *frame;

    answer.body.admin_reply.created = frame->body.admin_reply.created || self->found;
    return self->show(self->context, &answer);
}

static void on_created(void *context, const struct session_result *result)
{
    struct wait *self = context;

    self->answered = true;
    if (result->status == STATUS_DEADLINE && self->moved) {
        return; /* Asked again. */
    }
    progress_end(&self->progress);
    if (result->status == STATUS_OK) {
        finish(self, show_made(self, result->frame));
    } else {
        (void)cmd_fail(result->status, "%s", result->message);
        finish(self, CMD_PARTIAL);
    }
}

static void note(struct wait *self, const struct create_state *state)
{
    char text[CREATE_LINE_BYTES];

    if (!state->found || self->answered || (state->share >= 1 && !self->found)) {
        return; /* One that was there before is not shown. */
    }
    self->moved = self->moved || !self->found || state->share > self->share;
    self->share = state->share > self->share ? state->share : self->share;
    self->found = true;
    progress_show(&self->progress, hub_now_us(), create_line(state, text));
}

static void on_looked(void *context, const struct session_result *result)
{
    struct wait *self = context;

    self->looking = false;
    self->look_us = hub_now_us() + LOOK_EVERY_US;
    if (result->status == STATUS_OK) {
        const struct admin_reply *reply = &result->frame->body.admin_reply;
        struct create_state state = create_state_of(reply, self->frame->body.admin_request.name);

        note(self, &state);
    }
}

static void look(struct wait *self, uint64_t timeout_us)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_STATUS,
                                                 .name = self->frame->body.admin_request.name}};
    uint64_t now_us = hub_now_us();

    if (!self->looking && now_us >= self->look_us) {
        self->looking = session_ask(channel_session(self->channel), now_us, timeout_us, &frame,
                                    on_looked, self) == STATUS_OK;
        self->look_us = now_us + LOOK_EVERY_US;
    }
}

static void ask(struct wait *self, uint64_t timeout_us)
{
    enum status status;

    self->answered = false;
    self->moved = false;
    status = session_ask(channel_session(self->channel), hub_now_us(), timeout_us, self->frame,
                         on_created, self);
    if (status != STATUS_OK) {
        finish(self, cmd_fail(status, "%s", status_meaning(status)));
    }
    while (!self->over && !self->answered && !interrupt_came()) {
        look(self, timeout_us);
        channel_run(self->channel, SLICE_US);
    }
}

static int leave(const struct wait *self)
{
    const char *name = self->frame->body.admin_request.name;

    progress_end(&self->progress);
    if (self->found) {
        (void)fprintf(stderr,
                      "left; %s goes on being made. The same command waits again, `orbloom status` "
                      "shows it, `orbloom drop %s` ends it\n",
                      name, name);
    } else {
        (void)fprintf(stderr,
                      "left before an answer; `orbloom info %s` tells whether it was made\n", name);
    }
    return CMD_PARTIAL;
}

int create_wait_run(const struct flags_common *common, const struct frame *frame, cmd_show_fn show,
                    void *context)
{
    struct wait self = {.frame = frame, .show = show, .context = context};
    struct channel_options options = {.routers = common->routers,
                                      .coordinators = common->coordinators};
    char reason[CHANNEL_REASON_BYTES];
    enum status status = channel_open(&options, &self.channel, reason);

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", reason);
    }
    progress_open(&self.progress);
    self.look_us = hub_now_us() + LOOK_EVERY_US; /* Most are there before. */
    interrupt_catch();
    while (!self.over && !interrupt_came()) {
        ask(&self, common->timeout_us);
    }
    if (!self.over) {
        self.code = leave(&self);
    }
    channel_close(&self.channel);
    return cmd_close_output(self.code);
}
