/* An operator accepts that acknowledged keys may be lost: what is gone is named in the document,
 * see coordinator/plan/loss.h; the change of replicas then goes on by itself. */
#include "coordinator/plan/loss.h"

#include "base/heap.h"
#include "base/number.h"
#include "coordinator/duty.h"
#include "coordinator/nodes/vouch.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One command, and what it has come to. */
struct acceptance {
    const struct admin_request *request;
    bool alive[DOCUMENT_MAX_NODES];
    bool off[DOCUMENT_MAX_NODES];
    uint8_t *gone; /* by group: slots whose members are to be given up; 0: nothing */
    uint32_t ngroups;
    bool loses;            /* some keys may be in none of the logs that are left */
    struct site_life life; /* that begins with it; number 0: none does */
    char message[COORDINATOR_MESSAGE_BYTES];
};

/* Appends; what does not fit is left out. */
static void put(struct acceptance *self, const char *format, ...) PRINTF_LIKE(2, 3);

static void put(struct acceptance *self, const char *format, ...)
{
    size_t used = strlen(self->message);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(self->message + used, sizeof self->message - used, format, args);
    va_end(args);
}

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

/* ---- whom the operator vouches for ---- */

static enum status vouch(const struct coordinator *self, struct acceptance *acceptance)
{
    const struct admin_request *request = acceptance->request;
    const struct node_list *nodes = &self->documents.nodes;
    enum status status = vouch_check(self, request, acceptance->message);

    for (size_t i = 0; status == STATUS_OK && i < request->nconfirmed_off; i++) {
        const struct node_record *record = node_list_find(nodes,
                                                          request->confirmed_off[i].life.node);

        if (record == NULL) {
            continue; /* It counts as gone without that. */
        }
        if (request->confirmed_off[i].runs || acceptance->alive[record - nodes->nodes]) {
            return coordinator_refuse(acceptance->message, STATUS_INVALID,
                                      "node %s is alive, and what it has counts: leave it out of "
                                      "--confirmed-off, or end its process first",
                                      record->name);
        }
        acceptance->off[record - nodes->nodes] = true;
    }
    return status;
}

/* ---- which groups ---- */

static enum status refuse_group(const struct coordinator *self,
                                const struct filter_document *document, uint32_t group,
                                const struct loss_answer *answer, struct acceptance *acceptance)
{
    const char *silent = name_of(self, answer->silent);

    switch (answer->verdict) {
    case LOSS_NEEDED:
        break;
    case LOSS_ENOUGH:
        return coordinator_refuse(acceptance->message, STATUS_INVALID,
                                  "it is not needed: of slot group %" PRIu32 " %" PRIu32
                                  " FULL replicas are left, and it takes %" PRIu32
                                  "; see `orbloom status` for what is awaited",
                                  group, answer->left, answer->needed);
    case LOSS_GIVEN:
        return coordinator_refuse(acceptance->message, STATUS_EXISTS,
                                  "that was accepted in epoch %" PRIu64
                                  " already; see `orbloom status` for what is awaited",
                                  document->content.groups[group].loss_epoch);
    case LOSS_SILENT:
        return coordinator_refuse(
            acceptance->message, STATUS_INVALID,
            "node %.128s is silent and could come back with its data: start it; if it is "
            "gone for good, vouch for that with --confirmed-off %.128s",
            silent, silent);
    }
    return STATUS_OK;
}

/* With `all` what needs nothing is passed over, unless nothing needs anything. */
static enum status judge(const struct coordinator *self, const struct filter_document *document,
                         struct acceptance *acceptance)
{
    const struct loss_view view = {&self->documents.nodes, acceptance->alive, acceptance->off};
    const struct loss_parameters *request = &acceptance->request->loss;
    enum status refusal = STATUS_OK;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        struct loss_answer answer;

        if (!request->all && document->content.group_of_shard[request->shard] != group) {
            continue;
        }
        loss_judge(document, &view, group, &answer);
        if (answer.verdict == LOSS_NEEDED) {
            acceptance->gone[group] = answer.gone;
            acceptance->loses = acceptance->loses || answer.loses;
            acceptance->ngroups++;
        } else if (refusal == STATUS_OK || answer.verdict == LOSS_SILENT) {
            refusal = refuse_group(self, document, group, &answer, acceptance);
        }
        if (answer.verdict == LOSS_SILENT) {
            return refusal;
        }
    }
    if (acceptance->ngroups > 0) {
        acceptance->message[0] = '\0';
        return STATUS_OK;
    }
    return refusal;
}

/* ---- in sites ---- */

