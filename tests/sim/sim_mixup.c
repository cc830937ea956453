/* Keeps answers to pulls, and hands one of them out for a question that it does not fit. */
#include "tests/sim/sim_mixup.h"

#include "tests/sim/sim.h"

#include <stdlib.h>

enum { TRIES = 48, CHOOSY_TRIES = 40 /* which look for the same kind and place */ };

/* What an answer is about. */
struct topic {
    enum pull_kind kind;
    struct pull_scope scope;
    struct member source;
    uint64_t from;
};

void sim_mixup_fini(struct sim_mixup *self)
{
    for (size_t i = 0; i < SIM_MIXUP_KEPT; i++) {
        buffer_fini(&self->kept[i]);
    }
    buffer_fini(&self->out);
}

static void fresh(struct buffer *buffer)
{
    if (buffer->max == 0) {
        buffer_init(buffer, CODEC_MAX_FRAME_BYTES);
    }
    buffer_clear(buffer);
}

static void keep(struct sim_mixup *self, struct span frame)
{
    struct buffer *one = &self->kept[self->count % SIM_MIXUP_KEPT];

    fresh(one);
    if (buffer_append(one, frame) != STATUS_OK) {
        abort();
    }
    self->count++;
}

static struct topic topic_of(const struct pull_reply *reply)
{
    return (struct topic){
        .kind = reply->kind, .scope = reply->scope, .source = reply->source, .from = reply->from};
}

static bool same(const struct topic *a, const struct topic *b)
{
    return a->kind == b->kind && a->from == b->from && a->scope.filter_id == b->scope.filter_id &&
           a->scope.epoch == b->scope.epoch && a->scope.group == b->scope.group &&
           a->source.node == b->source.node && a->source.incarnation == b->source.incarnation;
}

/* An answer with something in it; false: it is none. */
static bool open_answer(struct sim *sim, struct span bytes, struct frame *frame)
{
    return codec_decode(sim->show.arena, bytes, frame) == STATUS_OK &&
           frame->kind == FRAME_PULL_REPLY && frame->body.pull_reply.status == STATUS_OK;
}

bool sim_mixup_replace(struct sim *sim, struct span *frame, bool strike)
{
    struct sim_mixup *self = &sim->network.mixup;
    uint64_t kept = self->count < SIM_MIXUP_KEPT ? self->count : SIM_MIXUP_KEPT;
    struct frame answer;
    struct topic asked;
    uint64_t correlation;
    bool replaced = false;

    keep(self, *frame);
    if (!strike || !open_answer(sim, *frame, &answer)) {
        return false;
    }
    correlation = answer.correlation;
    asked = topic_of(&answer.body.pull_reply);
    for (uint32_t i = 0; i < TRIES && kept > 0 && !replaced; i++) {
        uint64_t at = sim_random_below(&sim->network_random, kept);

        if (open_answer(sim, buffer_span(&self->kept[at]), &answer)) {
            struct topic told = topic_of(&answer.body.pull_reply);

            bool alike = asked.kind == told.kind && asked.from == told.from;

            replaced = !same(&asked, &told) && (alike || i >= CHOOSY_TRIES);
        }
    }
    if (replaced) {
        answer.correlation = correlation;
        fresh(&self->out);
        if (codec_encode(&answer, &self->out) != STATUS_OK) {
            abort();
        }
        *frame = buffer_span(&self->out);
    }
    return replaced;
}
