/* Changes of a filter that operators ask of a coordinator: BF.EXPAND, BF.REBUILD. */
#include "base/heap.h"
#include "filter/sizing.h"
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- BF.EXPAND ---- */

static void expanded(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (reply->status == STATUS_NOT_FOUND) {
        call_fail(self, call, "ERR not found");
        return;
    }
    if (reply->status != STATUS_OK) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    writer = call_writer(call);
    resp_simple(&writer, "OK");
    call_end(self, call, &writer);
}

static const char *read_capacity(struct span text, uint64_t *capacity)
{
    int64_t value;

    if (!argument_integer(text, INT64_MIN, INT64_MAX, &value)) {
        return "ERR bad capacity";
    }
    if (value < 1 || (uint64_t)value > SIZING_CAPACITY_MAX) {
        return "ERR capacity must be in the range [1, 1000000000000]";
    }
    *capacity = (uint64_t)value;
    return NULL;
}

static const char *read_rate(struct span text, double *rate)
{
    if (!argument_double(text, rate)) {
        return "ERR bad error rate";
    }
    return *rate < SIZING_RATE_MIN || *rate > SIZING_RATE_MAX
               ? "ERR error rate must be in the range [1e-9, 0.5]"
               : NULL;
}

static const char *read_expand(const struct span *arguments, uint32_t count,
                               struct expand_parameters *expand)
{
    const char *error = NULL;

    for (uint32_t i = 2; i < count && error == NULL; i++) {
        if (command_word(arguments[i], "abort")) {
            expand->abort = true;
        } else if (command_word(arguments[i], "capacity") && i + 1 < count) {
            error = read_capacity(arguments[++i], &expand->capacity);
        } else if (command_word(arguments[i], "error") && i + 1 < count) {
            error = read_rate(arguments[++i], &expand->rate);
        } else {
            error = SYNTAX_MESSAGE;
        }
    }
    if (error == NULL && expand->abort && (expand->capacity != 0 || expand->rate != 0)) {
        error = "ERR ABORT takes back what is under way; it takes no CAPACITY and no ERROR";
    }
    return error;
}

COMMAND(bf_expand)
{
    char name[DOCUMENT_NAME_BYTES] = "";
    struct frame frame = status_frame(name);
    const char *error = read_expand(arguments, count, &frame.body.admin_request.expand);

    if (error != NULL) {
        return answer_error(self, session, error);
    }
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    frame.body.admin_request.action = ADMIN_EXPAND;
    question_for_call(self, session, &frame, name, false, expanded, 0);
    return TAKEN_DONE;
}

/* ---- BF.REBUILD: how the filter stands is asked first, so that what comes late, or again, means
 * this filter and this rebuild and no later ones ---- */

/* Of a step: call->first is which, call->count whether no list is needed, call->detail when it must
 * be answered. */
static void stepped(struct front *self, void *owner, const struct frame *frame, enum status status,
                    const char *reason)
{
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;
    struct call *call = owner;
    struct resp_writer writer;

    if (reply == NULL || reply->status != STATUS_OK) {
        call_fail_status(self, call, reply != NULL ? reply->status : status,
                         reply != NULL ? reply->message : reason);
        return;
    }
    writer = call_writer(call);
    if (call->first == REBUILD_BEGIN && reply->nfilters == 1) {
        resp_integer(&writer, reply->filters[0].rebuild_keyset);
    } else {
        resp_simple(&writer, "OK");
    }
    call_end(self, call, &writer);
}

/* Where none is open it is the one that was committed last, so that a commit may be repeated until
 * all have confirmed. */
static uint32_t meant(const struct filter_summary *filter, enum rebuild_step step)
{
    if (step == REBUILD_BEGIN) {
        return 0;
    }
    return filter->rebuild_keyset != 0 ? filter->rebuild_keyset : filter->keyset;
}

static void looked(struct front *self, void *owner, const struct frame *frame, enum status status,
                   const char *reason)
{
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;
    struct call *call = owner;
    const struct filter_summary *filter = reply != NULL ? status_find(reply, call->text) : NULL;
    struct frame step = status_frame(call->text);

    if (reply == NULL || !status_is_answer(reply)) {
        call_fail_status(self, call, reply != NULL ? reply->status : status,
                         reply != NULL ? reply->message : reason);
        return;
    }
    if (filter == NULL) {
        call_fail(self, call, "ERR not found");
        return;
    }
    step.body.admin_request.action = ADMIN_REBUILD;
    step.body.admin_request.filter_id = filter->id;
    step.body.admin_request.rebuild = (struct rebuild_parameters){
        .step = (enum rebuild_step)call->first,
        .keyset = meant(filter, (enum rebuild_step)call->first),
        .empty = call->count != 0,
    };
    question_ask(self, call->user, &step, call->detail, stepped, call);
}

