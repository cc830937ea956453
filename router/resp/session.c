/* A connection as it stands: whether it goes on, and its commands' answers, which leave in the
 * order of commands: what is ready earlier waits here. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <assert.h>
#include <stdio.h>

enum {
    REPLY_BYTES = 64 << 20,
    FREE_WRONG = 1,  /* a slip of the finger */
    MOST_WRONG = 10, /* then it is closed */
    FIRST_WAIT_US = 100000,
    MOST_DOUBLINGS = 4,
};

/* ---- whether it goes on ---- */

void session_stir(struct front *self, struct session *session)
{
    if (!session->due) {
        session->due = true;
        TAILQ_INSERT_TAIL(&self->due, session, due_entry);
    }
}

void session_close(struct front *self, struct session *session)
{
    session->closing = true;
    session_stir(self, session);
}

void session_cut(struct front *self, struct session *session)
{
    session->cut = true;
    session_close(self, session);
}

void session_welcome(struct front *self, struct session *session)
{
    self->nstrangers -= session->stranger;
    session->stranger = false;
}

void session_estrange(struct front *self, struct session *session)
{
    if (!session->stranger) {
        session->stranger_since_us = self->now_us;
        session->stranger = true;
        self->nstrangers++;
    }
}

static void let_go_on(struct front *self, struct session *session)
{
    TAILQ_REMOVE(&self->slowed, session, slowed_entry);
    session->slowed_until_us = 0;
    session_stir(self, session);
}

/* Only this connection waits: others, and the loop, go on. */
void session_slow_down(struct front *self, struct session *session)
{
    uint32_t wrong = ++session->wrong_passwords;
    uint32_t doublings = wrong - FREE_WRONG - 1;

    if (wrong <= FREE_WRONG || session->closing) {
        return;
    }
    if (wrong >= MOST_WRONG) {
        front_count(self, FRONT_resp_guessers_total);
        session_close(self, session);
        return;
    }
    doublings = doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS;
    assert(session->slowed_until_us == 0);
    session->slowed_until_us = self->now_us + ((uint64_t)FIRST_WAIT_US << doublings);
    TAILQ_INSERT_TAIL(&self->slowed, session, slowed_entry);
}

void sessions_let_go_on(struct front *self)
{
    struct session *session = TAILQ_FIRST(&self->slowed);

    while (session != NULL) {
        struct session *next = TAILQ_NEXT(session, slowed_entry);

        if (self->now_us >= session->slowed_until_us) {
            let_go_on(self, session);
        }
        session = next;
    }
}

/* The rest of a request is awaited, or nothing that was begun is. */
void session_await(struct front *self, struct session *session, bool awaited)
{
    self->nbegun += awaited;
    self->nbegun -= session->begun_us != 0;
    session->begun_us = !awaited ? 0 : session->begun_us != 0 ? session->begun_us : self->now_us;
}

/* ---- answers in their turn ---- */

struct call *call_begin(struct front *self, struct session *session)
{
    struct call *call = heap_zalloc(1, sizeof *call);

    if (call == NULL) {
        /* Answers go by their order: one that is missing would shift all that follow. */
        session_close(self, session);
        return NULL;
    }
    call->session = session;
    call->user = session->user;
    buffer_init(&call->reply, REPLY_BYTES);
    if (session->last != NULL) {
        session->last->next = call;
    } else {
        session->first = call;
    }
    session->last = call;
    session->ncalls++;
    return call;
}

void call_expect(struct call *call, size_t size)
{
    size_t owed = size < REPLY_BYTES ? size : REPLY_BYTES;

    if (call->session != NULL) {
        call->session->owed += owed - call->owed;
    }
    call->owed = (uint32_t)owed;
}

/* The first one writes where the connection's answers are, the others into their own. */
struct resp_writer call_writer(struct call *call)
{
    struct session *session = call->session;
    bool first = session != NULL && session->first == call;

    return (struct resp_writer){
        .out = first ? &session->out : &call->reply,
        .resp3 = session != NULL && session->resp3,
    };
}

static void destroy(struct call *call)
{
    slowlog_forget(call->slow);
    buffer_fini(&call->reply);
    heap_free(call->text);
    heap_free(call);
}

