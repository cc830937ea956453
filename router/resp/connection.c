/* What connections do: bytes become requests, requests commands, answers bytes. */
#include "base/heap.h"
#include "router/resp/command.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    KEPT_BYTES = 2 << 10, /* of a buffer that is empty */
    KEPT_ARGUMENTS = 16,
    SWEEP_US = 1000000,
};

static const struct resp_limits strangers_limits = {
    .max_arguments = FRONT_STRANGER_ARGUMENTS,
    .max_bulk = FRONT_STRANGER_BULK,
    .max_request = FRONT_STRANGER_REQUEST,
    .max_line = FRONT_STRANGER_BULK,
    .stranger = true,
};

static const struct resp_limits limits = {
    .max_arguments = FRONT_MAX_ARGUMENTS,
    .max_bulk = FRONT_MAX_BULK,
    .max_request = FRONT_MAX_REQUEST,
    .max_line = FRONT_MAX_LINE,
};

/* False: no memory. */
static bool keep_subject(struct session *session, const char *subject)
{
    session->subject = subject[0] != '\0' ? heap_strdup(subject) : NULL;
    return session->subject != NULL || subject[0] == '\0';
}

struct session *front_opened(struct front *self, uint64_t now_us, void *stream, const char *peer,
                             const char *subject)
{
    struct session *session = self->draining ? NULL : heap_zalloc(1, sizeof *session);

    if (session == NULL || !keep_subject(session, subject)) {
        heap_free(session);
        return NULL;
    }
    session->stream = stream;
    session->id = ++self->next_id;
    self->now_us = now_us;
    session->opened_us = session->active_us = now_us;
    session->waited = true;
    (void)snprintf(session->peer, sizeof session->peer, "%s", peer);
    buffer_init(&session->input, 2 * (size_t)FRONT_MAX_REQUEST);
    buffer_init(&session->out, FRONT_OUT_BYTES);
    buffer_init(&session->queued, FRONT_QUEUED_BYTES);
    resp_request_init(&session->request);
    TAILQ_INSERT_TAIL(&self->sessions, session, entry);
    self->nsessions++;
    self->counters[FRONT_resp_connections] = self->nsessions;
    front_count(self, FRONT_resp_connections_total);
    session_log_out(self, session); /* Its certificate may say who it is. */
    return session;
}

void front_shaken(struct front *self, enum front_handshake outcome)
{
    static const enum front_counter counters[] = {
        [FRONT_TLS_DONE] = FRONT_resp_tls_connections_total,
        [FRONT_TLS_PLAIN] = FRONT_resp_tls_plain_total,
        [FRONT_TLS_VERSION] = FRONT_resp_tls_version_total,
        [FRONT_TLS_CERTIFICATE] = FRONT_resp_tls_certificate_total,
        [FRONT_TLS_BROKEN] = FRONT_resp_tls_broken_total,
        [FRONT_TLS_LATE] = FRONT_resp_tls_late_total,
        [FRONT_TLS_CROWDED] = FRONT_resp_tls_crowded_total,
    };

    front_count(self, counters[outcome]);
}

void session_forget(struct front *self, struct session *session)
{
    session_await(self, session, false);
    memory_forget(self, session);
    calls_orphan(session);
    session_forget_look(session);
    session_unsubscribe(session);
    if (session->slowed_until_us != 0) {
        TAILQ_REMOVE(&self->slowed, session, slowed_entry);
    }
    session_leave_user(self, session);
    session_welcome(self, session); /* It is nobody by now. */
    if (session->due) {
        TAILQ_REMOVE(&self->due, session, due_entry);
    }
    fair_queue_remove(&self->turns, &session->turn);
    assert(self->nsessions > 0 && session->first == NULL && session->look == NULL);
    TAILQ_REMOVE(&self->sessions, session, entry);
    self->nsessions--;
    self->nclosed -= session->closed;
    self->counters[FRONT_resp_connections] = self->nsessions;
    buffer_fini(&session->input);
    buffer_fini(&session->out);
    buffer_fini(&session->queued);
    resp_request_fini(&session->request);
    heap_free(session->subject);
    heap_free(session);
}

void front_closed(struct front *self, struct session *session)
{
    session_forget(self, session);
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
    if (session->closing || self->draining) {
        return;
    }
    if (buffer_append(&session->input, bytes) != STATUS_OK) {
        session_close(self, session);
    }
    session_stir(self, session);
    memory_weigh(self, session);
    memory_enforce(self);
}

/* ---- taking requests ---- */

static void say_broken(struct front *self, struct session *session)
{
    char text[RESP_ERROR_BYTES + 8];

    front_count(self, FRONT_resp_broken_total);
    log_limited(&self->broken_limit, self->now_us, LOG_WARN,
                "closes the connection of RESP client %s: %s", session->peer,
                session->request.error);
    (void)snprintf(text, sizeof text, "ERR %s", session->request.error);
    session_say_last(self, session, text);
}

