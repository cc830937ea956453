/* Operations that wait for other sites, of either topic: an answer of a link lets them go on. */
#include "router/site/inquiry.h"

void site_resume(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry)
{
    switch (op->operation == OPERATION_ADD ? site_acks_rule(self, now_us, op, entry)
                                           : site_bound_rule(self, now_us, op, entry)) {
    case SITE_DECIDES:
        op_evaluate(self, now_us, op, false);
        break;
    case SITE_ASKS_AGAIN:
        op_again(self, now_us, op, entry);
        break;
    case SITE_WAITS:
        break;
    }
}

bool site_holds(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry)
{
    if (op->operation == OPERATION_ADD) {
        return site_acks_hold(self, now_us, op, entry);
    }
    if (!site_bound_hold(self, op, entry)) {
        return false;
    }
    site_resume(self, now_us, op, entry);
    return true;
}

/* ---- answers ---- */

static enum status take(struct site_inquiry *inquiry, uint64_t number,
                        const struct site_age_reply *reply)
{
    struct freshness_told told[SITE_SET_MAX_LIVE];
    size_t count = reply->nsites < SITE_SET_MAX_LIVE ? reply->nsites : SITE_SET_MAX_LIVE;

    for (size_t i = 0; i < count; i++) {
        const struct site_age *site = &reply->sites[i];

        told[i] = (struct freshness_told){
            .id = site->id,
            .life = site->life,
            .mark = {.known = site->known, .after = site->after, .age_us = site->age_us}};
    }
    return freshness_answered(
        &inquiry->fresh, number,
        &(struct freshness_answer){
            .own_life = reply->own_life, .keyset = reply->keyset, .told = told, .ntold = count});
}

static void note_paused(struct site_inquiry *inquiry, const struct site_age_reply *reply)
{
    inquiry->npaused = 0;
    for (size_t i = 0; i < reply->nsites && inquiry->npaused < SITE_SET_MAX_LIVE; i++) {
        if (reply->sites[i].paused) {
            inquiry->paused[inquiry->npaused++] = reply->sites[i].id;
        }
    }
}

/* Those of another epoch begin anew with the next tick. */
static void resume_all(struct router *self, uint64_t now_us, struct document_entry *entry)
{
    uint32_t left = self->nparked;

    for (uint32_t i = 0; i < self->nops && left > 0; i++) {
        struct op *op = &self->ops[i];

        if (op->used && op->parked) {
            left--;
            if (op->filter_id == entry->document.id && op->epoch == entry->document.epoch &&
                !entry->conflict) {
                site_resume(self, now_us, op, entry);
            }
        }
    }
}

void site_waits_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    const struct site_age_reply *reply = &frame->body.site_age_reply;
    struct document_entry *entry = document_cache_find(&self->documents, reply->filter_id);
    struct site_inquiry *inquiry =
        entry != NULL ? site_inquiry_of(entry, reply->confirms ? SITE_CONFIRMS : SITE_AGES) : NULL;

    if (inquiry == NULL) {
        return;
    }
    /* What is late, or of another life, is no news. */
    if (reply->status != STATUS_OK || take(inquiry, frame->correlation, reply) == STATUS_OK) {
        inquiry->await_us = 0;
        note_paused(inquiry, reply);
        resume_all(self, now_us, entry);
    }
}
