/* Puts an answer about sites together: of what links say, by the ids of sites, of the sets in
 * documents, and of what other sites have told. */
#include "base/heap.h"
#include "coordinator/links.h"
#include "coordinator/site/heard.h"
#include "coordinator/site/newcomer.h"
#include "coordinator/site/words.h"
#include "coordinator/view/view.h"

#include <stdio.h>
#include <string.h>

enum {
    LISTED_SITES = 64,     /* in one answer; what is beyond is not told */
    LISTED_FILTERS = 1024, /* ... of which it is told how many */
    LISTED_STANDINGS = LISTED_FILTERS * SITE_SET_MAX_LIVE,
    LISTED_TEXTS = 256, /* what others wait for is told when one filter is asked about */
};

struct view_sites {
    const struct node_list *nodes;
    struct site_summary sites[LISTED_SITES];
    size_t nsites;
    const char *site; /* this one */
    struct filter_sites filters[LISTED_FILTERS];
    size_t nfilters;
    uint64_t left; /* filters that are not in it */
    struct site_standing others[LISTED_STANDINGS];
    size_t nothers;
    char texts[LISTED_TEXTS][COORDINATOR_MESSAGE_BYTES]; /* of the first ones that wait */
    size_t ntexts;
    struct site_refusal refusals[NEWCOMERS_MAX];
    size_t nrefusals;
    struct link_place links[COORDINATOR_MAX_LINKS];
    size_t nlinks;
};

/* NULL: there is no room for one more. */
static struct site_summary *site_of(struct view_sites *self, const struct site_id *id,
                                    const char *name)
{
    for (size_t i = 0; i < self->nsites; i++) {
        if (site_id_equal(&self->sites[i].id, id)) {
            return &self->sites[i];
        }
    }
    if (self->nsites == LISTED_SITES) {
        return NULL;
    }
    self->sites[self->nsites] = (struct site_summary){
        .id = *id, .name = name, .paused = node_list_pauses(self->nodes, id)};
    return &self->sites[self->nsites++];
}

static void list_peer(struct view_sites *self, const struct link_peer *peer)
{
    struct site_summary *site = site_of(self, &peer->id, peer->name);

    if (site == NULL || !peer->connected) {
        return;
    }
    site->links++;
    if (site->round_trip_us == 0 || peer->round_trip_us < site->round_trip_us) {
        site->round_trip_us = peer->round_trip_us;
    }
}

static void list_link(struct view_sites *self, const struct link_heard *link)
{
    struct site_summary *own = site_of(self, &link->report.id, link->site);

    if (own != NULL) {
        own->own = true;
        own->links++;
    }
    for (uint32_t i = 0; i < link->report.npeers; i++) {
        list_peer(self, &link->report.peers[i]);
    }
}

/* What the other sites have told; returns how many. */
static size_t list_others(struct view_sites *self, const struct in_sites *note,
                          const struct site_set *sites)
{
    size_t before = self->nothers;

    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site_heard *heard = note != NULL ? in_sites_find(note, &sites->entries[i].id)
                                                      : NULL;

        if (i == sites->own || sites->entries[i].state == SITE_GONE ||
            self->nothers == LISTED_STANDINGS) {
            continue;
        }
        self->others[self->nothers++] = (struct site_standing){
            .id = sites->entries[i].id,
            .told = heard != NULL,
            .takes_adds = heard != NULL && heard->takes_adds,
            .says_absent = heard != NULL && heard->says_absent,
            .settled = heard != NULL && heard->settled,
            .keys = heard != NULL ? heard->keys : 0,
        };
    }
    return self->nothers - before;
}

static const char *list_awaited(const struct coordinator *coordinator, uint64_t now_us,
                                struct view_sites *self, const struct document_entry *entry)
{
    char *text = self->texts[self->ntexts];

    if (self->ntexts == LISTED_TEXTS) {
        return "";
    }
    words_awaited(coordinator, now_us, entry, text);
    self->ntexts += text[0] != '\0';
    return text[0] != '\0' ? text : "";
}

