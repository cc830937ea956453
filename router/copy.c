/* Ranges of copies: what single replicas have, with the place in their logs below which all of that
 * is told. One is under way at a time, the others wait in their order. */
#include "base/heap.h"
#include "router/dump.h"

#include <assert.h>
#include <string.h>

static void finish(struct router *self, const struct router_copied *copied)
{
    struct copy_job *job = &self->dumps->copy;
    struct router_copy done = job->question;

    stretch_end(&job->stretch);
    *job = (struct copy_job){0};
    done.done(done.owner, copied); /* It may ask for more at once. */
}

static void fail(struct router *self, uint64_t now_us, enum status status, const char *message)
{
    finish(self, &(struct router_copied){.status = status, .message = message, .now_us = now_us});
}

static const struct document_entry *entry_of(const struct router *self, uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(&self->documents, filter_id);

    return entry != NULL && !entry->conflict && !entry->gone ? entry : NULL;
}

/* What they have told is complete up to the lowest place; above it comes with the next range. */
static void answer(struct router *self, uint64_t now_us)
{
    struct copy_job *job = &self->dumps->copy;
    const struct document_entry *entry = entry_of(self, job->question.filter_id);
    struct router_copied copied = {
        .now_us = now_us,
        .message = "",
        .group = job->stretch.group,
        .epoch = job->epoch,
        .last = stretch_last(&job->stretch),
    };
    uint64_t *keys = heap_alloc(DUMP_MAX_KEYS, sizeof *keys);
    uint64_t behind;

    if (keys == NULL) {
        fail(self, now_us, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    if (!stretch_merge(&job->stretch, copied.last, keys, &copied.nkeys, &behind)) {
        copied.last = behind - 1;
    }
    for (uint32_t i = 0; i < job->stretch.slots; i++) {
        const struct dump_ask *one = &job->stretch.asks[i];

        if (one->state == DUMP_ASK_TOLD) {
            copied.sources[copied.nsources++] = (struct router_copy_source){
                .member = *slot_reader(
                    &entry->document.content.groups[job->stretch.group].slots[i]),
                .boot = one->boot,
                .end = one->end,
            };
        }
    }
    copied.keys = keys;
    finish(self, &copied);
    heap_free(keys);
}

static void begin(struct router *self, uint64_t now_us, const struct router_copy *question)
{
    struct copy_job *job = &self->dumps->copy;
    const struct document_entry *entry = entry_of(self, question->filter_id);

    *job = (struct copy_job){.used = true, .question = *question};
    if (entry == NULL || entry->document.content.state != FILTER_ACTIVE) {
        fail(self, now_us, STATUS_NOT_FOUND, "the filter is not known here, or is being dropped");
        return;
    }
    job->epoch = entry->document.epoch;
    job->epoch_hash = entry->document.epoch_hash;
    stretch_begin_copy(self, now_us, &job->stretch, entry, question->from, question->slots);
}

static void pump(struct router *self, uint64_t now_us)
{
    struct dumps *dumps = self->dumps;
    struct copy_job *job = &dumps->copy;

    if (job->used) {
        const struct document_entry *entry = entry_of(self, job->question.filter_id);

        if (entry == NULL || entry->document.epoch != job->epoch ||
            entry->document.epoch_hash != job->epoch_hash) {
            fail(self, now_us, STATUS_STALE, "the filter has another epoch by now");
        } else if (stretch_told(&job->stretch)) {
            answer(self, now_us);
        } else {
            stretch_pump(self, now_us, &job->stretch, entry);
        }
    }
    while (!job->used && dumps->ncopies > 0) {
        const struct router_copy next = dumps->copies[0];

        dumps->ncopies--;
        memmove(dumps->copies, dumps->copies + 1, dumps->ncopies * sizeof dumps->copies[0]);
        begin(self, now_us, &next);
    }
}

void router_copy(struct router *self, uint64_t now_us, const struct router_copy *question)
{
    struct dumps *dumps = self->dumps;

    if (dumps->ncopies == COPIES_MAX) {
        question->done(question->owner, &(struct router_copied){.status = STATUS_OVERLOADED,
                                                                .message = "too many copies wait",
                                                                .now_us = now_us});
        return;
    }
    dumps->copies[dumps->ncopies++] = *question;
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + ROUTER_TICK_US;
    }
    pump(self, now_us);
}

void copies_tick(struct router *self, uint64_t now_us)
{
    struct copy_job *job = &self->dumps->copy;

    if (job->used && now_us >= job->question.deadline_us) {
        fail(self, now_us, STATUS_DEADLINE, "no replica has told what it has in time");
    }
    pump(self, now_us);
}

bool copies_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    struct copy_job *job = &self->dumps->copy;
    const struct document_entry *entry = job->used ? entry_of(self, job->question.filter_id) : NULL;

    if (entry == NULL || !stretch_take(self, now_us, &job->stretch, entry, &frame->body.pull_reply,
                                       frame->correlation)) {
        return false;
    }
    pump(self, now_us);
    return true;
}

bool copies_use(const struct router *self, uint64_t filter_id)
{
    return self->dumps->copy.used && self->dumps->copy.question.filter_id == filter_id;
}

void copies_fini(struct router *self)
{
    struct dumps *dumps = self->dumps;
    const struct router_copied over = {.status = STATUS_UNAVAILABLE, .message = "the router stops"};

    if (dumps->copy.used) {
        finish(self, &over);
    }
    for (uint32_t i = 0; i < dumps->ncopies; i++) {
        dumps->copies[i].done(dumps->copies[i].owner, &over);
    }
    dumps->ncopies = 0;
}
