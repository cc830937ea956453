/* Answers that wait for the log: among them first come, first out, as the log only moves on. What
 * needs not wait goes past them. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/private.h"

#include <assert.h>

enum { MAX_HELD_BYTES = 256 << 20 };

static bool reached(const struct node *self, const struct held_reply *held)
{
    return storage_written(self->storage) >= held->written &&
           storage_synced(self->storage) >= held->synced;
}

static void send(struct node *self, const struct held_reply *held)
{
    if (self->effects.reply(self->effects.context, &held->to, span_of(held->bytes, held->size)) !=
        STATUS_OK) {
        node_count(self, NODE_replies_dropped_total);
    }
}

static void forget_first(struct node *self)
{
    struct held_reply *first = self->held;

    assert(self->held_bytes >= first->size);
    self->held = first->next;
    if (self->held == NULL) {
        self->held_tail = &self->held;
    }
    self->held_bytes -= first->size;
    heap_free(first);
}

void node_release_held(struct node *self)
{
    while (self->held != NULL && !self->life.failed && reached(self, self->held)) {
        send(self, self->held);
        forget_first(self);
    }
}

void node_drop_held(struct node *self)
{
    while (self->held != NULL) {
        forget_first(self);
    }
}

void node_reply_frame(struct node *self, const struct peer *to, const struct frame *frame)
{
    struct span bytes;

    if (codec_encode_out(frame, &self->effects, &self->out, &bytes) != STATUS_OK ||
        self->effects.reply(self->effects.context, to, bytes) != STATUS_OK) {
        node_count(self, NODE_replies_dropped_total);
    }
}

static bool is_reached(const struct node *self, struct log_need need)
{
    return MUTANT(ANSWER_BEFORE_SYNC) || self->storage == NULL ||
           (storage_written(self->storage) >= need.written &&
            storage_synced(self->storage) >= need.synced);
}

void node_reply_when(struct node *self, const struct peer *to, const struct frame *frame,
                     struct log_need need)
{
    struct held_reply *held;

    if (is_reached(self, need)) {
        node_reply_frame(self, to, frame);
        return;
    }
    buffer_clear(&self->out);
    held = NULL;
    if (codec_encode(frame, &self->out) == STATUS_OK &&
        self->held_bytes + self->out.size <= MAX_HELD_BYTES) {
        held = heap_alloc(1, sizeof *held + self->out.size);
    }
    if (held == NULL) { /* Executed and not answered: the router asks again. */
        node_count(self, NODE_replies_dropped_total);
        return;
    }
    *held = (struct held_reply){
        .to = *to, .written = need.written, .synced = need.synced, .size = self->out.size};
    memcpy(held->bytes, self->out.data, self->out.size);
    *self->held_tail = held;
    self->held_tail = &held->next;
    self->held_bytes += held->size;
    node_count(self, NODE_held_total);
}
