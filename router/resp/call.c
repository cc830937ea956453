/* Answers leave in the order of commands: what is ready earlier waits here. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <assert.h>
#include <stdio.h>

enum { REPLY_BYTES = 64 << 20 };

struct call *call_begin(struct front *self, struct session *session)
{
    struct call *call = heap_zalloc(1, sizeof *call);

    if (call == NULL) {
        session_close(self, session);
        return NULL;
    }
    call->session = session;
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
    buffer_fini(&call->reply);
    heap_free(call->text);
    heap_free(call);
}

static void leave(struct front *self, struct session *session)
{
    struct call *first = session->first;

    if (first->reply.size > 0 &&
        buffer_append(&session->out, buffer_span(&first->reply)) != STATUS_OK) {
        session_cut(self, session);
    }
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
                   status_code(status), message);
    call_fail(self, call, text);
}

struct call *call_now(struct front *self, struct session *session, struct resp_writer *writer)
{
    struct call *call = call_begin(self, session);

    if (call != NULL) {
        *writer = call_writer(call);
    }
    return call;
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
