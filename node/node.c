/* Life of a node and its actor: which frame goes where, what a turn of the loop does, and when
 * the next one is due. */
#include "base/heap.h"
#include "map/access/identity.h"
#include "node/private.h"
#include "proto/answers.h"

#include <assert.h>
#include <string.h>

enum {
    BUILD_SLICE_BYTES = 4 << 20,
    NODE_ARENA_BYTES = 64 << 20,
    ARRIVED_MOST_BYTES = 128 << 20, /* of requests that wait for their turn ... */
    ARRIVED_TURN_BYTES = 16 << 10,  /* ... and of those that are served in one */
};

/* What other nodes have and lack is the exchange's; all else it has done here. */
static enum status open_exchange(struct node *self)
{
    const struct node_config *config = &self->config;
    const struct exchange_config limits = {
        .key = config->key,
        .gossip_delay_us = config->gossip_delay_us,
        .gossip_rate = config->gossip_rate,
        .retry_memory_us = config->retry_memory_us,
        .catch_up_wait_us = config->catch_up_wait_us,
        .scrub_interval_us = config->scrub_interval_us,
        .last_correlation = config->disk != NULL ? self->effects.random(self->effects.context) >> 1
                                                 : 0,
    };
    const struct exchange_node node = {
        .effects = &self->effects,
        .documents = &self->documents,
        .life = &self->life,
        .steps = &self->steps,
        .out = &self->out,
        .counters = self->counters,
        .bad_frame_limit = &self->bad_frame_limit,
        .bad_document_limit = &self->bad_document_limit,
        .self = self,
        .take_document = node_take_document,
        .reply_frame = node_reply_frame,
        .reply_when = node_reply_when,
        .report_news = node_report_news,
        .arrived = node_arrived,
        .begin_incarnation = node_begin_incarnation,
        .confirm_by_peers = node_confirm_by_peers,
    };

    return node_exchange_create(&limits, &node, &self->exchange);
}

enum status node_create(const struct node_config *config, const struct effects *effects,
                        struct node **out)
{
    struct node *self = heap_zalloc(1, sizeof *self);
    enum status status;

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->effects = *effects;
    steps_init(&self->steps, config->steps);
    self->coordinators.count = config->ncoordinators;
    for (uint32_t i = 0; i < config->ncoordinators; i++) {
        self->coordinators.endpoints[i] = self->config.coordinators[i];
    }
    buffer_init(&self->out, CODEC_MAX_FRAME_BYTES);
    arrivals_init(&self->arrivals, ARRIVED_MOST_BYTES, ARRIVED_TURN_BYTES);
    status = codec_arena_create(NODE_ARENA_BYTES, &self->arena);
    if (status != STATUS_OK) {
        goto fail;
    }
    status = vote_cache_create(config->retry_memory_bytes, config->retry_memory_us,
                               effects->random(effects->context), &self->vote_cache);
    if (status != STATUS_OK) {
        goto fail;
    }
    self->replies = heap_zalloc(CODEC_MAX_SUBREQUESTS, sizeof *self->replies);
    self->late_replies = heap_zalloc(CODEC_MAX_SUBREQUESTS, sizeof *self->late_replies);
    if (self->replies == NULL || self->late_replies == NULL) {
        status = STATUS_NOMEM;
        goto fail;
    }
    self->held_tail = &self->held;
    status = open_exchange(self);
    if (status != STATUS_OK) {
        goto fail;
    }
    if (config->disk != NULL) {
        status = node_storage_create(self);
        if (status != STATUS_OK) {
            goto fail;
        }
        node_exchange_begin(self->exchange, self->storage);
    } else {
        /* Never 0, which means "any" where members are compared. */
        self->life.incarnation = effects->random(effects->context) | 1;
        self->counters[NODE_incarnation] = self->life.incarnation;
    }
    *out = self;
    return STATUS_OK;

fail:
    node_destroy(&self);
    return status;
}

