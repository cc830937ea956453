/* Questions to a coordinator, whichever is connected, and to the router itself. */
#include "base/heap.h"
#include "proto/admin_message.h"
#include "router/resp/private.h"

#include <stdio.h>
#include <string.h>

static void destroy(struct front *self, struct question *question)
{
    TAILQ_REMOVE(&self->questions, question, entry);
    self->nquestions--;
    buffer_fini(&question->bytes);
    buffer_fini(&question->change);
    heap_free(question->refusal);
    heap_free(question);
}

static enum status encode(struct front *self, struct question *question, struct frame *frame)
{
    frame->correlation = ++self->number << FRONT_SLOT_BITS;
    question->number = frame->correlation;
    buffer_clear(&question->bytes);
    return codec_encode(frame, &question->bytes);
}

static struct question *make(struct front *self, struct frame *frame)
{
    struct question *question = heap_zalloc(1, sizeof *question);

    if (question == NULL) {
        return NULL;
    }
    buffer_init(&question->bytes, CODEC_MAX_FRAME_BYTES);
    buffer_init(&question->change, CODEC_MAX_FRAME_BYTES);
    TAILQ_INSERT_TAIL(&self->questions, question, entry);
    self->nquestions++;
    if (encode(self, question, frame) != STATUS_OK) {
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

/* So that it can still say here what it waits for. */
static uint32_t left_ms(const struct front *self, uint64_t deadline_us)
{
    uint64_t left_us = deadline_us > self->now_us ? deadline_us - self->now_us : 0;

    return (uint32_t)((left_us - left_us / 8) / 1000) + 1;
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

/* ---- changes ---- */

static void look_first(struct front *self, struct question *question, const struct frame *change)
{
    struct frame look = *change;

    question->looking = true;
    look.body.admin_request = admin_look(&change->body.admin_request);
    if (codec_encode(change, &question->change) != STATUS_OK ||
        encode(self, question, &look) != STATUS_OK) {
        finish(self, question, NULL, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    send(self, question);
}

/* The change, as it is now; good until the next frame is decoded. */
static enum status open_change(struct front *self, struct question *question, struct frame *change)
{
    enum status status = codec_decode(self->arena, buffer_span(&question->change), change);

    change->body.admin_request.timeout_ms = left_ms(self, question->deadline_us);
    return status;
}

/* Ask what is next; its time is told anew. The change is the frame that is under way, too. */
static void go_on(struct front *self, struct question *question, const struct frame *change)
{
    struct frame next = *change;
    enum status status;

    if (question->looking) {
        next.body.admin_request = admin_look(&change->body.admin_request);
    }
    status = encode(self, question, &next);
    if (status == STATUS_OK && !question->looking) { /* With what was seen: what it points into. */
        buffer_clear(&question->change);
        status = buffer_append(&question->change, buffer_span(&question->bytes));
    }
    if (status != STATUS_OK) {
        finish(self, question, NULL, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    send(self, question);
}

/* False: what was meant is not there any more. */
static bool take_seen(struct question *question, struct frame *change,
                      const struct admin_seen *seen)
{
    if (!question->looked) {
        question->looked = true;
        admin_take_seen(&change->body.admin_request, seen);
        return true;
    }
    return admin_take_again(&change->body.admin_request, seen);
}

static void on_look(struct front *self, struct question *question, const struct admin_reply *reply)
{
    /* A copy, as the change is decoded to where the reply is. */
    const struct admin_seen seen = reply->seen;
    struct frame change = {0};

    if (reply->status != STATUS_OK) {
        finish(self, question, NULL, reply->status, reply->message);
        return;
    }
    if (open_change(self, question, &change) != STATUS_OK) {
        finish(self, question, NULL, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    if (!take_seen(question, &change, &seen)) {
        char refusal[FRONT_MESSAGE_BYTES];

        (void)snprintf(refusal, sizeof refusal, "%s",
                       question->refusal != NULL ? question->refusal : "");
        finish(self, question, NULL, STATUS_CONFLICT, refusal);
        return;
    }
    question->looking = false;
    go_on(self, question, &change);
}

/* What was seen is not so any more: look again. */
static void on_moved(struct front *self, struct question *question, const char *message)
{
    struct frame change = {0};

    heap_free(question->refusal);
    /* What to say if the next look finds that what was meant is gone. */
    question->refusal = heap_strdup(message);
    question->looking = true;
    if (open_change(self, question, &change) != STATUS_OK) {
        finish(self, question, NULL, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    go_on(self, question, &change);
}

static void on_admin(struct front *self, struct question *question, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;

    if (question->looking) {
        on_look(self, question, reply);
    } else if (question->change.size > 0 && reply->status == STATUS_CONFLICT && reply->moved) {
        on_moved(self, question, reply->message);
    } else {
        finish(self, question, frame, STATUS_OK, "");
    }
}

/* "" for nobody; NULL: whoever asked is none any more. */
static const char *name_of(const struct front *self, uint32_t user)
{
    const struct user *asker = user != 0 ? user_list_find_id(&self->users, user) : NULL;

    return user == 0 ? "" : asker != NULL ? asker->name : NULL;
}

void question_ask(struct front *self, uint32_t user, struct frame *frame, uint64_t deadline_us,
                  question_done done, void *owner)
{
    struct question *question;

    frame->body.admin_request.user = name_of(self, user);
    if (frame->body.admin_request.user == NULL) {
        done(self, owner, NULL, STATUS_UNAUTHENTIC, "the user has been deleted meanwhile");
        return;
    }
    frame->body.admin_request.timeout_ms = left_ms(self, deadline_us);
    question = begin(self, frame, FRAME_ADMIN_REPLY, deadline_us, done, owner);
    if (question != NULL && admin_is_change(frame->body.admin_request.action)) {
        look_first(self, question, frame);
    } else if (question != NULL) {
        send(self, question);
    }
}

/* ---- of the router ---- */

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

bool questions_on_frame(struct front *self, const struct frame *frame)
{
    struct question *question;

    TAILQ_FOREACH(question, &self->questions, entry)
    {
        if (question->number != frame->correlation) {
            continue;
        }
        if (frame->kind == question->wanted && frame->kind == FRAME_ADMIN_REPLY) {
            on_admin(self, question, frame);
        } else if (frame->kind == question->wanted) {
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

/* It could not be sent before, and a change is wanted for a shorter time by now. */
static void send_again(struct front *self, struct question *question)
{
    struct frame change = {0};

    if (question->change.size == 0) {
        send(self, question);
    } else if (open_change(self, question, &change) == STATUS_OK) {
        go_on(self, question, &change);
    }
}

void questions_tick(struct front *self)
{
    struct question *question = TAILQ_FIRST(&self->questions);

    while (question != NULL) {
        struct question *next = TAILQ_NEXT(question, entry);

        if (self->now_us >= question->deadline_us) {
            finish(self, question, NULL, STATUS_UNAVAILABLE, why_late(question));
        } else if (!question->sent) {
            send_again(self, question);
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
    uint64_t deadline_us = front_deadline_us(self);
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
        question_ask(self, call->user, frame, deadline_us, answer_call, call);
    }
}
