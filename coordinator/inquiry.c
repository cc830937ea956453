/* How many keys a filter has now: its nodes are asked, as what they report by themselves is as old
 * as the interval between reports. An answer was made after the question, so keys that were
 * acknowledged before it are counted in it. */
#include "base/heap.h"
#include "coordinator/duty/growth.h"
#include "coordinator/private.h"

struct inquiry *inquiry_open(struct coordinator *self)
{
    struct inquiry *inquiry = heap_zalloc(1, sizeof *inquiry);

    if (inquiry != NULL) {
        inquiry->number = ++self->inquiries;
    }
    return inquiry;
}

void inquiry_close(struct inquiry **inquiry)
{
    if (*inquiry != NULL) {
        heap_free((*inquiry)->reports);
        heap_free(*inquiry);
        *inquiry = NULL;
    }
}

bool inquiry_has_told(const struct inquiry *inquiry, uint32_t node)
{
    for (uint32_t i = 0; i < inquiry->ntold; i++) {
        if (inquiry->told[i] == node) {
            return true;
        }
    }
    return false;
}

/* ---- asking ---- */

static bool holds(const struct filter_document *document, uint32_t node)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (document_slot_of(document, group, node, 0) >= 0) {
            return true;
        }
    }
    return false;
}

static void ask_node(struct coordinator *self, uint32_t node, const struct inquiry *inquiry,
                     uint64_t filter_id)
{
    uint32_t link = fences_link(self, node);
    struct frame frame = {
        .kind = FRAME_INFO_REQUEST,
        .correlation = inquiry->number,
        .body.info_request = {.filter = "", .filter_id = filter_id},
    };

    buffer_clear(&self->out);
    if (link != 0 && codec_encode(&frame, &self->out) == STATUS_OK) {
        /* Not connected yet: asked again after fence_retry. */
        (void)self->effects.send(self->effects.context, link, buffer_span(&self->out));
    }
}

void inquiry_ask(struct coordinator *self, uint64_t now_us, struct inquiry *inquiry,
                 const struct filter_document *document)
{
    const struct node_list *nodes = &self->documents.nodes;

    if (now_us < inquiry->next_us) {
        return;
    }
    inquiry->next_us = now_us + self->config.fence_retry_us;
    for (uint32_t i = 0; i < nodes->count; i++) {
        uint32_t node = nodes->nodes[i].id;

        if (!inquiry_has_told(inquiry, node) && holds(document, node)) {
            ask_node(self, node, inquiry, document->id);
        }
    }
}

/* ---- answers ---- */

static struct waiter *find_waiter(struct coordinator *self, uint64_t number)
{
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        struct waiter *waiter = &self->waiters[i];

        if (waiter->used && waiter->inquiry != NULL && waiter->inquiry->number == number) {
            return waiter;
        }
    }
    return NULL;
}

static const struct heard *heard_by_link(const struct coordinator *self, uint32_t link)
{
    for (size_t i = 0; i < self->nheard; i++) {
        if (self->heard[i].link == link) {
            return &self->heard[i];
        }
    }
    return NULL;
}

/* Also one that has nothing to report has answered: it can't tell, and others must. */
static void take(struct inquiry *inquiry, uint64_t filter_id, uint32_t node,
                 const struct info_reply *reply)
{
    struct growth_report *grown = heap_realloc(inquiry->reports,
                                               inquiry->nreports + reply->nreplicas, sizeof *grown);

    if (grown == NULL) {
        return; /* Out of memory: it is asked again. */
    }
    inquiry->reports = grown;
    inquiry->nreports += growth_view_take(reply->replicas, reply->nreplicas, filter_id, node,
                                          grown + inquiry->nreports);
    inquiry->told[inquiry->ntold++] = node;
    inquiry->news = true;
}

void coordinator_on_info_reply(struct coordinator *self, uint32_t link, const struct frame *frame)
{
    struct waiter *waiter = find_waiter(self, frame->correlation);
    const struct heard *heard = heard_by_link(self, link);

    if (waiter == NULL || heard == NULL || inquiry_has_told(waiter->inquiry, heard->node) ||
        waiter->inquiry->ntold == DOCUMENT_MAX_NODES) {
        return; /* To a question that is answered, or repeated. */
    }
    take(waiter->inquiry, waiter->filter_id, heard->node, &frame->body.info_reply);
}
