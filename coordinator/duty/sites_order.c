/* One edit each, judged on what is swapped, and answered as soon as it is written. What is so
 * already takes none; but each order to compare is a new one. */
#include "coordinator/duty/sites_order.h"

#include "coordinator/links.h"
#include "coordinator/records.h"

#include <stdio.h>
#include <string.h>

struct order_command {
    const struct admin_request *request;
    bool changed;
    char message[COORDINATOR_MESSAGE_BYTES];
};

bool sites_order_is_one(enum site_step step)
{
    return step == SITE_STEP_PAUSE || step == SITE_STEP_RESUME || step == SITE_STEP_RESYNC;
}

static bool pauses(const struct order_command *self)
{
    return self->request->site.step == SITE_STEP_PAUSE;
}

static enum status refuse_own(struct order_command *self)
{
    return coordinator_refuse(self->message, STATUS_INVALID, "%.32s is this site; name another one",
                              self->request->site.site);
}

/* ---- of a filter ---- */

/* One that is not gone; NULL: none has the name. */
static struct site_entry *find_live(struct site_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->entries[i].state != SITE_GONE &&
            strncmp(set->entries[i].name, name, SITE_NAME_BYTES) == 0) {
            return &set->entries[i];
        }
    }
    return NULL;
}

static enum status judge_resync(struct coordinator *self, struct order_command *command,
                                const struct filter_document *document,
                                const struct site_set *sites, struct site_entry *entry)
{
    const char *name = document->content.name;

    if (site_set_own(sites)->state == SITE_GONE) {
        return coordinator_refuse(command->message, STATUS_INVALID,
                                  "this site has left filter %.128s, and takes nothing of it over",
                                  name);
    }
    if (entry->paused) {
        return coordinator_refuse(command->message, STATUS_NOT_READY,
                                  "site %.32s is paused here for filter %.128s: first `orbloom "
                                  "site resume %.32s %.128s`",
                                  entry->name, name, entry->name, name);
    }
    if (node_list_pauses(&self->documents.nodes, &entry->id)) {
        return coordinator_refuse(command->message, STATUS_NOT_READY,
                                  "site %.32s is paused here: first `orbloom site resume %.32s`",
                                  entry->name, entry->name);
    }
    entry->resync = document->epoch + 1; /* which the edit makes of it */
    command->changed = true;
    return STATUS_OK;
}

static enum status judge_filter(struct coordinator *self, struct order_command *command,
                                const struct filter_document *document, struct site_set *next)
{
    const char *site = command->request->site.site;
    struct site_entry *entry = find_live(next, site);

    if (entry == NULL) {
        return coordinator_refuse(command->message, STATUS_NOT_FOUND,
                                  "filter %.128s is not in a site %.32s; see `orbloom site %.128s`",
                                  document->content.name, site, document->content.name);
    }
    if (entry == &next->entries[next->own]) {
        return refuse_own(command);
    }
    if (command->request->site.step == SITE_STEP_RESYNC) {
        return judge_resync(self, command, document, next, entry);
    }
    command->changed = entry->paused != pauses(command);
    entry->paused = pauses(command);
    return STATUS_OK;
}

static enum status attempt_filter(struct coordinator *self, uint64_t now_us, void *context)
{
    struct order_command *command = context;
    const struct admin_request *request = command->request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    struct site_set next;
    enum status status;

    command->changed = false;
    if (entry == NULL) {
        return coordinator_refuse(command->message, STATUS_NOT_FOUND,
                                  "there is no filter %.128s; see `orbloom info`", request->name);
    }
    next = *document_sites(&entry->document);
    status = judge_filter(self, command, &entry->document, &next);
    return status == STATUS_OK && command->changed ? records_edit_sites(self, now_us, entry, &next)
                                                   : status;
}

/* ---- of all ---- */

static uint32_t find_paused(const struct node_list *nodes, const char *name)
{
    uint32_t at = 0;

    while (at < nodes->npaused && strncmp(nodes->paused[at].name, name, SITE_NAME_BYTES) != 0) {
        at++;
    }
    return at;
}

/* In a set of sites: no link may run now. */
static bool find_in_sets(const struct coordinator *self, const char *name, struct site_id *id)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;
        struct site_set sites = *document_sites(document);
        const struct site_entry *entry = find_live(&sites, name);

        if (entry != NULL && entry != &sites.entries[sites.own]) {
            *id = entry->id;
            return true;
        }
    }
    return false;
}

/* Which site it is that links know by that name, or filters. */
static enum status judge_peer(struct coordinator *self, uint64_t now_us,
                              struct order_command *command, struct site_id *id)
{
    const char *site = command->request->site.site;
    const struct links_site other = links_find_site(self, now_us, site);
    const struct link_heard *own = links_own(self, now_us);

