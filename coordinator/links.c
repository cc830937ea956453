/* A table of what links have said, by the name of the process; another site is found in it by what
 * they call it, or by its id. */
#include "coordinator/links.h"

#include <stdio.h>
#include <string.h>

enum { GAP_MOST_US = 600000000 };

/* ---- what links say ---- */

/* As routers are: see coordinator_follows_router(). */
bool links_hears(const struct coordinator *self, uint64_t now_us, const struct link_heard *link)
{
    return link->name[0] != '\0' && (coordinator_lately(self, now_us, link->last_us) ||
                                     now_us - link->last_us <= 2 * link->gap_us);
}

/* The one of that name; else the place of the one that was heard of longest ago. */
static struct link_heard *place_of(struct coordinator *self, const char *name)
{
    struct link_heard *oldest = &self->links[0];

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        struct link_heard *one = &self->links[i];

        if (strncmp(one->name, name, sizeof one->name) == 0) {
            return one;
        }
        oldest = one->last_us < oldest->last_us ? one : oldest;
    }
    return oldest;
}

static uint64_t gap_of(const struct link_heard *one, uint64_t now_us)
{
    uint64_t gap_us = now_us > one->last_us ? now_us - one->last_us : 0;

    gap_us = gap_us > one->gap_us ? gap_us : one->gap_us;
    return gap_us < GAP_MOST_US ? gap_us : GAP_MOST_US;
}

/* Names and endpoints that no document could hold are nobody's. */
static bool is_sound(const struct sync_request *request)
{
    size_t size = strlen(request->endpoint);

    return document_name_valid(span_text(request->name)) && request->site != NULL &&
           site_name_valid(span_text(request->site)) && size > 0 && size < DOCUMENT_TEXT_BYTES;
}

bool links_note(struct coordinator *self, uint64_t now_us, const struct sync_request *request)
{
    struct link_heard *one;
    bool again;

    if (!link_report_said(&request->link) || !is_sound(request)) {
        return false;
    }
    one = place_of(self, request->name);
    again = strncmp(one->name, request->name, sizeof one->name) == 0;
    *one = (struct link_heard){.last_us = now_us,
                               .gap_us = again ? gap_of(one, now_us) : 0,
                               .curve = request->curve,
                               .report = request->link};
    (void)snprintf(one->name, sizeof one->name, "%s", request->name);
    (void)snprintf(one->site, sizeof one->site, "%s", request->site);
    (void)snprintf(one->endpoint, sizeof one->endpoint, "%s", request->endpoint);
    return true;
}

size_t links_places(const struct coordinator *self, uint64_t now_us,
                    struct link_place places[COORDINATOR_MAX_LINKS])
{
    size_t count = 0;

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        const struct link_heard *one = &self->links[i];

        if (links_hears(self, now_us, one)) {
            places[count++] = (struct link_place){.endpoint = one->endpoint, .curve = one->curve};
        }
    }
    return count;
}

bool links_lives(const struct coordinator *self, uint64_t now_us, const char *name)
{
    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        if (strncmp(self->links[i].name, name, sizeof self->links[i].name) == 0) {
            return links_hears(self, now_us, &self->links[i]);
        }
    }
    return false;
}

const struct link_heard *links_own(const struct coordinator *self, uint64_t now_us)
{
    const struct link_heard *own = NULL;

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        const struct link_heard *one = &self->links[i];

        if (!links_hears(self, now_us, one)) {
            continue;
        }
        if (own != NULL && (!site_id_equal(&own->report.id, &one->report.id) ||
                            strcmp(own->site, one->site) != 0)) {
            return NULL;
        }
        own = one;
    }
    return own;
}

bool links_disagree(const struct coordinator *self, uint64_t now_us)
{
    bool any = false;

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        any = any || links_hears(self, now_us, &self->links[i]);
    }
    return any && links_own(self, now_us) == NULL;
}

static void find_in(const struct link_report *report, const char *name, struct links_site *out)
{
    for (uint32_t i = 0; i < report->npeers; i++) {
        const struct link_peer *peer = &report->peers[i];

        if (strncmp(peer->name, name, sizeof peer->name) != 0) {
            continue;
        }
        out->ambiguous = out->ambiguous || (out->found && !site_id_equal(&out->id, &peer->id));
        out->connected = out->connected || peer->connected;
        out->found = true;
        out->id = peer->id;
    }
}

struct links_site links_find_site(const struct coordinator *self, uint64_t now_us, const char *name)
{
    struct links_site site = {0};

    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        if (links_hears(self, now_us, &self->links[i])) {
            find_in(&self->links[i].report, name, &site);
        }
    }
    return site;
}

static bool reports_connected(const struct link_report *report, const struct site_id *id)
{
    for (uint32_t i = 0; i < report->npeers; i++) {
        if (report->peers[i].connected && site_id_equal(&report->peers[i].id, id)) {
            return true;
        }
    }
    return false;
}

bool links_connected(const struct coordinator *self, uint64_t now_us, const struct site_id *id)
{
    for (size_t i = 0; i < COORDINATOR_MAX_LINKS; i++) {
        if (links_hears(self, now_us, &self->links[i]) &&
            reports_connected(&self->links[i].report, id)) {
            return true;
        }
    }
    return false;
}
