/* Which streams are sent, and which logs each of them follows, and how far: looked up. Nothing is
 * changed here, so that streams that are received may ask as well (vouched.c). */
#include "link/private.h"

/* ---- streams ---- */

struct outflow *outflow_of(struct link *self, const struct channel *channel, uint64_t stream)
{
    struct number_entry *entry = number_table_find(&self->outflows_by_stream, stream);
    struct outflow *outflow = (struct outflow *)entry;

    return entry != NULL && outflow->channel == channel->number ? outflow : NULL;
}

const struct outflow *outflow_find(const struct link *self, uint64_t filter_id, uint32_t peer,
                                   const struct site_life *own_life,
                                   const struct site_life *peer_life)
{
    const struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (!outflow->over && outflow->filter_id == filter_id && outflow->peer == peer &&
            site_life_compare(&outflow->own_life, own_life) == 0 &&
            site_life_compare(&outflow->peer_life, peer_life) == 0) {
            return outflow;
        }
    }
    return NULL;
}

const struct document_entry *outflow_document(struct link *self, const struct outflow *outflow)
{
    return document_cache_find(router_documents(self->router), outflow->filter_id);
}

/* ---- the logs that one follows ---- */

bool outflow_place_can_be(const struct site_source *source)
{
    return source->incarnation != 0 && source->boot != 0 && source->offset % 8 == 0 &&
           source->offset <= INT64_MAX;
}

struct follow *outflow_follow(struct outflow *outflow, uint32_t group, uint32_t node)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (outflow->follows[i].source.group == group && outflow->follows[i].source.node == node) {
            return &outflow->follows[i];
        }
    }
    return NULL;
}

/* Has that node answered for all places that the asker has given? */
static bool is_judged(const struct outflow *outflow, uint32_t node)
{
    for (size_t i = 0; i < outflow->njudges; i++) {
        if (outflow->judges[i].member.node == node && outflow->judges[i].reader != NULL) {
            return false;
        }
    }
    return true;
}

bool outflow_goes_on(const struct outflow *outflow, const struct site_boot *log)
{
    if (!is_judged(outflow, log->node)) {
        return false;
    }
    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct follow *follow = &outflow->follows[i];

        if (!follow->fills && follow->source.node == log->node &&
            follow->source.incarnation == log->incarnation && follow->source.boot == log->boot) {
            return true;
        }
    }
    return false;
}

bool outflow_is_ahead(const struct reading *reading)
{
    const struct outflow *outflow = reading->outflow;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct follow *follow = &outflow->follows[i];

        if (!follow->fills && follow->source.node == reading->member.node &&
            follow->source.boot == reading->boot && follow->source.offset > reading->at) {
            return true;
        }
    }
    return false;
}

/* What the log of that node is still needed for: from where it is not applied, or is being copied.
 */
uint64_t outflow_needs(const struct outflow *outflow, uint32_t node)
{
    uint64_t from = UINT64_MAX;

    for (size_t i = 0; i < outflow->nfollows; i++) {
        const struct follow *follow = &outflow->follows[i];

        if (follow->source.node == node && !follow->fills && follow->taken < from) {
            from = follow->taken;
        }
    }
    for (uint32_t i = 0; i < outflow->fill.nsources; i++) {
        const struct router_copy_source *source = &outflow->fill.sources[i];

        if (source->member.node == node && source->end < from) {
            from = source->end;
        }
    }
    return from;
}