static enum taken take_step(struct front *self, struct session *session, const char *name,
                            enum rebuild_step step, bool empty)
{
    struct frame frame = status_frame(name);
    struct call *call = call_begin(self, session);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    call->first = step;
    call->count = empty;
    call->detail = front_deadline_us(self);
    call->text = heap_strdup(name);
    if (call->text == NULL) {
        call_fail_status(self, call, STATUS_NOMEM, "the router is out of memory");
    } else {
        question_ask(self, call->user, &frame, call->detail, looked, call);
    }
    return TAKEN_DONE;
}

/* A coordinator's error names the command line's flag. */
static bool is_yes(struct span word)
{
    return command_word(word, "yes") || command_word(word, "--yes");
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
                   front_code(call->user, reply != NULL ? reply->status : status),
                   reply != NULL ? reply->message : reason);
    buffer_clear(&call->reply);
    call_fail(self, call, text);
}

/* Items of a list were fed, `count` of them acknowledged; the command's answer is in call->reply.
 * It leaves once the coordinator knows. */
static void tell_fed(struct front *self, const struct gather *gather, struct call *call,
                     uint32_t count)
{
    struct frame frame = status_frame(gather->kind.name);

    frame.body.admin_request.action = ADMIN_REBUILD;
    frame.body.admin_request.filter_id = gather->kind.filter_id;
    frame.body.admin_request.rebuild = (struct rebuild_parameters){
        .step = REBUILD_FED,
        .keyset = gather->kind.keyset,
        .fed_keys = count,
    };
    question_ask(self, call->user, &frame, gather->deadline_us, fed, call);
}

/* ---- BF.REBUILD ... FEED: items of a list, into the rebuild that is open now and into no later
 * one.
 *
 *   coordinator: which rebuild is open? --> router: feed --> coordinator: so many were fed
 *
 * While the first question is under way the command stays in the connection's input. ---- */

/* Which rebuild it is, or why none. */
static void note(struct feed_look *look, const struct admin_reply *reply)
{
    const struct filter_summary *filter = status_find(reply, look->name);

    if (!status_is_answer(reply)) {
        (void)snprintf(look->error, sizeof look->error, "%s %s",
                       front_code(look->user, reply->status), reply->message);
    } else if (filter == NULL) {
        (void)snprintf(look->error, sizeof look->error, "ERR not found");
    } else if (filter->rebuild_keyset == 0) {
        (void)snprintf(look->error, sizeof look->error,
                       "ERR INVALID no rebuild of %s is open: BEGIN first", look->name);
    } else {
        look->filter_id = filter->id;
        look->keyset = filter->rebuild_keyset;
    }
}

static void feed_looked(struct front *self, void *owner, const struct frame *frame,
                        enum status status, const char *reason)
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
        (void)snprintf(look->error, sizeof look->error, "%s %s", front_code(look->user, status),
                       reason);
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
    look->user = session->user;
    look->deadline_us = front_deadline_us(self);
    (void)snprintf(look->name, sizeof look->name, "%s", name);
    session->look = look;
    question_ask(self, look->user, &frame, look->deadline_us, feed_looked, look);
    return TAKEN_WAIT;
}

/* Feed them into the rebuild that is open. */
static enum taken feed(struct front *self, struct session *session, const char *name,
                       const struct span *items, uint32_t count)
{
    const char *error = items_error(items, count);
    struct gather_kind kind = {.operation = OPERATION_FEED, .make = MAKE_NEVER, .fed = tell_fed};
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
        kind.keyset = session->look->keyset;
        kind.deadline_us = session->look->deadline_us;
        taken = gather_keys(self, session, &kind, items, count, true) ? TAKEN_DONE : TAKEN_WAIT;
    }
    if (taken == TAKEN_DONE) {
        session_forget_look(session);
    }
    return taken;
}

/* ---- BF.REBUILD ---- */

COMMAND(bf_rebuild)
{
    struct span verb = arguments[2];
    char name[DOCUMENT_NAME_BYTES];

    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    if (command_word(verb, "begin") && count == 3) {
        return take_step(self, session, name, REBUILD_BEGIN, false);
    }
    if (command_word(verb, "feed") && count > 3) {
        return feed(self, session, name, arguments + 3, count - 3);
    }
    if (command_word(verb, "commit") && (count == 3 || (count == 4 && is_yes(arguments[3])))) {
        return take_step(self, session, name, REBUILD_COMMIT, count == 4);
    }
    if (command_word(verb, "abort") && count == 3) {
        return take_step(self, session, name, REBUILD_ABORT, false);
    }
    return answer_error(self, session,
                        "ERR syntax error: BF.REBUILD name BEGIN | FEED item... | COMMIT [YES] | "
                        "ABORT");
}
