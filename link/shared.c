/* Which filters may be sent to another site: those that both have, in the lives that both know, and
 * not while this site may lack some of its own keys. */
#include "link/private.h"
#include "link/states.h"
#include "map/history/rebuild.h"

/* NULL, or why that site is told nothing of it. */
static const char *not_shared(const struct link *self, uint32_t peer,
                              const struct document_entry *entry, const struct site_life *own_life,
                              const struct site_life *peer_life, enum status *status)
{
    const struct site_entry *own = entry != NULL ? site_filter_own(self, entry) : NULL;
    const struct site_entry *other = own != NULL ? site_filter_peer(self, entry, peer) : NULL;

    *status = STATUS_NOT_FOUND;
    if (own == NULL) {
        return "the filter is not here, or not in sites";
    }
    if (other == NULL) {
        return "the filter's sites, as they are known here, do not have the one that asks";
    }
    *status = STATUS_STALE;
    if (site_life_compare(&own->life, own_life) != 0 ||
        site_life_compare(&other->life, peer_life) != 0) {
        return "one of the two sites has another life by what is known here: it was put back, or "
               "that is not known yet";
    }
    if (put_back_is(self, &entry->document.content.uid, own_life)) {
        return "this site was put back to an older copy";
    }
    *status = STATUS_OK;
    return NULL;
}

enum status site_filter_shared(const struct link *self, uint32_t peer,
                               const struct document_entry *entry, const struct site_life *own_life,
                               const struct site_life *peer_life)
{
    enum status status;

    (void)not_shared(self, peer, entry, own_life, peer_life, &status);
    return status;
}

/* NULL, or why that is not to be sent. */
static const char *fault_of(const struct link *self, uint32_t peer,
                            const struct document_entry *entry, const struct site_life *own_life,
                            const struct site_life *peer_life, uint32_t keyset, enum status *status)
{
    const char *fault = not_shared(self, peer, entry, own_life, peer_life, status);

    if (fault == NULL && rebuild_serving(&entry->document) != keyset) {
        *status = STATUS_STALE;
        fault = "another keyset serves the filter here";
    }
    if (fault == NULL && pause_is_here(self, entry, peer)) {
        *status = STATUS_NOT_READY;
        fault = "it is paused there by an operator";
    }
    return fault;
}

/* What heals a site that joins anew is not logged as its own, so it reaches others by the whole
 * copy that their first stream of its new life begins with: not before it counts, then. Who joins
 * anew as well, and knows in which life this one is, copies all others once more itself. */
static bool may_be_told(struct link *self, uint32_t peer, const struct document_entry *entry)
{
    const struct site_set *set = document_sites(&entry->document);
    const struct site_entry *known;
    struct site_filter told;

    if (!site_set_heals(set)) {
        return true;
    }
    if (!states_of_peer(self, peer, &entry->document.content.uid, &told) || told.dropped ||
        !site_set_heals(&told.document)) {
        return false;
    }
    known = site_set_find(&told.document, &site_set_own(set)->id);
    return known != NULL && site_life_compare(&known->life, &site_set_own(set)->life) == 0;
}

const struct document_entry *site_filter_find(struct link *self, uint32_t peer,
                                              const struct site_open *open, enum status *status,
                                              const char **cause)
{
    const struct document_entry *entry = site_filter_of(self, &open->uid);

    *cause = fault_of(self, peer, entry, &open->source_life, &open->own_life, open->keyset, status);
    if (*cause == NULL && !may_be_told(self, peer, entry)) {
        *status = STATUS_NOT_READY;
        *cause = "this site joins anew, and has not taken over yet what others have of its keys";
    }
    return *cause == NULL ? entry : NULL;
}

const char *site_filter_over(const struct link *self, const struct outflow *outflow,
                             const struct document_entry *entry, enum status *status)
{
    return fault_of(self, outflow->peer, entry, &outflow->own_life, &outflow->peer_life,
                    outflow->keyset, status);
}
