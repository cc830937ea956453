/* Drops filters whose time F members of each slot group have counted, notes the counts now and
 * then, and answers the commands around it. */

#include "base/number.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"
#include "coordinator/sites.h"

#include <inttypes.h>
#include <stdio.h>

enum { SECOND_US = 1000000 };

/* ---- what is remembered ---- */

static struct expiring *find(const struct coordinator *self, uint64_t filter_id)
{
    return notes_find(&self->notes, NOTE_EXPIRING, filter_id);
}

/* About the document's expiry: what was said of another one is forgotten. NULL: out of memory. */
static struct expiring *open(struct coordinator *self, const struct filter_document *document)
{
    struct expiring *found = notes_open(&self->notes, NOTE_EXPIRING, document->id);

    if (found != NULL && found->number != document->expiry.number) {
        counts_forget(&found->counts);
        *found = (struct expiring){.number = document->expiry.number};
    }
    return found;
}

static bool concerns(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_ACTIVE && !entry->conflict &&
           entry->document.expiry.number != 0;
}

static void hear(struct coordinator *self, const struct fence_reply *reply)
{
    struct expiring *expiring = find(self, reply->filter_id);

    if (expiring != NULL && reply->status == STATUS_OK && reply->expiry != 0 &&
        reply->expiry == expiring->number) {
        /* One that has begun just now counts, too. */
        counts_note(&expiring->counts, reply->node_id, reply->expiry_us > 0 ? reply->expiry_us : 1);
        expiring->heard_us = expiring->asked_us;
    }
}

/* ---- moving on ---- */

static uint64_t left_of(const struct filter_document *document, const struct expiring *expiring)
{
    return expiry_left_us(document, expiring->counts.items, expiring->counts.count);
}

static bool too_few_count(const struct filter_document *document, const struct expiring *expiring)
{
    return window_counted_us(document, expiring->counts.items, expiring->counts.count) == 0;
}

/* By compare-and-swap on the very document that has this expiry: see records_write_state(). */
static void drop(struct coordinator *self, uint64_t now_us, const struct document_entry *entry)
{
    if (records_write_state(self, now_us, entry, FILTER_DROPPING) == STATUS_OK) {
        coordinator_count(self, COORDINATOR_filters_expired_total);
        log_line(LOG_INFO, "filter %s: its time is over, and it is dropped",
                 entry->document.content.name);
    }
}

static void save(struct filter_document *document, const void *context)
{
    expiry_save(document, *(const uint64_t *)context);
}

