/* Asking nodes for fences, and keeping what they said about the epoch in question. */
#include "coordinator/ask/fences.h"

#include "coordinator/records.h"

#include <stdio.h>
#include <string.h>

struct fencing *fences_find(const struct coordinator *self, uint64_t filter_id)
{
    return notes_find(&self->notes, NOTE_FENCING, filter_id);
}

struct fencing *fences_open(struct coordinator *self, const struct filter_document *document)
{
    struct fencing *fencing = notes_open(&self->notes, NOTE_FENCING, document->id);
    bool fresh = fencing != NULL && fencing->evidence.groups == NULL;

    if (fencing == NULL) {
        return NULL;
    }
    fencing->used = true;
    if (!fresh && evidence_fits(&fencing->evidence, document)) {
        return fencing;
    }
    if (evidence_open(&fencing->evidence, document) != STATUS_OK) {
        if (fresh) {
            notes_end(&self->notes, NOTE_FENCING, document->id);
        }
        return NULL;
    }
    fencing->next_us = 0;
    return fencing;
}

/* ---- for how long ---- */

void fences_begin_turn(struct coordinator *self)
{
    for (size_t i = 0; i < notes_count(&self->notes, NOTE_FENCING); i++) {
        ((struct fencing *)notes_at(&self->notes, NOTE_FENCING, i)->about)->used = false;
    }
}

/* What is said under numbers that two documents have is left as it is: no duty looks at those. */
static bool is_over(const struct coordinator *self, const struct note *note)
{
    const struct document_entry *entry = document_cache_find(&self->documents, note->filter_id);

    return !((const struct fencing *)note->about)->used && (entry == NULL || !entry->conflict);
}

void fences_end_turn(struct coordinator *self)
{
    for (size_t i = notes_count(&self->notes, NOTE_FENCING); i-- > 0;) {
        const struct note *note = notes_at(&self->notes, NOTE_FENCING, i);

        if (is_over(self, note)) {
            notes_end(&self->notes, NOTE_FENCING, note->filter_id);
        }
    }
}

/* ---- asking ---- */

void fences_ask_node(struct coordinator *self, uint32_t node, const struct document_entry *entry,
                     uint64_t slice)
{
    uint32_t link = heard_link(self, node);
    struct frame frame = {
        .kind = FRAME_FENCE_REQUEST,
        .correlation = entry->document.id,
        .body.fence_request =
            {
                .filter_id = entry->document.id,
                .epoch = entry->document.epoch,
                .epoch_hash = entry->document.epoch_hash,
                .document = span_of(entry->signed_bytes, entry->signed_size),
                .slice = slice,
            },
    };

    buffer_clear(&self->out);
    if (link != 0 && codec_encode(&frame, &self->out) == STATUS_OK) {
        coordinator_count(self, COORDINATOR_fences_sent_total);
        /* Not connected yet: asked again after fence_retry. */
        (void)self->effects.send(self->effects.context, link, buffer_span(&self->out));
    }
}

/* Each node once, though it may sit in many groups. */
void fences_ask(struct coordinator *self, uint64_t now_us, struct fencing *fencing,
                const struct document_entry *entry, fences_wanted_fn wanted)
{
    const struct node_list *nodes = &self->documents.nodes;
    bool missing[DOCUMENT_MAX_NODES] = {false};

    if (now_us < fencing->next_us) {
        return;
    }
    fencing->next_us = now_us + self->config.fence_retry_us;
    for (uint32_t group = 0; group < entry->document.content.ngroups; group++) {
        uint8_t slots = wanted(self, &entry->document, &fencing->evidence, group);

        for (uint32_t i = 0; slots != 0 && i < nodes->count; i++) {
            int slot = document_slot_of(&entry->document, group, nodes->nodes[i].id, 0);

            missing[i] |= slot >= 0 && (slots >> slot & 1) != 0;
        }
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (missing[i]) {
            fences_ask_node(self, nodes->nodes[i].id, entry, 0);
        }
    }
}

void fences_ask_members(struct coordinator *self, const struct document_entry *entry,
                        uint64_t slice)
{
    const struct node_list *nodes = &self->documents.nodes;

    for (uint32_t i = 0; i < nodes->count; i++) {
        uint32_t node = nodes->nodes[i].id;

        if (document_has_member(&entry->document, node)) {
            fences_ask_node(self, node, entry, slice);
        }
    }
}

/* ---- counting ---- */

/* A fence past what the store knows, read anew: the store is older than the node. */
static bool is_ahead(struct coordinator *self, const struct fence_reply *reply)
{
    const struct document_entry *entry = document_cache_find(&self->documents, reply->filter_id);

    if (entry == NULL || entry->gone || reply->epoch <= entry->document.epoch ||
        records_refresh(self) != STATUS_OK || entry->gone ||
        reply->epoch <= entry->document.epoch) {
        return false;
    }
    self->fence_ahead = (struct held_document){.filter_id = reply->filter_id,
                                               .fence = reply->epoch};
    log_line(LOG_ERROR, "%s", age_reason(self));
    return true;
}

void coordinator_on_fence_reply(struct coordinator *self, const struct fence_reply *reply)
{
    struct fencing *fencing = fences_find(self, reply->filter_id);
    const struct document_entry *entry = document_cache_find(&self->documents, reply->filter_id);
    bool counted = false;

    if (reply->status == STATUS_OK && is_ahead(self, reply)) {
        coordinator_count(self, COORDINATOR_fences_void_total);
        return;
    }
    if (fencing != NULL && entry != NULL && reply->status == STATUS_OK && reply->incarnation != 0 &&
        reply->epoch >= fencing->evidence.epoch &&
        evidence_fits(&fencing->evidence, &entry->document)) {
        /* Only the incarnation that the slot names can have acknowledged under it. */
        counted = evidence_fence(&fencing->evidence, &entry->document, reply->node_id,
                                 reply->incarnation);
    }
    coordinator_count(self,
                      counted ? COORDINATOR_fences_confirmed_total : COORDINATOR_fences_void_total);
}