/* What was taken goes, and large room that is empty; what is kept moves to the front once it is the
 * smaller part, so that no byte moves often. */
static void compact(struct session *session)
{
    size_t left = session->input.size - session->taken;

    if (left == 0) {
        session->input.size = session->taken = 0;
        if (session->input.capacity > KEPT_BYTES) {
            buffer_fini(&session->input);
        }
        if (session->request.capacity > KEPT_ARGUMENTS || session->request.words.size > 0) {
            resp_request_fini(&session->request);
            resp_request_init(&session->request);
        }
    } else if (session->taken >= left) {
        memmove(session->input.data, session->input.data + session->taken, left);
        session->input.size = left;
        session->taken = 0;
    }
}

/* Answers that wait to be read, and those that earlier commands will have. */
static bool has_room(const struct front *self, const struct session *session)
{
    size_t unsent = self->streams.unsent(self->streams.context, session->stream);

    size_t most = session->stranger ? FRONT_STRANGER_UNREAD : self->config.max_unread / 2;

    return unsent + session->out.size + session->owed <= most;
}

/* Where the next one is: what EXEC has let go comes before what has come since, and both stay where
 * they are. */
struct source {
    const struct buffer *bytes;
    size_t *taken;
};

static struct source next_source(struct session *session)
{
    return session->executes
               ? (struct source){.bytes = &session->queued, .taken = &session->executed}
               : (struct source){.bytes = &session->input, .taken = &session->taken};
}

static bool may_take(const struct session *session)
{
    return !session->closing && !session->stalled && session->slowed_until_us == 0 &&
           session->ncalls < FRONT_MAX_CALLS &&
           (session->executes || session->taken < session->input.size);
}

/* All that was queued has been carried out. */
static void end_transaction(struct front *self, struct session *session)
{
    session_forget_queue(session);
    if (session->killed) {
        session_close(self, session);
    }
}

/* False: no further one can be taken now. */
static bool take(struct front *self, struct session *session)
{
    const struct source source = next_source(session);
    struct span input = span_of(source.bytes->data + *source.taken,
                                source.bytes->size - *source.taken);

    session_recheck(self, session);
    switch (resp_request_read(&session->request, session->stranger ? &strangers_limits : &limits,
                              input)) {
    case RESP_MORE:
        return false;
    case RESP_BROKEN:
        say_broken(self, session);
        return false;
    case RESP_NOMEM:
        session_close(self, session);
        return false;
    case RESP_REQUEST:
        session_await(self, session, false);
        break;
    }
    *source.taken += session->request.size;
    if (session->request.count > 0 && command_take(self, session, session->request.arguments,
                                                   session->request.count) == TAKEN_WAIT) {
        *source.taken -= session->request.size; /* It is read again then. */
        session->stalled = true;
        return false;
    }
    if (session->executes && session->executed == session->queued.size) {
        end_transaction(self, session);
    }
    return true;
}

/* ---- sending answers ---- */

static void send(struct front *self, struct session *session)
{
    if (session->out.size == 0 || session->closed || session->cut) {
        return;
    }
    self->streams.send(self->streams.context, session->stream, buffer_span(&session->out));
    if (session->out.capacity > KEPT_BYTES) {
        buffer_fini(&session->out);
    }
    buffer_clear(&session->out);
}

/* It waits for its turn, and has sent enough for that. */
static bool is_ahead(const struct session *session)
{
    return fair_queue_waits(&session->turn) &&
           session->input.size - session->taken >= FRONT_AHEAD_BYTES;
}

/* Nothing is read from who does not read, or has much to be answered. */
static void pause_or_go_on(struct front *self, struct session *session)
{
    bool pause = session->closing || self->draining || session->stalled ||
                 session->slowed_until_us != 0 || session->ncalls >= FRONT_MAX_CALLS ||
                 is_ahead(session) || !has_room(self, session);

    if (pause != session->paused) {
        session->paused = pause;
        self->streams.read(self->streams.context, session->stream, !pause);
    }
}

static void close_if_ready(struct front *self, struct session *session)
{
    if (session->closed || !session->closing || (session->first != NULL && !session->cut)) {
        return;
    }
    session->closed = true;
    session->closed_us = self->now_us;
    self->nclosed++;
    /* A close lets what was sent leave first; nobody would wait for that here. */
    if (session->cut) {
        session_drop(self, session);
    } else {
        self->streams.close(self->streams.context, session->stream);
    }
}

/* Of what was read there is nothing left that could be taken, now or later. */
static bool is_exhausted(const struct session *session, bool full)
{
    return !full && !session->stalled && session->ncalls < FRONT_MAX_CALLS;
}

/* False: no memory. */
static bool await_turn(struct front *self, struct session *session)
{
    return fair_queue_waits(&session->turn) ||
           fair_queue_push(&self->turns, session->user, &session->turn, 0) == STATUS_OK;
}

