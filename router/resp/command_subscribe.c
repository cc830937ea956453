/* SUBSCRIBE and its kin: a client is told that it has subscribed, and then nothing: nobody can
 * publish here. Some libraries subscribe to a channel of theirs at each connect, and give up where
 * they can't. */
#include "base/heap.h"
#include "router/resp/command.h"

#include <string.h>

enum {
    MOST_SUBSCRIPTIONS = 1024, /* of a connection, of both kinds */
    MOST_NAMES = 64 << 10,     /* bytes of their names */
};

#define MOST_MESSAGE "OVERLOADED a connection has at most 1024 subscriptions and 64 KiB of names"

enum kind { CHANNEL, PATTERN, KINDS };

/* Names, each behind its length, a uint32_t. */
struct subscriptions {
    struct buffer names[KINDS];
    uint32_t count[KINDS];
};

static const char *const said[KINDS] = {"subscribe", "psubscribe"};
static const char *const unsaid[KINDS] = {"unsubscribe", "punsubscribe"};

/* ---- what a connection has subscribed to ---- */

static uint32_t total(const struct session *session)
{
    const struct subscriptions *self = session->subscriptions;

    return self != NULL ? self->count[CHANNEL] + self->count[PATTERN] : 0;
}

bool session_subscribes(const struct session *session)
{
    return session->subscriptions != NULL;
}

size_t subscriptions_bytes(const struct session *session)
{
    const struct subscriptions *self = session->subscriptions;

    return self != NULL
               ? sizeof *self + self->names[CHANNEL].capacity + self->names[PATTERN].capacity
               : 0;
}

void session_unsubscribe(struct session *session)
{
    struct subscriptions *self = session->subscriptions;

    session->subscriptions = NULL;
    if (self != NULL) {
        buffer_fini(&self->names[CHANNEL]);
        buffer_fini(&self->names[PATTERN]);
        heap_free(self);
    }
}

/* The name at *at, and *at behind it. */
static struct span next_name(const struct buffer *names, size_t *at)
{
    uint32_t size;
    size_t begin = *at + sizeof size;

    memcpy(&size, names->data + *at, sizeof size);
    *at = begin + size;
    return span_of(names->data + begin, size);
}

/* Where it begins; false: it is not there. */
static bool find(const struct buffer *names, struct span name, size_t *begin)
{
    size_t at = 0;

    while (at < names->size) {
        *begin = at;
        if (span_equal(next_name(names, &at), name)) {
            return true;
        }
    }
    return false;
}

static struct subscriptions *begin(struct session *session)
{
    struct subscriptions *self = session->subscriptions;

    if (self == NULL) {
        self = heap_zalloc(1, sizeof *self);
        if (self != NULL) {
            buffer_init(&self->names[CHANNEL], MOST_NAMES);
            buffer_init(&self->names[PATTERN], MOST_NAMES);
        }
        session->subscriptions = self;
    }
    return self;
}

/* False: it has too many. */
static bool add(struct session *session, enum kind kind, struct span name)
{
    struct subscriptions *self = begin(session);
    uint32_t size = (uint32_t)name.size;
    uint8_t *room;
    size_t at;

    if (self == NULL) {
        return false;
    }
    if (find(&self->names[kind], name, &at)) {
        return true;
    }
    if (total(session) >= MOST_SUBSCRIPTIONS ||
        buffer_extend(&self->names[kind], sizeof size + name.size, &room) != STATUS_OK) {
        return false;
    }
    memcpy(room, &size, sizeof size);
    memcpy(room + sizeof size, name.data, name.size);
    self->count[kind]++;
    return true;
}

/* `name` may be one of its own. */
static void take_away(struct session *session, enum kind kind, struct span name)
{
    struct subscriptions *self = session->subscriptions;
    struct buffer *names = self != NULL ? &self->names[kind] : NULL;
    size_t at;
    size_t end;

    if (names == NULL || !find(names, name, &at)) {
        return;
    }
    end = at;
    (void)next_name(names, &end);
    memmove(names->data + at, names->data + end, names->size - end);
    names->size -= end - at;
    self->count[kind]--;
}

static void forget_if_none(struct session *session)
{
    if (total(session) == 0) {
        session_unsubscribe(session);
    }
}

/* ---- what it is told ---- */

static void tell(struct resp_writer *writer, const struct session *session, const char *word,
                 const struct span *name)
{
    resp_push(writer, 3);
    resp_text(writer, word);
    if (name != NULL) {
        resp_bulk(writer, *name);
    } else {
        resp_null(writer);
    }
    resp_integer(writer, total(session));
}

/* What is refused ends the answers: each of the others has its own. */
static enum taken subscribe(struct front *self, struct session *session, enum kind kind,
                            const struct span *arguments, uint32_t count)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    bool taken = true;

    if (call == NULL) {
        return TAKEN_DONE;
    }
    for (uint32_t i = 1; i < count && taken; i++) {
        taken = add(session, kind, arguments[i]);
        if (taken) {
            tell(&writer, session, said[kind], &arguments[i]);
        }
    }
    if (!taken) {
        front_count(self, FRONT_resp_errors_total);
        resp_error(&writer, MOST_MESSAGE);
        forget_if_none(session);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static void unsubscribe_all(struct resp_writer *writer, struct session *session, enum kind kind)
{
    struct subscriptions *own = session->subscriptions;
    struct buffer *names = own != NULL ? &own->names[kind] : NULL;
    size_t at = 0;

    if (names == NULL || names->size == 0) {
        tell(writer, session, unsaid[kind], NULL);
        return;
    }
    while (at < names->size) {
        struct span name = next_name(names, &at);

        own->count[kind]--;
        tell(writer, session, unsaid[kind], &name);
    }
    buffer_clear(names);
}

static enum taken unsubscribe(struct front *self, struct session *session, enum kind kind,
                              const struct span *arguments, uint32_t count)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    if (count == 1) {
        unsubscribe_all(&writer, session, kind);
    }
    for (uint32_t i = 1; i < count; i++) {
        take_away(session, kind, arguments[i]);
        tell(&writer, session, unsaid[kind], &arguments[i]);
    }
    forget_if_none(session);
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

COMMAND(subscribe)
{
    return subscribe(self, session, CHANNEL, arguments, count);
}

COMMAND(psubscribe)
{
    return subscribe(self, session, PATTERN, arguments, count);
}

COMMAND(unsubscribe)
{
    return unsubscribe(self, session, CHANNEL, arguments, count);
}

COMMAND(punsubscribe)
{
    return unsubscribe(self, session, PATTERN, arguments, count);
}
