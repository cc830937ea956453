/* One link a node: subrequests gathered in a turn leave as one message, bytes in flight are
 * bounded, and silent nodes are suspected and probed. */
#include "base/heap.h"
#include "router/private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* A node that leaves something unanswered for so many times the router's patience is
     * suspect. */
    SUSPECT_TIMES = 4,
    /* After this many retry intervals of silence the link is made anew, so that what is queued
     * for a node that does not read is not kept for ever; and what a node that answers has not
     * answered by then was lost. */
    RENEW_RETRIES = 20,
    SEGMENT_BYTES = 128, /* roughly, on the wire */

    /* What is older than so many answers fades, so that a change shows within a few hundred. */
    LATENCIES_KEPT = 2048,
};

static void take_latency(struct backend *backend, uint64_t now_us,
                         const struct sent_message *message)
{
    histogram_add(&backend->roundtrips, now_us - message->sent_us);
    /* Adds wait for a disk, so what they take says nothing of checks. */
    if (message->checks) {
        latency_add(&backend->checks, (uint32_t)(now_us - message->sent_us));
        if (backend->checks.total >= LATENCIES_KEPT) {
            latency_fade(&backend->checks);
        }
    }
}

static bool reserve(struct backend *backend)
{
    if (backend->subrequests == NULL) {
        backend->subrequests = heap_alloc(CODEC_MAX_SUBREQUESTS, sizeof *backend->subrequests);
    }
    if (backend->fingerprints == NULL) {
        backend->fingerprints = heap_alloc(CODEC_MAX_KEYS, sizeof *backend->fingerprints);
    }
    return backend->subrequests != NULL && backend->fingerprints != NULL &&
           sent_reserve(&backend->sent);
}

/* Nothing is awaited of it any more. */
static void forget_sent(struct backend *backend)
{
    struct sent_message message;

    while (sent_take_old(&backend->sent, UINT64_MAX, &message)) {
        flight_lost(&backend->flight, message.user, message.bytes);
    }
    assert(backend->flight.bytes == 0);
}

/* What was under way to it is lost; how fast it is is still known where it is the same node. */
static void connect_to(struct router *self, struct backend *backend, const char *address)
{
    if (backend->link != 0) {
        self->effects.link_close(self->effects.context, backend->link);
    }
    forget_sent(backend);
    if (strcmp(backend->address, address) == 0) {
        flight_slow(&backend->flight, self->config.max_inflight_bytes);
    } else {
        flight_fini(&backend->flight);
        backend->flight = flight_begin(self->config.max_inflight_bytes);
    }
    (void)snprintf(backend->address, sizeof backend->address, "%s", address);
    backend->link = self->effects.link_open(self->effects.context, address);
    backend->unanswered_us = 0;
}

static struct backend *find(const struct router *self, uint32_t node)
{
    for (size_t i = 0; i < self->nbackends; i++) {
        if (self->backends[i].node == node) {
            return &self->backends[i];
        }
    }
    return NULL;
}

/* In the node list as it is now. `backend`: NULL if it is met for the first time. */
static struct backend *look_up(struct router *self, uint32_t node, struct backend *backend)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);
    char address[NODE_ADDRESS_BYTES];

    if (record == NULL) {
        return NULL;
    }
    if (backend == NULL && self->nbackends < DOCUMENT_MAX_NODES) {
        backend = &self->backends[self->nbackends++];
        backend->node = node;
    }
    (void)node_record_address(record, address);
    if (backend != NULL && (backend->link == 0 || strcmp(backend->address, address) != 0)) {
        connect_to(self, backend, address);
    }
    if (backend != NULL) {
        backend->list = self->documents.nodes.revision;
    }
    return backend;
}

struct backend *backend_of(struct router *self, uint32_t node)
{
    struct backend *backend = find(self, node);

    return backend != NULL && backend->link != 0 && backend->list == self->documents.nodes.revision
               ? backend
               : look_up(self, node, backend);
}

void backends_connect(struct router *self)
{
    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        (void)backend_of(self, self->documents.nodes.nodes[i].id);
    }
}

bool backend_send(struct router *self, struct backend *backend, const struct frame *frame)
{
    struct span bytes;

    return codec_encode_out(frame, &self->effects, &self->out, &bytes) == STATUS_OK &&
           self->effects.send(self->effects.context, backend->link, bytes) == STATUS_OK;
}

/* One message with all that was gathered. */
static void flush(struct router *self, struct backend *backend, uint64_t now_us)
{
    struct sent_message message = {
        .sent_us = now_us,
        .bytes = backend->unsent_bytes,
        .checks = !backend->unsent_adds,
    };
    struct frame frame = {
        .kind = FRAME_NODE_REQUEST,
        .body.node_request =
            {
                .subrequests = backend->subrequests,
                .nsubrequests = backend->nsubrequests,
                .fingerprints = backend->fingerprints,
                .count = backend->nfingerprints,
            },
    };

    if (backend->nsubrequests == 0) {
        return;
    }
    message.user = backend->subrequests[0].user;
    frame.correlation = sent_add(&backend->sent, &message);
    if (backend_send(self, backend, &frame)) {
        router_count(self, ROUTER_node_requests_total);
        self->counters[ROUTER_segments_total] += backend->nsubrequests;
        flight_sent(&backend->flight, now_us, message.user, message.bytes);
    } else {
        (void)sent_take(&backend->sent, frame.correlation, &message);
    }
    /* Not sent counts as unanswered too: the node becomes suspect, retries come. */
    backend->unanswered_us = backend->unanswered_us != 0 ? backend->unanswered_us : now_us;
    backend->nsubrequests = 0;
    backend->nfingerprints = 0;
    backend->unsent_bytes = 0;
    backend->unsent_adds = false;
}

