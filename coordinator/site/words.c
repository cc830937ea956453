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

struct names {
    char filter[DOCUMENT_NAME_BYTES];
    char own[WHO_BYTES];
    char who[WHO_BYTES];
    char leaver[WHO_BYTES];
    const char *cut; /* what the user may look at first */
    bool all_taken;  /* the room of those that are gone, too */
};

/* By this site: what the other one has ordered its own coordinator tells. */
static bool is_paused(const struct coordinator *self, const struct sites_view *view,
                      const struct site_id *who)
{
    const struct site_entry *entry = site_set_find(view->document, who);

    return (entry != NULL && entry->paused) || node_list_pauses(&self->documents.nodes, who);
}

static const char *cut_off(const struct coordinator *self, uint64_t now_us,
                           const struct sites_view *view, const struct site_id *who)
{
    if (is_paused(self, view, who)) {
        return "; it is paused here, see `orbloom site`";
    }
    return site_id_equal(who, &site_set_own(view->document)->id) ||
                   links_connected(self, now_us, who)
               ? ""
               : "; no link of this site is connected to it";
}

/* With what that one knows, are there more than SITE_SET_MAX, also of those that are gone? */
static bool takes_all(const struct sites_view *view, const struct site_id *who)
{
    uint32_t count = view->document->count;

    for (uint32_t i = 0; i < view->npeers; i++) {
        const struct site_set *told = view->peers[i].fenced;

        if (told == NULL || !site_id_equal(&view->peers[i].id, who)) {
            continue;
        }
        for (uint32_t k = 0; k < told->count; k++) {
            count += site_set_find(view->document, &told->entries[k].id) == NULL;
        }
    }
    return count > SITE_SET_MAX;
}

/* ---- what others know, and this site can't take over ---- */

static void tell_room(const struct names *names, char *text)
{
    if (names->all_taken) {
        (void)snprintf(
            text, COORDINATOR_MESSAGE_BYTES,
            "nothing that can come: with those that site %s knows there are more than %d "
            "sites, and those that are gone stay. Create a new filter, and drop this one",
            names->who, SITE_SET_MAX);
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "sites to be removed: with those that site %s knows there are more than %d "
                       "that are not gone; `orbloom site %.128s` at both shows which",
                       names->who, SITE_SET_MAX_LIVE, names->filter);
    }
}

static void tell_life(const struct names *names, char *text)
{
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "its end: it leaves, and was put back to an older copy, as site %.32s knows, so "
                   "that it lacks keys that others wait for. At another site `orbloom site remove "
                   "%.128s %.32s --now --confirmed-off %.32s`, then here `orbloom drop --here`",
                   names->who, names->filter, names->own, names->own);
}

static void tell_counting(const struct names *names, char *text)
{
    (void)snprintf(
        text, COORDINATOR_MESSAGE_BYTES,
        "a site that has all keys, and none is left: each other one joins, leaves, or is "
        "gone. What one that leaves has can be dumped there, and loaded under another "
        "name; then `orbloom drop %.128s --everywhere`",
        names->filter);
}

static void tell_staying(const struct names *names, char *text)
{
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "a site that stays: all that had the keys leave, and nobody would answer for "
                   "them any more. They can be dumped here, and loaded under another name; then "
                   "`orbloom drop %.128s --everywhere`",
                   names->filter);
}

/* ---- a decision ---- */

static void tell(const struct sites_decision *decision, const struct names *names, char *text)
{
    const size_t size = COORDINATOR_MESSAGE_BYTES;
    const char *who = names->who;
    const char *leaver = names->leaver;
    const char *cut = names->cut;

    switch (decision->wait) {
    case SITES_WAIT_NONE:
        (void)snprintf(text, size, "the store to be written");
        return;
    case SITES_WAIT_ROOM:
        tell_room(names, text);
        return;
    case SITES_WAIT_NAME:
        (void)snprintf(text, size,
                       "one of two sites to be removed that have one name, as site %s knows them",
                       who);
        return;
    case SITES_WAIT_LIFE:
        tell_life(names, text);
        return;
    case SITES_WAIT_FENCE:
        (void)snprintf(text, size, "this site's nodes to confirm the set of sites");
        return;
    case SITES_WAIT_NAMED:
        (void)snprintf(text, size, "site %s to know the same sites, and its nodes to confirm it%s",
                       who, cut);
        return;
    case SITES_WAIT_COUNTING:
        tell_counting(names, text);
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
    case SITES_WAIT_STAYING:
        tell_staying(names, text);
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
    struct sites_peer peers[SITE_SET_MAX];
    struct sites_view view = in_sites_view(self, now_us, note, document, peers);
    struct sites_decision decision;
    struct names names;

    text[0] = '\0';
    if (links_disagree(self, now_us)) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "this site's links, which say that they are of different sites: what they "
                       "bring of others is left out. Give all of them one `site` and one "
                       "`site_key_file`");
        return;
    }
    sites_decide(&view, &decision);
    if (decision.action == SITES_NOTHING) {
        return;
    }
    (void)snprintf(names.filter, sizeof names.filter, "%s", entry->document.content.name);
    (void)name_of(&view, &site_set_own(document)->id, names.own);
    (void)name_of(&view, &decision.who, names.who);
    (void)name_of(&view, &decision.leaver, names.leaver);
    names.cut = cut_off(self, now_us, &view, &decision.who);
    names.all_taken = takes_all(&view, &decision.who);
    tell(&decision, &names, text);
}
