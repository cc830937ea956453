/* Questions to a coordinator, whichever is connected, and to the router itself. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <stdio.h>
#include <string.h>

static void destroy(struct front *self, struct question *question)
{
    TAILQ_REMOVE(&self->questions, question, entry);
    self->nquestions--;
    buffer_fini(&question->bytes);
    heap_free(question);
}

static struct question *make(struct front *self, struct frame *frame)
{
    struct question *question = heap_zalloc(1, sizeof *question);

    if (question == NULL) {
        return NULL;
    }
    frame->correlation = ++self->number << FRONT_SLOT_BITS;
    question->number = frame->correlation;
    buffer_init(&question->bytes, CODEC_MAX_FRAME_BYTES);
    TAILQ_INSERT_TAIL(&self->questions, question, entry);
    self->nquestions++;
    if (codec_encode(frame, &question->bytes) != STATUS_OK) {
        destroy(self, question);
        return NULL;
    }
    return question;
}

/* NULL: done() was called. */
static struct question *begin(struct front *self, struct frame *frame, enum frame_kind wanted,
                              uint64_t deadline_us, question_done done, void *owner)
{
    struct question *question;

    if (self->nquestions >= FRONT_MAX_QUESTIONS) {
        done(self, owner, NULL, STATUS_OVERLOADED, "the router has too many questions under way");
        return NULL;
    }
    question = make(self, frame);
    if (question == NULL) {
        done(self, owner, NULL, STATUS_NOMEM, "the router is out of memory");
        return NULL;
    }
    question->wanted = wanted;
    question->done = done;
    question->owner = owner;
    question->deadline_us = deadline_us;
    return question;
}

static void send(struct front *self, struct question *question)
{
    question->sent = link_ring_send(&self->coordinators, &self->outer,
                                    buffer_span(&question->bytes));
}

void question_ask(struct front *self, struct frame *frame, uint64_t deadline_us, question_done done,
                  void *owner)
{
    uint64_t left_us = deadline_us > self->now_us ? deadline_us - self->now_us : 0;
    struct question *question;

    /* So that it can still say here what it waits for. */
    frame->body.admin_request.timeout_ms = (uint32_t)((left_us - left_us / 8) / 1000) + 1;
    question = begin(self, frame, FRAME_ADMIN_REPLY, deadline_us, done, owner);
    if (question != NULL) {
        send(self, question);
    }
}

/* It may answer before this returns. */
static void ask_router(struct front *self, struct frame *frame, enum frame_kind wanted,
                       uint64_t deadline_us, question_done done, void *owner)
{
    struct question *question = begin(self, frame, wanted, deadline_us, done, owner);

    if (question != NULL) {
        buffer_clear(&self->frame);
        question->sent = true;
        if (buffer_append(&self->frame, buffer_span(&question->bytes)) == STATUS_OK) {
            self->router.on_request(self->router.self, self->now_us, &(struct peer){0},
                                    buffer_span(&self->frame));
        }
    }
}

/* The owner may ask anew, so it goes first. */
static void finish(struct front *self, struct question *question, const struct frame *frame,
                   enum status status, const char *reason)
{
    question_done done = question->done;
    void *owner = question->owner;

    destroy(self, question);
    done(self, owner, frame, status, reason);
}

bool questions_on_frame(struct front *self, const struct frame *frame)
{
    struct question *question;

    TAILQ_FOREACH(question, &self->questions, entry)
    {
        if (question->number != frame->correlation) {
            continue;
        }
        if (frame->kind == question->wanted) {
            finish(self, question, frame, STATUS_OK, "");
        } else if (frame->kind == FRAME_ERROR) {
            finish(self, question, NULL, frame->body.error.status, frame->body.error.message);
        } else {
            finish(self, question, NULL, STATUS_INTERNAL, "an answer of another kind");
        }
        return true;
    }
    return false;
}

static const char *why_late(const struct question *question)
{
    if (question->wanted != FRAME_ADMIN_REPLY) {
        return "the router does not answer in time";
    }
    return question->sent ? "no coordinator answers in time; is it running?"
                          : "no coordinator can be reached; is one running, and is that what the "
                            "router's `coordinators` option says?";
}

void questions_tick(struct front *self)
{
    struct question *question = TAILQ_FIRST(&self->questions);

    while (question != NULL) {
        struct question *next = TAILQ_NEXT(question, entry);

        if (self->now_us >= question->deadline_us) {
            finish(self, question, NULL, STATUS_UNAVAILABLE, why_late(question));
        } else if (!question->sent) {
            send(self, question);
        }
        question = next;
    }
}

void questions_fini(struct front *self)
{
    while (!TAILQ_EMPTY(&self->questions)) {
        finish(self, TAILQ_FIRST(&self->questions), NULL, STATUS_UNAVAILABLE, "the router stops");
    }
}

/* ---- for one command ---- */

static void answer_call(struct front *self, void *owner, const struct frame *frame,
                        enum status status, const char *reason)
{
    struct call *call = owner;

    if (frame == NULL) {
        call_fail_status(self, call, status, reason);
    } else {
        call->answer(self, call, frame);
    }
}

void question_for_call(struct front *self, struct session *session, struct frame *frame,
                       const char *name, bool of_router,
                       void (*answer)(struct front *, struct call *, const struct frame *),
                       uint64_t detail)
{
    uint64_t deadline_us = self->now_us + self->config.timeout_us;
    struct call *call = call_begin(self, session);

    if (call == NULL) {
        return;
    }
    call->answer = answer;
    call->detail = detail;
    call->text = heap_strdup(name);
    if (call->text == NULL) {
        call_fail_status(self, call, STATUS_NOMEM, "the router is out of memory");
    } else if (of_router) {
        ask_router(self, frame,
                   frame->kind == FRAME_INFO_REQUEST ? FRAME_INFO_REPLY : FRAME_STATS_REPLY,
                   deadline_us, answer_call, call);
    } else {
        question_ask(self, frame, deadline_us, answer_call, call);
    }
}
