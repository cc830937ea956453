/* Each edit is judged on the document that is swapped; what follows of it the duty sees to. It is
 * answered as soon as it is written: `orbloom site` shows how far it is. */
#include "coordinator/duty/sites_change.h"

#include "coordinator/duty/sites_order.h"
#include "coordinator/links.h"
#include "coordinator/records.h"
#include "coordinator/site/newcomer.h"
#include "coordinator/sites.h"
#include "map/acks.h"
#include "proto/admin_message.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct command {
    const struct admin_request *request;
    const struct document_entry *entry;
    const struct link_heard *own; /* this site, as its links say; NULL: they don't */
    struct links_site other;      /* the one that is named */
    struct site_set next;
    bool changed; /* by this command; else it is so already */
    char message[COORDINATOR_MESSAGE_BYTES];
};

static const char *name_of(const struct command *self)
{
    return self->entry->document.content.name;
}

/* The site of that name, which is gone, or is not; NULL: it is not in the set. */
static struct site_entry *find_named(struct site_set *set, const char *name, bool gone)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if ((set->entries[i].state == SITE_GONE) == gone &&
            strncmp(set->entries[i].name, name, SITE_NAME_BYTES) == 0) {
            return &set->entries[i];
        }
    }
    return NULL;
}

/* ---- to name a newcomer: what the filter is ---- */

static enum status check_log(struct command *self)
{
    const struct filter_document *document = &self->entry->document;

    if (document->durability == DURABILITY_MEMORY) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "filter %.128s is kept in memory only, and sites tell each other what is in "
            "logs on disks: create it anew with --durability os or sync",
            name_of(self));
    }
    if (document->keylog == KEYLOG_OFF) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "filter %.128s has no log of keys, which is what sites tell each other: "
            "create it anew with --keylog on",
            name_of(self));
    }
    return STATUS_OK;
}

static enum status check_kind(struct command *self)
{
    const struct filter_document *document = &self->entry->document;

    if (document->nslices > 0) {
        return coordinator_refuse(self->message, STATUS_INVALID,
                                  "filter %.128s has a window, which can't be in several sites yet",
                                  name_of(self));
    }
    if (document->content.nkeysets > 1) {
        return coordinator_refuse(
            self->message, STATUS_NAME_BUSY,
            "filter %.128s is being rebuilt from a list: commit or abort that first, "
            "`orbloom rebuild %.128s`",
            name_of(self), name_of(self));
    }
    if (document->expiry.number != 0) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "filter %.128s expires, which it can't in several sites yet: `orbloom expire "
            "%.128s --never` takes that back",
            name_of(self), name_of(self));
    }
    if (document->when_full == WHEN_FULL_REFUSE) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "filter %.128s refuses keys when it is full, also those that another site "
            "has acknowledged: in several sites it has to grow (--when-full expand)",
            name_of(self));
    }
    if (document_is_loading(document)) {
        return coordinator_refuse(self->message, STATUS_NAME_BUSY,
                                  "filter %.128s is being loaded from a dump; wait until it serves",
                                  name_of(self));
    }
    return STATUS_OK;
}

/* ---- ... and which site it is ---- */

static enum status check_own(struct command *self)
{
    const char *site = self->request->site.site;

    if (self->own == NULL) {
        return coordinator_refuse(
            self->message, STATUS_UNAVAILABLE,
            "no link of this site has asked this coordinator lately, or they say that "
            "they are of different sites: start orbloom-link, and see `orbloom site`");
    }
    if (strcmp(site, self->own->site) == 0) {
        return coordinator_refuse(self->message, STATUS_INVALID,
                                  "%.32s is this site; name another one", site);
    }
    if (!self->other.found) {
        return coordinator_refuse(
            self->message, STATUS_NOT_FOUND,
            "no link of this site knows a site %.32s; see `orbloom site`, and site_peers "
            "of orbloom-link",
            site);
    }
    if (self->other.ambiguous) {
        return coordinator_refuse(
            self->message, STATUS_CONFLICT,
            "links of this site know different sites by the name %.32s: give their "
            "site_peers the same keys",
            site);
    }
    if (site_id_equal(&self->other.id, &self->own->report.id)) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "site %.32s has this site's own key: give each site one of its own, `orbloom "
            "keygen --site FILE`",
            site);
    }
    return STATUS_OK;
}

/* A newcomer takes a higher one when it makes the filter. */
static struct site_life first_life(struct coordinator *self)
{
    return (struct site_life){.number = SITE_FIRST_LIFE,
                              .tag = self->effects.random(self->effects.context)};
}

