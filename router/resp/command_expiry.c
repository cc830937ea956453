/* EXPIRE and its kin: filters that are dropped by themselves. A coordinator decides and answers. */
#include "router/resp/command.h"

#include <stdio.h>
#include <string.h>

enum { US_PER_MS = 1000 };

/* Times that are asked for and told. */
enum unit { UNIT_S = 1000, UNIT_MS = 1 };

/* ---- asking for it ---- */

static enum taken answer_set(struct front *self, struct session *session,
                             const struct span *arguments, const struct expiry_wish *wish);

/* NULL, or why the wish can't be. */
static const char *read_option(struct span word, struct expiry_wish *wish,
                               char text[FRONT_MESSAGE_BYTES])
{
    if (command_word(word, "nx")) {
        wish->if_none = true;
    } else if (command_word(word, "xx")) {
        wish->if_some = true;
    } else if (command_word(word, "gt")) {
        wish->if_later = true;
    } else if (command_word(word, "lt")) {
        wish->if_sooner = true;
    } else {
        (void)snprintf(text, FRONT_MESSAGE_BYTES, "ERR Unsupported option %.*s",
                       (int)(word.size < 128 ? word.size : 128), (const char *)word.data);
        return text;
    }
    return NULL;
}

static const char *read_options(const struct span *arguments, uint32_t count,
                                struct expiry_wish *wish, char text[FRONT_MESSAGE_BYTES])
{
    const char *error = NULL;

    for (uint32_t i = 3; i < count && error == NULL; i++) {
        error = read_option(arguments[i], wish, text);
    }
    if (error == NULL && wish->if_none && (wish->if_some || wish->if_later || wish->if_sooner)) {
        error = "ERR NX and XX, GT or LT options at the same time are not compatible";
    }
    if (error == NULL && wish->if_later && wish->if_sooner) {
        error = "ERR GT and LT options at the same time are not compatible";
    }
    return error;
}

static uint64_t date_ms(const struct front *self)
{
    return self->outer.date_ms != NULL ? self->outer.date_ms(self->outer.context) : 0;
}

/* What is over is now. False: it is too far away. */
static bool read_time(const struct front *self, int64_t value, enum unit unit,
                      struct expiry_wish *wish)
{
    uint64_t time_ms = value > 0 ? (uint64_t)value : 0;
    uint64_t now_ms = wish->dated ? date_ms(self) : 0;

    if (time_ms > INT64_MAX / unit || value < INT64_MIN / (int64_t)unit) {
        return false;
    }
    time_ms *= unit;
    wish->at_ms = wish->dated ? time_ms : 0;
    time_ms = time_ms > now_ms ? time_ms - now_ms : 0;
    if (time_ms > EXPIRY_MAX_US / US_PER_MS) {
        return false;
    }
    wish->after_us = time_ms * US_PER_MS;
    return true;
}

static enum taken expire(struct front *self, struct session *session, const struct span *arguments,
                         uint32_t count, enum unit unit, bool dated)
{
    struct expiry_wish wish = {.dated = dated};
    char text[FRONT_MESSAGE_BYTES];
    const char *error = read_options(arguments, count, &wish, text);
    int64_t value;

    if (error == NULL && !argument_integer(arguments[2], INT64_MIN, INT64_MAX, &value)) {
        error = "ERR value is not an integer or out of range";
    }
    if (error == NULL && !read_time(self, value, unit, &wish)) {
        (void)snprintf(text, sizeof text, "ERR invalid expire time in '%s%s' command",
                       unit == UNIT_MS ? "p" : "", dated ? "expireat" : "expire");
        error = text;
    }
    return error != NULL ? answer_error(self, session, error)
                         : answer_set(self, session, arguments, &wish);
}

COMMAND(expire)
{
    return expire(self, session, arguments, count, UNIT_S, false);
}

COMMAND(pexpire)
{
    return expire(self, session, arguments, count, UNIT_MS, false);
}

COMMAND(expireat)
{
    return expire(self, session, arguments, count, UNIT_S, true);
}

COMMAND(pexpireat)
{
    return expire(self, session, arguments, count, UNIT_MS, true);
}

COMMAND(persist)
{
    const struct expiry_wish wish = {.never = true};

    (void)count;
    return answer_set(self, session, arguments, &wish);
}

static void set(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (reply->status != STATUS_OK && reply->status != STATUS_NOT_FOUND) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    writer = call_writer(call);
    resp_integer(&writer, reply->status == STATUS_OK && reply->created);
    call_end(self, call, &writer);
}

static enum taken answer_set(struct front *self, struct session *session,
                             const struct span *arguments, const struct expiry_wish *wish)
{
    char name[DOCUMENT_NAME_BYTES];
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_EXPIRE,
                               .name = name,
                               .successor = "",
                               .expire = *wish},
    };

    if (!argument_name(arguments[1], name)) {
        return answer_integer(self, session, 0);
    }
    question_for_call(self, session, &frame, name, false, set, 0);
    return TAKEN_DONE;
}

/* ---- telling ---- */

enum { NO_EXPIRY = -1, NO_FILTER = -2 };

struct tell {
    enum unit unit;
    bool date; /* else how long it is until then */
};

static const struct tell tells[] = {
    {UNIT_S, false},
    {UNIT_MS, false},
    {UNIT_S, true},
    {UNIT_MS, true},
};

/* As Redis rounds; never 0 while the filter is there. */
static int64_t in_unit(uint64_t time_ms, enum unit unit)
{
    uint64_t rounded = (time_ms + unit / 2) / unit;

    return rounded == 0 ? 1 : (int64_t)rounded;
}

static int64_t told_of(const struct filter_summary *filter, const struct tell *tell)
{
    if (filter->expiry == 0) {
        return NO_EXPIRY;
    }
    return in_unit(tell->date ? filter->expires_at_ms
                              : (filter->expires_left_us + US_PER_MS - 1) / US_PER_MS,
                   tell->unit);
}

static void told(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    int64_t value = NO_FILTER;
    struct resp_writer writer;

    if (reply->status != STATUS_OK && reply->status != STATUS_NOT_FOUND) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    for (size_t i = 0; reply->status == STATUS_OK && i < reply->nfilters; i++) {
        if (reply->filters[i].state == FILTER_ACTIVE &&
            strcmp(reply->filters[i].name, call->text) == 0) {
            value = told_of(&reply->filters[i], &tells[call->detail]);
        }
    }
    writer = call_writer(call);
    resp_integer(&writer, value);
    call_end(self, call, &writer);
}

static enum taken tell(struct front *self, struct session *session, const struct span *arguments,
                       size_t which)
{
    char name[DOCUMENT_NAME_BYTES];
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_STATUS, .name = name, .successor = ""},
    };

    if (!argument_name(arguments[1], name)) {
        return answer_integer(self, session, NO_FILTER);
    }
    question_for_call(self, session, &frame, name, false, told, which);
    return TAKEN_DONE;
}

COMMAND(ttl)
{
    (void)count;
    return tell(self, session, arguments, 0);
}

COMMAND(pttl)
{
    (void)count;
    return tell(self, session, arguments, 1);
}

COMMAND(expiretime)
{
    (void)count;
    return tell(self, session, arguments, 2);
}

COMMAND(pexpiretime)
{
    (void)count;
    return tell(self, session, arguments, 3);
}
