/* What this node remembers of the others, and tells them when they start. */
#include "node/sync/exchange.h"
#include "proto/boot_seal.h"

#include <assert.h>
#include <inttypes.h>

void node_remember(struct exchange *self, const struct pull_reply *reply)
{
    uint64_t floor = node_cursors_highest(&self->cursors, &reply->source);

    assert(reply->status == STATUS_OK); /* A refusal tells nothing of a log. */
    if (boot_memory_note(&self->memory, &reply->source, reply->boot, reply->durable, floor) !=
        STATUS_OK) {
        log_line(LOG_WARN, "out of memory: this node does not remember how far node %u was",
                 reply->source.node);
    }
}

static struct record_peer record_of(const struct boot_entry *entry)
{
    return (struct record_peer){.incarnation = entry->incarnation,
                                .boot = entry->boot,
                                .base = entry->base,
                                .node = entry->node};
}

enum status node_remember_checkpoint(const struct exchange *self)
{
    const struct boot_memory *memory = &self->memory;
    enum status status = STATUS_OK;
    uint64_t end;

    for (uint32_t i = 0; i < memory->count && status == STATUS_OK; i++) {
        if (memory->items[i].boot != 0) {
            const struct record_peer record = record_of(&memory->items[i]);

            status = storage_put_peer(self->storage, &record, &end);
        }
    }
    return status;
}

void node_remember_found(struct exchange *self, struct span record)
{
    struct record_peer peer;

    if (record_peer_get(record, &peer) == STATUS_OK) {
        const struct boot_entry entry = {.node = peer.node,
                                         .incarnation = peer.incarnation,
                                         .boot = peer.boot,
                                         .base = peer.base};

        if (boot_memory_keep(&self->memory, &entry) != STATUS_OK) {
            log_line(LOG_WARN, "out of memory: what was confirmed to node %u is forgotten",
                     peer.node);
        }
    }
}

/* ---- answering ---- */

/* Of two that ask for the same place only one gets it: the first is in the log by then. */
static bool confirm(struct exchange *self, const struct node_record *record,
                    const struct boot_question *question)
{
    struct boot_entry entry;
    struct record_peer peer;

    assert(record != NULL && record->incarnation == question->incarnation);
    if (!boot_memory_confirms(&self->memory, record, question, &entry)) {
        return true;
    }
    peer = record_of(&entry);
    if (storage_put_peer(self->storage, &peer, &self->memory_end) != STATUS_OK ||
        boot_memory_keep(&self->memory, &entry) != STATUS_OK) {
        return false;
    }
    log_line(LOG_INFO, "node %u: boot %016" PRIx64 " confirmed, as it reaches no coordinator",
             question->node, question->boot);
    return true;
}

static void judge(struct exchange *self, const struct boot_request *request,
                  struct boot_reply *reply)
{
    const struct boot_question *question = &request->question;
    const struct node_record *record = node_list_find(&self->node.documents->nodes, question->node);
    const struct member who = {.node = question->node, .incarnation = question->incarnation};
    uint64_t floor = node_cursors_highest(&self->cursors, &who);

    switch (boot_memory_judge(&self->memory, record, question, floor, &reply->position)) {
    case BOOT_SUPERSEDED:
        reply->status = STATUS_STALE;
        return;
    case BOOT_UNKNOWN:
        return;
    case BOOT_FITS:
        reply->status = STATUS_OK;
        reply->confirmed = request->confirm && confirm(self, record, question);
        return;
    }
}

void node_on_boot_request(struct exchange *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    const struct boot_request *request = &frame->body.boot_request;
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_BOOT_REPLY};
    struct boot_reply *reply = &answer.body.boot_reply;
    struct log_need need = {0};

    if (boot_request_verify(&self->config.key, request) != STATUS_OK) {
        exchange_count(self, NODE_malformed_total);
        log_limited(self->node.bad_frame_limit, now_us, LOG_WARN,
                    "somebody without this cluster's key asks what is known of node %u",
                    request->question.node);
        return;
    }
    if (self->storage == NULL || self->node.life->recovering || self->node.life->failed ||
        self->node.life->id == 0) {
        return; /* It asks again. */
    }
    /* The list that it brings may know of a boot that this node has not heard of. */
    if (request->nodes.size > 0) {
        self->node.take_document(self->node.self, now_us, request->nodes);
    }
    *reply = (struct boot_reply){
        .status = STATUS_NOT_READY,
        .node = self->node.life->id,
        .incarnation = request->question.incarnation,
        .boot = request->question.boot,
    };
    judge(self, request, reply);
    if (reply->confirmed) {
        need.synced = self->memory_end;
    }
    boot_reply_sign(&self->config.key, reply);
    self->node.reply_when(self->node.self, from, &answer, need);
}
