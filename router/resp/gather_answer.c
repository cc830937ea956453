/* The router's answer to a request, shared out to the commands whose keys were in it; filters that
 * are missing are made. */
#include "base/bits.h"
#include "router/resp/private.h"

#include <stdio.h>

enum { TRIES = 4, GRACE_US = 1000000 /* after the deadline, which the router keeps by itself */ };

/* ---- what it says ---- */

static bool bit(const uint64_t *plane, uint32_t at)
{
    return plane != NULL && bits_has(plane, at);
}

/* What one key has: for a check "perhaps present", for an add "new", where both may be: an item
 * that perhaps is new must not be taken for an old one. */
struct verdict {
    bool known;
    bool yes;
};

/* Which of the two planes says yes. */
static const uint64_t *yes_of(const struct gather *gather, const struct client_reply *reply)
{
    return gather->kind.operation == OPERATION_CHECK ? reply->present : reply->absent;
}

static struct verdict verdict_of(const struct gather *gather, const struct client_reply *reply,
                                 uint32_t at)
{
    bool held = at < reply->count;

    return (struct verdict){.known = held && (bit(reply->present, at) || bit(reply->absent, at)),
                            .yes = held && bit(yes_of(gather, reply), at)};
}

static void write_one(struct front *self, struct resp_writer *writer, struct verdict verdict,
                      const char *error)
{
    if (verdict.known) {
        resp_boolean(writer, verdict.yes);
    } else {
        front_count(self, FRONT_resp_errors_total);
        resp_error(writer, error);
    }
}

/* As peers do it: the array ends with the item that found the filter full. */
static uint32_t answers_of(const struct gather *gather, const struct call *call,
                           const struct client_reply *reply)
{
    for (uint32_t i = 0; reply->status == STATUS_FULL && i < call->count; i++) {
        if (!verdict_of(gather, reply, call->first + i).known) {
            return i + 1;
        }
    }
    return call->count;
}

static bool all_known(const struct gather *gather, const struct call *call,
                      const struct client_reply *reply)
{
    for (uint32_t i = 0; i < call->count; i++) {
        if (!verdict_of(gather, reply, call->first + i).known) {
            return false;
        }
    }
    return true;
}

/* How many are known. */
static uint32_t write_all(struct front *self, struct resp_writer *writer,
                          const struct gather *gather, const struct call *call,
                          const struct client_reply *reply, const char *error)
{
    uint32_t count = answers_of(gather, call, reply);
    uint32_t known = 0;

    if (call->many) {
        resp_array(writer, count);
    }
    if (all_known(gather, call, reply)) {
        resp_booleans(writer, yes_of(gather, reply), call->first, count);
        return count;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct verdict verdict = verdict_of(gather, reply, call->first + i);

        write_one(self, writer, verdict, error);
        known += verdict.known;
    }
    return known;
}

static void answer(struct front *self, const struct gather *gather, struct call *call,
                   const struct client_reply *reply, const char *error)
{
    bool feeds = gather->kind.operation == OPERATION_FEED;
    struct resp_writer writer = call_writer(call);
    uint32_t known;

    writer.out = feeds ? &call->reply : writer.out;
    known = write_all(self, &writer, gather, call, reply, error);
    if (feeds && known > 0 && !writer.failed) {
        feed_tell(self, gather, call, known);
    } else {
        call_end(self, call, &writer);
    }
}

static void forget_add(struct session *session, const struct gather *gather)
{
    for (uint32_t i = 0; i < session->nadds; i++) {
        if (session->adds[i] == gather) {
            session->adds[i] = session->adds[--session->nadds];
            return;
        }
    }
}

/* For WAIT. What was not acknowledged may be nowhere. */
static void note_copies(const struct gather *gather, const struct call *call,
                        const struct client_reply *reply)
{
    struct session *session = call->session;
    uint32_t copies = reply != NULL && all_known(gather, call, reply) ? reply->copies : 0;

    if (session->waited || copies < session->copies) {
        session->copies = copies;
    }
    session->waited = false;
}

/* Every command gets its part, or the error where there is no reply; the connection may go on. */
static void settle(struct front *self, struct gather *gather, const struct client_reply *reply,
                   const char *error)
{
    struct call *call = gather->first;

    while (call != NULL) {
        struct call *next = call->next_shared;

        if (call->session != NULL) {
            forget_add(call->session, gather);
            if (gather->kind.operation != OPERATION_CHECK) {
                note_copies(gather, call, reply);
            }
        }
        if (reply != NULL) {
            answer(self, gather, call, reply, error);
        } else {
            call_fail(self, call, error);
        }
        call = next;
    }
    gather_destroy(self, gather);
}

