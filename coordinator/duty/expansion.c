/* Growing filters: what map/history/expansion.h decides, step by step and by compare-and-swap. The
 * store tells where each stands, so any coordinator goes on after another one. Several that hear of
 * the same nodes write the same; one that hears of few lets the others act. */
#include "coordinator/duty/expansion.h"

#include "coordinator/nodes/moves.h"
#include "coordinator/plan/expansion.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"
#include "coordinator/users/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    EXPANSION_LOOK_US = 20000,
    EXPANSION_AGAIN_US = 100000, /* what could not be written */
    DUE_LOOK_US = 1000000,
    UNWRITTEN_LOOK_US = 2000000,
    REFUSED_LOOK_US = 10000000,
};

static const double default_factor = 2;

/* ---- writing ---- */

enum status expansion_write(struct coordinator *self, uint64_t now_us,
                            const struct document_entry *entry, records_edit_fn edit,
                            const void *context)
{
    enum status status = records_edit_filter(self, now_us, entry, edit, context);

    if (status == STATUS_OK) {
        coordinator_count(self, COORDINATOR_growth_written_total);
    }
    return status;
}

static void edit_finish(struct filter_document *document, const void *context)
{
    (void)context;
    expansion_finish(document);
}

struct turns {
    uint32_t nodes[DOCUMENT_MAX_TURNS];
    uint32_t count;
};

static void edit_turns(struct filter_document *document, const void *context)
{
    const struct turns *turns = context;

    expansion_give_turns(document, turns->nodes, turns->count);
}

static void edit_begin(struct filter_document *document, const void *context)
{
    expansion_begin(document, context);
}

/* ---- under way ---- */

static uint32_t max_hosts(const struct coordinator *self)
{
    return self->config.growth_hosts > 0 ? (uint32_t)self->config.growth_hosts : 1;
}

/* A replacement goes first: while it copies, nobody new begins to build. */
static enum status advance(struct coordinator *self, uint64_t now_us,
                           const struct document_entry *entry, const struct expansion_view *view)
{
    uint32_t id = document_generation(&entry->document)->id;
    struct turns turns;
    enum status status = STATUS_OK;

    if (!expansion_sees_most(view)) {
        return STATUS_OK;
    }
    if (document_is_chain(&entry->document) &&
        (expansion_chain_waits(&entry->document) || !expansion_done(view))) {
        return STATUS_OK; /* All make room at once; the chain is of the epoch. */
    }
    if (expansion_done(view)) {
        status = expansion_write(self, now_us, entry, edit_finish, NULL);
        if (status == STATUS_OK) {
            log_line(LOG_INFO, "filter %s: all replicas %s generation %" PRIu32,
                     entry->document.content.name,
                     document_is_chain(&entry->document) ? "read, and add to," : "serve", id);
        }
        return status;
    }
    turns.count = expansion_turns(view, max_hosts(self), rounds_is_moving(&entry->document),
                                  turns.nodes);
    if (!expansion_turns_same(&entry->document, turns.nodes, turns.count)) {
        status = expansion_write(self, now_us, entry, edit_turns, &turns);
    }
    return status;
}

/* ---- by itself ---- */

static void say_refused(struct coordinator *self, uint64_t now_us,
                        const struct document_entry *entry, const struct expanding *expanding,
                        const char *before)
{
    if (strcmp(before, expanding->refused) != 0) {
        log_limited(&self->expansion_limit, now_us, LOG_WARN,
                    "filter %s is due to grow and can't: %s", entry->document.content.name,
                    expanding->refused);
    }
}

static void refuse(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                   const char *why, struct expanding *expanding)
{
    char before[COORDINATOR_MESSAGE_BYTES];

    memcpy(before, expanding->refused, sizeof before);
    (void)snprintf(expanding->refused, sizeof expanding->refused, "%s", why);
    expanding->next_us = now_us + REFUSED_LOOK_US;
    coordinator_count(self, COORDINATOR_growth_refused_total);
    say_refused(self, now_us, entry, expanding, before);
}

/* Not the filter's fault, and nothing is lost: it goes on when the store is back. */
static void note_unwritten(struct coordinator *self, uint64_t now_us, enum status status,
                           const struct document_entry *entry, struct expanding *expanding)
{
    char before[COORDINATOR_MESSAGE_BYTES];

    memcpy(before, expanding->refused, sizeof before);
    records_tell(self, status, "written", expanding->refused, sizeof expanding->refused);
    expanding->next_us = now_us + UNWRITTEN_LOOK_US;
    say_refused(self, now_us, entry, expanding, before);
}

static struct expansion_answer ask_for(struct coordinator *self,
                                       const struct filter_document *document,
                                       const struct expansion_view *view, uint64_t capacity)
{
    const struct expansion_wish wish = {.capacity = capacity};
    struct expansion_answer answer = expansion_request(view, &wish,
                                                       self->effects.random(self->effects.context));

    if (capacity <= document->capacity) {
        answer.verdict = EXPANSION_VERDICT_ABOVE_MAX;
    }
    return answer;
}

/* Where there is no room for what a burst asks for, as much as otherwise. */
static struct expansion_answer choose_size(struct coordinator *self,
                                           const struct filter_document *document,
                                           const struct expansion_view *view, uint64_t keys,
                                           const struct expanding *expanding)
{
    double factor = self->config.growth_factor > 0 ? self->config.growth_factor : default_factor;
    uint64_t usual = expansion_goal(document, keys, factor);
    uint64_t wanted = document_is_chain(document)
                          ? usual
                          : expansion_burst_goal(document, keys, factor,
                                                 expanding->pace.burst_per_s);
    struct expansion_answer answer = ask_for(self, document, view, wanted);

    return answer.verdict == EXPANSION_VERDICT_NO_ROOM && wanted != usual
               ? ask_for(self, document, view, usual)
               : answer;
}

