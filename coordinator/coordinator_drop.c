/* Dropping a filter, so that its name can be used again without losing a key of the next one:
 *
 *   1  compare-and-swap: the document says DROPPING, under a new epoch
 *   2  every slot group: F = N - min(W, R) + 1 FULL replicas fence that epoch; from then on no
 *      router, however stale, can gather a quorum under the old one
 *   3  compare-and-swap: the document says DROPPED and the name is free
 *
 * Each step may be repeated by any coordinator; the store tells where it stands. */
#include "base/heap.h"
#include "coordinator/coordinator_private.h"
#include "proto/signed_document.h"

#include <stdio.h>
#include <string.h>

static struct fencing *find_fencing(const struct coordinator *self, uint64_t filter_id)
{
    for (size_t i = 0; i < self->nfencings; i++) {
        if (self->fencings[i].filter_id == filter_id) {
            return &self->fencings[i];
        }
    }
    return NULL;
}

static struct fencing *begin_fencing(struct coordinator *self,
                                     const struct filter_document *document)
{
    uint8_t *confirmed = heap_zalloc(document->content.ngroups, 1);
    struct fencing *grown = heap_realloc(self->fencings, self->nfencings + 1, sizeof *grown);

    if (grown != NULL) {
        self->fencings = grown;
    }
    if (confirmed == NULL || grown == NULL) {
        heap_free(confirmed);
        return NULL; /* Tried again at the next event. */
    }
    self->fencings[self->nfencings] = (struct fencing){
        .filter_id = document->id,
        .epoch = document->epoch,
        .confirmed = confirmed,
    };
    return &self->fencings[self->nfencings++];
}

static void end_fencing(struct coordinator *self, struct fencing *fencing)
{
    heap_free(fencing->confirmed);
    *fencing = self->fencings[--self->nfencings];
}

/* ---- asking ---- */

static uint32_t link_to(struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);
    struct heard *heard = coordinator_heard(self, node);

    if (record == NULL || heard == NULL) {
        return 0; /* Not heard of by this coordinator; its next sync changes that. */
    }
    if (heard->link != 0 && strcmp(heard->link_endpoint, record->endpoint) != 0) {
        self->effects.link_close(self->effects.context, heard->link);
        heard->link = 0;
    }
    if (heard->link == 0) {
        heard->link = self->effects.link_open(self->effects.context, record->endpoint);
        (void)snprintf(heard->link_endpoint, sizeof heard->link_endpoint, "%s", record->endpoint);
    }
    return heard->link;
}

static void ask_fence(struct coordinator *self, uint32_t node, const struct document_entry *entry)
{
    uint32_t link = link_to(self, node);
    struct frame frame = {
        .kind = FRAME_FENCE_REQUEST,
        .correlation = entry->document.id,
        .body.fence_request =
            {
                .filter_id = entry->document.id,
                .epoch = entry->document.epoch,
                .epoch_hash = entry->document.epoch_hash,
                .document = span_of(entry->signed_bytes, entry->signed_size),
            },
    };

    buffer_clear(&self->out);
    if (link != 0 && codec_encode(&frame, &self->out) == STATUS_OK) {
        coordinator_count(self, COORDINATOR_fences_sent_total);
        /* Not connected yet: asked again after fence_retry. */
        (void)self->effects.send(self->effects.context, link, buffer_span(&self->out));
    }
}

/* Ask every node once, though it may sit in many groups. */
static void ask_missing(struct coordinator *self, const struct document_entry *entry,
                        const struct fencing *fencing)
{
    const struct epoch_content *content = &entry->document.content;

    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        uint32_t node = self->documents.nodes.nodes[i].id;
        bool missing = false;

        for (uint32_t group = 0; group < content->ngroups; group++) {
            int slot = document_slot_of(&entry->document, group, node, 0);

            missing |= slot >= 0 && (fencing->confirmed[group] >> slot & 1) == 0;
        }
        if (missing) {
            ask_fence(self, node, entry);
        }
    }
}

/* ---- counting ---- */

void coordinator_on_fence_reply(struct coordinator *self, uint64_t now_us,
                                const struct fence_reply *reply)
{
    struct fencing *fencing = find_fencing(self, reply->filter_id);
    const struct document_entry *entry = document_cache_find(&self->documents, reply->filter_id);
    bool counted = false;

    (void)now_us;
    if (fencing != NULL && entry != NULL && reply->status == STATUS_OK &&
        reply->epoch >= fencing->epoch && entry->document.epoch == fencing->epoch) {
        /* Only the incarnation that the slot names can have acknowledged under it. */
        uint64_t incarnation = fencing->confirmed_off ? 0 : reply->incarnation;

        for (uint32_t group = 0; group < entry->document.content.ngroups; group++) {
            int slot = document_slot_of(&entry->document, group, reply->node_id, incarnation);

            if (slot >= 0) {
                fencing->confirmed[group] |= (uint8_t)(1U << slot);
                counted = true;
            }
        }
    }
    coordinator_count(self,
                      counted ? COORDINATOR_fences_confirmed_total : COORDINATOR_fences_void_total);
}

static bool enough(const struct filter_document *document, const struct fencing *fencing)
{
    uint32_t needed = quorum_fences(&document->content.rule);

#ifdef ORBLOOM_MUTANT_NO_FENCES
    needed = 0;
#endif
#ifdef ORBLOOM_MUTANT_ONE_FENCE_SHORT
    needed--;
#endif
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if ((uint32_t)__builtin_popcount(fencing->confirmed[group]) < needed) {
            return false;
        }
    }
    return true;
}

