/* CLIENT KILL: which connections are meant, and their end. They are closed at the end of the turn,
 * whatever they have under way; what was sent to nodes for them goes on. */
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ADDRESS_BYTES = FRONT_HOST_BYTES + 16 };

enum client_type { TYPE_ANY, TYPE_NORMAL, TYPE_PUBSUB, TYPE_NONE };

/* All that are given must fit. */
struct filter {
    int64_t id;            /* 0: any */
    int64_t least_age_s;   /* ... */
    const struct span *at; /* the client's address; NULL: any */
    const struct span *by; /* ... and the router's, that it came to */
    const struct span *of; /* the name of its user; ... */
    enum client_type type;
    bool spare_self;
};

void client_address(const struct front *self, const struct session *session, char *text,
                    size_t size)
{
    struct stream_address address = {.host = ""};

    self->streams.local(self->streams.context, session->stream, &address);
    (void)snprintf(text, size, strchr(address.host, ':') != NULL ? "[%s]:%" PRIu32 : "%s:%" PRIu32,
                   address.host, address.port);
}

static bool came_to(const struct front *self, const struct session *session, struct span wanted)
{
    char text[ADDRESS_BYTES];

    client_address(self, session, text, sizeof text);
    return span_equal(wanted, span_text(text));
}

static bool is_type(const struct session *session, enum client_type type)
{
    switch (type) {
    case TYPE_ANY:
        return true;
    case TYPE_NORMAL:
        return !session_subscribes(session);
    case TYPE_PUBSUB:
        return session_subscribes(session);
    case TYPE_NONE:
        break;
    }
    return false;
}

static bool fits(const struct front *self, const struct filter *filter,
                 const struct session *session)
{
    int64_t age_s = (int64_t)((self->now_us - session->opened_us) / 1000000);

    return !session->closing && (filter->id == 0 || (uint64_t)filter->id == session->id) &&
           age_s >= filter->least_age_s && is_type(session, filter->type) &&
           (filter->at == NULL || span_equal(*filter->at, span_text(session->peer))) &&
           (filter->of == NULL || span_equal(*filter->of, span_text(session_user(session)))) &&
           (filter->by == NULL || came_to(self, session, *filter->by));
}

/* How many. Its own connection is closed once it has the answer, and those of its
 * transaction. */
static int64_t kill_all(struct front *self, struct session *own, const struct filter *filter)
{
    struct session *session;
    int64_t killed = 0;

    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        if ((session == own && filter->spare_self) || !fits(self, filter, session)) {
            continue;
        }
        killed++;
        if (session == own && session->executes) {
            session->killed = true; /* It has been told how many answers there are. */
        } else if (session == own) {
            session_close(self, session);
        } else {
            session_cut(self, session);
        }
    }
    return killed;
}

/* ---- what is meant ---- */

/* Replicas and masters are no clients here, so none is of that type. */
static const char *read_type(struct span text, struct filter *filter, char *error, size_t size)
{
    if (command_word(text, "normal")) {
        filter->type = TYPE_NORMAL;
    } else if (command_word(text, "pubsub")) {
        filter->type = TYPE_PUBSUB;
    } else if (command_word(text, "master") || command_word(text, "replica") ||
               command_word(text, "slave")) {
        filter->type = TYPE_NONE;
    } else {
        (void)snprintf(error, size, "ERR Unknown client type '%.*s'",
                       text.size < 128 ? (int)text.size : 128, (const char *)text.data);
        return error;
    }
    return NULL;
}

static const char *read_age(struct span text, struct filter *filter)
{
    if (!argument_integer(text, INT64_MIN, INT64_MAX, &filter->least_age_s)) {
        return "ERR maxage is not an integer or out of range";
    }
    return filter->least_age_s > 0 ? NULL : "ERR maxage should be greater than 0";
}

static const char *read_user(const struct front *self, const struct span *text,
                             struct filter *filter, char *error, size_t size)
{
    filter->of = text;
    if (span_equal(*text, span_text(USER_DEFAULT)) || users_find(self, *text) != NULL) {
        return NULL;
    }
    (void)snprintf(error, size, "ERR No such user '%.*s'", text->size < 128 ? (int)text->size : 128,
                   (const char *)text->data);
    return error;
}

static const char *read_skip(struct span text, struct filter *filter)
{
    filter->spare_self = command_word(text, "yes");
    return filter->spare_self || command_word(text, "no") ? NULL : SYNTAX_MESSAGE;
}

/* One option and its value, which follows it. */
static const char *read_option(const struct front *self, const struct span *option,
                               struct filter *filter, char *error, size_t size)
{
    const struct span *value = option + 1;

    if (command_word(*option, "id")) {
        return argument_integer(*value, 1, INT64_MAX, &filter->id)
                   ? NULL
                   : "ERR client-id should be greater than 0";
    }
    if (command_word(*option, "maxage")) {
        return read_age(*value, filter);
    }
    if (command_word(*option, "type")) {
        return read_type(*value, filter, error, size);
    }
    if (command_word(*option, "user")) {
        return read_user(self, value, filter, error, size);
    }
    if (command_word(*option, "skipme")) {
        return read_skip(*value, filter);
    }
    if (command_word(*option, "addr")) {
        filter->at = value;
    } else if (command_word(*option, "laddr")) {
        filter->by = value;
    } else {
        return SYNTAX_MESSAGE;
    }
    return NULL;
}

/* By the client's address alone: this one may be meant, too. */
static enum taken kill_at(struct front *self, struct session *session, const struct span *address)
{
    const struct filter filter = {.at = address};

    return kill_all(self, session, &filter) > 0 ? answer_ok(self, session)
                                                : answer_error(self, session, "ERR No such client");
}

COMMAND(client_kill)
{
    struct filter filter = {.spare_self = true};
    char room[FRONT_MESSAGE_BYTES];
    const char *error = NULL;

    if (count == 3) {
        return kill_at(self, session, &arguments[2]);
    }
    for (uint32_t i = 2; i < count && error == NULL; i += 2) {
        error = i + 1 < count ? read_option(self, &arguments[i], &filter, room, sizeof room)
                              : SYNTAX_MESSAGE;
    }
    return error != NULL ? answer_error(self, session, error)
                         : answer_integer(self, session, kill_all(self, session, &filter));
}
