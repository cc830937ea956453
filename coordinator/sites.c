/* Who is of another site, and the names of a filter's sites. */
#include "coordinator/sites.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum status sites_check(const struct coordinator *self, const struct sync_request *request,
                        char *message)
{
    const char *theirs = request->site != NULL ? request->site : "";
    const char *ours = self->config.site;

    if (theirs[0] == '\0' || ours[0] == '\0' || strcmp(theirs, ours) == 0) {
        return STATUS_OK;
    }
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "%s %.128s is of site %.32s, and this is a coordinator of site %s: name the "
                   "coordinators of its own site, or correct its `site`",
                   request->role == SYNC_NODE ? "node" : "link", request->name, theirs, ours);
    return STATUS_INVALID;
}

const char *sites_list(const struct site_set *sites, char text[SITES_TEXT_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < sites->count; i++) {
        if (sites->entries[i].state != SITE_GONE && used < SITES_TEXT_BYTES) {
            used += (size_t)snprintf(text + used, SITES_TEXT_BYTES - used, "%s%s",
                                     used > 0 ? ", " : "", sites->entries[i].name);
        }
    }
    return text;
}

bool sites_dropped_everywhere(const struct filter_document *document)
{
    return document->content.state != FILTER_ACTIVE && document_has_sites(document) &&
           site_set_live(document_sites(document)) == 0;
}

void sites_drop_everywhere(struct filter_document *document, const void *context)
{
    struct site_set *sites = document->content.sites;

    (void)context;
    assert(document->content.state == FILTER_ACTIVE && document_has_sites(document));
    for (uint32_t i = 0; i < sites->count; i++) {
        sites->entries[i].state = SITE_GONE;
    }
    sites->takes_adds = sites->says_absent = sites->settled = sites->joins_anew = false;
    document->content.state = FILTER_DROPPING;
    document_epoch_advance(document);
}