    if (strcmp(site, self->config.site) == 0 || (own != NULL && strcmp(site, own->site) == 0)) {
        return refuse_own(command);
    }
    if (!other.found && find_in_sets(self, site, id)) {
        return STATUS_OK;
    }
    if (!other.found) {
        return coordinator_refuse(
            command->message, STATUS_NOT_FOUND,
            "no link of this site knows a site %.32s, and no filter is in it; "
            "see `orbloom site`, and site_peers of orbloom-link",
            site);
    }
    if (other.ambiguous) {
        return coordinator_refuse(command->message, STATUS_CONFLICT,
                                  "links of this site know different sites by the name %.32s: give "
                                  "their site_peers the same keys",
                                  site);
    }
    *id = other.id;
    return STATUS_OK;
}

static enum status pause(struct coordinator *self, uint64_t now_us, struct order_command *command,
                         struct node_list *nodes)
{
    struct paused_site *place = &nodes->paused[nodes->npaused];
    struct site_id id;
    enum status status = judge_peer(self, now_us, command, &id);

    if (status != STATUS_OK || node_list_pauses(nodes, &id)) {
        return status;
    }
    if (nodes->npaused == SITE_SET_MAX_LIVE) {
        return coordinator_refuse(command->message, STATUS_TOO_LARGE,
                                  "%d sites are paused, and no more may be: resume one, see "
                                  "`orbloom site`",
                                  SITE_SET_MAX_LIVE);
    }
    *place = (struct paused_site){.id = id};
    (void)snprintf(place->name, sizeof place->name, "%s", command->request->site.site);
    nodes->npaused++;
    command->changed = true;
    return STATUS_OK;
}

/* Also one that links do not know any more; and one that they know by another name now. */
static enum status resume(struct coordinator *self, uint64_t now_us, struct order_command *command,
                          struct node_list *nodes)
{
    uint32_t at = find_paused(nodes, command->request->site.site);
    struct site_id id;
    enum status status = STATUS_OK;

    if (at == nodes->npaused) {
        status = judge_peer(self, now_us, command, &id);
        for (at = 0; status == STATUS_OK && at < nodes->npaused; at++) {
            if (site_id_equal(&nodes->paused[at].id, &id)) {
                break;
            }
        }
    }
    if (status != STATUS_OK || at == nodes->npaused) {
        return status;
    }
    nodes->npaused--;
    memmove(&nodes->paused[at], &nodes->paused[at + 1],
            (nodes->npaused - at) * sizeof nodes->paused[0]);
    command->changed = true;
    return STATUS_OK;
}

static enum status attempt_all(struct coordinator *self, uint64_t now_us, void *context)
{
    struct order_command *command = context;
    struct node_list nodes;
    enum status status = node_list_copy(&self->documents.nodes, &nodes);

    command->changed = false;
    if (status != STATUS_OK) {
        return status;
    }
    status = pauses(command) ? pause(self, now_us, command, &nodes)
                             : resume(self, now_us, command, &nodes);
    if (status == STATUS_OK && command->changed) {
        nodes.revision++;
        status = records_write_nodes(self, &nodes);
    }
    node_list_fini(&nodes);
    if (status == STATUS_OK && command->changed) {
        coordinator_hint(self, now_us);
    }
    return status;
}

/* What was ordered of single filters stays so. */
static void tell_left(const struct coordinator *self, struct order_command *command)
{
    const char *first = "";
    size_t count = 0;

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;
        struct site_set sites = *document_sites(document);
        const struct site_entry *entry = find_live(&sites, command->request->site.site);

        if (entry != NULL && entry->paused && document->content.state == FILTER_ACTIVE) {
            first = count == 0 ? document->content.name : first;
            count++;
        }
    }
    if (count > 0) {
        (void)snprintf(command->message, sizeof command->message,
                       "%zu filter%s paused by orders of their own, %.128s among them; "
                       "`orbloom site resume %.32s NAME`",
                       count, count == 1 ? " stays" : "s stay", first, command->request->site.site);
    }
}

/* ---- the command ---- */

static const char *words_of(enum site_step step)
{
    return step == SITE_STEP_PAUSE    ? "nothing is sent there or taken from there"
           : step == SITE_STEP_RESUME ? "what was paused goes on"
                                      : "all that it has is compared once more";
}

void sites_order_command(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct order_command command = {.request = request};
    bool all = request->name[0] == '\0';
    enum status status;

    if (all && request->site.step == SITE_STEP_RESYNC) {
        status = coordinator_refuse(command.message, STATUS_INVALID,
                                    "a comparison is ordered of one filter; name it");
    } else {
        status = records_change(self, now_us, all ? attempt_all : attempt_filter, &command);
    }
    if (status != STATUS_OK && command.message[0] == '\0') {
        records_tell(self, status, "written", command.message, sizeof command.message);
    }
    if (status == STATUS_OK && all && !pauses(&command)) {
        tell_left(self, &command);
    }
    if (status == STATUS_OK && command.changed) {
        log_line(LOG_INFO, "%s%s, site %s: %s, as an operator asked",
                 all ? "all filters" : "filter ", request->name, request->site.site,
                 words_of(request->site.step));
    }
    coordinator_answer(self, from, frame->correlation, status,
                       status == STATUS_OK && command.changed, command.message);
}
