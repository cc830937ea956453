/* Links and questions under way, with their deadlines; who does not answer is left alone for a
 * while. */
#include "node/sync/peers.h"

#include "base/heap.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SILENT_DOUBLINGS = 7 }; /* 12.8 s */

void node_peers_fini(struct node_peers *self)
{
    heap_free(self->items);
    *self = (struct node_peers){0};
}

struct node_peer *node_peers_find(const struct node_peers *self, uint32_t node)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->items[i].node == node) {
            return &self->items[i];
        }
    }
    return NULL;
}

static struct node_peer *find_link(const struct node_peers *self, uint32_t link)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (link != 0 && self->items[i].link == link) {
            return &self->items[i];
        }
    }
    return NULL;
}

bool node_peers_has(const struct node_peers *self, uint32_t link)
{
    return find_link(self, link) != NULL;
}

static struct node_peer *add(struct node_peers *self, uint32_t node)
{
    if (!heap_grow(&self->items, &self->capacity, (size_t)self->count + 1, sizeof *self->items)) {
        return NULL;
    }
    self->items[self->count] = (struct node_peer){.node = node};
    return &self->items[self->count++];
}

bool node_peers_idle(const struct node_peers *self, uint32_t node, unsigned purpose, uint64_t bytes)
{
    const struct node_peer *peer = node_peers_find(self, node);

    return (peer == NULL || peer->calls[purpose].correlation == 0) &&
           self->awaited_bytes + bytes <= PEERS_MAX_AWAITED_BYTES;
}

/* A node that came back elsewhere; what is under way to the former place runs into its deadline. */
static void move(struct node_peer *peer, const struct effects *effects,
                 const struct node_record *record)
{
    char address[NODE_ADDRESS_BYTES];

    (void)node_record_address(record, address);
    if (peer->link != 0 && strcmp(peer->address, address) != 0) {
        effects->link_close(effects->context, peer->link);
        peer->link = 0;
    }
    if (peer->link == 0) {
        memcpy(peer->address, address, sizeof address);
        peer->link = effects->link_open(effects->context, address);
    }
}

static enum status reach(struct node_peers *self, const struct effects *effects, uint64_t now_us,
                         const struct node_list *nodes, uint32_t node, struct node_peer **out)
{
    const struct node_record *record = node_list_find(nodes, node);
    struct node_peer *peer = node_peers_find(self, node);

    if (record == NULL) {
        return STATUS_NOT_FOUND;
    }
    if (peer == NULL) {
        peer = add(self, node);
    }
    if (peer == NULL) {
        return STATUS_NOMEM;
    }
    move(peer, effects, record);
    peer->used_us = now_us;
    *out = peer;
    return peer->link != 0 ? STATUS_OK : STATUS_UNAVAILABLE;
}

static void note_silence(struct node_peer *peer, uint64_t now_us)
{
    if (peer->silent_us > now_us) {
        return; /* Of all that is under way once. */
    }
    peer->silent_us = now_us + ((uint64_t)PEERS_SILENT_US << peer->silences);
    peer->silences += peer->silences < SILENT_DOUBLINGS;
}

enum status node_peers_ask(struct node_peers *self, const struct effects *effects, uint64_t now_us,
                           const struct node_list *nodes, uint32_t node, unsigned purpose,
                           uint64_t bytes, uint64_t wait_us, const struct peer_topic *topic,
                           struct frame *frame, struct buffer *spare, size_t *sent)
{
    struct node_peer *peer = NULL;
    enum status status;
    struct span encoded;

    if (!node_peers_idle(self, node, purpose, bytes)) {
        return STATUS_OVERLOADED;
    }
    status = reach(self, effects, now_us, nodes, node, &peer);
    if (status != STATUS_OK) {
        return status;
    }
    frame->correlation = ++self->last_correlation;
    status = codec_encode_out(frame, effects, spare, &encoded);
    if (status == STATUS_OK) {
        status = effects->send(effects->context, peer->link, encoded);
    }
    if (status != STATUS_OK) {
        note_silence(peer, now_us);
        return status;
    }
    assert(peer->calls[purpose].correlation == 0); /* One question of a kind at a time. */
    peer->calls[purpose] = (struct peer_call){
        .correlation = frame->correlation,
        .deadline_us = now_us + wait_us,
        .bytes = bytes,
        .topic = *topic,
    };
    peer->calls[purpose].topic.node = node;
    peer->calls[purpose].topic.call = purpose;
    self->awaited_bytes += bytes;
    *sent = encoded.size;
    return STATUS_OK;
}

static void end_call(struct node_peers *self, struct peer_call *call, struct peer_topic *topic)
{
    assert(self->awaited_bytes >= call->bytes);
    *topic = call->topic;
    self->awaited_bytes -= call->bytes;
    call->correlation = 0;
}

bool node_peers_answered(struct node_peers *self, uint32_t link, uint64_t correlation,
                         struct peer_topic *topic)
{
    struct node_peer *peer = find_link(self, link);

    for (unsigned i = 0; peer != NULL && i < PEERS_NCALLS; i++) {
        if (correlation != 0 && peer->calls[i].correlation == correlation) {
            end_call(self, &peer->calls[i], topic);
            peer->silent_us = 0;
            peer->silences = 0;
            return true;
        }
    }
    return false;
}

bool node_peers_silent(const struct node_peers *self, uint32_t node, uint64_t *until_us)
{
    const struct node_peer *peer = node_peers_find(self, node);

    *until_us = peer != NULL ? peer->silent_us : 0;
    return *until_us != 0;
}

bool node_peers_expired(struct node_peers *self, uint64_t now_us, struct peer_topic *topic)
{
    for (uint32_t i = 0; i < self->count; i++) {
        for (unsigned k = 0; k < PEERS_NCALLS; k++) {
            struct peer_call *call = &self->items[i].calls[k];

            if (call->correlation != 0 && now_us >= call->deadline_us) {
                end_call(self, call, topic);
                note_silence(&self->items[i], now_us);
                return true;
            }
        }
    }
    return false;
}

static bool awaits(const struct node_peer *peer)
{
    bool any = false;

    for (unsigned k = 0; k < PEERS_NCALLS; k++) {
        any = any || peer->calls[k].correlation != 0;
    }
    return any;
}

void node_peers_close_idle(struct node_peers *self, const struct effects *effects, uint64_t now_us)
{
    for (uint32_t i = 0; i < self->count; i++) {
        struct node_peer *peer = &self->items[i];

        if (peer->link != 0 && !awaits(peer) && now_us - peer->used_us >= PEERS_IDLE_US) {
            effects->link_close(effects->context, peer->link);
            peer->link = 0;
        }
    }
}

uint64_t node_peers_next_us(const struct node_peers *self)
{
    uint64_t next_us = ACTOR_NEVER;

    for (uint32_t i = 0; i < self->count; i++) {
        const struct node_peer *peer = &self->items[i];
        uint64_t old_us = peer->used_us + PEERS_IDLE_US;

        if (peer->link != 0 && !awaits(peer) && old_us < next_us) {
            next_us = old_us;
        }
        if (peer->silent_us != 0 && peer->silent_us < next_us) {
            next_us = peer->silent_us;
        }
        for (unsigned k = 0; k < PEERS_NCALLS; k++) {
            if (peer->calls[k].correlation != 0 && peer->calls[k].deadline_us < next_us) {
                next_us = peer->calls[k].deadline_us;
            }
        }
    }
    return next_us;
}