/* Commands of whoever has the turn, until they have cost `most`; what they did. */
static uint64_t take_some(struct front *self, struct session *session, uint64_t most, bool *full)
{
    const uint32_t user = session->user;
    uint64_t cost = 0;

    while (may_take(session) && !*full && cost < most && session->user == user) {
        *full = !has_room(self, session);
        if (*full || !take(self, session)) {
            break;
        }
        cost += session->request.size + FRONT_COMMAND_COST +
                (uint64_t)session->request.count * FRONT_ARGUMENT_COST;
    }
    return cost;
}

/* Take commands that cost `most`, and one more than that; send what is answered. What follows a
 * login is the turn of who has logged in. */
static uint64_t run(struct front *self, struct session *session, uint64_t most)
{
    const uint32_t user = session->user;
    bool full = false;
    bool waits;
    uint64_t cost;

    /* What it waited for may have been answered. */
    session->stalled = false;
    cost = take_some(self, session, most, &full);
    waits = (cost >= most || session->user != user) && !full && may_take(session);
    if (waits && !await_turn(self, session)) {
        session_stir(self, session);
    }
    full = full || waits;
    session->closing = session->closing || (self->draining && is_exhausted(session, full));
    compact(session);
    send(self, session);
    if (!session->closed &&
        self->streams.unsent(self->streams.context, session->stream) > self->config.max_unread) {
        front_count(self, FRONT_resp_unread_total);
        session_cut(self, session);
    }
    if (full && !waits && has_room(self, session)) {
        session_stir(self, session); /* All has left at once. */
    }
    pause_or_go_on(self, session);
    close_if_ready(self, session);
    session_await(self, session,
                  session->input.size > 0 && !session->paused && is_exhausted(session, full));
    memory_weigh(self, session);
    return cost;
}

/* Once there are users, commands are taken in turns of these. */
static bool queue_for_turn(struct front *self, struct session *session)
{
    session->stalled = false;
    return self->users.count > 0 && may_take(session) && await_turn(self, session);
}

static void run_due(struct front *self)
{
    struct session *session;

    while ((session = TAILQ_FIRST(&self->due)) != NULL) {
        /* Before it runs, as what it does may stir it again. */
        TAILQ_REMOVE(&self->due, session, due_entry);
        session->due = false;
        (void)run(self, session, queue_for_turn(self, session) ? 0 : UINT64_MAX);
        memory_enforce(self);
    }
}

/* Only so much in a turn of the loop: who sends a little meanwhile does not wait for the rest. */
static void run_turns(struct front *self)
{
    struct fair_entry *next;

    while (self->turns_cost < FRONT_TURNS_COST && (next = fair_queue_pop(&self->turns)) != NULL) {
        struct session *session = (struct session *)(void *)((char *)next -
                                                             offsetof(struct session, turn));
        uint32_t user = session->user; /* Whose turn it is; it may be another one's afterwards. */
        uint64_t cost = run(self, session, FRONT_TURN_COST);

        fair_queue_charge(&self->turns, user, cost);
        self->turns_cost += cost;
        memory_enforce(self);
    }
}

void sessions_run(struct front *self)
{
    run_due(self);
    run_turns(self);
}

static bool is_idle(const struct front *self, const struct session *session)
{
    return self->config.idle_us > 0 && session->first == NULL && session->look == NULL &&
           !session_subscribes(session) && !session->closing &&
           self->now_us - session->active_us >= self->config.idle_us;
}

static bool is_overdue(const struct front *self, const struct session *session)
{
    return session->stranger && !session->closing &&
           self->now_us - session->stranger_since_us >= self->config.auth_us;
}

static bool is_unfinished(const struct front *self, const struct session *session)
{
    return self->config.request_us > 0 && session->begun_us != 0 &&
           self->now_us - session->begun_us >= self->config.request_us;
}

/* Who does not read its last answers is not waited for any longer than for an answer. */
void sessions_tick(struct front *self)
{
    struct session *session;

    if (self->now_us < self->next_sweep_us ||
        (self->config.idle_us == 0 && self->nclosed == 0 && self->nstrangers == 0 &&
         self->nbegun == 0 && !memory_is_loose(self))) {
        return;
    }
    self->next_sweep_us = self->now_us + SWEEP_US;
    memory_settle(self);
    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        if (is_overdue(self, session)) {
            front_count(self, FRONT_resp_strangers_total);
            session_close(self, session);
        } else if (is_unfinished(self, session)) {
            front_count(self, FRONT_resp_unfinished_total);
            session_give_up(self, session,
                            "ERR the request was not complete within resp_request_timeout; "
                            "connection closed");
        } else if (is_idle(self, session)) {
            front_count(self, FRONT_resp_idle_total);
            session_close(self, session);
        } else if (session->closed && !session->dropped &&
                   self->now_us - session->closed_us >= self->config.timeout_us) {
            session_drop(self, session);
        }
    }
}
