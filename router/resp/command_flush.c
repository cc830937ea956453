/* FLUSHALL: every filter is dropped, where the router's configuration allows it. */
#include "base/heap.h"
#include "router/resp/command.h"

#include <stdio.h>

/* Fewer than may wait at a coordinator; what is left is listed again then. */
enum { BATCH = 64 };

static void list(struct front *self, struct call *call);

/* call->first: drops under way, and one more while they are being asked for; call->count: whether
 * there are more filters; call->detail: when it must be answered; call->text: the first failure. */
static void finish(struct front *self, struct call *call)
{
    struct resp_writer writer;

    if (--call->first > 0) {
        return;
    }
    if (call->text != NULL || call->unknown) {
        call_fail(self, call,
                  call->text != NULL ? call->text : "NOMEM the router is out of memory");
    } else if (call->count != 0) {
        list(self, call);
    } else {
        writer = call_writer(call);
        resp_simple(&writer, "OK");
        call_end(self, call, &writer);
    }
}

static void note_failure(struct call *call, enum status status, const char *message)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "%s %s", status_code(status), message);
    if (call->text == NULL) {
        call->text = heap_strdup(text);
        call->unknown = call->text == NULL;
    }
}

/* One that is gone by now is as good as dropped. */
static void dropped(struct front *self, void *owner, const struct frame *frame, enum status status,
                    const char *reason)
{
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;
    struct call *call = owner;

    if (reply == NULL || !status_is_answer(reply)) {
        note_failure(call, reply != NULL ? reply->status : status,
                     reply != NULL ? reply->message : reason);
    }
    finish(self, call);
}

/* By ids, so that what comes late drops no later filter of that name. */
static void drop_all(struct front *self, struct call *call, const struct admin_reply *reply)
{
    call->first = 1;
    call->count = 0;
    for (size_t i = 0; i < reply->nfilters; i++) {
        struct frame frame = status_frame(reply->filters[i].name);

        if (!status_is_there(&reply->filters[i])) {
            continue;
        }
        if (call->first > BATCH) {
            call->count = 1;
            break;
        }
        frame.body.admin_request.action = ADMIN_DROP;
        frame.body.admin_request.filter_id = reply->filters[i].id;
        call->first++;
        question_ask(self, &frame, call->detail, dropped, call);
    }
    finish(self, call);
}

static void listed(struct front *self, void *owner, const struct frame *frame, enum status status,
                   const char *reason)
{
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;
    struct call *call = owner;

    if (reply == NULL || !status_is_answer(reply)) {
        call_fail_status(self, call, reply != NULL ? reply->status : status,
                         reply != NULL ? reply->message : reason);
    } else {
        drop_all(self, call, reply);
    }
}

static void list(struct front *self, struct call *call)
{
    struct frame frame = status_frame("");

    question_ask(self, &frame, call->detail, listed, call);
}

COMMAND(flush)
{
    struct call *call;

    if (count > 2 || (count == 2 && !command_word(arguments[1], "sync") &&
                      !command_word(arguments[1], "async"))) {
        return answer_error(self, session, SYNTAX_MESSAGE);
    }
    if (!self->config.flush) {
        return answer_error(self, session,
                            "ERR this would drop every filter of the cluster; it takes resp_flush "
                            "= \"on\" in the router's configuration");
    }
    call = call_begin(self, session);
    if (call != NULL) {
        call->detail = front_deadline_us(self);
        list(self, call);
    }
    return TAKEN_DONE;
}
