/* The operator's `expand`: it begins, joins or takes back, and is answered at once; where the
 * filter would be for fewer keys, once its nodes have said how many it has now. What comes of it is
 * in the document, and told by status. */
#include "coordinator/duty/expansion.h"
#include "coordinator/records.h"
#include "coordinator/users/quota.h"
#include "proto/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum status status_of(enum expansion_verdict verdict)
{
    switch (verdict) {
    case EXPANSION_VERDICT_BEGIN:
    case EXPANSION_VERDICT_JOINS:
    case EXPANSION_VERDICT_IS_SO:
        return STATUS_OK;
    case EXPANSION_VERDICT_NOTHING:
    case EXPANSION_VERDICT_OUT_OF_RANGE:
    case EXPANSION_VERDICT_NO_KEYLOG:
    case EXPANSION_VERDICT_IN_MEMORY:
    case EXPANSION_VERDICT_ABOVE_MAX:
    case EXPANSION_VERDICT_BELOW_KEYS:
    case EXPANSION_VERDICT_GROWS_ON:
    case EXPANSION_VERDICT_CHAIN_SHRINKS:
    case EXPANSION_VERDICT_CHAIN_RATE:
    case EXPANSION_VERDICT_CHAIN_BACK:
    case EXPANSION_VERDICT_CHAIN_LONG:
        return STATUS_INVALID;
    case EXPANSION_VERDICT_OTHER_RUNS:
        return STATUS_EXISTS;
    case EXPANSION_VERDICT_REBUILDS:
    case EXPANSION_VERDICT_REPLICAS:
        return STATUS_CONFLICT;
    case EXPANSION_VERDICT_NOT_ACTIVE:
        return STATUS_DROPPED;
    case EXPANSION_VERDICT_KEYS_OLD:
    case EXPANSION_VERDICT_KEYS_UNKNOWN:
        return STATUS_UNAVAILABLE;
    case EXPANSION_VERDICT_NO_ROOM:
        return STATUS_NO_SPACE;
    }
    return STATUS_INTERNAL;
}

static void edit_begin(struct filter_document *document, const void *context)
{
    expansion_begin(document, context);
}

static void edit_back(struct filter_document *document, const void *context)
{
    (void)context;
    expansion_back(document);
}

/* Nothing to take back, or too late for it. */
static void explain_abort(const struct expansion_answer *answer, char *message)
{
    if (answer->verdict == EXPANSION_VERDICT_NOTHING) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "nothing is under way to be taken back");
    } else if (answer->verdict == EXPANSION_VERDICT_BELOW_KEYS) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "it holds about %" PRIu64 " keys by now, more than its former capacity of "
                       "%" PRIu64 ": it can't go back; let it end",
                       answer->keys, answer->capacity);
    }
}

static struct expansion_answer decide(struct coordinator *self, uint64_t now_us,
                                      const struct expansion_view *view,
                                      const struct expand_parameters *wanted, char *message)
{
    const struct expansion_coming coming = expansion_coming_of(self, now_us, view);
    const struct expansion_wish wish = {
        .capacity = wanted->capacity, .rate = wanted->rate, .coming = &coming};
    struct expansion_answer answer;

    if (wanted->abort) {
        answer = expansion_abort(view);
    } else {
        answer = expansion_request(view, &wish, self->effects.random(self->effects.context));
    }
    expansion_explain(self, view->document, &answer, message);
    if (wanted->abort) {
        explain_abort(&answer, message);
    }
    return answer;
}

/* One command, on its way. */
struct asked {
    const struct document_entry *entry;
    const struct expand_parameters *wanted;
    const struct inquiry *inquiry; /* NULL: nobody has been asked yet */
    bool begun;                    /* by this command */
    bool waits;                    /* for what nodes answer */
    enum status verdict;           /* of what was looked at last; STATUS_OK: it is so, or begun */
    char message[COORDINATOR_MESSAGE_BYTES];
};

static struct expansion_view *view_of(struct coordinator *self, uint64_t now_us,
                                      const struct asked *asked)
{
    struct expansion_view *view = expansion_view_make(self, now_us, asked->entry);

    if (view != NULL && asked->inquiry != NULL &&
        expansion_view_add(view, asked->inquiry) != STATUS_OK) {
        expansion_view_free(view);
        return NULL;
    }
    return view;
}

/* Only of a write is STATUS_CONFLICT that of another coordinator; a verdict stands. */
static enum status try_expansion(struct coordinator *self, uint64_t now_us, void *context)
{
    struct asked *asked = context;
    struct expansion_view *view = view_of(self, now_us, asked);
    struct expansion_answer answer;
    enum status status;

    asked->verdict = STATUS_OK;
    if (view == NULL) {
        return STATUS_NOMEM;
    }
    expansion_view_weigh(self, view);
    answer = decide(self, now_us, view, asked->wanted, asked->message);
    expansion_view_free(view);
    asked->waits = answer.verdict == EXPANSION_VERDICT_KEYS_OLD;
    if (answer.verdict != EXPANSION_VERDICT_BEGIN) {
        asked->verdict = status_of(answer.verdict);
        return STATUS_OK;
    }
    if (!asked->wanted->abort) {
        asked->verdict = quota_allow_expansion(self, &asked->entry->document, &answer.next,
                                               asked->message);
    }
    if (asked->verdict != STATUS_OK) {
        return STATUS_OK;
    }
    status = expansion_write(self, now_us, asked->entry,
                             asked->wanted->abort ? edit_back : edit_begin, &answer);
    asked->begun = status == STATUS_OK;
    if (status != STATUS_OK) {
        records_tell(self, status, "written", asked->message, sizeof asked->message);
    }
    return status;
}