static bool another_counts(const struct site_set *sites)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        if (i != sites->own && sites->entries[i].state == SITE_COUNTED) {
            return true;
        }
    }
    return false;
}

/* What is lost here others may have. So this site joins them anew: it says "absent" again once it
 * has taken over what they have, and streams and marks of its former life are worth nothing. */
static enum status judge_life(struct coordinator *self, const struct filter_document *document,
                              struct acceptance *acceptance)
{
    const struct site_set *sites = document_sites(document);
    const struct site_entry *own = site_set_own(sites);

    if (!acceptance->loses || site_set_live(sites) < 2 || own->state > SITE_COUNTED) {
        return STATUS_OK;
    }
    if (!sites->settled && !another_counts(sites)) {
        return coordinator_refuse(
            acceptance->message, STATUS_UNAVAILABLE,
            "this site alone counts among those that have the filter, and what a site had that was "
            "removed is not made up for yet; see `orbloom site %.128s` for what that waits for, or "
            "remove the others first",
            document->content.name);
    }
    acceptance->life = (struct site_life){.number = site_life_next(own->life.number),
                                          .tag = self->effects.random(self->effects.context)};
    if (acceptance->life.number == 0) {
        return coordinator_refuse(acceptance->message, STATUS_TOO_LARGE,
                                  "this site can't join the others anew, as its life is the last "
                                  "one that there can be: remove it from the filter's sites first");
    }
    return STATUS_OK;
}

/* ---- in words ---- */

static bool is_named(const struct acceptance *self, const struct filter_document *document,
                     uint32_t shard)
{
    return self->gone[document->content.group_of_shard[shard]] != 0;
}

static void tell_shards(struct acceptance *self, const struct filter_document *document)
{
    uint32_t nshards = document_nshards(document);
    const char *comma = "";

    for (uint32_t shard = 0; shard < nshards; shard++) {
        uint32_t first = shard;

        if (!is_named(self, document, shard)) {
            continue;
        }
        while (shard + 1 < nshards && is_named(self, document, shard + 1)) {
            shard++;
        }
        put(self, shard > first ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32, comma, first, shard);
        comma = ", ";
    }
}

static void tell_nodes(const struct coordinator *self, const struct filter_document *document,
                       struct acceptance *acceptance)
{
    const char *comma = "";

    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        uint32_t node = self->documents.nodes.nodes[i].id;
        bool gone = false;

        for (uint32_t group = 0; group < document->content.ngroups; group++) {
            for (uint32_t slot = 0; slot < document->content.rule.replicas; slot++) {
                gone = gone || ((acceptance->gone[group] >> slot & 1) != 0 &&
                                document->content.groups[group].slots[slot].current.node == node);
            }
        }
        if (gone) {
            put(acceptance, "%s%.128s", comma, name_of(self, node));
            comma = ", ";
        }
    }
}

/* The most that any replica of each group said it had, those that are gone included. */
static uint64_t last_known_keys(const struct coordinator *self, uint64_t filter_id,
                                const struct acceptance *acceptance, uint32_t ngroups)
{
    uint64_t sum = 0;

    for (uint32_t group = 0; group < ngroups; group++) {
        sum += acceptance->gone[group] != 0 ? heard_most_keys(self, filter_id, group) : 0;
    }
    return sum;
}

static void tell(const struct coordinator *self, const struct filter_document *document,
                 struct acceptance *acceptance)
{
    uint64_t keys = last_known_keys(self, document->id, acceptance, document->content.ngroups);
    char text[NUMBER_TEXT_BYTES];

    put(acceptance, "filter %.128s, shards ", document->content.name);
    tell_shards(acceptance, document);
    put(acceptance, " (%" PRIu32 " of %" PRIu32 " groups of shards on the same nodes); gone with ",
        acceptance->ngroups, document->content.ngroups);
    tell_nodes(self, document, acceptance);
    if (keys > 0) {
        put(acceptance, "; about %s keys were known there", number_show_count(keys, text));
    } else {
        put(acceptance, "; how many keys were there is not known");
    }
    put(acceptance, acceptance->loses
                        ? "; those that no other replica has are lost"
                        : "; none is lost: enough replicas are left to copy them from");
    if (acceptance->life.number > 0) {
        put(acceptance, "; the filter joins its other sites anew here: no key is called absent "
                        "before what they have is copied, and adds wait until they have heard of "
                        "it");
    }
}

/* ---- the edit ---- */