static enum status check_entry(struct command *self)
{
    const struct site_set *sites = document_sites(&self->entry->document);
    const struct site_entry *own = site_set_own(sites);
    const struct site_entry *held = site_set_find(sites, &self->other.id);
    const char *site = self->request->site.site;

    if (own != NULL && !site_id_equal(&own->id, &self->own->report.id)) {
        return coordinator_refuse(
            self->message, STATUS_CONFLICT,
            "filter %.128s knows this site by another key than its links have: give them "
            "the site_key_file that they had",
            name_of(self));
    }
    if (own != NULL && own->state != SITE_COUNTED) {
        return coordinator_refuse(
            self->message, STATUS_NOT_READY,
            "this site is %s itself: name %.32s at a site that counts, see `orbloom site "
            "%.128s`",
            site_state_name(own->state), site, name_of(self));
    }
    if (held == NULL || held->state == SITE_JOINING || held->state == SITE_GONE) {
        return STATUS_OK;
    }
    return coordinator_refuse(self->message, STATUS_EXISTS,
                              "filter %.128s is in site %.32s already, which is %s", name_of(self),
                              site, site_state_name(held->state));
}

/* Not where other sites have one already, which was lost here with the store: of two sets that were
 * begun for one filter, each would leave out who is only in the other. */
static enum status begin_set(struct coordinator *self, struct command *command)
{
    struct site_set *next = &command->next;

    assert(next->count == 0);
    if (newcomers_has(self, &command->entry->document.content.uid)) {
        return coordinator_refuse(
            command->message, STATUS_CONFLICT,
            "filter %.128s is in sites already, as the others tell, and was put back here "
            "to before that: it joins them anew by itself, see `orbloom site %.128s`",
            name_of(command), name_of(command));
    }
    next->entries[0] = (struct site_entry){
        .id = command->own->report.id,
        .life = first_life(self),
        .state = SITE_COUNTED,
    };
    (void)snprintf(next->entries[0].name, SITE_NAME_BYTES, "%s", command->own->site);
    next->count = 1;
    next->takes_adds = next->says_absent = next->settled = true;
    return STATUS_OK;
}

/* What was told as dropped everywhere would be so once it is one of them again. */
static bool has_dropped(const struct coordinator *self, const struct command *command)
{
    const struct in_sites *note = in_sites_of(self, &command->entry->document.content.uid);
    const struct site_heard *heard = note != NULL ? in_sites_find(note, &command->other.id) : NULL;

    return heard != NULL && heard->dropped;
}

/* It had left, or was removed. */
static enum status bring_back(struct coordinator *self, struct command *command,
                              const struct site_entry *newcomer, struct site_entry *gone)
{
    struct site_entry entry = *newcomer;

    entry.life.number = site_life_first_of_next_return(gone->life.number);
    if (entry.life.number == 0) {
        return STATUS_TOO_LARGE;
    }
    if (has_dropped(self, command)) {
        return coordinator_refuse(
            command->message, STATUS_INVALID,
            "site %.32s has dropped filter %.128s for all sites, while it was none of them any "
            "more, and would drop it here: create a new filter, and add the site to that",
            command->request->site.site, name_of(command));
    }
    entry.paused = gone->paused;
    *gone = entry;
    return site_set_live(&command->next) <= SITE_SET_MAX_LIVE ? STATUS_OK : STATUS_TOO_LARGE;
}

static enum status put_entry(struct coordinator *self, struct command *command,
                             const struct site_entry *entry)
{
    for (uint32_t i = 0; i < command->next.count; i++) {
        if (site_id_equal(&command->next.entries[i].id, &entry->id)) {
            return bring_back(self, command, entry, &command->next.entries[i]);
        }
    }
    return site_set_add(&command->next, entry);
}

static enum status put_newcomer(struct coordinator *self, struct command *command)
{
    struct site_entry entry = {
        .id = command->other.id, .life = first_life(self), .state = SITE_JOINING};
    const struct site_entry *held;
    enum status status;
    const char *fault;