/* What is due now; not more often than fence_retry. */
static void write_due(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                      struct expiring *expiring, uint64_t left_us)
{
    if (expiring->tried_us != 0 && now_us < expiring->tried_us + self->config.fence_retry_us) {
        return;
    }
    expiring->tried_us = now_us;
    if (left_us == 0) {
        drop(self, now_us, entry);
    } else if (records_edit_filter(self, now_us, entry, save, &left_us) == STATUS_OK) {
        coordinator_count(self, COORDINATOR_expiries_written_total);
    }
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct expiring *expiring = open(self, document);
    uint64_t left_us;
    uint64_t wait_us;

    assert(concerns(entry));
    if (expiring == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    left_us = left_of(document, expiring);
    if (left_us == 0 || expiry_is_unsaved(document, left_us)) {
        write_due(self, now_us, entry, expiring, left_us);
    }
    if (!concerns(entry) || left_us == 0) {
        expiring->next_us = expiring->tried_us + self->config.fence_retry_us;
        return;
    }
    wait_us = counts_wait_us(too_few_count(document, expiring) ? WINDOW_UNKNOWN : left_us,
                             self->config.fence_retry_us);
    if (expiring->asked_us == 0 || now_us >= expiring->asked_us + wait_us) {
        fences_ask_members(self, entry, 0);
        expiring->asked_us = now_us;
    }
    expiring->next_us = expiring->asked_us + wait_us;
}

static uint64_t due_us(const struct coordinator *self)
{
    return notes_next_us(&self->notes, NOTE_EXPIRING);
}

/* ---- the command ---- */

struct change {
    struct expiry_wish wish; /* with both times */
    uint64_t left_us;        /* of the expiry that it replaces */
};

static void edit(struct filter_document *document, const void *context)
{
    const struct change *change = context;

    if (change->wish.never) {
        expiry_cancel(document);
    } else {
        expiry_set(document, &change->wish, change->left_us);
    }
}

static uint64_t left_now(const struct coordinator *self, const struct filter_document *document)
{
    const struct expiring *expiring = find(self, document->id);

    return expiring != NULL && expiring->number == document->expiry.number
               ? left_of(document, expiring)
               : expiry_left_us(document, NULL, 0);
}

struct command {
    const struct document_entry *entry;
    const struct expiry_wish *wish;
    bool changed; /* by this command */
    char message[COORDINATOR_MESSAGE_BYTES];
};

/* Each site would count by itself, and what one has dropped the others would give it back. */
static enum status refuse_sites(struct command *self)
{
    const struct filter_document *document = &self->entry->document;
    char names[SITES_TEXT_BYTES];

    (void)snprintf(self->message, sizeof self->message,
                   "filter %.128s is in sites %s: an expiry of a filter in several sites is not "
                   "possible yet; drop it when its time is over: `orbloom drop --everywhere`",
                   document->content.name, sites_list(document_sites(document), names));
    return STATUS_INVALID;
}

/* STATUS_OK: it is as is wished, or the conditions do not hold. */
static enum status try_change(struct coordinator *self, uint64_t now_us, void *context)
{
    struct command *command = context;
    const struct document_entry *entry = command->entry;
    const struct filter_document *document = &entry->document;
    const struct expiry_wish *wish = command->wish;
    const struct change change = {.wish = *wish, .left_us = left_now(self, document)};
    bool now = !wish->never && wish->after_us == 0;
    enum status status;

    if (document->content.state != FILTER_ACTIVE) {
        return now ? STATUS_OK : STATUS_NOT_FOUND; /* Another coordinator drops it. */
    }
    if (document_has_sites(document) && !wish->never) {
        return refuse_sites(command);
    }
    if (!expiry_applies(&document->expiry, wish) || (wish->never && document->expiry.number == 0)) {
        return STATUS_OK;
    }
    status = now ? records_write_state(self, now_us, entry, FILTER_DROPPING)
                 : records_edit_filter(self, now_us, entry, edit, &change);
    command->changed = status == STATUS_OK;
    return status;
}

static void tell(struct coordinator *self, const struct peer *from, const struct frame *frame,
                 enum status status, struct command *command)
{
    char *message = command->message;

    if (message[0] != '\0') {
        /* Said above. */
    } else if (status == STATUS_NOT_FOUND) {
        (void)snprintf(message, sizeof command->message,
                       "there is no filter %.128s; see `orbloom info`",
                       frame->body.admin_request.name);
    } else if (status != STATUS_OK) {
        records_tell(self, status, "written", message, sizeof command->message);
    }
    coordinator_answer(self, from, frame->correlation, status, command->changed, message);
}

static void on_expire(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    const struct expiry_wish wish = expiry_complete(&request->expire, coordinator_date_ms(self));
    struct command command = {.entry = entry, .wish = &wish};
    enum status status = entry != NULL ? records_change(self, now_us, try_change, &command)
                                       : STATUS_NOT_FOUND;

    if (status == STATUS_OK && entry->document.content.state != FILTER_ACTIVE) {
        waiters_await(self, from, frame, WAITER_DROP, entry->document.id, command.changed);
        return;
    }
    if (command.changed) {
        coordinator_count(self, COORDINATOR_expiries_written_total);
    }
    tell(self, from, frame, status, &command);
}

/* ---- in words ---- */

static void describe(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                     struct telling *out)
{
    const struct filter_document *document = &entry->document;
    const struct expiring *expiring = find(self, document->id);
    bool known = expiring != NULL && expiring->number == document->expiry.number;
    bool counted = known && !too_few_count(document, expiring);
    uint64_t left_us = left_now(self, document);
    uint64_t gone_us = counted ? now_us - expiring->heard_us : 0;
    char time[NUMBER_TEXT_BYTES];
    char *text;

    if (document->expiry.number == 0 || document->content.state != FILTER_ACTIVE) {
        return;
    }
    text = telling_text(out);
    left_us = left_us > gone_us ? left_us - gone_us : 1;
    out->summary->expires_left_us = left_us;
    left_us += SECOND_US - 1; /* Rounded up: in "0s" it would be there still. */
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   counted ? "dropped in about %s"
                           : "dropped when enough of its nodes have counted %s; too few do now",
                   number_show_duration(left_us - left_us % SECOND_US, time));
    out->summary->expiry_awaited = text;
}

const struct duty duty_expiry = {
    .action = ADMIN_EXPIRE,
    .command = on_expire,
    .concerns = concerns,
    .look = look,
    .due_us = due_us,
    .hear = hear,
    .describe = describe,
};