static void give_up(struct filter_document *document, const void *context)
{
    const struct acceptance *acceptance = context;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (acceptance->gone[group] != 0) {
            loss_give_up(document, group, acceptance->gone[group]);
        }
    }
    if (acceptance->life.number > 0) {
        site_set_begin_life(document->content.sites, &acceptance->life);
    }
    document_epoch_advance(document);
}

static enum status write(struct coordinator *self, uint64_t now_us,
                         const struct document_entry *entry, struct acceptance *acceptance)
{
    uint64_t epoch = entry->document.epoch + 1;
    enum status status;

    assert(acceptance->ngroups > 0); /* A loss of nothing would still say "accepted". */
    tell(self, &entry->document, acceptance);
    if (acceptance->request->dry_run) {
        return STATUS_OK;
    }
    status = records_edit_filter(self, now_us, entry, give_up, acceptance);
    if (status == STATUS_OK) {
        put(acceptance, "; accepted in epoch %" PRIu64, epoch);
        log_line(LOG_WARN, "an operator accepts a loss: %s", acceptance->message);
        coordinator_count(self, COORDINATOR_losses_accepted_total);
        rounds_want_all(self);
    } else {
        records_tell(self, status, "written", acceptance->message, sizeof acceptance->message);
    }
    return status;
}

static bool is_dropping(const struct coordinator *self, const struct admin_request *request)
{
    const struct filter_document *holder = records_holder(self, request->name);

    return holder != NULL && holder->content.state == FILTER_DROPPING;
}

static enum status check(const struct coordinator *self, uint64_t now_us,
                         const struct document_entry *entry, struct acceptance *acceptance)
{
    const struct filter_document *document = entry != NULL ? &entry->document : NULL;

    if (document == NULL && is_dropping(self, acceptance->request)) {
        return coordinator_refuse(
            acceptance->message, STATUS_INVALID,
            "the filter is being dropped, and loses all of its keys: for nodes that are "
            "gone for good, confirm that with `orbloom drop %.128s --confirmed-off NODES`",
            acceptance->request->name);
    }
    if (document == NULL || document->content.state != FILTER_ACTIVE) {
        return coordinator_refuse(acceptance->message, STATUS_NOT_FOUND,
                                  "there is no such filter; see `orbloom info`");
    }
    if (document->durability == DURABILITY_MEMORY) {
        return coordinator_refuse(
            acceptance->message, STATUS_INVALID,
            "the filter is kept in memory only, and is not replaced: drop it with "
            "--confirmed-off, create it again and add its keys again");
    }
    if (!acceptance->request->loss.all &&
        acceptance->request->loss.shard >= document_nshards(document)) {
        return coordinator_refuse(acceptance->message, STATUS_INVALID,
                                  "the filter has shards 0 to %" PRIu32,
                                  document_nshards(document) - 1);
    }
    if (now_us - self->started_us <= self->config.node_timeout_us) {
        return coordinator_refuse(
            acceptance->message, STATUS_UNAVAILABLE,
            "the coordinator has just started and can't tell yet which nodes live; "
            "retry in %" PRIu64 " ms",
            self->config.node_timeout_us / 1000);
    }
    return STATUS_OK;
}

static enum status try_accept(struct coordinator *self, uint64_t now_us, void *context)
{
    struct acceptance *acceptance = context;
    const struct admin_request *request = acceptance->request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    enum status status;

    *acceptance = (struct acceptance){.request = request};
    status = check(self, now_us, entry, acceptance);

    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        acceptance->alive[i] = heard_alive(self, now_us, self->documents.nodes.nodes[i].id);
    }
    status = status == STATUS_OK ? vouch(self, acceptance) : status;
    if (status != STATUS_OK) {
        return status;
    }
    acceptance->gone = heap_zalloc(entry->document.content.ngroups, 1);
    if (acceptance->gone == NULL) {
        return coordinator_refuse(acceptance->message, STATUS_NOMEM, "%s",
                                  status_meaning(STATUS_NOMEM));
    }
    status = judge(self, &entry->document, acceptance);
    status = status == STATUS_OK ? judge_life(self, &entry->document, acceptance) : status;
    if (status == STATUS_OK) {
        status = write(self, now_us, entry, acceptance);
    }
    heap_free(acceptance->gone);
    acceptance->gone = NULL;
    return status;
}

static void on_accept_loss(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct acceptance acceptance = {.request = request};
    enum status status = records_change(self, now_us, try_accept, &acceptance);

    coordinator_answer(self, from, frame->correlation, status, false, acceptance.message);
}

const struct duty duty_loss = {
    .action = ADMIN_ACCEPT_LOSS,
    .command = on_accept_loss,
};