/* ---- moving on ---- */

/* A copy of the cached document in another state, under a new epoch, into the store. */
static enum status write_state(struct coordinator *self, const struct document_entry *entry,
                               enum filter_state state)
{
    struct filter_document edited = {0};
    enum status status = codec_filter_document_open(
        span_of(entry->signed_bytes, entry->signed_size), &self->config.key, &edited);

    if (status == STATUS_OK) {
        edited.content.state = state;
        document_epoch_advance(&edited);
        status = records_write_filter(self, records_version(entry), &edited);
    }
    document_fini(&edited);
    return status;
}

static void advance(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    struct fencing *fencing = find_fencing(self, entry->document.id);

    if (fencing == NULL) {
        fencing = begin_fencing(self, &entry->document);
    }
    if (fencing == NULL) {
        return;
    }
    if (enough(&entry->document, fencing)) {
        if (write_state(self, entry, FILTER_DROPPED) == STATUS_OK) {
            coordinator_count(self, COORDINATOR_filters_dropped_total);
            log_line(LOG_INFO, "dropped filter %s, id %llu", entry->document.content.name,
                     (unsigned long long)entry->document.id);
            coordinator_hint(self, now_us);
        } else {
            fencing->next_us = now_us + self->config.fence_retry_us;
            if (records_refresh(self) != STATUS_OK) { /* Perhaps another one was first. */
                return;
            }
        }
    } else if (now_us >= fencing->next_us) {
        fencing->next_us = now_us + self->config.fence_retry_us;
        ask_missing(self, entry, fencing);
    }
}

static void check_waiter(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    const struct document_entry *entry = document_cache_find(&self->documents, waiter->filter_id);

    if (entry->document.content.state == FILTER_DROPPED) {
        waiters_finish(self, waiter, STATUS_OK, "");
    } else if (now_us >= waiter->deadline_us) {
        waiters_finish(self, waiter, STATUS_DEADLINE,
                       "the filter no longer serves, but too few of its nodes have confirmed "
                       "that; its name is free once they have. The coordinator goes on asking; "
                       "for nodes that were restarted, confirm that their former processes are "
                       "gone with `drop --confirmed-off`");
    }
}

/* Fences are done with when the tombstone stands, whoever wrote it. */
static void end_finished(struct coordinator *self)
{
    for (size_t i = self->nfencings; i-- > 0;) {
        const struct document_entry *entry = document_cache_find(&self->documents,
                                                                 self->fencings[i].filter_id);

        if (entry->document.content.state == FILTER_DROPPED) {
            end_fencing(self, &self->fencings[i]);
        }
    }
}

void coordinator_check_drops(struct coordinator *self, uint64_t now_us)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        if (self->documents.by_id[i]->document.content.state == FILTER_DROPPING) {
            advance(self, now_us, self->documents.by_id[i]);
        }
    }
    end_finished(self);
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        if (self->waiters[i].used && self->waiters[i].dropping) {
            check_waiter(self, now_us, &self->waiters[i]);
        }
    }
}

/* The filter that an operator means. By name alone a command that comes late would find the
 * next filter of that name; with its id it finds the one that the operator saw, or its tombstone.
 */
static struct document_entry *find_droppable(const struct coordinator *self,
                                             const struct admin_request *request)
{
    const char *name = request->name;
    struct document_entry *found = request->filter_id != 0
                                       ? document_cache_find(&self->documents, request->filter_id)
                                       : document_cache_find_name(&self->documents, name);

    if (request->filter_id != 0) {
        return found != NULL && strcmp(found->document.content.name, name) == 0 ? found : NULL;
    }

    for (size_t i = 0; found == NULL && i < self->documents.count; i++) {
        struct document_entry *entry = self->documents.by_id[i];

        if (entry->document.content.state == FILTER_DROPPING &&
            strcmp(entry->document.content.name, name) == 0) {
            found = entry; /* A drop that is under way is joined. */
        }
    }
    return found;
}

void coordinator_on_drop(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct document_entry *entry = find_droppable(self, request);
    char message[COORDINATOR_MESSAGE_BYTES];
    enum status status = STATUS_OK;

    if (entry == NULL) {
        (void)snprintf(message, sizeof message, "there is no filter %s; see `orbloom info`",
                       request->name);
        coordinator_answer(self, from, frame->correlation, STATUS_NOT_FOUND, false, message);
        return;
    }
    if (entry->document.content.state == FILTER_ACTIVE) {
        status = write_state(self, entry, FILTER_DROPPING);
    }
    if (status == STATUS_CONFLICT && records_refresh(self) == STATUS_OK &&
        entry->document.content.state != FILTER_ACTIVE) {
        status = STATUS_OK; /* Another coordinator was first: join it. */
    }
    if (status != STATUS_OK) {
        coordinator_answer(self, from, frame->correlation, status, false,
                           "the filter's document could not be written; retry");
        return;
    }
    if (request->confirmed_off) {
        struct fencing *fencing = find_fencing(self, entry->document.id);

        fencing = fencing != NULL ? fencing : begin_fencing(self, &entry->document);
        if (fencing != NULL) {
            log_line(LOG_WARN, "drop %s: an operator vouches that former incarnations are off",
                     request->name);
            fencing->confirmed_off = true;
        }
    }
    coordinator_hint(self, now_us);
    waiters_add(self, &(struct waiter){
                          .peer = *from,
                          .correlation = frame->correlation,
                          .deadline_us = waiters_deadline(self, now_us, request->timeout_ms),
                          .filter_id = entry->document.id,
                          .dropping = true,
                      });
}
