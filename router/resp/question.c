/* Questions to a coordinator, whichever is connected, and to the router itself. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <stdio.h>
#include <string.h>

static void destroy(struct front *self, struct question *question)
{
    TAILQ_REMOVE(&self->questions, question, entry);
    buffer_fini(&question->bytes);
    heap_free(question);
}

static struct question *begin(struct front *self, struct frame *frame, question_done done,
                              void *owner)
{
    struct question *question = heap_zalloc(1, sizeof *question);

    if (question == NULL) {
        done(self, owner, NULL, "the router is out of memory");
        return NULL;
    }
    frame->correlation = ++self->number;
    question->number = frame->correlation;
    question->done = done;
    question->owner = owner;
    question->deadline_us = self->now_us + self->config.timeout_us;
    buffer_init(&question->bytes, CODEC_MAX_FRAME_BYTES);
    TAILQ_INSERT_TAIL(&self->questions, question, entry);
    if (codec_encode(frame, &question->bytes) != STATUS_OK) {
        destroy(self, question);
        done(self, owner, NULL, "the router is out of memory");
        return NULL;
    }
    return question;
}

static void send(struct front *self, struct question *question)
{
    question->sent = link_ring_send(&self->coordinators, &self->outer,
                                    buffer_span(&question->bytes));
}

void question_ask(struct front *self, struct frame *frame, question_done done, void *owner)
{
    struct question *question;

    frame->body.admin_request.timeout_ms = (uint32_t)(self->config.timeout_us / 1000);
    question = begin(self, frame, done, owner);
    if (question != NULL) {
        send(self, question);
    }
}

void question_ask_router(struct front *self, struct frame *frame, question_done done, void *owner)
{
    struct question *question = begin(self, frame, done, owner);

    if (question != NULL) {
        buffer_clear(&self->frame);
        question->sent = true;
        if (buffer_append(&self->frame, buffer_span(&question->bytes)) == STATUS_OK) {
            self->router.on_request(self->router.self, self->now_us, &(struct peer){0},
                                    buffer_span(&self->frame));
        }
    }
}

void questions_on_frame(struct front *self, const struct frame *frame)
{
    struct question *question;

    TAILQ_FOREACH(question, &self->questions, entry)
    {
        if (question->number == frame->correlation) {
            question_done done = question->done;
            void *owner = question->owner;

            destroy(self, question);
            done(self, owner, frame, "");
            return;
        }
    }
}

void questions_tick(struct front *self)
{
    struct question *question = TAILQ_FIRST(&self->questions);

    while (question != NULL) {
        struct question *next = TAILQ_NEXT(question, entry);

        if (self->now_us >= question->deadline_us) {
            question_done done = question->done;
            void *owner = question->owner;
            bool sent = question->sent;

            destroy(self, question);
            done(self, owner, NULL,
                 sent ? "no coordinator answers in time; is it running?"
                      : "no coordinator can be reached; is one running, and is that what the "
                        "router's `coordinators` option says?");
        } else if (!question->sent) {
            send(self, question);
        }
        question = next;
    }
}

void questions_fini(struct front *self)
{
    while (!TAILQ_EMPTY(&self->questions)) {
        struct question *question = TAILQ_FIRST(&self->questions);
        question_done done = question->done;
        void *owner = question->owner;

        destroy(self, question);
        done(self, owner, NULL, "the router stops");
    }
}

/* ---- for one command ---- */

static void answer_call(struct front *self, void *owner, const struct frame *frame,
                        const char *reason)
{
    struct call *call = owner;

    if (frame == NULL) {
        call_fail_status(self, call, STATUS_UNAVAILABLE, reason);
    } else if (frame->kind == FRAME_ERROR) {
        call_fail_status(self, call, frame->body.error.status, frame->body.error.message);
    } else {
        call->answer(self, call, frame);
    }
}

void question_for_call(struct front *self, struct session *session, struct frame *frame,
                       const char *name, bool of_router,
                       void (*answer)(struct front *, struct call *, const struct frame *),
                       uint64_t detail)
{
    struct call *call = call_begin(self, session);

    if (call == NULL) {
        return;
    }
    call->answer = answer;
    call->detail = detail;
    (void)snprintf(call->name, sizeof call->name, "%s", name);
    if (of_router) {
        question_ask_router(self, frame, answer_call, call);
    } else {
        question_ask(self, frame, answer_call, call);
    }
}
