/* What a node tells coordinators of the documents that it holds: that shows a store which is older
 * than its nodes, and heals it. */
#include "base/heap.h"
#include "node/private.h"

enum { TELL_GOAL_BYTES = 1 << 20 /* of documents in one request; the rest is wanted again */ };

static void add_fences(const struct node *self, struct held_document *held, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct document_entry *entry = document_cache_find(&self->documents,
                                                                 held[i].filter_id);
        const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

        held[i].fence = hosted != NULL ? hosted->fence.epoch : 0;
        /* What a power loss may take is not held yet. */
        if (held[i].filter_id == DROPPED_RECORD_ID && !node_dropped_durable(self)) {
            held[i].revision = held[i].hash = 0;
        }
    }
}

static struct span document_bytes(const struct node *self, uint64_t id)
{
    const struct document_entry *entry = document_cache_find(&self->documents, id);

    if (id == 0) {
        return span_of(self->documents.nodes_bytes, self->documents.nodes_size);
    }
    if (id == DROPPED_RECORD_ID) {
        return span_of(self->documents.dropped_bytes, self->documents.dropped_size);
    }
    return entry != NULL ? span_of(entry->signed_bytes, entry->signed_size) : span_of("", 0);
}

static size_t pick_wanted(struct node *self, struct span *documents)
{
    size_t count = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < self->nwanted && bytes < TELL_GOAL_BYTES; i++) {
        struct span one = document_bytes(self, self->wanted[i]);

        if (one.size > 0) {
            documents[count++] = one;
            bytes += one.size;
        }
    }
    if (self->wanted_sends > 0 && --self->wanted_sends == 0) {
        self->nwanted = 0;
    }
    return count;
}

/* All coordinators are told a page before the next one comes. */
static void turn_page(struct node *self, uint64_t to)
{
    self->held_sends -= self->held_sends > 0;
    if (self->held_sends == 0) {
        self->held_after = to;
        self->held_sends = self->coordinators.count;
    }
}

static bool is_beyond(const struct held_document *held, uint64_t last)
{
    return held->filter_id != DROPPED_RECORD_ID && held->filter_id > last;
}

/* A coordinator that has just started has heard of no page, or of some. */
static void note_lack(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    if (!reply->held_lacks || self->held_sends != self->coordinators.count) {
        return; /* The one that is being told to all comes first. */
    }
    self->held_after = reply->held_after;
    self->reports_due = self->coordinators.count;
    self->next_sync_us = now_us;
}

/* The last filter that the page tells of, if only of some of its groups. */
static uint64_t last_of(const struct report_page *page)
{
    if (report_page_ends(page)) {
        return UINT64_MAX;
    }
    return page->to.group > 0 ? page->to.filter_id : page->to.filter_id - 1;
}

/* What is held of the filters that the page of reports is about. */
static void tell_news(const struct node *self, struct sync_request *request,
                      struct held_document *held)
{
    const struct report_page *page = &request->page;
    uint64_t last = last_of(page);

    request->held_after = page->from.filter_id - 1;
    request->nheld = store_age_list(&self->documents, request->held_after, held, CODEC_MAX_HELD,
                                    &request->held_to);
    while (last != UINT64_MAX && request->nheld > 0 && is_beyond(&held[request->nheld - 1], last)) {
        request->nheld--;
        request->held_to = last;
    }
}

bool node_tell(struct node *self, bool whole, struct sync_request *request)
{
    struct held_document *held = heap_alloc(CODEC_MAX_HELD, sizeof *held);
    struct span *documents = heap_alloc(self->nwanted, sizeof *documents);

    if (held == NULL || documents == NULL) {
        heap_free(held);
        heap_free(documents);
        return false;
    }
    request->held = held;
    request->held_count = store_age_count(&self->documents);
    if (whole) {
        request->held_after = self->held_after;
        request->nheld = store_age_list(&self->documents, self->held_after, held, CODEC_MAX_HELD,
                                        &request->held_to);
        turn_page(self, request->held_to);
    } else {
        tell_news(self, request, held);
    }
    request->documents = documents;
    add_fences(self, held, request->nheld);
    request->ndocuments = pick_wanted(self, documents);
    return true;
}

void node_told(struct sync_request *request)
{
    heap_free((void *)request->held);
    heap_free((void *)request->documents);
}

void node_note_wanted(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    note_lack(self, now_us, reply);
    if (reply->nwanted == 0) {
        return; /* Another coordinator's wish stands. */
    }
    /* They are told in turn: who asked is reached by as many reports as there are of them. */
    self->wanted_sends = self->coordinators.count;
    self->nwanted = reply->nwanted;
    for (size_t i = 0; i < reply->nwanted; i++) {
        self->wanted[i] = reply->wanted[i];
    }
    self->next_sync_us = now_us;
}
