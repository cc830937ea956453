/* Filters that have nothing to ask sleep, and cost nothing: of each other node one question asks
 * for all of them which filters have anything new in its log.
 *
 * Who sleeps has all that the source's log has below the watch's position, or has been told that
 * nothing there is about it. The answer names those that have something between the position and
 * where the log is told to, and they ask for themselves, from the position; for the others it is as
 * if they had been told that there is nothing. A watch that can't go on from where it is ends, and
 * with it the sleep of all: they ask for themselves, from where they last were known to be. */
#include "base/mutant.h"
#include "node/sync/exchange.h"

#include <assert.h>

enum {
    ANSWER_BYTES = PULL_MAX_FILTERS * 8 + 1024,
    USED_US = 120000000, /* beyond the longest time between two looks at all */
    RETRY_DOUBLINGS = 3,
};

static struct node_peer *peer_of(const struct exchange *self, uint32_t node)
{
    return node_peers_find(&self->peers, node);
}

/* Below it all that is not here is told by name. */
static uint64_t position_for(const struct peer_watch *watch, const struct filter_document *document)
{
    return document->durability == DURABILITY_OS || watch->durable > watch->position
               ? watch->position
               : watch->durable;
}

/* ---- who sleeps ---- */

bool node_watch_sleeps(const struct exchange *self, uint64_t now_us,
                       const struct filter_document *document, struct pull_item *item)
{
    struct node_peer *peer = item->watch != 0 ? peer_of(self, item->pull.source.node) : NULL;

    /* Where the log ends below what was taken over from it the source has lost some of it. */
    if (peer == NULL || peer->watch.serial != item->watch ||
        item->pull.phase != PULL_PHASE_FOLLOW ||
        (peer->watch.answers > item->answers && item->pull.from > peer->watch.position)) {
        item->watch = 0;
        return false;
    }
    peer->watch.used_us = now_us;
    pull_pass(&item->pull, position_for(&peer->watch, document));
    return true;
}

bool node_watch_sleep(const struct exchange *self, uint64_t now_us, struct pull_item *item)
{
    struct node_peer *peer = peer_of(self, item->pull.source.node);

    if (peer == NULL || peer->watch.serial == 0 ||
        peer->watch.incarnation != item->pull.source.incarnation ||
        !pull_may_sleep(&item->pull, peer->watch.position)) {
        return false;
    }
    peer->watch.used_us = now_us;
    item->watch = peer->watch.serial;
    item->answers = peer->watch.answers;
    return true;
}

void node_watch_begin(struct exchange *self, uint64_t now_us, const struct pull_reply *reply)
{
    struct node_peer *peer = peer_of(self, reply->source.node);

    if (peer == NULL || (peer->watch.incarnation == reply->source.incarnation &&
                         (peer->watch.serial != 0 || now_us < peer->watch.due_us))) {
        return;
    }
    peer->watch = (struct peer_watch){
        .failures = peer->watch.failures,
        .serial = ++self->serial,
        .incarnation = reply->source.incarnation,
        .position = reply->next,
        .durable = reply->next,
        .due_us = now_us + self->config.gossip_delay_us,
        .used_us = now_us,
    };
}

/* ---- asking ---- */

static void put_off(struct exchange *self, uint64_t now_us, struct peer_watch *watch)
{
    assert(watch->failures <= RETRY_DOUBLINGS);
    watch->due_us = now_us + (self->config.gossip_delay_us << watch->failures);
    watch->failures += watch->failures < RETRY_DOUBLINGS;
}

/* All wake at their next look, which is now. The next watch does not begin at once. */
static void end(struct exchange *self, uint64_t now_us, struct node_peer *peer)
{
    put_off(self, now_us, &peer->watch);
    peer->watch.serial = 0;
    node_exchange_stir(self);
}

static void ask(struct exchange *self, uint64_t now_us, struct node_peer *peer)
{
    struct peer_watch *watch = &peer->watch;
    struct frame frame = {.kind = FRAME_PULL_REQUEST};
    const struct peer_topic topic = {.serial = watch->serial};
    enum status status;
    size_t sent = 0;

    assert(watch->serial != 0);
    frame.body.pull_request = (struct pull_request){
        .kind = PULL_FILTERS,
        .source = {.node = peer->node, .incarnation = watch->incarnation},
        .from = watch->position,
    };
    status = node_peers_ask(&self->peers, self->node.effects, now_us, &self->node.documents->nodes,
                            peer->node, PEERS_WATCH, ANSWER_BYTES, PEERS_DEADLINE_US, &topic,
                            &frame, self->node.out, &sent);
    self->node.counters[NODE_gossip_bytes_out_total] += sent;
    if (status == STATUS_OK) {
        watch->due_us = ACTOR_NEVER; /* Its answer, or its deadline, says when. */
    } else {
        put_off(self, now_us, watch);
    }
}

uint64_t node_watch_pump(struct exchange *self, uint64_t now_us)
{
    struct node_peers *peers = &self->peers;
    uint64_t next_us = ACTOR_NEVER;

    for (uint32_t i = 0; i < peers->count; i++) {
        struct node_peer *peer = &peers->items[i];

        if (peer->watch.serial == 0) {
            continue;
        }
        if (now_us - peer->watch.used_us >= USED_US) {
            peer->watch = (struct peer_watch){0}; /* Nobody sleeps. */
            continue;
        }
        if (peer->watch.due_us <= now_us) {
            ask(self, now_us, peer);
        }
        next_us = peer->watch.due_us < next_us ? peer->watch.due_us : next_us;
    }
    return next_us;
}