    if (command->next.count == 0 && begin_set(self, command) != STATUS_OK) {
        return STATUS_CONFLICT;
    }
    held = site_set_find(&command->next, &entry.id);
    if (held != NULL && held->state != SITE_GONE) {
        return STATUS_OK; /* It is on its way. */
    }
    if (find_named(&command->next, command->request->site.site, false) != NULL) {
        return coordinator_refuse(
            command->message, STATUS_EXISTS,
            "another site by the name %.32s is in filter %.128s; remove that one first, "
            "or name this one otherwise",
            command->request->site.site, name_of(command));
    }
    (void)snprintf(entry.name, sizeof entry.name, "%s", command->request->site.site);
    if (!command->other.connected) {
        return coordinator_refuse(
            command->message, STATUS_UNAVAILABLE,
            "no link of this site is connected to %.32s; see `orbloom site`, and the "
            "logs of orbloom-link at both sites",
            command->request->site.site);
    }
    status = put_entry(self, command, &entry);
    if (status == STATUS_TOO_LARGE) {
        return coordinator_refuse(
            command->message, STATUS_TOO_LARGE,
            "filter %.128s has as many sites as there may be: %d, and %d with those "
            "that are gone",
            name_of(command), SITE_SET_MAX_LIVE, SITE_SET_MAX);
    }
    if (status != STATUS_OK) {
        return status;
    }
    fault = sites_fault(&command->next);
    command->changed = true;
    return fault == NULL ? STATUS_OK
                         : coordinator_refuse(command->message, STATUS_INVALID, "%s", fault);
}

static enum status judge_add(struct coordinator *self, struct command *command)
{
    enum status status = check_own(command);

    status = status == STATUS_OK ? check_log(command) : status;
    status = status == STATUS_OK ? check_kind(command) : status;
    status = status == STATUS_OK ? check_entry(command) : status;
    return status == STATUS_OK ? put_newcomer(self, command) : status;
}

/* ---- to leave, and to remove ---- */

static uint32_t count_counted(const struct site_set *set)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < set->count; i++) {
        count += set->entries[i].state == SITE_COUNTED;
    }
    return count;
}

/* Would those that are left be fewer than have to acknowledge an add? Of each that counts there are
 * always enough. */
static bool leaves_too_few(const struct command *self, const struct site_entry *entry)
{
    uint32_t acks = self->entry->document.acks;

    return entry->state == SITE_COUNTED && acks != ACKS_EACH &&
           count_counted(&self->next) - 1 < acks;
}

static enum status refuse_too_few(struct command *self, const char *why, const char *remedy)
{
    return coordinator_refuse(
        self->message, STATUS_INVALID,
        "%sadds to filter %.128s are acknowledged by %u sites, and without %.32s %u would count: "
        "none would be acknowledged any more. Add another site first, `orbloom site add`%s",
        why, name_of(self), self->entry->document.acks, self->request->site.site,
        count_counted(&self->next) - 1, remedy);
}

/* That it takes no adds and says no "absent" is its own to begin with: another site that counts it
 * no more acknowledges what it lacks. */
static enum status judge_leave(struct command *self, struct site_entry *entry)
{
    const char *site = self->request->site.site;

    if (entry != &self->next.entries[self->next.own] && entry->state == SITE_JOINING) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "%.32s joins: where it can't make the filter, `orbloom site` there says why, "
            "and what helps; it goes on by itself then. Once it has made it, it leaves "
            "there. Where it can't, --now --confirmed-off %.32s takes it out of the set",
            site, site);
    }
    if (entry != &self->next.entries[self->next.own]) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "a site leaves by itself: give the command to a coordinator of %.32s, "
            "`orbloom site remove %.128s %.32s`. If that one is off for good: --now "
            "--confirmed-off %.32s",
            site, name_of(self), site, site);
    }
    if (entry->state == SITE_LEAVING) {
        return STATUS_OK;
    }
    if (entry->state == SITE_COUNTED && count_counted(&self->next) == 1) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "no other site of filter %.128s counts yet, so nobody would have its keys: "
            "wait until one does, see `orbloom site %.128s`; or drop the filter",
            name_of(self), name_of(self));
    }
    if (leaves_too_few(self, entry)) {
        return refuse_too_few(self, "", "");
    }
    entry->state = SITE_LEAVING;
    self->next.takes_adds = self->next.says_absent = false;
    self->changed = true;
    return STATUS_OK;
}

/* One that is off acknowledges nothing anyway, and whoever is to take its place could not join
 * before it is gone: so that there are enough is asked only while it is heard of. */
