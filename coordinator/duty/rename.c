/* Writes the swap of names, gathers fences for both filters, and answers the operator once no
 * router can go by the old names. */

#include "base/mutant.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/nodes/vouch.h"
#include "coordinator/records.h"
#include "coordinator/sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- moving on ---- */

static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    (void)self;
    return (uint8_t)~evidence_silenced(evidence, document, group);
}

/* The filter that had the name goes as any that is dropped: with F fences of its own. */
static bool replaced_is_gone(const struct coordinator *self, const struct filter_document *document)
{
    const struct document_entry *replaced = document_cache_find(&self->documents,
                                                                document->replaces);

    return document->replaces == 0 ||
           document_cache_is_dropped(&self->documents, document->replaces) ||
           (replaced != NULL && replaced->document.content.state == FILTER_DROPPED);
}

static void end(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                struct fencing *fencing)
{
    enum status status = records_end_rename(self, entry);

    if (status == STATUS_OK) {
        coordinator_count(self, COORDINATOR_filters_renamed_total);
        log_line(LOG_INFO, "filter %s, id %" PRIu64 ": its rename is confirmed",
                 entry->document.content.name, entry->document.id);
        coordinator_hint(self, now_us);
    } else {
        fencing->next_us = now_us + self->config.fence_retry_us;
    }
}

static bool concerns(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_ACTIVE && rename_is_open(&entry->document) &&
           !entry->conflict;
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    struct fencing *fencing = fences_open(self, &entry->document);
    bool fenced = fencing != NULL &&
                  vouch_open_group(self, now_us, &entry->document, &fencing->evidence,
                                   quorum_fences(&entry->document.content.rule)) ==
                      entry->document.content.ngroups;

    assert(concerns(entry));
    if (fencing == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    if (!fenced && !MUTANT(RENAME_UNFENCED)) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    } else if (replaced_is_gone(self, &entry->document)) {
        end(self, now_us, entry, fencing);
    } else if (now_us >= fencing->next_us) {
        fencing->next_us = now_us + self->config.fence_retry_us;
    }
}

static void wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    const struct document_entry *entry = waiters_entry(self, waiter);

    assert(waiter->kind == WAITER_RENAME);
    if (entry->document.content.state != FILTER_ACTIVE) {
        waiters_finish(self, waiter, STATUS_DROPPED, "the filter was dropped meanwhile");
    } else if (!rename_is_open(&entry->document)) {
        waiters_finish(self, waiter, STATUS_OK, "");
    } else if (now_us >= waiter->deadline_us) {
        waiters_finish(self, waiter, STATUS_DEADLINE,
                       "the filter has its new name, but too few nodes have confirmed that: some "
                       "routers may still go by the old one. The coordinator goes on asking; give "
                       "the same command again to wait for that (NOT_FOUND: it has ended), and "
                       "for nodes that are gone for good, or were restarted without their data, "
                       "confirm that their former processes are off: `--confirmed-off NODES`");
    }
}

/* ---- the command ---- */

struct command {
    const struct admin_request *request;
    struct document_entry *entry; /* the filter that is meant */
    bool changed;
    char message[COORDINATOR_MESSAGE_BYTES];
};

/* By its old name; or, if its rename was written before, by its new one. */
static struct document_entry *find_meant(const struct coordinator *self,
                                         const struct admin_request *request)
{
    struct document_entry *old = records_find(self, request->name, request->filter_id);

    return old != NULL ? old : records_find(self, request->rename.name, request->filter_id);
}

/* Nothing is to be done any more, but to wait. */
static bool is_named_so(const struct command *self)
{
    return strcmp(self->entry->document.content.name, self->request->rename.name) == 0;
}

static enum status swap_names(struct coordinator *self, struct command *command)
{
    const char *name = command->request->rename.name;
    const struct document_entry *replaced = document_cache_find_name(&self->documents, name);
    char names[SITES_TEXT_BYTES];