/* The first one has been answered: what was ready before its turn goes out. */
static void leave(struct front *self, struct session *session)
{
    struct call *first = session->first;

    if (first->reply.size > 0 &&
        buffer_append(&session->out, buffer_span(&first->reply)) != STATUS_OK) {
        session_cut(self, session);
    }
    assert(session->ncalls > 0 && session->owed >= first->owed);
    session->first = first->next;
    session->last = session->first != NULL ? session->last : NULL;
    session->ncalls--;
    session->owed -= first->owed;
    destroy(first);
}

void call_end(struct front *self, struct call *call, const struct resp_writer *writer)
{
    struct session *session = call->session;

    assert(!call->done);
    call->done = true;
    if (slowlog_wants(self, call)) {
        slowlog_end(self, call);
    }
    /* No more is owed than what is written. */
    call_expect(call, call->reply.size);
    if (session == NULL) {
        destroy(call);
        return;
    }
    if (writer->failed) {
        session_cut(self, session);
    }
    while (session->first != NULL && session->first->done) {
        leave(self, session);
    }
    session_stir(self, session);
}

struct call *call_now(struct front *self, struct session *session, struct resp_writer *writer)
{
    struct call *call = call_begin(self, session);

    if (call != NULL) {
        *writer = call_writer(call);
    }
    return call;
}

void call_fail(struct front *self, struct call *call, const char *text)
{
    struct resp_writer writer = call_writer(call);

    front_count(self, FRONT_resp_errors_total);
    resp_error(&writer, text);
    call_end(self, call, &writer);
}

void call_fail_status(struct front *self, struct call *call, enum status status,
                      const char *message)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "%s%s %s", status == STATUS_INVALID ? "ERR " : "",
                   front_code(call->user, status), message);
    call_fail(self, call, text);
}

void calls_orphan(struct session *session)
{
    struct call *call = session->first;

    while (call != NULL) {
        struct call *next = call->next;

        call->session = NULL;
        call->next = NULL;
        if (call->done) {
            destroy(call);
        }
        call = next;
    }
    session->first = session->last = NULL;
    session->ncalls = 0;
    session->owed = 0;
}

/* ---- letting go ---- */

/* What was queued, and that it was. */
void session_forget_queue(struct session *session)
{
    session->multi = false;
    session->multi_broken = false;
    session->nqueued = 0;
    session->executes = false;
    session->executed = 0;
    buffer_fini(&session->queued); /* It may be large. */
}

/* A FEED waits for it no more. */
void session_forget_look(struct session *session)
{
    struct feed_look *look = session->look;

    session->look = NULL;
    if (look != NULL && look->done) {
        heap_free(look);
    } else if (look != NULL) {
        look->session = NULL;
    }
}

static void forget_input(struct session *session)
{
    buffer_fini(&session->input);
    session->taken = 0;
    resp_request_fini(&session->request);
    resp_request_init(&session->request);
    session_forget_queue(session);
    session_forget_look(session);
}

void session_drop(struct front *self, struct session *session)
{
    assert(!session->dropped);
    session->dropped = true;
    self->streams.drop(self->streams.context, session->stream);
}

/* Nothing that waits for it is of any use to it. */
static void drop_now(struct front *self, struct session *session)
{
    buffer_fini(&session->out);
    session->cut = session->closing = true;
    if (!session->closed) {
        session->closed = true;
        session->closed_us = self->now_us;
        self->nclosed++;
    }
    if (!session->dropped) {
        session_drop(self, session);
    }
}

/* In its turn, behind all answers; then the end. */
void session_say_last(struct front *self, struct session *session, const char *text)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_error(&writer, text);
        call_end(self, call, &writer);
    }
    session_close(self, session);
}

void session_give_up(struct front *self, struct session *session, const char *text)
{
    bool reads = self->streams.unsent(self->streams.context, session->stream) == 0;

    forget_input(session);
    session_await(self, session, false);
    /* Who does not read would not read a last word either. */
    if (session->closing || session->given_up || !reads) {
        drop_now(self, session);
    } else {
        session->given_up = true;
        session_say_last(self, session, text);
    }
}
