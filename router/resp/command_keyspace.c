/* Filters as keys: which there are, their names, and how they go. What they ask is answered by a
 * coordinator, out of the store as it is now. */
#include "base/heap.h"
#include "router/resp/command.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define TYPE_NAME "MBbloom--"

struct frame status_frame(const char *name)
{
    return (struct frame){
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_STATUS, .name = name, .successor = ""},
    };
}

/* Dropped ones are told, too, while they go, and those that are being loaded. */
bool status_is_there(const struct filter_summary *filter)
{
    return filter->state == FILTER_ACTIVE &&
           !document_load_open(filter->load_source, filter->loaded);
}

const struct filter_summary *status_find(const struct admin_reply *reply, const char *name)
{
    for (size_t i = 0; reply->status == STATUS_OK && i < reply->nfilters; i++) {
        if (status_is_there(&reply->filters[i]) && strcmp(reply->filters[i].name, name) == 0) {
            return &reply->filters[i];
        }
    }
    return NULL;
}

bool status_is_answer(const struct admin_reply *reply)
{
    return reply->status == STATUS_OK || reply->status == STATUS_NOT_FOUND;
}

/* ---- one ---- */

static void typed(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (!status_is_answer(reply)) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    writer = call_writer(call);
    resp_simple(&writer, status_find(reply, call->text) != NULL ? TYPE_NAME : "none");
    call_end(self, call, &writer);
}