    if (rename_is_open(&command->entry->document) ||
        (replaced != NULL && rename_is_open(&replaced->document)) ||
        records_holder(self, name) != NULL) {
        return coordinator_refuse(
            command->message, STATUS_NAME_BUSY,
            "filter %.128s, or the one that has its new name, is still being dropped or "
            "renamed: its nodes have not all confirmed; retry, and see `orbloom status`",
            command->request->name);
    }
    if (document_is_loading(&command->entry->document) ||
        (replaced != NULL && document_is_loading(&replaced->document))) {
        return coordinator_refuse(
            command->message, STATUS_NAME_BUSY,
            "filter %.128s, or the one that has its new name, is being loaded from a "
            "dump; wait until it serves, or drop it",
            command->request->name);
    }
    if (replaced != NULL && !command->request->rename.replace) {
        return coordinator_refuse(
            command->message, STATUS_EXISTS,
            "there is a filter %.128s already; to drop it and to take its name: "
            "--replace",
            name);
    }
    if (replaced != NULL && site_set_live(document_sites(&replaced->document)) > 1) {
        return coordinator_refuse(
            command->message, STATUS_INVALID,
            "filter %.128s, whose name is to be taken, is in sites %s: drop it first, "
            "`orbloom drop %.128s --everywhere` (or --here, once it has left them), and "
            "then rename",
            name, sites_list(document_sites(&replaced->document), names), name);
    }
    return records_rename_filter(self, command->entry, replaced, name);
}

static enum status try_rename(struct coordinator *self, uint64_t now_us, void *context)
{
    struct command *command = context;
    enum status status;

    (void)now_us;
    command->entry = find_meant(self, command->request);
    if (command->entry == NULL) {
        return coordinator_refuse(command->message, STATUS_NOT_FOUND,
                                  "there is no filter %.128s; see `orbloom info`",
                                  command->request->name);
    }
    if (is_named_so(command)) {
        return STATUS_OK;
    }
    status = swap_names(self, command);
    command->changed = status == STATUS_OK;
    return status;
}

static enum status ensure(struct coordinator *self, uint64_t now_us, struct command *command)
{
    const struct admin_request *request = command->request;
    enum status status;

    if (!document_name_valid(span_text(request->rename.name))) {
        return coordinator_refuse(command->message, STATUS_INVALID,
                                  "a filter's name takes 1 to 128 of [A-Za-z0-9._:-]: \"%.128s\"",
                                  request->rename.name);
    }
    status = records_change(self, now_us, try_rename, command);
    if (status != STATUS_OK && command->message[0] == '\0') {
        records_tell(self, status, "written", command->message, sizeof command->message);
    }
    return status;
}

/* The filter that has the new name, or had it until this rename; NULL: none. */
static const struct filter_document *replaced_by(const struct coordinator *self,
                                                 const struct command *command)
{
    const struct document_entry *entry =
        is_named_so(command)
            ? document_cache_find(&self->documents, command->entry->document.replaces)
            : records_find(self, command->request->rename.name, 0);

    return entry != NULL && entry->document.content.state != FILTER_DROPPED ? &entry->document
                                                                            : NULL;
}

/* For both filters: that of the name is dropped. What is alive, or holds nothing, is passed over.
 */
static void take_word(struct coordinator *self, uint64_t now_us, const struct command *command)
{
    const struct filter_document *replaced = replaced_by(self, command);

    if (rename_is_open(&command->entry->document)) {
        vouch_note(self, now_us, command->request, &command->entry->document);
        if (replaced != NULL) {
            vouch_note(self, now_us, command->request, replaced);
        }
    }
}

static void on_rename(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct command command = {.request = request};
    enum status status = vouch_check(self, request, command.message);

    status = status == STATUS_OK ? ensure(self, now_us, &command) : status;
    if (status != STATUS_OK) {
        coordinator_answer(self, from, frame->correlation, status, false, command.message);
        return;
    }
    if (command.changed) {
        log_line(LOG_INFO, "filter %s, id %" PRIu64 ", is %s from now on", request->name,
                 command.entry->document.id, request->rename.name);
        coordinator_hint(self, now_us);
    }
    take_word(self, now_us, &command);
    waiters_await(self, from, frame, WAITER_RENAME, command.entry->document.id, command.changed);
}

const struct duty duty_rename = {
    .action = ADMIN_RENAME,
    .command = on_rename,
    .waiters = WAITER_RENAME,
    .wait = wait,
    .concerns = concerns,
    .look = look,
};
