/* BF.REBUILD ... FEED: items of a list, into the rebuild that is open now and into no later one.
 *
 *   coordinator: which rebuild is open? --> router: feed --> coordinator: so many were fed
 *
 * While the first question is under way the command stays in the connection's input. */
#include "base/heap.h"
#include "router/resp/command.h"

#include <stdio.h>
#include <string.h>

struct feed_look {
    struct session *session; /* NULL: gone */
    bool done;
    uint64_t deadline_us;
    uint64_t filter_id;
    uint32_t lineage;
    char name[DOCUMENT_NAME_BYTES];
    char error[FRONT_MESSAGE_BYTES]; /* "": none */
};

void feed_forget(struct session *session)
{
    struct feed_look *look = session->look;

    session->look = NULL;
    if (look != NULL && look->done) {
        heap_free(look);
    } else if (look != NULL) {
        look->session = NULL;
    }
}

static void note(struct feed_look *look, const struct admin_reply *reply)
{
    const struct filter_summary *filter = status_find(reply, look->name);

    if (!status_is_answer(reply)) {
        (void)snprintf(look->error, sizeof look->error, "%s %s", status_code(reply->status),
                       reply->message);
    } else if (filter == NULL) {
        (void)snprintf(look->error, sizeof look->error, "ERR not found");
    } else if (filter->rebuild_lineage == 0) {
        (void)snprintf(look->error, sizeof look->error,
                       "ERR INVALID no rebuild of %s is open: BEGIN first", look->name);
    } else {
        look->filter_id = filter->id;
        look->lineage = filter->rebuild_lineage;
    }
}

static void looked(struct front *self, void *owner, const struct frame *frame, enum status status,
                   const char *reason)
{
    struct feed_look *look = owner;

    if (look->session == NULL) {
        heap_free(look);
        return;
    }
    look->done = true;
    if (frame != NULL) {
        note(look, &frame->body.admin_reply);
    } else {
        (void)snprintf(look->error, sizeof look->error, "%s %s", status_code(status), reason);
    }
    session_stir(self, look->session);
}

static enum taken look_first(struct front *self, struct session *session, const char *name)
{
    struct feed_look *look = heap_zalloc(1, sizeof *look);
    struct frame frame = status_frame(name);

    if (look == NULL) {
        return answer_error(self, session, "NOMEM the router is out of memory");
    }
    look->session = session;
    look->deadline_us = front_deadline_us(self);
    (void)snprintf(look->name, sizeof look->name, "%s", name);
    session->look = look;
    question_ask(self, &frame, look->deadline_us, looked, look);
    return TAKEN_WAIT;
}

enum taken feed_take(struct front *self, struct session *session, const char *name,
                     const struct span *items, uint32_t count)
{
    const char *error = items_error(items, count);
    struct gather_kind kind = {.operation = OPERATION_FEED, .make = MAKE_NEVER};
    enum taken taken = TAKEN_DONE;

    if (error != NULL) {
        return answer_error(self, session, error);
    }
    if (session->look == NULL) {
        return look_first(self, session, name);
    }
    if (!session->look->done) {
        return TAKEN_WAIT;
    }
    if (session->look->error[0] != '\0') {
        taken = answer_error(self, session, session->look->error);
    } else {
        (void)snprintf(kind.name, sizeof kind.name, "%s", name);
        kind.filter_id = session->look->filter_id;
        kind.lineage = session->look->lineage;
        kind.deadline_us = session->look->deadline_us;
        taken = gather_keys(self, session, &kind, items, count, true) ? TAKEN_DONE : TAKEN_WAIT;
    }
    if (taken == TAKEN_DONE) {
        feed_forget(session);
    }
    return taken;
}

/* ---- once they are fed ---- */

static void fed(struct front *self, void *owner, const struct frame *frame, enum status status,
                const char *reason)
{
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;
    struct call *call = owner;
    struct resp_writer writer = {.out = &call->reply};
    char text[FRONT_MESSAGE_BYTES];

    if (reply != NULL && reply->status == STATUS_OK) {
        call_end(self, call, &writer);
        return;
    }
    (void)snprintf(text, sizeof text,
                   "%s the items are fed, but the coordinator does not know, so COMMIT would ask "
                   "for a list; feed them again: %s",
                   status_code(reply != NULL ? reply->status : status),
                   reply != NULL ? reply->message : reason);
    buffer_clear(&call->reply);
    call_fail(self, call, text);
}

void feed_tell(struct front *self, const struct gather *gather, struct call *call, uint32_t count)
{
    struct frame frame = status_frame(gather->kind.name);

    frame.body.admin_request.action = ADMIN_REBUILD;
    frame.body.admin_request.filter_id = gather->kind.filter_id;
    frame.body.admin_request.rebuild = (struct rebuild_parameters){
        .step = REBUILD_FED,
        .lineage = gather->kind.lineage,
        .fed_keys = count,
    };
    question_ask(self, &frame, gather->deadline_us, fed, call);
}