COMMAND(type)
{
    char name[DOCUMENT_NAME_BYTES];
    struct frame frame = status_frame(name);
    struct resp_writer writer;
    struct call *call;

    (void)count;
    if (argument_name(arguments[1], name)) {
        question_for_call(self, session, &frame, name, false, typed, 0);
        return TAKEN_DONE;
    }
    call = call_now(self, session, &writer);
    if (call != NULL) {
        resp_simple(&writer, "none");
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

/* No key has a text here: there is none, or it is a filter. */
static void got(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (!status_is_answer(reply)) {
        call_fail_status(self, call, reply->status, reply->message);
    } else if (status_find(reply, call->text) != NULL) {
        call_fail(self, call, "WRONGTYPE Operation against a key holding the wrong kind of value");
    } else {
        writer = call_writer(call);
        resp_null(&writer);
        call_end(self, call, &writer);
    }
}

COMMAND(get)
{
    char name[DOCUMENT_NAME_BYTES];
    struct frame frame = status_frame(name);
    struct resp_writer writer;
    struct call *call;

    (void)count;
    if (argument_name(arguments[1], name)) {
        question_for_call(self, session, &frame, name, false, got, 0);
        return TAKEN_DONE;
    }
    call = call_now(self, session, &writer);
    if (call != NULL) {
        resp_null(&writer);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

/* ---- several: each is asked about by itself, and those that count are counted ---- */

/* call->first: still unanswered, call->count: so many so far. */
static void counted(struct front *self, struct call *call, bool one)
{
    struct resp_writer writer;

    call->count += one;
    if (--call->first > 0) {
        return;
    }
    if (call->text != NULL || call->unknown) {
        call_fail(self, call,
                  call->text != NULL ? call->text : "NOMEM the router is out of memory");
        return;
    }
    writer = call_writer(call);
    resp_integer(&writer, call->count);
    call_end(self, call, &writer);
}

/* The first failure is the answer, in its words or in fewer. */
static void note_failure(struct call *call, enum status status, const char *message)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "%s %s", front_code(call->user, status), message);
    if (call->text == NULL) {
        call->text = heap_strdup(text);
        call->unknown = call->text == NULL;
    }
}

/* One that is not known spoils the count. */
static void one_of_several(struct front *self, void *owner, const struct frame *frame,
                           enum status status, const char *reason)
{
    struct call *call = owner;
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;

    if (reply != NULL && status_is_answer(reply)) {
        bool there = call->detail == ADMIN_DROP ||
                     status_find(reply, reply->nfilters > 0 ? reply->filters[0].name : "") != NULL;

        counted(self, call, reply->status == STATUS_OK && there);
        return;
    }
    note_failure(call, reply != NULL ? reply->status : status,
                 reply != NULL ? reply->message : reason);
    counted(self, call, false);
}

static enum taken ask_each(struct front *self, struct session *session,
                           const struct span *arguments, uint32_t count, enum admin_action action)
{
    uint64_t deadline_us = front_deadline_us(self);
    struct call *call = call_begin(self, session);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    call->first = count; /* Held by one more, so that it is not answered while asking. */
    call->detail = action;
    for (uint32_t i = 1; i < count; i++) {
        char name[DOCUMENT_NAME_BYTES];
        struct frame frame = status_frame(name);

        frame.body.admin_request.action = action;
        if (argument_name(arguments[i], name)) {
            question_ask(self, call->user, &frame, deadline_us, one_of_several, call);
        } else {
            counted(self, call, false);
        }
    }
    counted(self, call, false);
    return TAKEN_DONE;
}

COMMAND(exists)
{
    return ask_each(self, session, arguments, count, ADMIN_STATUS);
}

COMMAND(del)
{
    return ask_each(self, session, arguments, count, ADMIN_DROP);
}

/* ---- all ---- */

static bool is_listed(const struct call *call, const struct filter_summary *filter,
                      const char *pattern)
{
    return status_is_there(filter) && call_sees(call, filter->name) &&
           fnmatch(pattern, filter->name, 0) == 0;
}

static uint32_t matching(const struct call *call, const struct admin_reply *reply,
                         const char *pattern)
{
    uint32_t count = 0;

    for (size_t i = 0; i < reply->nfilters; i++) {
        count += is_listed(call, &reply->filters[i], pattern);
    }
    return count;
}

static void write_names(struct resp_writer *writer, const struct call *call,
                        const struct admin_reply *reply)
{
    resp_array(writer, matching(call, reply, call->text));
    for (size_t i = 0; i < reply->nfilters; i++) {
        if (is_listed(call, &reply->filters[i], call->text)) {
            resp_text(writer, reply->filters[i].name);
        }
    }
}

enum listing { LIST_NAMES, LIST_PAGE, LIST_COUNT };

static void listed(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (!status_is_answer(reply)) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    writer = call_writer(call);
    if (call->detail == LIST_COUNT) {
        resp_integer(&writer, matching(call, reply, "*"));
    } else {
        if (call->detail == LIST_PAGE) {
            resp_array(&writer, 2);
            resp_text(&writer, "0");
        }
        write_names(&writer, call, reply);
    }
    call_end(self, call, &writer);
}

/* A pattern that is longer than any name matches none. */
static enum taken list(struct front *self, struct session *session, struct span pattern,
                       enum listing listing)
{
    struct frame frame = status_frame("");
    char text[DOCUMENT_NAME_BYTES] = "";

    if (pattern.size < sizeof text && memchr(pattern.data, '\0', pattern.size) == NULL) {
        memcpy(text, pattern.data, pattern.size);
        text[pattern.size] = '\0';
    }
    question_for_call(self, session, &frame, text, false, listed, listing);
    return TAKEN_DONE;
}

COMMAND(keys)
{
    (void)count;
    return list(self, session, arguments[1], LIST_NAMES);
}

COMMAND(dbsize)
{
    (void)arguments;
    (void)count;
    return list(self, session, span_text("*"), LIST_COUNT);
}

/* All are told at once, so there is only the first page. */
COMMAND(scan)
{
    struct span pattern = span_text("*");
    int64_t cursor;

    if (!argument_integer(arguments[1], 0, INT64_MAX, &cursor)) {
        return answer_error(self, session, "ERR invalid cursor");
    }
    for (uint32_t i = 2; i < count; i += 2) {
        int64_t most;

        if (i + 1 == count) {
            return answer_error(self, session, SYNTAX_MESSAGE);
        }
        if (command_word(arguments[i], "match")) {
            pattern = arguments[i + 1];
        } else if (command_word(arguments[i], "type")) {
            pattern = command_word(arguments[i + 1], "mbbloom--") ? pattern : span_text("");
        } else if (!command_word(arguments[i], "count") ||
                   !argument_integer(arguments[i + 1], 1, INT64_MAX, &most)) {
            return answer_error(self, session, SYNTAX_MESSAGE);
        }
    }
    return list(self, session, cursor == 0 ? pattern : span_text(""), LIST_PAGE);
}

/* ---- other names: a coordinator switches them, and answers once no router goes by the old
 * ones ---- */

static void fail_rename(struct front *self, struct call *call, const struct admin_reply *reply)
{
    if (reply->status == STATUS_NOT_FOUND) {
        call_fail(self, call, "ERR no such key");
    } else {
        call_fail_status(self, call, reply->status, reply->message);
    }
}

static void renamed(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (reply->status != STATUS_OK) {
        fail_rename(self, call, reply);
        return;
    }
    writer = call_writer(call);
    resp_simple(&writer, "OK");
    call_end(self, call, &writer);
}

/* What has the name already, be it the filter itself, keeps it. */
static void renamed_if_free(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (reply->status != STATUS_OK && reply->status != STATUS_EXISTS) {
        fail_rename(self, call, reply);
        return;
    }
    writer = call_writer(call);
    resp_integer(&writer, reply->status == STATUS_OK && reply->created);
    call_end(self, call, &writer);
}

static enum taken rename_filter(struct front *self, struct session *session,
                                const struct span *arguments, bool replace,
                                void (*answer)(struct front *, struct call *, const struct frame *))
{
    char name[DOCUMENT_NAME_BYTES];
    char target[DOCUMENT_NAME_BYTES];
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request =
            {
                .action = ADMIN_RENAME,
                .name = name,
                .successor = "",
                .rename = {.name = target, .replace = replace},
            },
    };

    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR no such key");
    }
    if (!argument_name(arguments[2], target)) {
        return answer_error(self, session, "ERR a filter's name takes 1 to 128 of [A-Za-z0-9._:-]");
    }
    question_for_call(self, session, &frame, name, false, answer, 0);
    return TAKEN_DONE;
}

COMMAND(rename)
{
    (void)count;
    return rename_filter(self, session, arguments, true, renamed);
}

COMMAND(renamenx)
{
    (void)count;
    return rename_filter(self, session, arguments, false, renamed_if_free);
}

/* ---- FLUSHALL: every filter is dropped, where the router's configuration allows it ---- */

/* Fewer than may wait at a coordinator; what is left is listed again then. */
enum { FLUSH_BATCH = 64 };

static void flush_list(struct front *self, struct call *call);

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
        flush_list(self, call);
    } else {
        writer = call_writer(call);
        resp_simple(&writer, "OK");
        call_end(self, call, &writer);
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
        if (call->first > FLUSH_BATCH) {
            call->count = 1;
            break;
        }
        frame.body.admin_request.action = ADMIN_DROP;
        frame.body.admin_request.filter_id = reply->filters[i].id;
        call->first++;
        question_ask(self, call->user, &frame, call->detail, dropped, call);
    }
    finish(self, call);
}

static void flush_listed(struct front *self, void *owner, const struct frame *frame,
                         enum status status, const char *reason)
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

static void flush_list(struct front *self, struct call *call)
{
    struct frame frame = status_frame("");

    question_ask(self, call->user, &frame, call->detail, flush_listed, call);
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
        flush_list(self, call);
    }
    return TAKEN_DONE;
}
