/* The set of sites of each filter: this site's nodes fence it, and it goes on as far as what other
 * sites and links tell allows (coordinator/plan/sites.h), one compare-and-swap a step. Every
 * condition is judged on the very document that is swapped, so that whoever was first is seen.
 *
 * Filters that other sites want here are made; what was dropped everywhere is dropped here. */
#include "coordinator/plan/sites.h"

#include "base/mutant.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/duty/sites_change.h"
#include "coordinator/nodes/vouch.h"
#include "coordinator/records.h"
#include "coordinator/site/heard.h"
#include "coordinator/site/newcomer.h"
#include "coordinator/site/tell.h"
#include "coordinator/sites.h"

#include <inttypes.h>
#include <string.h>

enum { SITES_MAX_STEPS = 4 /* written in one turn */ };

/* ---- fences ---- */

/* As a node sees it: also what the own site may do. */
static bool is_same(const struct site_set *a, const struct site_set *b)
{
    return site_set_agrees(a, b) && a->takes_adds == b->takes_adds &&
           a->says_absent == b->says_absent && a->settled == b->settled &&
           a->joins_anew == b->joins_anew;
}

static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    (void)self;
    return (uint8_t)~evidence_silenced(evidence, document, group);
}

/* A later epoch with the same set need not be fenced: under it no other set is gone by. */
static bool is_fenced(const struct in_sites *note, const struct filter_document *document)
{
    return note->is_fenced && is_same(&note->fenced, document_sites(document));
}

static void fence(struct coordinator *self, uint64_t now_us, struct in_sites *note,
                  const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct fencing *fencing = fences_open(self, document);

    if (fencing == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    if (!MUTANT(SITE_SET_UNFENCED) &&
        vouch_open_group(self, now_us, document, &fencing->evidence,
                         quorum_fences(&document->content.rule)) < document->content.ngroups) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
        return;
    }
    note->is_fenced = true;
    note->fenced = *document_sites(document);
    note->news = true;
    note->told = 0;
}

/* ---- steps ---- */

static const char *step_name(enum sites_step step)
{
    switch (step) {
    case SITES_COME_BACK:
        return "this one has it again, and joins anew";
    case SITES_JOIN_ANEW:
        return "this one was put back to an older copy, and joins anew";
    case SITES_MERGE:
        return "it knows what the others know";
    case SITES_OPEN:
        return "it takes adds here";
    case SITES_COUNT:
        return "this site counts";
    case SITES_SETTLE:
        return "all sites have been compared with this one";
    case SITES_SAY_ABSENT:
        return "it may say \"absent\" here";
    case SITES_GONE:
        return "a site has left";
    case SITES_STEP_NONE:
        break;
    }
    return "?";
}

static bool is_dropped_elsewhere(const struct in_sites *note, const struct site_set *document)
{
    for (size_t i = 0; i < note->nsites; i++) {
        const struct site_entry *entry = note->sites[i].dropped
                                             ? site_set_find(document, &note->sites[i].id)
                                             : NULL;

        if (entry != NULL && site_drop_counts(entry, note->sites[i].last_return)) {
            return true;
        }
    }
    return false;
}

/* False: another coordinator was first, whose document is looked at, or it is tried again later. */
static bool note_written(struct coordinator *self, uint64_t now_us, struct in_sites *note,
                         enum status status)
{
    if (status == STATUS_OK) {
        note->next_us = 0;
        coordinator_count(self, COORDINATOR_sites_written_total);
        return true;
    }
    note->next_us = now_us + self->config.fence_retry_us;
    return false;
}

static void drop(struct coordinator *self, uint64_t now_us, struct in_sites *note,
                 const struct document_entry *entry)
{
    if (note_written(self, now_us, note,
                     records_edit_filter(self, now_us, entry, sites_drop_everywhere, NULL))) {
        log_line(LOG_INFO, "filter %s, id %" PRIu64 ": dropped here, as it was at all of its sites",
                 entry->document.content.name, entry->document.id);
    }
}

