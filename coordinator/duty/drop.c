/* Dropping a filter, so that its name can be used again without losing a key of the next one:
 *
 *   1  compare-and-swap: the document says DROPPING, under a new epoch
 *   2  every slot group: F = N - min(W, R) + 1 FULL replicas fence that epoch; from then on no
 *      router, however stale, can gather a quorum under the old one
 *   3  compare-and-swap: the document says DROPPED and the name is free
 *
 * Each step may be repeated by any coordinator; the store tells where it stands. */
#include "base/mutant.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/links.h"
#include "coordinator/nodes/vouch.h"
#include "coordinator/records.h"
#include "coordinator/site/heard.h"
#include "coordinator/sites.h"

#include <stdio.h>
#include <string.h>

/* Members whose fence is still missing, of the slots that may serve older epochs. */
static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    (void)self;
    return (uint8_t)~evidence_silenced(evidence, document, group);
}

static uint32_t fences_needed(const struct filter_document *document)
{
    uint32_t needed = quorum_fences(&document->content.rule);

    if (MUTANT(NO_FENCES)) {
        return 0;
    }
    return MUTANT(ONE_FENCE_SHORT) ? needed - 1 : needed;
}

/* The first slot group that lacks some; the number of groups: none does. */
static uint32_t open_group(const struct coordinator *self, uint64_t now_us,
                           const struct filter_document *document, const struct fencing *fencing)
{
    return vouch_open_group(self, now_us, document, &fencing->evidence, fences_needed(document));
}

/* ---- moving on ---- */

static bool concerns(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_DROPPING;
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    struct fencing *fencing = fences_open(self, &entry->document);

    assert(concerns(entry));
    if (fencing == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    if (open_group(self, now_us, &entry->document, fencing) < entry->document.content.ngroups) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    } else if (records_write_state(self, now_us, entry, FILTER_DROPPED) == STATUS_OK) {
        coordinator_count(self, COORDINATOR_filters_dropped_total);
        log_line(LOG_INFO, "dropped filter %s, id %llu", entry->document.content.name,
                 (unsigned long long)entry->document.id);
    } else {
        fencing->next_us = now_us + self->config.fence_retry_us;
    }
}

/* What the operator may do about it. */
static void give_up(struct coordinator *self, uint64_t now_us, struct waiter *waiter,
                    const struct filter_document *document)
{
    const struct fencing *fencing = fences_find(self, document->id);
    uint32_t group = fencing != NULL ? open_group(self, now_us, document, fencing)
                                     : document->content.ngroups;
    char message[COORDINATOR_MESSAGE_BYTES];
    char awaited[COORDINATOR_MESSAGE_BYTES / 2] = "";

    if (group < document->content.ngroups) {
        vouch_tell_awaited(self, now_us, document, &fencing->evidence, group, awaited,
                           sizeof awaited);
    }
    (void)snprintf(
        message, sizeof message,
        "it no longer serves, but too few of its nodes have confirmed that; its name is "
        "free once they have, and the coordinator goes on asking%s%s. For those gone for "
        "good, or restarted without data: `drop --confirmed-off NODES`",
        awaited[0] != '\0' ? ". Awaited: " : "", awaited);
    waiters_finish(self, waiter, STATUS_DEADLINE, message);
}

static void wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    const struct document_entry *entry = waiters_entry(self, waiter);

    assert(waiter->kind == WAITER_DROP);
    if (entry->document.content.state == FILTER_DROPPED) {
        waiters_finish(self, waiter, STATUS_OK, "");
    } else if (now_us >= waiter->deadline_us) {
        give_up(self, now_us, waiter, &entry->document);
    }
}

/* The filter that is meant, or what was left of it: a drop that is under way, or over, is joined.
 */
static struct document_entry *find_droppable(const struct coordinator *self,
                                             const struct admin_request *request)
{
    struct document_entry *live = records_find(self, request->name, request->filter_id);
    struct document_entry *found = document_cache_find(&self->documents, request->filter_id);

    if (live != NULL) {
        return live;
    }
    return found != NULL && strcmp(found->document.content.name, request->name) == 0 ? found : NULL;
}

struct command {
    const struct admin_request *request;
    struct document_entry *entry;
    char message[COORDINATOR_MESSAGE_BYTES];
};

/* The first other site that is heard of, and is not known to have fenced that this one leaves;
 * NULL: there is none. One that is cut off is not waited for. */
static const struct site_entry *find_unaware(const struct coordinator *self, uint64_t now_us,
                                             const struct filter_document *document)
{
    const struct in_sites *note = notes_find(&self->notes, NOTE_SITES, document->id);
    const struct site_set *sites = document_sites(document);
    struct sites_peer peers[SITE_SET_MAX];
    struct sites_view view = in_sites_view(self, now_us, note, sites, peers);

    for (uint32_t i = 0; i < view.npeers; i++) {
        const struct site_entry *entry = site_set_find(sites, &peers[i].id);
        const struct site_entry *there = peers[i].fenced != NULL
                                             ? site_set_find(peers[i].fenced,
                                                             &site_set_own(sites)->id)
                                             : NULL;

        if (entry != NULL && entry->state != SITE_GONE && there != NULL &&
            there->state < SITE_LEAVING && links_connected(self, now_us, &entry->id)) {
            return entry;
        }
    }
    return NULL;
}

