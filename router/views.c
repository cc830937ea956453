/* What single replicas have, for a link: ranges of copies, with the place in their logs below which
 * all of that is told; and comparisons (compare.c). One is under way at a time, the others wait in
 * their order. */
#include "base/heap.h"
#include "router/dump.h"

#include <assert.h>
#include <string.h>

static void answer_copy(struct view_job *job, const struct router_copied *copied)
{
    const struct view_question done = job->question;

    stretch_end(&job->stretch);
    *job = (struct view_job){0};
    done.copy.done(done.copy.owner, copied); /* It may ask for more at once. */
}

static void answer_comparison(struct view_job *job, enum status status, const char *message)
{
    const struct view_question done = job->question;
    struct comparison found = job->comparison;
    const struct router_compared compared = {.status = status,
                                             .message = message,
                                             .equal = status == STATUS_OK ? found.equal : NULL,
                                             .unsure = found.unsure,
                                             .boots = found.boots,
                                             .nboots = status == STATUS_OK ? found.nboots : 0};

    stretch_end(&job->stretch);
    *job = (struct view_job){0};
    done.compare.done(done.compare.owner, &compared);
    comparison_fini(&found);
}

/* One that was not begun, too. */
static void fail(struct view_job *job, uint64_t now_us, enum status status, const char *message)
{
    if (job->question.compares) {
        answer_comparison(job, status, message);
    } else {
        answer_copy(
            job, &(struct router_copied){.status = status, .message = message, .now_us = now_us});
    }
}

static uint64_t filter_of(const struct view_question *question)
{
    return question->compares ? question->compare.filter_id : question->copy.filter_id;
}

static uint64_t *deadline_of(struct view_question *question)
{
    return question->compares ? &question->compare.deadline_us : &question->copy.deadline_us;
}

static const struct document_entry *entry_of(const struct router *self,
                                             const struct view_question *question)
{
    const struct document_entry *entry = document_cache_find(&self->documents, filter_of(question));

    return entry != NULL && !entry->conflict && !entry->gone ? entry : NULL;
}

/* What they have told is complete up to the lowest place; above it comes with the next range. */
static void finish_copy(struct router *self, uint64_t now_us)
{
    struct view_job *job = &self->dumps->view;
    const struct document_entry *entry = entry_of(self, &job->question);
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
        fail(job, now_us, STATUS_NOMEM, "the router is out of memory");
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
    answer_copy(job, &copied);
    heap_free(keys);
}

static void begin(struct router *self, uint64_t now_us, const struct view_question *question)
{
    struct view_job *job = &self->dumps->view;
    const struct document_entry *entry = entry_of(self, question);
    enum status status = STATUS_OK;

    *job = (struct view_job){.used = true, .question = *question};
    *deadline_of(&job->question) += now_us - question->asked_us; /* It has not waited for nodes. */
    if (entry == NULL || entry->document.content.state != FILTER_ACTIVE) {
        fail(job, now_us, STATUS_NOT_FOUND, "the filter is not known here, or is being dropped");
        return;
    }
    job->epoch = entry->document.epoch;
    job->epoch_hash = entry->document.epoch_hash;
    if (question->compares) {
        status = comparison_begin(job, entry);
    } else if (question->copy.slots == 0) {
        stretch_begin(self, now_us, &job->stretch, entry, question->copy.from, NULL);
    } else {
        stretch_begin_copy(self, now_us, &job->stretch, entry, question->copy.from,
                           question->copy.slots);
    }
    if (status != STATUS_OK) {
        fail(job, now_us, status,
             "what is to be compared is not of this filter, or of one like it");
    }
}

static bool is_current(const struct view_job *job, const struct document_entry *entry)
{
    return entry != NULL && entry->document.epoch == job->epoch &&
           entry->document.epoch_hash == job->epoch_hash;
}

static void go_on(struct router *self, uint64_t now_us)
{
    struct view_job *job = &self->dumps->view;
    const struct document_entry *entry = entry_of(self, &job->question);

    if (!is_current(job, entry)) {
        fail(job, now_us, STATUS_STALE, "the filter has another epoch by now");
    } else if (job->question.compares) {
        if (comparison_pump(self, now_us, job, entry)) {
            answer_comparison(job, STATUS_OK, "");
        }
    } else if (stretch_told(&job->stretch)) {
        finish_copy(self, now_us);
    } else {
        stretch_pump(self, now_us, &job->stretch, entry);
    }
}

static void pump(struct router *self, uint64_t now_us)
{
    struct dumps *dumps = self->dumps;

    if (dumps->view.used) {
        go_on(self, now_us);
    }
    while (!dumps->view.used && dumps->nviews > 0) {
        const struct view_question next = dumps->views[0];

        dumps->nviews--;
        memmove(dumps->views, dumps->views + 1, dumps->nviews * sizeof dumps->views[0]);
        begin(self, now_us, &next);
        if (dumps->view.used && next.compares) {
            go_on(self, now_us);
        }
    }
}

static void ask(struct router *self, uint64_t now_us, const struct view_question *question)
{
    struct dumps *dumps = self->dumps;

    if (dumps->nviews == VIEWS_MAX) {
        struct view_job none = {.question = *question};

        fail(&none, now_us, STATUS_OVERLOADED, "too many copies and comparisons wait");
        return;
    }
    dumps->views[dumps->nviews++] = *question;
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + ROUTER_TICK_US;
    }
    pump(self, now_us);
}

void router_copy(struct router *self, uint64_t now_us, const struct router_copy *question)
{
    ask(self, now_us, &(struct view_question){.asked_us = now_us, .copy = *question});
}

void router_compare(struct router *self, uint64_t now_us, const struct router_compare *question)
{
    ask(self, now_us,
        &(struct view_question){.compares = true, .asked_us = now_us, .compare = *question});
}

/* Of a comparison what was found by then stands. */
static void end_late(struct router *self, uint64_t now_us)
{
    struct view_job *job = &self->dumps->view;
    const struct document_entry *entry = entry_of(self, &job->question);

    if (job->question.compares && is_current(job, entry)) {
        comparison_end(job, entry);
        answer_comparison(job, STATUS_OK, "");
    } else {
        fail(job, now_us, STATUS_DEADLINE, "no replica has told what it has in time");
    }
}

void views_tick(struct router *self, uint64_t now_us)
{
    struct view_job *job = &self->dumps->view;

    if (job->used && now_us >= *deadline_of(&job->question)) {
        end_late(self, now_us);
    }
    pump(self, now_us);
}

bool views_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    struct view_job *job = &self->dumps->view;
    const struct document_entry *entry = job->used ? entry_of(self, &job->question) : NULL;

    if (entry == NULL || !stretch_take(self, now_us, &job->stretch, entry, &frame->body.pull_reply,
                                       frame->correlation)) {
        return false;
    }
    pump(self, now_us);
    return true;
}

bool views_use(const struct router *self, uint64_t filter_id)
{
    return self->dumps->view.used && filter_of(&self->dumps->view.question) == filter_id;
}

void views_fini(struct router *self)
{
    struct dumps *dumps = self->dumps;
    static const char over[] = "the router stops";

    if (dumps->view.used) {
        fail(&dumps->view, 0, STATUS_UNAVAILABLE, over);
    }
    while (dumps->nviews > 0) {
        struct view_job none = {.question = dumps->views[--dumps->nviews]};

        fail(&none, 0, STATUS_UNAVAILABLE, over);
    }
}