static enum status begin(struct coordinator *self, uint64_t now_us,
                         const struct document_entry *entry, struct expansion_view *view,
                         uint64_t keys, struct expanding *expanding)
{
    const struct filter_document *document = &entry->document;
    struct expansion_answer answer;
    char why[COORDINATOR_MESSAGE_BYTES];
    enum status status = STATUS_OK;

    expansion_view_weigh(self, view);
    answer = choose_size(self, document, view, keys, expanding);
    if (answer.verdict != EXPANSION_VERDICT_BEGIN) {
        expansion_explain(self, document, &answer, why);
    } else { /* Held where its user may not have more: it goes on as it is. */
        status = quota_allow_expansion(self, document, &answer.next, why);
    }
    if (answer.verdict != EXPANSION_VERDICT_BEGIN || status != STATUS_OK) {
        refuse(self, now_us, entry, why, expanding);
        return STATUS_OK;
    }
    status = expansion_write(self, now_us, entry, edit_begin, &answer);
    if (status == STATUS_OK) {
        expanding->refused[0] = '\0';
        log_line(LOG_INFO,
                 "filter %s holds about %" PRIu64 " keys: it grows by itself, to %" PRIu64,
                 entry->document.content.name, keys, answer.capacity);
    } else if (status != STATUS_CONFLICT) {
        note_unwritten(self, now_us, status, entry, expanding);
    }
    return status;
}

/* One that can't grow has time. */
static void wake(struct coordinator *self, uint64_t filter_id)
{
    struct expanding *expanding = notes_find(&self->notes, NOTE_EXPANDING, filter_id);

    if (expanding != NULL && expanding->refused[0] == '\0') {
        expanding->next_us = 0;
    }
}

struct expansion_coming expansion_coming_of(const struct coordinator *self, uint64_t now_us,
                                            const struct expansion_view *view)
{
    const struct expanding *expanding = notes_find(&self->notes, NOTE_EXPANDING,
                                                   view->document->id);
    bool known;
    uint64_t keys = expansion_keys(view, &known);
    struct expansion_coming coming = {
        .duration_s = expansion_duration_s(view, keys, max_hosts(self)),
    };

    if (expanding != NULL) {
        coming.keys_per_s = known ? expansion_pace_with(&expanding->pace, now_us, keys)
                                  : expanding->pace.keys_per_s;
    }
    return coming;
}

static enum status look_whether_due(struct coordinator *self, uint64_t now_us,
                                    const struct document_entry *entry)
{
    struct expanding *expanding = notes_open(&self->notes, NOTE_EXPANDING, entry->document.id);
    struct expansion_view *view;
    enum status status = STATUS_OK;
    uint64_t keys;
    bool known;

    if (expanding == NULL || now_us < expanding->next_us) {
        return expanding == NULL ? STATUS_NOMEM : STATUS_OK;
    }
    expanding->next_us = now_us + DUE_LOOK_US;
    view = expansion_view_make(self, now_us, entry);
    if (view == NULL) {
        return STATUS_NOMEM;
    }
    keys = expansion_keys(view, &known);
    if (known) { /* Else they seem to arrive when it is merely the reports that do. */
        expansion_pace_note(&expanding->pace, now_us, keys);
    }
    if (!expansion_due(&entry->document, expansion_pressing_keys(view), expanding->pace.keys_per_s,
                       expansion_duration_s(view, keys, max_hosts(self)))) {
        expanding->refused[0] = '\0';
    } else if (!rounds_is_moving(&entry->document)) {
        status = begin(self, now_us, entry, view, keys, expanding);
    }
    expansion_view_free(view);
    return status;
}

static enum status try_to_grow(struct coordinator *self, uint64_t now_us,
                               const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct expansion_view *view;
    enum status status;

    if (document->content.state != FILTER_ACTIVE || entry->conflict) {
        return STATUS_OK;
    }
    if (!expansion_running(document)) {
        bool grows = document->when_full == WHEN_FULL_EXPAND && expansion_possible(document) &&
                     !document->growth_held;

        return grows ? look_whether_due(self, now_us, entry) : STATUS_OK;
    }
    view = expansion_view_make(self, now_us, entry);
    status = view != NULL ? advance(self, now_us, entry, view) : STATUS_NOMEM;
    expansion_view_free(view);
    return status;
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    if (try_to_grow(self, now_us, entry) != STATUS_OK) {
        self->expansion_news = true; /* Once more, soon. */
        self->expansion_next_us = now_us + EXPANSION_AGAIN_US;
    }
}

static enum duty_round round_of_expansion(struct coordinator *self, uint64_t now_us)
{
    if ((!self->expansion_news && self->expansion_seen == self->change) ||
        now_us < self->expansion_next_us) {
        return ROUND_NONE;
    }
    self->expansion_news = false;
    self->expansion_seen = self->change;
    self->expansion_next_us = now_us + EXPANSION_LOOK_US;
    return ROUND_ALL;
}

static uint64_t due_us(const struct coordinator *self)
{
    return self->expansion_news ? self->expansion_next_us : ACTOR_NEVER;
}

const struct duty duty_expansion = {
    .action = ADMIN_EXPAND,
    .command = expansion_on_expand,
    .waiters = WAITER_EXPAND,
    .wait = expansion_wait,
    .round = round_of_expansion,
    .look = look,
    .due_us = due_us,
    .wake = wake,
    .describe = expansion_describe,
};
