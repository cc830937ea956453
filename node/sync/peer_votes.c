/* A start asks all other nodes that share shards what they remember of this one.
 *
 * Whoever remembers more knows that this folder is an older copy. While no coordinator answers they
 * stand in for the store: a boot that all of them have noted durably, in place of the one that they
 * knew, is the only one that goes on from there. Who is silent is asked again, also after this node
 * counts: late is better than never. */
#include "base/heap.h"
#include "node/sync/exchange.h"
#include "proto/boot_seal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    STORE_PATIENCE_US = 2000000, /* how long a coordinator is waited for */
    ASK_AGAIN_US = 250000,
    ASK_DOUBLINGS = 6,
    LOOK_US = 1000000, /* at documents that name more of them */
    ANSWER_BYTES = 256,
};

/* ---- who ---- */

static bool enroll(struct exchange *exchange, uint32_t node)
{
    for (uint32_t i = 0; i < exchange->nmeetings; i++) {
        if (exchange->meetings[i].node == node) {
            return true;
        }
    }
    if (!heap_grow(&exchange->meetings, &exchange->meetings_capacity,
                   (size_t)exchange->nmeetings + 1, sizeof *exchange->meetings)) {
        return false;
    }
    exchange->meetings[exchange->nmeetings++] = (struct meeting){.node = node};
    return true;
}

static bool enroll_group(struct exchange *self, const struct filter_document *document,
                         uint32_t group)
{
    const struct slot *slots = document->content.groups[group].slots;
    bool all = true;

    if (document_slot_of(document, group, self->node.life->id, 0) < 0) {
        return true;
    }
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const uint32_t nodes[] = {slots[i].current.node, slots[i].incoming.node};

        for (unsigned k = 0; k < 2; k++) {
            if (nodes[k] != 0 && nodes[k] != self->node.life->id) {
                all = enroll(self, nodes[k]) && all;
            }
        }
    }
    return all;
}

/* All that the documents held name; false: no memory for them. */
static bool enroll_all(struct exchange *self)
{
    bool all = true;

    for (size_t i = 0; i < self->node.documents->count; i++) {
        const struct filter_document *document = &self->node.documents->by_id[i]->document;
        uint32_t ngroups = document->content.state == FILTER_ACTIVE ? document->content.ngroups : 0;

        for (uint32_t group = 0; group < ngroups; group++) {
            all = enroll_group(self, document, group) && all;
        }
    }
    return all;
}

/* ---- asking ---- */

/* An incarnation that begins has nothing to be remembered of. */
static bool has_past(const struct exchange *self)
{
    return self->node.life->identity.nbefore > 0 && self->node.life->id != 0;
}

static bool wants_confirmation(const struct exchange *self, uint64_t now_us)
{
    return !self->node.life->confirmed && !self->node.life->store_heard &&
           now_us - self->started_us >= STORE_PATIENCE_US;
}

static void ask(struct exchange *self, uint64_t now_us, struct meeting *meeting, bool confirm)
{
    const struct record_identity *identity = &self->node.life->identity;
    struct frame frame = {.kind = FRAME_BOOT_REQUEST};
    struct boot_request *request = &frame.body.boot_request;
    uint32_t doublings = meeting->asked < ASK_DOUBLINGS ? meeting->asked : ASK_DOUBLINGS;
    uint64_t pause_us = (uint64_t)ASK_AGAIN_US << doublings;
    const struct peer_topic topic = {.item = meeting->node};
    enum status status;
    size_t sent = 0;

    request->question = (struct boot_question){
        .node = self->node.life->id,
        .incarnation = identity->incarnation,
        .boot = identity->boot,
        .nbefore = identity->nbefore < BOOT_MAX_BEFORE ? identity->nbefore : BOOT_MAX_BEFORE,
        .position = meeting->answered ? UINT64_MAX : storage_found_end(self->storage),
        .reached = storage_end(self->storage), /* Others may be told of what is written only. */
    };
    memcpy(request->question.before, identity->before,
           request->question.nbefore * sizeof identity->before[0]);
    memcpy(request->question.ends, identity->ends,
           request->question.nbefore * sizeof identity->ends[0]);
    request->confirm = confirm;
    request->nodes = span_of(self->node.documents->nodes_bytes, self->node.documents->nodes_size);
    boot_request_sign(&self->config.key, request);
    status = node_peers_ask(&self->peers, self->node.effects, now_us, &self->node.documents->nodes,
                            meeting->node, PEERS_MEETING, ANSWER_BYTES, pause_us, &topic, &frame,
                            self->node.out, &sent);
    self->node.counters[NODE_gossip_bytes_out_total] += sent;
    meeting->asked += status == STATUS_OK;
    meeting->next_us = now_us + pause_us;
}

