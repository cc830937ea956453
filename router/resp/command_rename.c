/* RENAME and RENAMENX: a coordinator switches names, and answers once no router goes by the old
 * ones. */
#include "router/resp/command.h"

static void fail(struct front *self, struct call *call, const struct admin_reply *reply)
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
        fail(self, call, reply);
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
        fail(self, call, reply);
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