static void list_refusals(const struct coordinator *coordinator, struct view_sites *self)
{
    for (size_t i = 0; i < NEWCOMERS_MAX; i++) {
        const struct newcomer *one = newcomers_at(coordinator, i);

        if (one != NULL) {
            self->refusals[self->nrefusals++] = (struct site_refusal){
                .name = one->name, .site = one->by, .reason = one->reason};
        }
    }
}

static void list_filter(const struct coordinator *coordinator, uint64_t now_us,
                        struct view_sites *self, const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    const struct in_sites *note = notes_find(&coordinator->notes, NOTE_SITES, document->id);
    const struct site_set *sites = document_sites(document);
    struct filter_sites *filter;

    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site_entry *one = &sites->entries[i];
        struct site_summary *site = one->state != SITE_GONE ? site_of(self, &one->id, one->name)
                                                            : NULL;

        if (site != NULL && i == sites->own) {
            site->own = true;
        }
    }
    if (self->nfilters == LISTED_FILTERS) {
        self->left++;
        return;
    }
    filter = &self->filters[self->nfilters++];
    *filter = (struct filter_sites){.filter_id = document->id,
                                    .name = document->content.name,
                                    .sites = *sites,
                                    .awaited = list_awaited(coordinator, now_us, self, entry),
                                    .others = &self->others[self->nothers]};
    filter->nothers = list_others(self, note, sites);
}

static bool is_meant(const struct filter_document *document, const char *name)
{
    return document_has_sites(document) && document->content.state == FILTER_ACTIVE &&
           (name[0] == '\0' || strcmp(document->content.name, name) == 0);
}

static void list_all(const struct coordinator *self, uint64_t now_us, const char *name,
                     struct view_sites *listing)
{
    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        if (links_hears(self, now_us, &self->links[i])) {
            list_link(listing, &self->links[i]);
        }
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct document_entry *entry = self->documents.by_id[i];

        if (is_meant(&entry->document, name)) {
            list_filter(self, now_us, listing, entry);
        }
    }
    list_refusals(self, listing);
    listing->nlinks = links_places(self, now_us, listing->links);
}

struct view_sites *view_sites_list(const struct coordinator *self, uint64_t now_us,
                                   const char *name)
{
    struct view_sites *listing = heap_zalloc(1, sizeof *listing);

    if (listing != NULL) {
        listing->site = self->config.site;
        listing->nodes = &self->documents.nodes;
        list_all(self, now_us, name, listing);
    }
    return listing;
}

void view_sites_page(const struct view_sites *self, struct site_page *out)
{
    *out = (struct site_page){
        .site = self->site,
        .sites = self->sites,
        .nsites = self->nsites,
        .filters = self->filters,
        .nfilters = self->nfilters,
        .filters_left = self->left,
        .refusals = self->refusals,
        .nrefusals = self->nrefusals,
        .links = self->links,
        .nlinks = self->nlinks,
    };
}

void view_sites_free(struct view_sites *self)
{
    heap_free(self);
}

/* One filter is asked about: is it there? */
static bool is_there(const struct coordinator *self, const char *name)
{
    const struct document_entry *entry = document_cache_find_name(&self->documents, name);

    return entry != NULL && entry->document.content.state == FILTER_ACTIVE;
}

void coordinator_on_site(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame)
{
    const char *name = frame->body.admin_request.name;
    struct view_sites *listing = view_sites_list(self, now_us, name);
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_ADMIN_REPLY};
    char message[COORDINATOR_MESSAGE_BYTES] = "";

    if (frame->body.admin_request.site.step != SITE_STEP_LIST) {
        coordinator_answer(self, from, frame->correlation, STATUS_INVALID, false,
                           "that is no question about sites, but a change of them");
    } else if (name[0] != '\0' && !is_there(self, name)) {
        (void)snprintf(message, sizeof message, "there is no filter %.128s; see `orbloom info`",
                       name);
        coordinator_answer(self, from, frame->correlation, STATUS_NOT_FOUND, false, message);
    } else if (listing == NULL) {
        coordinator_answer(self, from, frame->correlation, STATUS_NOMEM, false,
                           "the coordinator is out of memory; retry");
    } else {
        answer.body.admin_reply = (struct admin_reply){.message = ""};
        view_sites_page(listing, &answer.body.admin_reply.sites);
        coordinator_reply(self, from, &answer);
    }
    view_sites_free(listing);
}