/* STATUS_OK: what is asked for is wanted now, by this command or before. */
static enum status ensure(struct coordinator *self, uint64_t now_us, struct asked *asked)
{
    enum status status = records_change(self, now_us, try_expansion, asked);

    return status == STATUS_OK ? asked->verdict : status;
}

static enum status check_wish(const struct expand_parameters *wanted, char *message)
{
    if (wanted->abort && (wanted->capacity != 0 || wanted->rate != 0)) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "abort takes back what is under way; it takes no capacity and no rate");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static void answer(struct coordinator *self, uint64_t now_us, const struct peer *to,
                   uint64_t correlation, const struct asked *asked)
{
    char texts[TELLING_TEXTS][COORDINATOR_MESSAGE_BYTES];
    struct filter_summary filter;
    struct telling telling = {.summary = &filter, .texts = texts};
    struct frame reply = {
        .correlation = correlation,
        .kind = FRAME_ADMIN_REPLY,
        .body.admin_reply = {.created = asked->begun,
                             .message = "",
                             .filters = &filter,
                             .nfilters = 1},
    };

    answer_filter_summary(&asked->entry->document, &filter);
    expansion_describe(self, now_us, asked->entry, &telling);
    coordinator_reply(self, to, &reply);
}

static void refuse(struct coordinator *self, const struct peer *to, uint64_t correlation,
                   const char *name, enum status status, const char *reason)
{
    char message[COORDINATOR_MESSAGE_BYTES + DOCUMENT_NAME_BYTES + 16];

    (void)snprintf(message, sizeof message, "filter %.128s: %s", name,
                   reason[0] != '\0' ? reason : status_meaning(status));
    coordinator_answer(self, to, correlation, status, false, message);
}

static void say_begun(const struct document_entry *entry)
{
    const struct generation *wanted = document_generation(&entry->document);

    log_line(LOG_INFO, "filter %s: %s to %" PRIu64 " keys at %g, generation %" PRIu32,
             entry->document.content.name,
             expansion_goes_back(&entry->document) ? "an operator takes it back"
                                                   : "asked to change",
             entry->document.capacity, entry->document.rate, wanted->id);
}

static void finish(struct coordinator *self, uint64_t now_us, const struct peer *to,
                   uint64_t correlation, const struct asked *asked, enum status status)
{
    if (status != STATUS_OK) {
        refuse(self, to, correlation, asked->entry->document.content.name, status, asked->message);
        return;
    }
    if (asked->begun) {
        say_begun(asked->entry);
    }
    answer(self, now_us, to, correlation, asked);
}

/* ---- waiting for what nodes answer ---- */

/* Most of them answer within milliseconds. */
enum { ANSWERS_US = 3000000 };

static void wait_for_answers(struct coordinator *self, uint64_t now_us, const struct peer *from,
                             const struct frame *frame, const struct asked *asked)
{
    uint64_t deadline_us = self->order.until_us;
    struct waiter waiter = {
        .peer = *from,
        .correlation = frame->correlation,
        .deadline_us = deadline_us < now_us + ANSWERS_US ? deadline_us : now_us + ANSWERS_US,
        .filter_id = asked->entry->document.id,
        .kind = WAITER_EXPAND,
        .expand = *asked->wanted,
        .inquiry = inquiry_open(self),
        .order = self->order,
    };

    if (waiter.inquiry == NULL) {
        refuse(self, from, frame->correlation, asked->entry->document.content.name, STATUS_NOMEM,
               "");
        return;
    }
    inquiry_ask(self, now_us, waiter.inquiry, &asked->entry->document);
    waiters_add(self, &waiter);
}

/* The store has turned out to be older than its nodes meanwhile. */
static enum status explain_frozen(struct asked *asked)
{
    asked->waits = true;
    (void)snprintf(asked->message, sizeof asked->message,
                   "nothing may be changed now; see `orbloom status`");
    return STATUS_UNAVAILABLE;
}

void expansion_wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    struct asked asked = {
        .entry = waiters_entry(self, waiter),
        .wanted = &waiter->expand,
        .inquiry = waiter->inquiry,
    };
    bool late = now_us >= waiter->deadline_us;
    enum status status;

    assert(waiter->kind == WAITER_EXPAND && waiter->inquiry != NULL);
    if (!waiter->inquiry->news && !late) {
        inquiry_ask(self, now_us, waiter->inquiry, &asked.entry->document);
        return;
    }
    waiter->inquiry->news = false;
    self->order = waiter->order;
    status = self->frozen ? explain_frozen(&asked) : ensure(self, now_us, &asked);
    if (!asked.waits || late) {
        audit_resume(&self->audit, waiter->audit);
        finish(self, now_us, &waiter->peer, waiter->correlation, &asked, status);
        waiters_end(waiter);
    }
    order_end(self);
}

/* ---- the command ---- */

void expansion_on_expand(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct asked asked = {
        .entry = records_find(self, request->name, request->filter_id),
        .wanted = &request->expand,
    };
    enum status status = check_wish(&request->expand, asked.message);

    if (status != STATUS_OK || asked.entry == NULL) {
        refuse(self, from, frame->correlation, request->name,
               status != STATUS_OK ? status : STATUS_NOT_FOUND,
               status != STATUS_OK ? asked.message : "there is no such filter; see `orbloom info`");
        return;
    }
    status = ensure(self, now_us, &asked);
    if (asked.waits) {
        wait_for_answers(self, now_us, from, frame, &asked);
    } else {
        finish(self, now_us, from, frame->correlation, &asked, status);
    }
}
