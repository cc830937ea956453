/* What clients ask of one key besides its type: MEMORY USAGE, OBJECT. */
#include "router/resp/command.h"

static enum taken answer_null(struct front *self, struct session *session)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_null(&writer);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

/* ---- MEMORY ---- */

static void weighed(struct front *self, struct call *call, const struct frame *frame)
{
    const struct info_reply *reply = &frame->body.info_reply;
    struct resp_writer writer;

    if (reply->status != STATUS_OK && reply->status != STATUS_NOT_FOUND) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    writer = call_writer(call);
    if (reply->has_filter) {
        resp_integer(&writer, (int64_t)info_size(&reply->filter));
    } else {
        resp_null(&writer);
    }
    call_end(self, call, &writer);
}

/* SAMPLES are for values of many parts; it is taken as well. */
static COMMAND(memory_usage)
{
    char name[DOCUMENT_NAME_BYTES];
    int64_t samples;

    if (count > 3) {
        if (count != 5 || !command_word(arguments[3], "samples")) {
            return answer_error(self, session, SYNTAX_MESSAGE);
        }
        if (!argument_integer(arguments[4], INT64_MIN, INT64_MAX, &samples)) {
            return answer_error(self, session, INTEGER_MESSAGE);
        }
        if (samples < 0) {
            return answer_error(self, session, SYNTAX_MESSAGE);
        }
    }
    if (!argument_name(arguments[2], name)) {
        return answer_null(self, session);
    }
    info_ask(self, session, name, weighed, 0);
    return TAKEN_DONE;
}

COMMAND(memory)
{
    static const struct subcommand subcommands[] = {
        {"usage", -3, command_memory_usage, " <key> [SAMPLES <count>]",
         "Bytes of one replica of a filter"},
    };

    return SUBCOMMAND_RUN(subcommands);
}

/* ---- OBJECT ---- */

enum aspect { ASPECT_ENCODING, ASPECT_REFCOUNT, ASPECT_IDLETIME, ASPECT_FREQ };

static void answer_aspect(struct front *self, struct call *call)
{
    struct resp_writer writer;

    switch ((enum aspect)call->detail) {
    case ASPECT_ENCODING: /* what Redis says of values that a module keeps */
        writer = call_writer(call);
        resp_text(&writer, "raw");
        call_end(self, call, &writer);
        break;
    case ASPECT_REFCOUNT:
        writer = call_writer(call);
        resp_integer(&writer, 1);
        call_end(self, call, &writer);
        break;
    case ASPECT_IDLETIME:
        call_fail(self, call, "ERR when a filter was last used is not tracked");
        break;
    case ASPECT_FREQ:
        call_fail(self, call, "ERR how often a filter is used is not tracked");
        break;
    }
}

static void looked(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (!status_is_answer(reply)) {
        call_fail_status(self, call, reply->status, reply->message);
    } else if (status_find(reply, call->text) != NULL) {
        answer_aspect(self, call);
    } else {
        writer = call_writer(call);
        resp_null(&writer);
        call_end(self, call, &writer);
    }
}

static enum taken look(struct front *self, struct session *session, const struct span *arguments,
                       enum aspect aspect)
{
    char name[DOCUMENT_NAME_BYTES] = "";
    struct frame frame = status_frame(name);

    if (!argument_name(arguments[2], name)) {
        return answer_null(self, session);
    }
    question_for_call(self, session, &frame, name, false, looked, aspect);
    return TAKEN_DONE;
}

static COMMAND(object_encoding)
{
    (void)count;
    return look(self, session, arguments, ASPECT_ENCODING);
}

static COMMAND(object_refcount)
{
    (void)count;
    return look(self, session, arguments, ASPECT_REFCOUNT);
}

static COMMAND(object_idletime)
{
    (void)count;
    return look(self, session, arguments, ASPECT_IDLETIME);
}

static COMMAND(object_freq)
{
    (void)count;
    return look(self, session, arguments, ASPECT_FREQ);
}

COMMAND(object)
{
    static const struct subcommand subcommands[] = {
        {"encoding", 3, command_object_encoding, " <key>",
         "raw, as of any value that a module keeps"},
        {"freq", 3, command_object_freq, "", NULL},
        {"idletime", 3, command_object_idletime, "", NULL},
        {"refcount", 3, command_object_refcount, " <key>", "1"},
    };

    return SUBCOMMAND_RUN(subcommands);
}
