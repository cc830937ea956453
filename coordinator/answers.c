/* What goes out: replies, answers to operators, at once or when the change that they wait for has
 * ended, and hints to those who follow the documents. */
#include "proto/answers.h"

#include "coordinator/ask/expansion_view.h"
#include "coordinator/private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void coordinator_reply(struct coordinator *self, const struct peer *to, const struct frame *frame)
{
    enum status status;

    buffer_clear(&self->out);
    status = codec_encode(frame, &self->out);
    if (status == STATUS_TOO_LARGE && frame->kind == FRAME_ADMIN_REPLY) {
        coordinator_answer(self, to, frame->correlation, status, false,
                           "there is more to tell of so many filters than one answer takes; ask "
                           "for one of them: `orbloom info NAME`");
        return;
    }
    if (status != STATUS_OK ||
        self->effects.reply(self->effects.context, to, buffer_span(&self->out)) != STATUS_OK) {
        coordinator_count(self, COORDINATOR_replies_dropped_total);
    }
    if (frame->kind == FRAME_ADMIN_REPLY) {
        audit_end(&self->audit, self->now_us, &frame->body.admin_reply);
    }
}

enum status coordinator_refuse(char message[COORDINATOR_MESSAGE_BYTES], enum status status,
                               const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(message, COORDINATOR_MESSAGE_BYTES, format, arguments);
    va_end(arguments);
    return status;
}

void coordinator_answer(struct coordinator *self, const struct peer *to, uint64_t correlation,
                        enum status status, bool created, const char *message)
{
    struct frame answer = {
        .correlation = correlation,
        .kind = FRAME_ADMIN_REPLY,
        .body.admin_reply = {.status = status,
                             .created = created,
                             .moved = status == STATUS_CONFLICT && self->order.moved,
                             .message = message},
    };

    coordinator_reply(self, to, &answer);
}

void coordinator_hint(struct coordinator *self, uint64_t now_us)
{
    struct frame frame = {.kind = FRAME_HINT, .body.hint = {.change = self->change}};

    self->hinted = self->change;
    for (size_t i = 0; i < COORDINATOR_MAX_PEERS; i++) {
        const struct follower *one = &self->followers[i];

        if (one->peer.size > 0 && (coordinator_lately(self, now_us, one->last_us) ||
                                   coordinator_follows_router(self, one, now_us))) {
            coordinator_count(self, COORDINATOR_hints_total);
            coordinator_reply(self, &one->peer, &frame);
        }
    }
}

/* ---- operators who wait ---- */

void waiters_add(struct coordinator *self, const struct waiter *waiter)
{
    assert(document_cache_find(&self->documents, waiter->filter_id) != NULL);
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        if (!self->waiters[i].used) {
            self->waiters[i] = *waiter;
            self->waiters[i].used = true;
            self->waiters[i].audit = audit_suspend(&self->audit, waiter->filter_id);
            return;
        }
    }
    coordinator_answer(self, &waiter->peer, waiter->correlation, STATUS_OVERLOADED, waiter->created,
                       waiter->kind == WAITER_EXPAND
                           ? "too many commands are waiting, and nothing was changed; retry"
                           : "too many commands are waiting; the change goes on, retry to see its "
                             "end");
    /* It has got no place, so nothing else will ever close its inquiry. */
    waiters_end(&(struct waiter){.inquiry = waiter->inquiry});
}

void waiters_await(struct coordinator *self, const struct peer *from, const struct frame *frame,
                   enum waiter_kind kind, uint64_t filter_id, bool created)
{
    waiters_add(self, &(struct waiter){
                          .peer = *from,
                          .correlation = frame->correlation,
                          .deadline_us = self->order.until_us,
                          .filter_id = filter_id,
                          .kind = kind,
                          .created = created,
                      });
}

void waiters_end(struct waiter *waiter)
{
    inquiry_close(&waiter->inquiry);
    waiter->used = false;
}

struct document_entry *waiters_entry(const struct coordinator *self, const struct waiter *waiter)
{
    struct document_entry *entry = document_cache_find(&self->documents, waiter->filter_id);

    assert(waiter->used && entry != NULL);
    return entry;
}

void waiters_finish(struct coordinator *self, struct waiter *waiter, enum status status,
                    const char *message)
{
    const struct document_entry *entry = waiters_entry(self, waiter);
    struct filter_summary filter;
    struct frame answer = {
        .correlation = waiter->correlation,
        .kind = FRAME_ADMIN_REPLY,
        .body.admin_reply = {.status = status,
                             .created = waiter->created,
                             .moved = status == STATUS_CONFLICT && self->order.moved,
                             .message = message},
    };

    if (waiter->audit != NULL) { /* Else it never waited, and the command is under way. */
        audit_resume(&self->audit, waiter->audit);
    }
    if (waiter->kind != WAITER_DROP) {
        answer_filter_summary(&entry->document, &filter);
        answer.body.admin_reply.filters = &filter;
        answer.body.admin_reply.nfilters = 1;
    }
    coordinator_reply(self, &waiter->peer, &answer);
    waiters_end(waiter);
}

/* What was begun for them goes on, or is in the store; so much is noted. */
void waiters_fini(struct coordinator *self)
{
    const struct admin_reply unanswered = {.status = STATUS_DEADLINE};

    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        struct waiter *waiter = &self->waiters[i];

        if (waiter->used) {
            audit_resume(&self->audit, waiter->audit);
            audit_end(&self->audit, self->now_us, &unanswered);
            waiters_end(waiter);
        }
    }
}

uint64_t waiters_next_us(const struct waiter *waiter)
{
    uint64_t next = waiter->used ? waiter->deadline_us : ACTOR_NEVER;

    return waiter->used && waiter->inquiry != NULL && waiter->inquiry->next_us < next
               ? waiter->inquiry->next_us
               : next;
}
