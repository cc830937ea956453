/* The operator's `expand`: it begins, joins or takes back, and is answered at once. What comes of
 * it is in the document, and told by status. */
#include "coordinator/coordinator_private.h"
#include "proto/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum status status_of(enum growth_verdict verdict)
{
    switch (verdict) {
    case GROWTH_VERDICT_BEGIN:
    case GROWTH_VERDICT_JOINS:
    case GROWTH_VERDICT_IS_SO:
        return STATUS_OK;
    case GROWTH_VERDICT_NOTHING:
    case GROWTH_VERDICT_OUT_OF_RANGE:
    case GROWTH_VERDICT_NO_KEYLOG:
    case GROWTH_VERDICT_IN_MEMORY:
    case GROWTH_VERDICT_ABOVE_MAX:
    case GROWTH_VERDICT_BELOW_KEYS:
    case GROWTH_VERDICT_CHAIN_SHRINKS:
    case GROWTH_VERDICT_CHAIN_RATE:
    case GROWTH_VERDICT_CHAIN_BACK:
    case GROWTH_VERDICT_CHAIN_LONG:
        return STATUS_INVALID;
    case GROWTH_VERDICT_OTHER_RUNS:
        return STATUS_EXISTS;
    case GROWTH_VERDICT_REBUILDS:
    case GROWTH_VERDICT_REPLICAS:
        return STATUS_CONFLICT;
    case GROWTH_VERDICT_NOT_ACTIVE:
        return STATUS_DROPPED;
    case GROWTH_VERDICT_KEYS_UNKNOWN:
        return STATUS_UNAVAILABLE;
    case GROWTH_VERDICT_NO_ROOM:
        return STATUS_NO_SPACE;
    }
    return STATUS_INTERNAL;
}

static void edit_begin(struct filter_document *document, const void *context)
{
    growth_begin(document, context);
}

static void edit_back(struct filter_document *document, const void *context)
{
    (void)context;
    growth_back(document);
}

/* Nothing to take back, or too late for it. */
static void explain_abort(const struct growth_answer *answer, char *message)
{
    if (answer->verdict == GROWTH_VERDICT_NOTHING) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "nothing is under way to be taken back");
    } else if (answer->verdict == GROWTH_VERDICT_BELOW_KEYS) {
        (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                       "it holds about %" PRIu64 " keys by now, more than its former capacity of "
                       "%" PRIu64 ": it can't go back; let it end",
                       answer->keys, answer->capacity);
    }
}

static struct growth_answer decide(struct coordinator *self, const struct growth_view *view,
                                   const struct expand_parameters *wanted, char *message)
{
    const struct growth_wish wish = {.capacity = wanted->capacity, .rate = wanted->rate};
    struct growth_answer answer;

    if (wanted->abort) {
        answer = growth_abort(view);
    } else {
        answer = growth_request(view, &wish, self->effects.random(self->effects.context));
    }
    growth_explain(self, view->document, &answer, message);
    if (wanted->abort) {
        explain_abort(&answer, message);
    }
    return answer;
}

/* STATUS_OK: what is asked for is wanted now, by this command or before. */
static enum status ensure(struct coordinator *self, uint64_t now_us,
                          const struct document_entry *entry,
                          const struct expand_parameters *wanted, bool *begun, char *message)
{
    enum status status = STATUS_CONFLICT;

    for (int try = 0; status == STATUS_CONFLICT && try < COORDINATOR_SWAP_TRIES; try++) {
        struct growth_view *view = growth_view_make(self, now_us, entry);
        struct growth_answer answer;

        if (view == NULL) {
            return STATUS_NOMEM;
        }
        growth_view_weigh(self, view);
        answer = decide(self, view, wanted, message);
        growth_view_free(view);
        status = status_of(answer.verdict);
        if (answer.verdict == GROWTH_VERDICT_BEGIN) {
            (void)snprintf(
                message, COORDINATOR_MESSAGE_BYTES,
                "the filter's document could not be written; see the coordinator's log, and retry");
            status = growth_write(self, now_us, entry, wanted->abort ? edit_back : edit_begin,
                                  &answer);
            *begun = status == STATUS_OK;
        }
    }
    return status;
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
                   const struct frame *frame, const struct document_entry *entry, bool begun)
{
    char text[2][COORDINATOR_MESSAGE_BYTES];
    struct filter_summary filter;
    struct frame reply = {
        .correlation = frame->correlation,
        .kind = FRAME_ADMIN_REPLY,
        .body.admin_reply = {.created = begun, .message = "", .filters = &filter, .nfilters = 1},
    };

    answer_filter_summary(&entry->document, &filter);
    growth_describe(self, now_us, entry, &filter, text);
    coordinator_reply(self, to, &reply);
}

static void say_begun(const struct document_entry *entry)
{
    const struct generation *wanted = document_generation(&entry->document);

    log_line(LOG_INFO, "filter %s: %s to %" PRIu64 " keys at %g, generation %" PRIu32,
             entry->document.content.name,
             growth_goes_back(&entry->document) ? "an operator takes it back" : "asked to change",
             entry->document.capacity, entry->document.rate, wanted->id);
}

void coordinator_on_expand(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    char reason[COORDINATOR_MESSAGE_BYTES] = "";
    char message[COORDINATOR_MESSAGE_BYTES + DOCUMENT_NAME_BYTES];
    bool begun = false;
    enum status status = check_wish(&request->expand, reason);

    if (status == STATUS_OK && entry == NULL) {
        status = STATUS_NOT_FOUND;
        (void)snprintf(reason, sizeof reason, "there is no such filter; see `orbloom info`");
    }
    if (status == STATUS_OK) {
        status = ensure(self, now_us, entry, &request->expand, &begun, reason);
    }
    if (status != STATUS_OK) {
        (void)snprintf(message, sizeof message, "filter %.128s: %s", request->name,
                       reason[0] != '\0' ? reason : status_meaning(status));
        coordinator_answer(self, from, frame->correlation, status, false, message);
        return;
    }
    if (begun) {
        say_begun(entry);
    }
    answer(self, now_us, from, frame, entry, begun);
}
