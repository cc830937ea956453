/* A decision, made anew, in words. */
#include "coordinator/site/words.h"

#include "coordinator/links.h"

#include <stdio.h>
#include <string.h>

enum { WHO_BYTES = SITE_NAME_BYTES + SITE_ID_TEXT_BYTES };

/* What is not in the document may be in what others tell. */
static const char *name_of(const struct sites_view *view, const struct site_id *id,
                           char text[WHO_BYTES])
{
    const struct site_entry *entry = site_set_find(view->document, id);
    char digits[SITE_ID_TEXT_BYTES];

    for (uint32_t i = 0; entry == NULL && i < view->npeers; i++) {
        entry = view->peers[i].fenced != NULL ? site_set_find(view->peers[i].fenced, id) : NULL;
    }
    if (entry != NULL) {
        (void)snprintf(text, WHO_BYTES, "%.*s", SITE_NAME_BYTES - 1, entry->name);
    } else {
        (void)snprintf(text, WHO_BYTES, "%s", site_id_show(id, digits));
    }
    return text;
}

/* ", to which no link of this site is connected": what the user may look at first. */
static const char *cut_off(const struct coordinator *self, uint64_t now_us, const char *name)
{
    return links_find_site(self, now_us, name).connected
               ? ""
               : "; no link of this site is connected to it";
}

static void tell(const struct sites_decision *decision, const char *who, const char *leaver,
                 const char *cut, char *text)
{
    const size_t size = COORDINATOR_MESSAGE_BYTES;

    switch (decision->wait) {
    case SITES_WAIT_NONE:
        (void)snprintf(text, size, "the store to be written");
        return;
    case SITES_WAIT_ROOM:
        (void)snprintf(text, size,
                       "sites to be removed: with those that site %s knows there are more than "
                       "there may be",
                       who);
        return;
    case SITES_WAIT_NAME:
        (void)snprintf(text, size,
                       "one of two sites to be removed that have one name, as site %s knows them",
                       who);
        return;
    case SITES_WAIT_LIFE:
        (void)snprintf(text, size,
                       "this site's store, which was put back: site %s knows a newer life of this "
                       "site. Restore it from what its nodes hold, or drop the filter here and "
                       "remove this site there",
                       who);
        return;
    case SITES_WAIT_FENCE:
        (void)snprintf(text, size, "this site's nodes to confirm the set of sites");
        return;
    case SITES_WAIT_NAMED:
        (void)snprintf(text, size, "site %s to know the same sites, and its nodes to confirm it%s",
                       who, cut);
        return;
    case SITES_WAIT_COUNTING:
        (void)snprintf(
            text, size,
            "a site that has all keys, and none is left: each other one joins, leaves, or "
            "is gone. What one that leaves has can be dumped there; then drop the filter "
            "everywhere, and create it anew");
        return;
    case SITES_WAIT_COPY:
        (void)snprintf(text, size, "all keys of site %s to be copied%s", who, cut);
        return;
    case SITES_WAIT_COMPARE:
        (void)snprintf(text, size, "all keys of site %s to be compared, as a site was removed%s",
                       who, cut);
        return;
    case SITES_WAIT_COUNTED:
        (void)snprintf(text, size, "site %s to count this one, and its nodes to confirm it%s", who,
                       cut);
        return;
    case SITES_WAIT_MARK:
        (void)snprintf(text, size, "a mark of site %s, begun since that counts this one%s", who,
                       cut);
        return;
    case SITES_WAIT_LEAVING:
        (void)snprintf(text, size, "site %s to know that %s leaves, and its nodes to confirm it%s",
                       who, leaver, cut);
        return;
    case SITES_WAIT_DONE:
        (void)snprintf(text, size, "site %s to have all that %s, which leaves, has acknowledged%s",
                       who, leaver, cut);
        return;
    }
}

void words_awaited(const struct coordinator *self, uint64_t now_us,
                   const struct document_entry *entry, char *text)
{
    const struct site_set *document = document_sites(&entry->document);
    const struct in_sites *note = notes_find(&self->notes, NOTE_SITES, entry->document.id);
    const struct in_sites none = {0};
    struct sites_peer peers[SITE_SET_MAX];
    struct sites_view view = in_sites_view(self, now_us, note != NULL ? note : &none, document,
                                           peers);
    struct sites_decision decision;
    char who[WHO_BYTES];
    char leaver[WHO_BYTES];

    text[0] = '\0';
    sites_decide(&view, &decision);
    if (decision.action == SITES_NOTHING) {
        return;
    }
    (void)name_of(&view, &decision.who, who);
    tell(&decision, who, name_of(&view, &decision.leaver, leaver),
         site_id_equal(&decision.who, &site_set_own(document)->id) ? ""
                                                                   : cut_off(self, now_us, who),
         text);
}