void node_destroy(struct node **node)
{
    struct node *self = *node;

    *node = NULL;
    if (self == NULL) {
        return;
    }
    arrivals_fini(&self->arrivals);
    storage_destroy(&self->storage);
    former_fini(&self->former);
    node_exchange_destroy(&self->exchange);
    node_drop_held(self);
    node_expansion_fini(self);
    site_cursors_fini(&self->site_cursors);
    for (size_t i = 0; i < self->documents.count; i++) {
        node_hosted_destroy(self->documents.by_id[i]->attachment);
    }
    document_cache_fini(&self->documents);
    vote_cache_destroy(&self->vote_cache);
    codec_arena_destroy(&self->arena);
    buffer_fini(&self->out);
    heap_free(self->words);
    heap_free(self->replies);
    heap_free(self->late_replies);
    heap_free(self);
}

void node_rekey(struct node *node, const struct cluster_key *key)
{
    node->config.key = *key;
    node_exchange_rekey(node->exchange, key);
}

bool node_registered(const struct node *node)
{
    return node->life.confirmed;
}

bool node_identify(const struct node *node, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    struct user_use use;

    return identity_judge(&node->effects, &node->documents.users, node_registered(node), key, peer,
                          &use);
}

bool node_failed(const struct node *node)
{
    return node->life.failed;
}

enum status node_finish(struct node *node)
{
    enum status status;

    if (node->storage == NULL || node->life.recovering) {
        return STATUS_OK;
    }
    status = storage_finish(node->storage);
    if (status == STATUS_OK) {
        /* The log was synced: what waited for that may be answered. */
        node_release_held(node);
    }
    return status;
}