/* ---- answers ---- */

static struct node_peer *asked(const struct exchange *self, const struct peer_topic *topic)
{
    struct node_peer *peer = peer_of(self, topic->node);

    return peer != NULL && peer->watch.serial != 0 && peer->watch.serial == topic->serial ? peer
                                                                                          : NULL;
}

void node_watch_on_silence(struct exchange *self, uint64_t now_us, const struct peer_topic *topic)
{
    struct node_peer *peer = asked(self, topic);

    if (peer != NULL) {
        exchange_count(self, NODE_pull_failures_total);
        put_off(self, now_us, &peer->watch);
    }
}

void node_watch_on_error(struct exchange *self, uint64_t now_us, const struct peer_topic *topic)
{
    struct node_peer *peer = asked(self, topic);

    if (peer != NULL) {
        end(self, now_us, peer);
    }
}

static void wake(struct exchange *self, uint64_t now_us, const struct node_peer *peer, uint64_t id)
{
    struct document_entry *entry = document_cache_find(self->node.documents, id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    struct filter_pulls *pulls = hosted != NULL ? hosted->pulls : NULL;
    bool any = false;

    for (uint32_t i = 0; pulls != NULL && i < pulls->count; i++) {
        struct pull_item *item = &pulls->items[i];

        if (item->pull.source.node == peer->node &&
            node_watch_sleeps(self, now_us, &entry->document, item)) {
            item->watch = 0;
            item->pull.due_us = now_us;
            any = true;
        }
    }
    if (any) {
        node_exchange_look(self, id);
    }
}

static bool ascend(const uint64_t *ids, size_t count)
{
    bool all = true;

    for (size_t i = 1; i < count; i++) {
        all = all && ids[i] > ids[i - 1];
    }
    return all;
}

static enum status judge(const struct peer_watch *watch, const struct node_peer *peer,
                         const struct pull_reply *reply)
{
    if (reply->kind != PULL_FILTERS || reply->from != watch->position) {
        return STATUS_SHAPE;
    }
    if (reply->source.node != peer->node || reply->source.incarnation != watch->incarnation) {
        return STATUS_CONFLICT;
    }
    return reply->next >= reply->from && (reply->end || reply->next > reply->from) &&
                   reply->count <= PULL_MAX_FILTERS && ascend(reply->fingerprints, reply->count)
               ? STATUS_OK
               : STATUS_MALFORMED;
}

void node_watch_on_reply(struct exchange *self, uint64_t now_us, const struct peer_topic *topic,
                         const struct pull_reply *reply)
{
    struct node_peer *peer = asked(self, topic);
    struct peer_watch *watch;

    if (peer == NULL) {
        return;
    }
    watch = &peer->watch;
    if (reply->status == STATUS_NOT_READY || reply->status == STATUS_OVERLOADED) {
        put_off(self, now_us, watch);
        return;
    }
    if (reply->status != STATUS_OK) {
        end(self, now_us, peer); /* It does not know, or its log is shorter than it was. */
        return;
    }
    if (judge(watch, peer, reply) != STATUS_OK) {
        exchange_count(self, NODE_pull_mismatches_total);
        end(self, now_us, peer);
        return;
    }
    assert(reply->next >= watch->position); /* What was told before is not asked for again. */
    node_remember(self, reply);
    if (MUTANT(WATCH_FIRST)) {
        watch->position = reply->next;
        watch->durable = reply->durable;
    }
    for (size_t i = 0; i < reply->count; i++) {
        wake(self, now_us, peer, reply->fingerprints[i]);
    }
    /* Only now: those that were named ask from the position before. */
    watch->position = reply->next;
    watch->durable = reply->durable > watch->durable ? reply->durable : watch->durable;
    watch->failures = 0;
    watch->answers += reply->end;
    watch->due_us = reply->end ? now_us + self->config.gossip_delay_us : now_us;
}

/* ---- how many are behind ---- */

/* Who sleeps has all, if who watches for it hears of the node. */
static bool is_behind(const struct exchange *self, const struct pull_item *item)
{
    const struct node_peer *peer = item->watch != 0 ? peer_of(self, item->pull.source.node) : NULL;
    bool unheard = peer != NULL && peer->watch.serial == item->watch && peer->watch.failures > 0;

    return item->pull.purpose == PULL_DELTA &&
           (unheard || item->pull.failures > 0 || item->pull.phase != PULL_PHASE_FOLLOW);
}

uint64_t node_exchange_behind(const struct exchange *self)
{
    const struct document_cache *documents = self->node.documents;
    uint64_t count = 0;

    for (size_t i = 0; i < documents->count; i++) {
        const struct hosted_filter *hosted = documents->by_id[i]->attachment;
        const struct filter_pulls *pulls = hosted != NULL ? hosted->pulls : NULL;

        for (uint32_t item = 0; pulls != NULL && item < pulls->count; item++) {
            count += is_behind(self, &pulls->items[item]);
        }
    }
    return count;
}
