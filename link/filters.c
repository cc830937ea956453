/* Which filters of this site's documents are in several sites. */
#include "link/private.h"

const struct site_entry *site_filter_own(const struct link *self,
                                         const struct document_entry *entry)
{
    const struct site_entry *own = site_set_own(document_sites(&entry->document));

    return own != NULL && own->state != SITE_GONE && site_id_equal(&own->id, &self->config.id) &&
                   !entry->conflict && !entry->gone &&
                   entry->document.content.state == FILTER_ACTIVE &&
                   document_logs_keys(&entry->document)
               ? own
               : NULL;
}

const struct document_entry *site_filter_of(const struct link *self, const struct filter_uid *uid)
{
    const struct document_cache *documents = router_documents(self->router);

    for (size_t i = 0; i < documents->count; i++) {
        if (filter_uid_equal(&documents->by_id[i]->document.content.uid, uid)) {
            return documents->by_id[i];
        }
    }
    return NULL;
}

const struct site_entry *site_filter_peer(const struct link *self,
                                          const struct document_entry *entry, uint32_t peer)
{
    const struct site_entry *other = site_set_find(document_sites(&entry->document),
                                                   &self->config.peers[peer].id);

    return other != NULL && other->state != SITE_GONE ? other : NULL;
}

uint32_t site_peer_of(const struct link *self, const struct site_id *id)
{
    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        if (site_id_equal(&self->config.peers[peer].id, id)) {
            return peer;
        }
    }
    return LINK_MAX_SITES;
}