/* A message is one user's: nodes serve messages in turn, and answers give back its bytes. */
static bool is_full_for(const struct backend *backend, const struct subrequest *subrequest)
{
    return backend->nsubrequests == CODEC_MAX_SUBREQUESTS ||
           backend->nfingerprints + subrequest->count > CODEC_MAX_KEYS ||
           backend->subrequests[0].user != subrequest->user;
}

bool backend_gather(struct router *self, uint64_t now_us, struct backend *backend,
                    const struct subrequest *subrequest, const uint64_t *fingerprints)
{
    uint64_t bytes = SEGMENT_BYTES + (uint64_t)subrequest->count * sizeof *fingerprints;

    assert(subrequest->count <= CODEC_MAX_KEYS);
    if (backend->nsubrequests > 0 && is_full_for(backend, subrequest)) {
        flush(self, backend, now_us);
    }
    if (backend->link == 0 || !reserve(backend) ||
        !flight_has_room(&backend->flight, subrequest->user, backend->unsent_bytes + bytes)) {
        router_count(self, ROUTER_backend_overloaded_total);
        return false;
    }
    backend->subrequests[backend->nsubrequests++] = *subrequest;
    backend->unsent_adds |= subrequest->operation != OPERATION_CHECK;
    memcpy(backend->fingerprints + backend->nfingerprints, fingerprints,
           subrequest->count * sizeof *fingerprints);
    backend->nfingerprints += subrequest->count;
    backend->unsent_bytes += bytes;
    return true;
}

void backends_flush(struct router *self, uint64_t now_us)
{
    for (size_t i = 0; i < self->nbackends; i++) {
        flush(self, &self->backends[i], now_us);
    }
}

static void settle(const struct router *self, struct backend *backend, uint64_t now_us,
                   uint64_t number)
{
    struct sent_message message;

    if (sent_take(&backend->sent, number, &message)) {
        take_latency(backend, now_us, &message);
        flight_answered(&backend->flight, now_us, message.user, message.bytes,
                        self->config.max_inflight_bytes);
    }
}

struct backend *backend_heard(struct router *self, uint64_t now_us, uint32_t link, uint64_t number)
{
    for (size_t i = 0; i < self->nbackends; i++) {
        struct backend *backend = &self->backends[i];

        if (backend->link == link) {
            settle(self, backend, now_us, number);
            if (backend->suspect) {
                log_line(LOG_INFO, "node %u at %s answers again", backend->node, backend->address);
            }
            backend->suspect = false;
            /* It answers: what is still open is waited for from now on. */
            backend->unanswered_us = backend->flight.bytes > 0 ? now_us : 0;
            return backend;
        }
    }
    return NULL;
}

bool backend_suspect(const struct router *self, uint32_t node)
{
    const struct backend *backend = find(self, node);

    return backend != NULL && backend->suspect;
}

/* Ask something small, to learn when it answers again. */
static void probe(struct router *self, struct backend *backend)
{
    struct frame frame = {
        .kind = FRAME_INFO_REQUEST,
        .body.info_request = {.filter = "", .filter_id = 0},
    };

    (void)backend_send(self, backend, &frame);
}

/* A node that restarts loses what was under way to it, and no answer ever takes that off the bytes
 * in flight: what was sent before the last look, a while ago, is awaited no more. */
static void forget_lost(const struct router *self, struct backend *backend, uint64_t now_us)
{
    struct sent_message message;
    bool lost = false;

    if (now_us - backend->looked_us < RENEW_RETRIES * self->config.retry_us) {
        return;
    }
    while (sent_take_old(&backend->sent, backend->looked_us, &message)) {
        flight_lost(&backend->flight, message.user, message.bytes);
        lost = true;
    }
    if (lost) {
        flight_slow(&backend->flight, self->config.max_inflight_bytes);
        if (backend->flight.bytes == 0 && !backend->suspect) {
            backend->unanswered_us = 0;
        }
    }
    backend->looked_us = now_us;
}

static void tick(struct router *self, struct backend *backend, uint64_t now_us)
{
    forget_lost(self, backend, now_us);
    if (backend->unanswered_us == 0 && !backend->suspect) {
        return;
    }
    if (!backend->suspect &&
        now_us - backend->unanswered_us > SUSPECT_TIMES * hedge_patience_us(self)) {
        backend->suspect = true;
        backend->next_probe_us = now_us + self->config.retry_us;
        router_count(self, ROUTER_suspects_total);
        log_line(LOG_WARN, "node %u at %s does not answer", backend->node, backend->address);
    }
    if (backend->suspect && now_us >= backend->next_probe_us) {
        if (backend->unanswered_us != 0 &&
            now_us - backend->unanswered_us > RENEW_RETRIES * self->config.retry_us) {
            char address[NODE_ADDRESS_BYTES];

            /* connect_to() writes where the address is kept. */
            memcpy(address, backend->address, sizeof address);
            connect_to(self, backend, address);
            backend->unanswered_us = now_us;
        }
        backend->next_probe_us = now_us + self->config.retry_us;
        probe(self, backend);
    }
}

void backends_tick(struct router *self, uint64_t now_us)
{
    for (size_t i = 0; i < self->nbackends; i++) {
        tick(self, &self->backends[i], now_us);
    }
}

void backends_fini(struct router *self)
{
    for (size_t i = 0; i < self->nbackends; i++) {
        heap_free(self->backends[i].subrequests);
        heap_free(self->backends[i].fingerprints);
        sent_fini(&self->backends[i].sent);
        flight_fini(&self->backends[i].flight);
    }
    heap_free(self->backends);
}