/* As long as the others tell of it as one of theirs, a filter that is dropped here is made anew;
 * and one that counts they would wait for. */
static enum status judge_here(const struct coordinator *self, uint64_t now_us,
                              struct command *command)
{
    const struct filter_document *document = &command->entry->document;
    const struct site_entry *own = site_set_own(document_sites(document));
    const struct site_entry *unaware = NULL;

    if (own->state == SITE_JOINING || own->state == SITE_COUNTED) {
        (void)snprintf(
            command->message, sizeof command->message,
            "the other sites of filter %.128s would wait for this one, or have it make the "
            "filter anew: leave first, `orbloom site remove %.128s %.32s`. If they are "
            "gone for good, remove them with --now --confirmed-off; or drop it --everywhere",
            document->content.name, document->content.name, own->name);
        return STATUS_INVALID;
    }
    unaware = own->state == SITE_LEAVING ? find_unaware(self, now_us, document) : NULL;
    if (unaware != NULL) {
        (void)snprintf(command->message, sizeof command->message,
                       "site %.32s does not know yet that this one leaves filter %.128s, and would "
                       "have it made anew: wait a moment, see `orbloom site %.128s`",
                       unaware->name, document->content.name, document->content.name);
        return STATUS_NOT_READY;
    }
    return STATUS_OK;
}

/* What is dropped here the others would go on waiting for; what is dropped everywhere is gone with
 * all that they have: so it takes a word more. */
static enum status judge_scope(const struct coordinator *self, uint64_t now_us,
                               struct command *command)
{
    const struct site_set *sites = document_sites(&command->entry->document);
    const struct site_entry *own = site_set_own(sites);
    char names[SITES_TEXT_BYTES];

    if (own != NULL && own->state == SITE_GONE && command->request->scope == DROP_EVERYWHERE) {
        (void)snprintf(command->message, sizeof command->message,
                       "filter %.128s has left this site, and is not this one's to drop at others: "
                       "--here drops what is left of it here",
                       command->entry->document.content.name);
        return STATUS_INVALID;
    }
    if (site_set_live(sites) < 2 || command->request->scope == DROP_EVERYWHERE) {
        return STATUS_OK;
    }
    if (command->request->scope == DROP_HERE) {
        return judge_here(self, now_us, command);
    }
    (void)snprintf(command->message, sizeof command->message,
                   "filter %.128s is in sites %s: say --here to drop what this one has, which the "
                   "others keep, or --everywhere",
                   command->entry->document.content.name, sites_list(sites, names));
    return STATUS_INVALID;
}

/* The other sites hear of it by their links, at any time later. */
static enum status write_drop(struct coordinator *self, uint64_t now_us,
                              const struct command *command)
{
    const struct document_entry *entry = command->entry;

    return command->request->scope == DROP_EVERYWHERE && document_has_sites(&entry->document)
               ? records_edit_filter(self, now_us, entry, sites_drop_everywhere, NULL)
               : records_write_state(self, now_us, entry, FILTER_DROPPING);
}

/* Another coordinator that is first may have begun the same, which is joined, or have gone on
 * replacing replicas, which a drop ends. */
static enum status try_drop(struct coordinator *self, uint64_t now_us, void *context)
{
    struct command *command = context;
    enum status status;

    if (command->entry->document.content.state != FILTER_ACTIVE) {
        return STATUS_OK;
    }
    status = judge_scope(self, now_us, command);
    return status == STATUS_OK ? write_drop(self, now_us, command) : status;
}

static void on_drop(struct coordinator *self, uint64_t now_us, const struct peer *from,
                    const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct document_entry *entry = find_droppable(self, request);
    struct command command = {.request = request, .entry = entry};
    char message[COORDINATOR_MESSAGE_BYTES];
    enum status status;

    if (entry == NULL && document_cache_is_dropped(&self->documents, request->filter_id)) {
        coordinator_answer(self, from, frame->correlation, STATUS_OK, false, "");
        return; /* Asked for again, after the end. */
    }
    if (entry == NULL) {
        (void)snprintf(message, sizeof message, "there is no filter %s; see `orbloom info`",
                       request->name);
        coordinator_answer(self, from, frame->correlation, STATUS_NOT_FOUND, false, message);
        return;
    }
    status = entry->document.content.state != FILTER_DROPPED
                 ? vouch_judge(self, now_us, request, &entry->document, message)
                 : STATUS_OK;
    if (status != STATUS_OK) {
        coordinator_answer(self, from, frame->correlation, status, false, message);
        return;
    }
    status = records_change(self, now_us, try_drop, &command);
    if (status != STATUS_OK) {
        if (command.message[0] == '\0') {
            records_tell(self, status, "written", command.message, sizeof command.message);
        }
        coordinator_answer(self, from, frame->correlation, status, false, command.message);
        return;
    }
    if (entry->document.content.state == FILTER_DROPPING) {
        vouch_note(self, now_us, request, &entry->document);
    }
    waiters_await(self, from, frame, WAITER_DROP, entry->document.id, false);
}

const struct duty duty_drop = {
    .action = ADMIN_DROP,
    .command = on_drop,
    .waiters = WAITER_DROP,
    .wait = wait,
    .concerns = concerns,
    .look = look,
};