static uint32_t count_confirmed(const struct exchange *exchange)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < exchange->nmeetings; i++) {
        count += exchange->meetings[i].confirmed;
    }
    return count;
}

/* Alone nobody can vouch for itself. */
static void try_confirm(struct exchange *self)
{
    uint32_t count = count_confirmed(self);

    if (!self->node.life->confirmed && !self->node.life->store_heard && count > 0 &&
        count == self->nmeetings) {
        self->node.confirm_by_peers(self->node.self, count);
    }
}

static uint64_t ask_all(struct exchange *self, uint64_t now_us)
{
    bool confirm = wants_confirmation(self, now_us);
    uint64_t next_us = ACTOR_NEVER;

    assert(has_past(self)); /* There is a boot before this one to be remembered. */
    for (uint32_t i = 0; i < self->nmeetings; i++) {
        struct meeting *meeting = &self->meetings[i];
        bool done = confirm ? meeting->confirmed : meeting->fits;

        if (!done && now_us >= meeting->next_us) {
            ask(self, now_us, meeting, confirm);
        }
        if (!done && meeting->next_us < next_us) {
            next_us = meeting->next_us;
        }
    }
    return next_us;
}

uint64_t node_meet_pump(struct exchange *self, uint64_t now_us)
{
    bool settled = self->node.life->refetched && self->node.life->identity.confirmed;
    uint64_t next_us;
    bool all;

    if (!has_past(self)) {
        return ACTOR_NEVER;
    }
    if (storage_synced(self->storage) < self->node.life->identity_end) {
        self->awaits_log = true; /* First the boot is in the log. */
        return ACTOR_NEVER;
    }
    if (self->started_us == 0) {
        self->started_us = now_us;
    }
    if (now_us < self->meet_us) {
        return self->meet_us;
    }
    all = enroll_all(self);
    next_us = ask_all(self, now_us);
    if (all) {
        try_confirm(self);
    }
    if (!settled && next_us > now_us + LOOK_US) {
        next_us = now_us + LOOK_US;
    }
    self->meet_us = next_us;
    return next_us;
}

bool node_met(const struct exchange *self)
{
    bool all = !has_past(self) || self->started_us != 0;

    for (uint32_t i = 0; i < self->nmeetings && has_past(self); i++) {
        all = all && self->meetings[i].answered;
    }
    return all;
}

/* ---- answers ---- */

static struct meeting *find(struct exchange *exchange, uint32_t node)
{
    for (uint32_t i = 0; i < exchange->nmeetings; i++) {
        if (exchange->meetings[i].node == node) {
            return &exchange->meetings[i];
        }
    }
    return NULL;
}

static bool is_ours(const struct exchange *self, const struct boot_reply *reply, uint32_t node)
{
    return reply->node == node && reply->incarnation == self->node.life->identity.incarnation &&
           reply->boot == self->node.life->identity.boot &&
           boot_reply_verify(&self->config.key, reply) == STATUS_OK;
}

static void give_up(struct exchange *self, uint64_t now_us, const struct boot_reply *reply)
{
    if (reply->position > 0) {
        log_line(LOG_WARN,
                 "node %u remembers that this node's log had reached %" PRIu64
                 "; the one found here ended at %" PRIu64,
                 reply->node, reply->position, storage_found_end(self->storage));
    } else {
        log_line(LOG_WARN, "node %u has confirmed another boot that continues the one found here",
                 reply->node);
    }
    /* The incarnation that begins has nothing to be remembered of. */
    self->nmeetings = 0;
    self->node.begin_incarnation(self->node.self, now_us, AMNESIA_BOOT);
}

void node_meet_on_reply(struct exchange *self, uint32_t link, uint64_t now_us, uint64_t correlation,
                        const struct boot_reply *reply)
{
    struct meeting *meeting;
    struct peer_topic topic;

    if (!node_peers_answered(&self->peers, link, correlation, &topic) || !has_past(self)) {
        return;
    }
    meeting = find(self, topic.item);
    if (meeting == NULL || !is_ours(self, reply, topic.item)) {
        exchange_count(self, NODE_pull_mismatches_total);
        return;
    }
    node_exchange_stir(self); /* Any may have waited for that. */
    self->meet_us = 0;
    if (reply->status == STATUS_STALE) {
        give_up(self, now_us, reply);
        return;
    }
    meeting->answered = true;
    meeting->fits = meeting->fits || reply->status == STATUS_OK;
    meeting->confirmed = meeting->confirmed || (reply->status == STATUS_OK && reply->confirmed);
}