static void refuse_frame(struct node *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame, enum status status)
{
    struct frame answer;

    node_count(self, status == STATUS_VERSION ? NODE_version_total : NODE_malformed_total);
    log_limited(&self->bad_frame_limit, now_us, LOG_WARN, "refused a frame: %s (version %u)%s",
                status_meaning(status), frame->version,
                status == STATUS_VERSION ? "; if a newer orbloom sent it, upgrade this one" : "");
    if (from != NULL) {
        answer_refusal(frame->correlation, status, &answer);
        node_reply_frame(self, from, &answer);
    }
}

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span bytes)
{
    struct node *self = context;
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    if (status != STATUS_OK) {
        refuse_frame(self, now_us, from, &frame, status);
    } else if (frame.kind == FRAME_NODE_REQUEST) {
        node_take_node_request(self, now_us, from, bytes, &frame);
    } else if (frame.kind == FRAME_DOCUMENTS) {
        for (size_t i = 0; i < frame.body.documents.count; i++) {
            node_take_document(self, now_us, frame.body.documents.items[i]);
        }
    } else if (frame.kind == FRAME_FENCE_REQUEST) {
        node_on_fence_request(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_INFO_REQUEST) {
        node_on_info_request(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_STATS_REQUEST) {
        node_on_stats_request(self, from, &frame);
    } else if (frame.kind == FRAME_BOOT_REQUEST) {
        node_on_boot_request(self->exchange, now_us, from, &frame);
    } else if (frame.kind == FRAME_PULL_REQUEST) {
        node_on_pull_request(self->exchange, now_us, from, &frame);
    } else if (frame.kind == FRAME_SITE_TAIL_REQUEST) {
        node_on_site_tail_request(self->exchange, now_us, from, &frame);
    } else if (frame.kind == FRAME_SITE_CURSOR_REQUEST) {
        node_on_site_cursor_request(self, from, &frame);
    } else {
        refuse_frame(self, now_us, from, &frame, STATUS_INVALID);
    }
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct node *self = context; /* Links lead to coordinators, and to other nodes. */
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    if (status != STATUS_OK) {
        refuse_frame(self, now_us, NULL, &frame, status);
    }
    /* Of a node even what can't be read ends the question that it answers. */
    if (node_exchange_on_answer(self->exchange, now_us, link, &frame, bytes.size) ||
        status != STATUS_OK) {
        return;
    }
    if (frame.kind == FRAME_SYNC_REPLY) {
        node_on_sync_reply(self, now_us, frame.correlation, &frame.body.sync_reply);
    } else if (frame.kind == FRAME_HINT) {
        node_on_hint(self, now_us, &frame.body.hint);
    } else if (frame.kind == FRAME_ERROR) {
        log_limited(&self->coordinator_limit, now_us, LOG_WARN,
                    "the coordinator refused a frame: %s", frame.body.error.message);
    } else {
        refuse_frame(self, now_us, NULL, &frame, STATUS_INVALID);
    }
}

/* What gathers while a group is written counts from the next turn on, as it waits for that one. */
static void note_write(struct node *self, uint64_t now_us)
{
    if (self->log_since_us == 0 && storage_written(self->storage) < storage_end(self->storage)) {
        self->log_since_us = now_us;
    }
}

static void turn(void *context, uint64_t now_us)
{
    struct node *self = context;

    node_serve_users(self, now_us);
    if (self->storage != NULL) {
        /* In this order: what the turn logs goes out with it, and what that has made durable is
         * answered. */
        node_exchange_turn(self->exchange, now_us);
        node_choose_sync(self);
        note_write(self, now_us);
        storage_turn(self->storage);
        node_release_held(self);
    }
    if (self->life.changed) {
        self->life.changed = false;
        node_report_soon(self, now_us, self->coordinators.count);
    }
    node_report_turn(self, now_us);
}

static uint64_t next_us(void *context)
{
    const struct node *self = context;

    uint64_t next = self->next_sync_us;
    uint64_t exchange_us = node_exchange_next_us(self->exchange);
    uint64_t expansion_us = node_expansion_next_us(self);
    uint64_t probes_us = node_probes_next_us(self);
    uint64_t storage_us = self->storage != NULL ? storage_next_us(self->storage) : ACTOR_NEVER;

    if (self->nameless && !self->life.failed) {
        return self->next_sync_us;
    }
    if (self->life.recovering || self->life.failed) {
        return ACTOR_NEVER;
    }
    next = exchange_us < next ? exchange_us : next;
    next = probes_us < next ? probes_us : next;
    next = storage_us < next ? storage_us : next;
    return expansion_us < next ? expansion_us : next;
}

static void on_time(void *context, uint64_t now_us)
{
    struct node *self = context;

    if (now_us >= self->next_sync_us && self->nameless && !self->life.failed) {
        node_ask_cluster(self, now_us);
    } else if (now_us >= self->next_sync_us && !self->life.recovering && !self->life.failed) {
        node_sync(self, now_us);
    }
    node_probes_turn(self, now_us);
    node_exchange_turn(self->exchange, now_us);
}

static bool work(void *context, uint64_t now_us)
{
    struct node *self = context;
    bool more = node_build(self, BUILD_SLICE_BYTES);

    if (!more && self->storage != NULL) {
        storage_work(self->storage, now_us);
    }
    if (!more) { /* What can't answer yet comes first. */
        more = node_grow(self, now_us);
    }
    return more || arrivals_wait(&self->arrivals);
}

static void refused(void *context, enum actor_refusal what)
{
    static const uint32_t counters[] = {
        [ACTOR_REFUSED_NOISE] = NODE_malformed_total,
        [ACTOR_REFUSED_PEER] = NODE_peers_refused_total,
        [ACTOR_REFUSED_FRAME] = NODE_frames_refused_total,
    };

    node_count(context, counters[what]);
}

static bool failed(void *context)
{
    return node_failed(context);
}

struct actor node_actor(struct node *node)
{
    return (struct actor){
        .self = node,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = turn,
        .next_us = next_us,
        .time = on_time,
        .work = work,
        .refused = refused,
        .over = failed,
    };
}