/* True: one more look is worth it, the document has changed. */
static bool step(struct coordinator *self, uint64_t now_us, struct in_sites *note,
                 const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct sites_peer peers[SITE_SET_MAX];
    struct sites_view view = in_sites_view(self, now_us, note, document_sites(document), peers);
    struct sites_decision decision;

    view.tag = self->effects.random(self->effects.context);
    sites_decide(&view, &decision);
    if (decision.action != SITES_WRITE) {
        note->next_us = 0;
        self->sites_news = tell_note(self, note, document, &view) || self->sites_news;
        return false;
    }
    if (!note_written(self, now_us, note,
                      records_edit_sites(self, now_us, entry, &decision.next))) {
        return false;
    }
    log_line(LOG_INFO, "filter %s: its sites: %s (epoch %" PRIu64 ")", document->content.name,
             step_name(decision.step), document->epoch);
    return true;
}

static bool concerns(const struct document_entry *entry)
{
    return document_has_sites(&entry->document) && !entry->conflict;
}

static bool is_due(const struct in_sites *note, uint64_t now_us,
                   const struct filter_document *document)
{
    return note->news || note->looked != document->revision ||
           (note->next_us != 0 && now_us >= note->next_us);
}

static void look_at_active(struct coordinator *self, uint64_t now_us, struct in_sites *note,
                           const struct document_entry *entry)
{
    bool more = true;

    if (is_dropped_elsewhere(note, document_sites(&entry->document))) {
        drop(self, now_us, note, entry);
        return;
    }
    for (int steps = 0; more && steps < SITES_MAX_STEPS; steps++) {
        more = step(self, now_us, note, entry) && entry->document.content.state == FILTER_ACTIVE &&
               !entry->conflict;
        if (more) {
            fence(self, now_us, note, entry);
        }
    }
    note->news = note->news || more;
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct in_sites *note = notes_open(&self->notes, NOTE_SITES, document->id);

    assert(concerns(entry));
    if (note == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    if (!note->fencing && !is_due(note, now_us, document)) {
        return; /* Most of them, at most events. */
    }
    note->uid = document->content.uid;
    if (note->looked == 0) {
        newcomers_tell_drops(self, note);
    }
    if (document->content.state == FILTER_ACTIVE && !is_fenced(note, document)) {
        fence(self, now_us, note, entry);
    }
    note->fencing = document->content.state == FILTER_ACTIVE && !is_fenced(note, document);
    if (!is_due(note, now_us, document)) {
        return;
    }
    note->news = false;
    if (document->content.state == FILTER_ACTIVE) {
        look_at_active(self, now_us, note, entry);
    } else {
        note->next_us = 0; /* What was to be written again is not any more. */
        if (note->looked != document->revision) {
            tell_again(self, note); /* That it is a tombstone, if it is one everywhere. */
        }
    }
    note->looked = document->revision;
    note->fencing = document->content.state == FILTER_ACTIVE && !is_fenced(note, document);
}

/* Links are told to ask once for all that the turn before has found. */
static enum duty_round begin_round(struct coordinator *self, uint64_t now_us)
{
    if (self->sites_news) {
        self->sites_news = false;
        coordinator_hint(self, now_us);
    }
    newcomers_try(self, now_us);
    return ROUND_RESTLESS;
}

/* Of what is written: in a conflict nothing is, however long it lasts, nor once it is dropped. */
static uint64_t notes_due_us(const struct coordinator *self)
{
    uint64_t due_us = ACTOR_NEVER;

    for (size_t i = 0; i < notes_count(&self->notes, NOTE_SITES); i++) {
        const struct note *note = notes_at(&self->notes, NOTE_SITES, i);
        uint64_t next_us = ((const struct in_sites *)note->about)->next_us;
        const struct document_entry *entry = next_us != 0 && next_us < due_us
                                                 ? document_cache_find(&self->documents,
                                                                       note->filter_id)
                                                 : NULL;

        if (entry != NULL && concerns(entry) && entry->document.content.state == FILTER_ACTIVE) {
            due_us = next_us;
        }
    }
    return due_us;
}

static uint64_t due_us(const struct coordinator *self)
{
    uint64_t notes_us = notes_due_us(self);
    uint64_t newcomers_us = newcomers_next_us(self);

    if (self->sites_news) {
        return self->now_us;
    }
    return notes_us < newcomers_us ? notes_us : newcomers_us;
}

const struct duty duty_sites = {
    .action = ADMIN_SITE_CHANGE,
    .command = sites_change_command,
    .round = begin_round,
    .concerns = concerns,
    .look = look,
    .due_us = due_us,
};
