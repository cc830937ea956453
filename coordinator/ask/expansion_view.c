/* What is known here of one filter's expansion, as map/history/expansion.h wants to see it; and how
 * many keys it has now: its nodes are asked, as what they report by themselves is as old as the
 * interval between reports. An answer was made after the question, so keys that were acknowledged
 * before it are counted in it. */
#include "coordinator/ask/expansion_view.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/ask/filter_question.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/records.h"

/* ---- what is told of a filter's keys ---- */

/* One that still reads its log does not know how many keys it has, and serves nothing. */
static bool tells(const struct replica_report *report, uint64_t filter_id)
{
    return report->filter_id == filter_id && report->state >= REPLICA_JOINING;
}

static struct expansion_report view_of(uint32_t node, const struct replica_report *report)
{
    return (struct expansion_report){
        .node = node,
        .group = report->group,
        .generation = report->generation,
        .shards_grown = report->shards_grown,
        .expanding = report->phase == PHASE_GROWING,
        .keys = report->keys,
        .newest_keys = report->keys_next,
        .overflow_keys = report->overflow_keys,
    };
}

static size_t take_told(const struct replica_report *reports, size_t count, uint64_t filter_id,
                        uint32_t node, struct expansion_report *out)
{
    size_t taken = 0;

    for (size_t i = 0; i < count; i++) {
        if (tells(&reports[i], filter_id)) {
            out[taken++] = view_of(node, &reports[i]);
        }
    }
    return taken;
}

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

static bool has_told(const struct inquiry *inquiry, uint32_t node)
{
    for (uint32_t i = 0; i < inquiry->ntold; i++) {
        if (inquiry->told[i] == node) {
            return true;
        }
    }
    return false;
}

/* ---- how many keys there are now: asking ---- */

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

        if (!has_told(inquiry, node) && document_has_member(document, node)) {
            /* Not connected yet: asked again after fence_retry. */
            (void)filter_question_send(self, node, inquiry->number, document->id);
        }
    }
}

/* ---- how many keys there are now: answers ---- */

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
    struct expansion_report *grown = heap_realloc(
        inquiry->reports, inquiry->nreports + reply->nreplicas, sizeof *grown);

    if (grown == NULL) {
        return; /* Out of memory: it is asked again. */
    }
    inquiry->reports = grown;
    inquiry->nreports += take_told(reply->replicas, reply->nreplicas, filter_id, node,
                                   grown + inquiry->nreports);
    inquiry->told[inquiry->ntold++] = node;
    inquiry->news = true;
}

void coordinator_on_info_reply(struct coordinator *self, uint32_t link, const struct frame *frame)
{
    struct waiter *waiter = find_waiter(self, frame->correlation);
    const struct heard *heard = heard_by_link(self, link);

    if (waiter == NULL || heard == NULL || has_told(waiter->inquiry, heard->node) ||
        waiter->inquiry->ntold == DOCUMENT_MAX_NODES) {
        return; /* To a question that is answered, or repeated. */
    }
    take(waiter->inquiry, waiter->filter_id, heard->node, &frame->body.info_reply);
}

/* ---- the view ---- */

/* A coordinator that has just started has heard of nobody; that says nothing about anybody. */
static bool is_alive(const struct coordinator *self, uint64_t now_us, const struct heard *heard)
{
    uint64_t last_us = heard != NULL ? heard->last_us : self->started_us;

    return coordinator_lately(self, now_us, last_us);
}

/* Was what the node said last said with this version of the document in hand? */
static bool is_current(const struct heard *heard, uint64_t version)
{
    return heard->since >= version || MUTANT(OLD_REVISION);
}

static struct expansion_node describe_node(const struct coordinator *self, uint64_t now_us,
                                           const struct node_record *record, uint64_t version)
{
    const struct heard *heard = coordinator_heard(self, record->id);
    struct expansion_node node = {
        .id = record->id,
        .incarnation = record->incarnation,
        .host = record->host,
        .limit_bytes = record->memory_limit_bytes,
        .alive = is_alive(self, now_us, heard),
    };

    if (heard != NULL) {
        node.incarnation = heard->incarnation;
        node.current = node.alive && is_current(heard, version);
    }
    return node;
}

static size_t count_reports(const struct coordinator *self, uint64_t filter_id)
{
    size_t count = 0;

    for (size_t i = 0; i < self->nheard; i++) {
        size_t told;
        const struct replica_report *reports = heard_reports(&self->heard[i], filter_id, &told);

        for (size_t k = 0; k < told; k++) {
            count += tells(&reports[k], filter_id);
        }
    }
    return count;
}

static void take_reports(const struct coordinator *self, uint64_t filter_id,
                         struct expansion_report *out)
{
    for (size_t i = 0; i < self->nheard; i++) {
        size_t told;
        const struct replica_report *reports = heard_reports(&self->heard[i], filter_id, &told);

        out += take_told(reports, told, filter_id, self->heard[i].node, out);
    }
}

struct expansion_view *expansion_view_make(const struct coordinator *self, uint64_t now_us,
                                           const struct document_entry *entry)
{
    uint32_t nnodes = self->documents.nodes.count;
    size_t nreports = count_reports(self, entry->document.id);
    struct expansion_view *view = heap_zalloc(1, sizeof *view);
    struct expansion_node *nodes = heap_alloc(nnodes, sizeof *nodes);
    struct expansion_report *reports = heap_alloc(nreports, sizeof *reports);

    if (view == NULL || nodes == NULL || reports == NULL) {
        heap_free(view);
        heap_free(nodes);
        heap_free(reports);
        return NULL;
    }
    for (uint32_t i = 0; i < nnodes; i++) {
        nodes[i] = describe_node(self, now_us, &self->documents.nodes.nodes[i],
                                 records_version(entry));
    }
    take_reports(self, entry->document.id, reports);
    *view = (struct expansion_view){
        .document = &entry->document,
        .nodes = nodes,
        .nnodes = nnodes,
        .reports = reports,
        .nreports = nreports,
    };
    return view;
}

enum status expansion_view_add(struct expansion_view *view, const struct inquiry *inquiry)
{
    struct expansion_node *nodes = (struct expansion_node *)view->nodes;
    struct expansion_report *reports = heap_realloc(
        (void *)view->reports, view->nreports + inquiry->nreports, sizeof *reports);

    if (reports == NULL) {
        return STATUS_NOMEM;
    }
    view->reports = reports;
    for (size_t i = 0; i < inquiry->nreports; i++) {
        reports[view->nreports] = inquiry->reports[i];
        reports[view->nreports++].asked = true;
    }
    for (uint32_t i = 0; i < view->nnodes; i++) {
        nodes[i].told = has_told(inquiry, nodes[i].id);
    }
    return STATUS_OK;
}

void expansion_view_weigh(const struct coordinator *self, struct expansion_view *view)
{
    struct expansion_node *nodes = (struct expansion_node *)view->nodes;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct heard *heard = coordinator_heard(self, nodes[i].id);
        uint64_t used = heard != NULL ? heard->memory_used_bytes : 0;
        uint64_t placed = usage_peak_bytes(self, nodes[i].id);

        nodes[i].used_bytes = used > placed ? used : placed;
    }
}

void expansion_view_free(struct expansion_view *view)
{
    if (view != NULL) {
        heap_free((void *)view->nodes);
        heap_free((void *)view->reports);
        heap_free(view);
    }
}
