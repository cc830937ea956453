/* What answers make of an operation: decided, to be tried again, ended. */
#include "base/mutant.h"
#include "client/operation.h"
#include "proto/admin_seen.h"

#include <stdio.h>

size_t operation_undecided(const struct operation_state *self)
{
    return self->count - bits_count_either(self->present, self->absent, self->count);
}

/* What is decided stays. Nodes know a retried add again and repeat its verdict. But an attempt
 * that was given up may have been held up on its way, and what it meets may be the doing of a
 * later one, forgotten since: its PRESENT becomes MAYBE_NEW. */
static void merge(struct operation_state *self, const struct client_reply *reply)
{
    bool unsure = !MUTANT(LATE_FIRST_ATTEMPT) &&
                  self->frame.body.client_request.operation != OPERATION_CHECK &&
                  (uint64_t)reply->attempt + 1 < self->executions;

    for (size_t i = 0; i < bits_words(self->count); i++) {
        uint64_t open = ~(self->present[i] | self->absent[i]);
        uint64_t present = reply->present[i] & open;
        uint64_t absent = reply->absent[i] & open;

        self->present[i] |= present;
        self->absent[i] |= unsure ? absent | present : absent;
    }
}

/* Refusals that another moment or another router may lift. */
static bool is_passing(enum status status)
{
    static const bool passing[] = {
        [STATUS_NOMEM] = true,     [STATUS_STALE] = true,       [STATUS_NEED_DOC] = true,
        [STATUS_NOT_READY] = true, [STATUS_UNAVAILABLE] = true, [STATUS_OVERLOADED] = true,
        [STATUS_DEADLINE] = true,  [STATUS_NAME_BUSY] = true,
    };

    return (size_t)status < sizeof passing / sizeof passing[0] && passing[status];
}

static void remember(struct operation_state *self, enum status status, const char *message)
{
    self->status = status;
    (void)snprintf(self->message, sizeof self->message, "%s",
                   message != NULL && message[0] != '\0' ? message : status_meaning(status));
}

static enum operation_step judge(struct operation_state *self, enum status status,
                                 const char *message)
{
    remember(self, status, message);
    return is_passing(status) ? OPERATION_RETRY : OPERATION_FINISHED;
}

/* A router does not add by name alone: what came late would get into the next filter of that name.
 * It tells which one it is, and has begun nothing. False: this is no such answer. */
static bool is_bounced(const struct operation_state *self, const struct client_reply *reply)
{
    return operation_adds(self) && reply->filter_id != 0 && reply->count == 0 &&
           (reply->status == STATUS_STALE || reply->status == STATUS_NOT_FOUND);
}

/* Routers may not agree for a while; so one that has told another id is believed once in a row. */
static enum operation_step take_name(struct operation_state *self, const struct client_reply *reply)
{
    bool again = !self->bounced;

    if (reply->filter_id == self->frame.body.client_request.filter_id) {
        return OPERATION_IGNORED; /* It was told before. */
    }
    self->frame.body.client_request.filter_id = reply->filter_id;
    self->executions--;
    self->named += again;
    self->bounced = again;
    remember(self, STATUS_STALE, reply->message);
    return again ? OPERATION_AGAIN : OPERATION_RETRY;
}

static enum operation_step take_verdict(struct operation_state *self,
                                        const struct client_reply *reply)
{
    const struct op_id *op = &self->frame.body.client_request.op;

    if (reply->op.sequence != op->sequence || reply->op.session[0] != op->session[0] ||
        reply->op.session[1] != op->session[1]) {
        return OPERATION_IGNORED;
    }
    if (is_bounced(self, reply)) {
        return take_name(self, reply);
    }
    self->bounced = false;
    if (reply->count == self->count && reply->present != NULL && reply->absent != NULL) {
        merge(self, reply);
    } else if (reply->status == STATUS_OK) {
        return OPERATION_IGNORED;
    }
    if (operation_undecided(self) == 0) {
        self->status = STATUS_OK;
        self->message[0] = '\0';
        return OPERATION_FINISHED;
    }
    if (reply->status == STATUS_OK) {
        return judge(self, STATUS_UNAVAILABLE, "the router left keys undecided; retry");
    }
    return judge(self, reply->status, reply->message);
}

/* The next stage. */
static enum operation_step go_on(struct operation_state *self, bool looking)
{
    self->looking = looking;
    self->stage = self->attempts;
    return OPERATION_AGAIN;
}

/* What a look has found. The refusal before it stands if what was meant is gone. */
static enum operation_step take_look(struct operation_state *self, const struct admin_reply *reply)
{
    struct admin_request *change = &self->frame.body.admin_request;

    if (reply->status != STATUS_OK) {
        return judge(self, reply->status, reply->message);
    }
    if (!self->looked) {
        admin_take_seen(change, &reply->seen);
    } else if (!admin_take_again(change, &reply->seen)) {
        return OPERATION_FINISHED;
    }
    self->looked = true;
    return go_on(self, false);
}

static enum operation_step take_admin(struct operation_state *self, const struct admin_reply *reply)
{
    if (self->looking) {
        return take_look(self, reply);
    }
    if (self->looked && reply->status == STATUS_CONFLICT && reply->moved) {
        remember(self, reply->status, reply->message);
        return go_on(self, true);
    }
    return judge(self, reply->status, reply->message);
}

enum operation_step operation_take(struct operation_state *self, const struct frame *answer)
{
    enum frame_kind asked = self->frame.kind;

    if (answer->kind == FRAME_ERROR) {
        const struct error_reply *error = &answer->body.error;

        return judge(self, error->status != STATUS_OK ? error->status : STATUS_INTERNAL,
                     error->message);
    }
    if (asked == FRAME_CLIENT_REQUEST && answer->kind == FRAME_CLIENT_REPLY) {
        return take_verdict(self, &answer->body.client_reply);
    }
    if (asked == FRAME_ADMIN_REQUEST && answer->kind == FRAME_ADMIN_REPLY) {
        return take_admin(self, &answer->body.admin_reply);
    }
    if (asked == FRAME_INFO_REQUEST && answer->kind == FRAME_INFO_REPLY) {
        return judge(self, answer->body.info_reply.status, answer->body.info_reply.message);
    }
    if (asked == FRAME_STATS_REQUEST && answer->kind == FRAME_STATS_REPLY) {
        return judge(self, STATUS_OK, "");
    }
    return OPERATION_IGNORED;
}

void operation_end_late(struct operation_state *self)
{
    char names[OPERATION_MESSAGE_BYTES / 2];

    if (self->status != STATUS_OK) {
        return;
    }
    self->status = STATUS_DEADLINE;
    (void)snprintf(self->message, sizeof self->message,
                   "no answer from %s within %g s; is the %s running, and is this its address?",
                   endpoints_show(self->targets, names, sizeof names),
                   (double)self->timeout_us / 1e6, self->targets->role);
}

void operation_end_foreign(struct operation_state *self, const char *endpoint, uint32_t version)
{
    self->status = STATUS_VERSION;
    (void)snprintf(self->message, sizeof self->message,
                   "%s speaks protocol version %u, this client %d to %d; upgrade the older one",
                   endpoint, version, CODEC_VERSION_OLDEST, CODEC_VERSION);
}
