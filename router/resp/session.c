/* A connection: bytes become requests, requests commands, answers bytes. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <stdio.h>
#include <string.h>

enum { KEPT_BYTES = 16 << 10 /* of a buffer that is empty */ };

static const struct resp_limits limits = {
    .max_arguments = FRONT_MAX_ARGUMENTS,
    .max_bulk = FRONT_MAX_BULK,
    .max_request = FRONT_MAX_REQUEST,
    .max_line = FRONT_MAX_LINE,
};

void session_stir(struct front *self, struct session *session)
{
    if (!session->due) {
        session->due = true;
        TAILQ_INSERT_TAIL(&self->due, session, due_entry);
    }
}

struct session *front_opened(struct front *self, uint64_t now_us, void *stream, const char *peer)
{
    struct session *session = heap_zalloc(1, sizeof *session);

    if (session == NULL) {
        return NULL;
    }
    session->stream = stream;
    session->id = ++self->next_id;
    session->opened_us = session->active_us = now_us;
    (void)snprintf(session->peer, sizeof session->peer, "%s", peer);
    buffer_init(&session->input, 2 * (size_t)FRONT_MAX_REQUEST + FRONT_QUEUED_BYTES);
    buffer_init(&session->out, FRONT_OUT_BYTES);
    buffer_init(&session->queued, FRONT_QUEUED_BYTES);
    resp_request_init(&session->request);
    TAILQ_INSERT_TAIL(&self->sessions, session, entry);
    self->nsessions++;
    self->counters[FRONT_resp_connections] = self->nsessions;
    front_count(self, FRONT_resp_connections_total);
    return session;
}

void session_destroy(struct front *self, struct session *session)
{
    calls_orphan(session);
    if (session->due) {
        TAILQ_REMOVE(&self->due, session, due_entry);
    }
    TAILQ_REMOVE(&self->sessions, session, entry);
    self->nsessions--;
    self->counters[FRONT_resp_connections] = self->nsessions;
    buffer_fini(&session->input);
    buffer_fini(&session->out);
    buffer_fini(&session->queued);
    resp_request_fini(&session->request);
    heap_free(session);
}

void front_closed(struct front *self, struct session *session)
{
    session_destroy(self, session);
}

void session_close(struct front *self, struct session *session)
{
    session->closing = true;
    session_stir(self, session);
}

void front_drained(struct front *self, uint64_t now_us, struct session *session)
{
    self->now_us = now_us;
    session_stir(self, session);
}

void front_bytes(struct front *self, uint64_t now_us, struct session *session, struct span bytes)
{
    self->now_us = now_us;
    session->active_us = now_us;
    if (session->closing) {
        return;
    }
    if (buffer_append(&session->input, bytes) != STATUS_OK) {
        session_close(self, session);
    }
    session_stir(self, session);
}

/* ---- taking requests ---- */

static void say_broken(struct front *self, struct session *session)
{
    char text[RESP_ERROR_BYTES + 8];
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    front_count(self, FRONT_resp_broken_total);
    log_limited(&self->broken_limit, self->now_us, LOG_WARN,
                "closes the connection of RESP client %s: %s", session->peer,
                session->request.error);
    if (call != NULL) {
        (void)snprintf(text, sizeof text, "ERR %s", session->request.error);
        resp_error(&writer, text);
        call_end(self, call);
    }
    session_close(self, session);
}

/* What was taken goes; what is kept moves to the front, and large room that is empty goes too. */
static void compact(struct session *session)
{
    size_t left = session->input.size - session->taken;
    size_t most = session->input.max;

    if (left == 0 && session->input.capacity > KEPT_BYTES) {
        buffer_fini(&session->input);
        buffer_init(&session->input, most);
    } else if (session->taken > 0) {
        memmove(session->input.data, session->input.data + session->taken, left);
        session->input.size = left;
    }
    session->taken = 0;
}

static bool may_take(const struct session *session)
{
    return !session->closing && !session->stalled && session->ncalls < FRONT_MAX_CALLS &&
           session->taken < session->input.size;
}

/* False: no further one can be taken now. */
static bool take(struct front *self, struct session *session)
{
    struct span input = span_of(session->input.data + session->taken,
                                session->input.size - session->taken);

    switch (resp_request_read(&session->request, &limits, input)) {
    case RESP_MORE:
        return false;
    case RESP_BROKEN:
        say_broken(self, session);
        return false;
    case RESP_NOMEM:
        session_close(self, session);
        return false;
    case RESP_REQUEST:
        break;
    }
    if (session->request.count > 0) {
        session->taken += session->request.size;
        if (command_take(self, session, session->request.arguments, session->request.count) ==
            TAKEN_WAIT) {
            session->taken -= session->request.size; /* It is read again then. */
            session->stalled = true;
            return false;
        }
    } else {
        session->taken += session->request.size;
    }
    return true;
}

/* ---- sending answers ---- */

static void send(struct front *self, struct session *session)
{
    size_t most = session->out.max;

    if (session->out.size == 0 || session->closed) {
        return;
    }
    self->streams.send(self->streams.context, session->stream, buffer_span(&session->out));
    if (session->out.capacity > KEPT_BYTES) {
        buffer_fini(&session->out);
        buffer_init(&session->out, most);
    }
    buffer_clear(&session->out);
}

/* Nothing is read from who does not read, or has much to be answered. */
static void pause_or_go_on(struct front *self, struct session *session, size_t unsent)
{
    bool pause = session->closing || session->stalled || session->ncalls >= FRONT_MAX_CALLS ||
                 unsent > self->config.max_unread / 2;

    if (pause != session->paused) {
        session->paused = pause;
        self->streams.read(self->streams.context, session->stream, !pause);
    }
}

static void run(struct front *self, struct session *session)
{
    size_t unsent = self->streams.unsent(self->streams.context, session->stream);

    session->stalled = false;
    while (may_take(session) && unsent + session->out.size <= self->config.max_unread / 2) {
        if (!take(self, session)) {
            break;
        }
    }
    compact(session);
    send(self, session);
    unsent = self->streams.unsent(self->streams.context, session->stream);
    if (unsent > self->config.max_unread && !session->closing) {
        front_count(self, FRONT_resp_unread_total);
        session->closing = true;
    }
    pause_or_go_on(self, session, unsent);
    if (session->closing && session->first == NULL && !session->closed) {
        session->closed = true;
        self->streams.close(self->streams.context, session->stream);
    }
}

void sessions_run(struct front *self)
{
    struct session *session;

    while ((session = TAILQ_FIRST(&self->due)) != NULL) {
        TAILQ_REMOVE(&self->due, session, due_entry);
        session->due = false;
        run(self, session);
    }
}

void sessions_tick(struct front *self)
{
    struct session *session;

    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        if (self->config.idle_us > 0 && session->first == NULL && !session->closing &&
            self->now_us - session->active_us >= self->config.idle_us) {
            front_count(self, FRONT_resp_idle_total);
            session_close(self, session);
        }
    }
}