static enum status judge_remove(struct command *self, struct site_entry *entry, bool connected)
{
    if (entry == &self->next.entries[self->next.own]) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "%.32s is this site, which is not off: `orbloom site remove` without --now, "
            "and once it leaves `orbloom drop %.128s --here`",
            self->request->site.site, name_of(self));
    }
    if (entry->state == SITE_COUNTED && count_counted(&self->next) == 1) {
        return coordinator_refuse(
            self->message, STATUS_INVALID,
            "no site that has all keys of filter %.128s would be left: %.32s is the last "
            "one that counts, and what only it has could be called absent. If it won't "
            "come back: `orbloom drop %.128s --everywhere`, and create the filter anew",
            name_of(self), self->request->site.site, name_of(self));
    }
    if (connected && leaves_too_few(self, entry)) {
        return refuse_too_few(self,
                              "links of this site are connected to it, so it is not off; and ",
                              ". If it is off for good, stop its links, too");
    }
    if (site_entry_has_own_life(entry)) {
        self->next.settled = false; /* What only that one had may be with some of the others. */
    }
    entry->state = SITE_GONE;
    self->changed = true;
    return STATUS_OK;
}

/* Others would be done with it, and only some have them. */
static bool lacks_own(const struct coordinator *coordinator, const struct command *self)
{
    const struct in_sites *note = in_sites_of(coordinator, &self->entry->document.content.uid);
    const struct site_entry *own = site_set_own(&self->next);

    return site_set_heals(&self->next) ||
           (own != NULL && note != NULL && site_life_compare(&note->put_back, &own->life) == 0);
}

static enum status judge_out(struct coordinator *coordinator, uint64_t now_us, struct command *self)
{
    const char *site = self->request->site.site;
    struct site_entry *entry = find_named(&self->next, site, false);

    if (entry == NULL && find_named(&self->next, site, true) != NULL) {
        return STATUS_OK;
    }
    if (entry == NULL) {
        return coordinator_refuse(self->message, STATUS_NOT_FOUND,
                                  "filter %.128s is not in a site %.32s; see `orbloom site %.128s`",
                                  name_of(self), site, name_of(self));
    }
    if (self->request->site.step == SITE_STEP_LEAVE && lacks_own(coordinator, self)) {
        return coordinator_refuse(
            self->message, STATUS_NOT_READY,
            "this site was put back to an older copy, and lacks keys that it has acknowledged: "
            "wait "
            "until it counts again, see `orbloom site %.128s`. If it is to be off for good: at "
            "another site, --now --confirmed-off %.32s",
            name_of(self), site);
    }
    return self->request->site.step == SITE_STEP_LEAVE
               ? judge_leave(self, entry)
               : judge_remove(self, entry, links_connected(coordinator, now_us, &entry->id));
}

/* ---- the command ---- */

static enum status attempt(struct coordinator *self, uint64_t now_us, void *context)
{
    struct command *command = context;
    const struct admin_request *request = command->request;
    enum status status;

    command->entry = records_find(self, request->name, request->filter_id);
    if (command->entry == NULL) {
        return coordinator_refuse(command->message, STATUS_NOT_FOUND,
                                  "there is no filter %.128s; see `orbloom info`", request->name);
    }
    command->own = links_own(self, now_us);
    command->other = links_find_site(self, now_us, request->site.site);
    command->next = *document_sites(&command->entry->document);
    command->changed = false;
    status = request->site.step == SITE_STEP_ADD ? judge_add(self, command)
                                                 : judge_out(self, now_us, command);
    return status == STATUS_OK && command->changed
               ? records_edit_sites(self, now_us, command->entry, &command->next)
               : status;
}

void sites_change_command(struct coordinator *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    struct command command = {.request = &frame->body.admin_request};
    enum status status = STATUS_INVALID;

    if (command.request->site.step == SITE_STEP_LIST) {
        (void)coordinator_refuse(command.message, status,
                                 "that is no change of sites, but a question about them");
    } else if (!site_name_valid(span_text(command.request->site.site))) {
        (void)coordinator_refuse(command.message, status,
                                 "a site's name takes 1 to 32 of [a-z0-9-]");
    } else if (sites_order_is_one(command.request->site.step)) {
        sites_order_command(self, now_us, from, frame);
        return;
    } else {
        status = records_change(self, now_us, attempt, &command);
    }
    if (status != STATUS_OK && command.message[0] == '\0') {
        records_tell(self, status, "written", command.message, sizeof command.message);
    }
    if (status == STATUS_OK && command.changed) {
        coordinator_count(self, COORDINATOR_sites_written_total);
        log_line(LOG_INFO, "filter %s, site %s: %s, as an operator asked", command.request->name,
                 command.request->site.site,
                 command.request->site.step == SITE_STEP_ADD     ? "it is to have the filter, too"
                 : command.request->site.step == SITE_STEP_LEAVE ? "it leaves"
                                                                 : "it is off for good");
    }
    coordinator_answer(self, from, frame->correlation, status,
                       status == STATUS_OK && command.changed, command.message);
}
