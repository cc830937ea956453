/* What is known of a filter at other sites hangs on its document here; what is to be asked is a
 * list, which is sent at the end of the turn. */
#include "router/site/inquiry.h"

#include "base/heap.h"
#include "map/history/rebuild.h"

#include <stdio.h>

struct site_knowledge {
    struct site_inquiry of[SITE_TOPICS];
};

void site_knowledge_destroy(struct site_knowledge *knowledge)
{
    heap_free(knowledge);
}

struct site_inquiry *site_inquiry_of(const struct document_entry *entry, enum site_topic topic)
{
    const struct routed_filter *routed = entry->attachment;

    return routed != NULL && routed->sites != NULL ? &routed->sites->of[topic] : NULL;
}

static struct site_knowledge *make(struct router *self)
{
    struct site_knowledge *made = heap_zalloc(1, sizeof *made);

    for (unsigned topic = 0; made != NULL && topic < SITE_TOPICS; topic++) {
        freshness_init(&made->of[topic].fresh, self->effects.random(self->effects.context));
    }
    return made;
}

struct site_inquiry *site_inquiry_make(struct router *self, const struct document_entry *entry,
                                       enum site_topic topic)
{
    struct routed_filter *routed = entry->attachment;
    struct site_inquiry *inquiry;

    if (routed->sites == NULL) {
        routed->sites = make(self);
    }
    inquiry = site_inquiry_of(entry, topic);
    if (inquiry != NULL && inquiry->epoch != entry->document.epoch) {
        freshness_enter(&inquiry->fresh, document_sites(&entry->document),
                        rebuild_serving(&entry->document));
        inquiry->epoch = entry->document.epoch;
    }
    return inquiry;
}

const char *site_name_of(const struct document_entry *entry, const struct site_id *id)
{
    const struct site_entry *site = site_set_find(document_sites(&entry->document), id);

    return site != NULL ? site->name : "a site";
}

static bool is_paused(const struct site_inquiry *inquiry, const struct site_id *id)
{
    for (uint32_t i = 0; inquiry != NULL && i < inquiry->npaused; i++) {
        if (site_id_equal(&inquiry->paused[i], id)) {
            return true;
        }
    }
    return false;
}

const char *site_remedy(const struct site_inquiry *inquiry, const struct document_entry *entry,
                        const struct site_id *id, char text[SITE_REMEDY_BYTES])
{
    (void)snprintf(text, SITE_REMEDY_BYTES, "%s see `orbloom site %s`",
                   is_paused(inquiry, id) ? "it is paused by an operator," : "retry,",
                   entry->document.content.name);
    return text;
}

/* ---- what is to be asked ---- */

/* Without memory it is asked by a later operation. */
void site_inquire(struct router *self, uint64_t filter_id, enum site_topic topic,
                  struct site_inquiry *inquiry, bool waits)
{
    struct site_links *links = &self->site_links;

    inquiry->waits |= waits;
    if (!inquiry->wanted &&
        heap_grow(&links->wanted, &links->room, links->nwanted + 1, sizeof *links->wanted)) {
        links->wanted[links->nwanted++] = (struct site_wanted){filter_id, topic};
        inquiry->wanted = true;
    }
}

void site_inquire_on(struct router *self, uint64_t now_us, uint64_t filter_id,
                     enum site_topic topic, struct site_inquiry *inquiry)
{
    if (now_us >= inquiry->await_us) {
        inquiry->lacks = true;
        site_inquire(self, filter_id, topic, inquiry, true);
    }
}

void site_inquiries_fini(struct router *self)
{
    heap_free(self->site_links.wanted);
}