/* Nothing is known of any key: the error is the whole answer of every command. */
void gather_fail(struct front *self, struct gather *gather, enum status status, const char *message)
{
    char error[FRONT_MESSAGE_BYTES];

    if (status == STATUS_FULL) {
        (void)snprintf(error, sizeof error, "ERR non scaling filter is full");
    } else if (status == STATUS_NOT_FOUND) {
        (void)snprintf(error, sizeof error, "ERR not found");
    } else {
        (void)snprintf(error, sizeof error, "%s %s", status_code(status), message);
    }
    settle(self, gather, NULL, error);
}

/* ---- filters that are missing ---- */

/* Made by whoever came first, which is as good. */
static void made(struct front *self, void *owner, const struct frame *frame, enum status status,
                 const char *message)
{
    struct gather *gather = owner;

    if (frame != NULL) {
        status = frame->body.admin_reply.status;
        message = frame->body.admin_reply.message;
        self->counters[FRONT_resp_filters_created_total] += status == STATUS_OK &&
                                                            frame->body.admin_reply.created;
    }
    if (status == STATUS_OK || status == STATUS_EXISTS) {
        gather_move(&self->again, gather);
    } else {
        gather_fail(self, gather, status, message);
    }
}

static void make_filter(struct front *self, struct gather *gather)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request =
            {
                .action = ADMIN_CREATE,
                .name = gather->kind.name,
                .create = gather->kind.create,
                .successor = "",
            },
    };

    gather->number = 0;
    question_ask(self, &frame, gather->deadline_us, made, gather);
}

/* Nothing is in it. */
static void answer_missing(struct front *self, struct call *call)
{
    struct resp_writer writer = call_writer(call);

    if (call->many) {
        resp_array(&writer, call->count);
    }
    for (uint32_t i = 0; i < call->count; i++) {
        resp_boolean(&writer, false);
    }
    call_end(self, call, &writer);
}

/* No such filter: a check finds nothing in it, unless that is to be an error. */
static void miss(struct front *self, struct gather *gather)
{
    if (gather_is_add(gather) && gather->kind.make != MAKE_NEVER && gather->attempts < TRIES) {
        make_filter(self, gather);
    } else if (gather->kind.operation != OPERATION_CHECK || self->config.strict_missing) {
        gather_fail(self, gather, STATUS_NOT_FOUND, "");
    } else {
        struct call *next;

        for (struct call *call = gather->first; call != NULL; call = next) {
            next = call->next_shared;
            answer_missing(self, call);
        }
        gather_destroy(self, gather);
    }
}

static struct gather *find(struct front *self, uint64_t number)
{
    struct gather *gather = self->slots[number % FRONT_MAX_GATHERS];

    return gather != NULL && gather->number == number ? gather : NULL;
}

void gather_on_reply(struct front *self, const struct frame *frame)
{
    const struct client_reply *reply = &frame->body.client_reply;
    struct gather *gather = find(self, frame->correlation);
    char error[FRONT_MESSAGE_BYTES];

    if (gather == NULL) {
        return;
    }
    if (reply->status == STATUS_NOT_FOUND) {
        miss(self, gather);
    } else if (reply->status == STATUS_STALE && gather->attempts < TRIES) {
        gather->number = 0; /* The name is bound to another filter by now. */
        gather_move(&self->again, gather);
    } else if (reply->status == STATUS_FULL) {
        settle(self, gather, reply, "ERR non scaling filter is full");
    } else {
        (void)snprintf(error, sizeof error, "%s %s", status_code(reply->status), reply->message);
        settle(self, gather, reply, error);
    }
}

void gather_on_error(struct front *self, const struct frame *frame)
{
    struct gather *gather = find(self, frame->correlation);

    if (gather != NULL) {
        gather_fail(self, gather, frame->body.error.status, frame->body.error.message);
    }
}

/* The router answers in time; but if an answer should get lost, nobody waits for ever. */
void gathers_tick(struct front *self)
{
    struct gather *gather = TAILQ_FIRST(&self->sent);

    while (gather != NULL && self->now_us > gather->deadline_us + GRACE_US) {
        struct gather *next = TAILQ_NEXT(gather, entry);

        if (gather->number != 0) { /* Else a question has a deadline of its own. */
            gather_fail(self, gather, STATUS_DEADLINE, "the router did not answer");
        }
        gather = next;
    }
}
