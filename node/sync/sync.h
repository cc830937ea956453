/* sync.h - what a node takes over from other nodes, and what it gives them: the room's door.
 *
 * The exchange knows nothing of the node around it but what it was lent: see struct exchange_node.
 * Without a disk there is no log to take over, so an exchange that never begins asks nobody and
 * refuses who asks.
 *
 * Errors:  as said; the rest can't fail.
 * Owner:   node_exchange_create()'s caller calls node_exchange_destroy(), the storage being gone.
 * Threads: none; the actor's.
 */
#ifndef ORBLOOM_NODE_SYNC_SYNC_H
#define ORBLOOM_NODE_SYNC_SYNC_H

#include "base/actor.h"
#include "base/buffer.h"
#include "base/log.h"
#include "map/access/seal.h"
#include "map/document_cache.h"
#include "node/array/hosted.h"
#include "node/base/counters.h"
#include "node/base/life.h"
#include "node/base/steps.h"
#include "node/store/storage.h"
#include "proto/codec.h"

struct exchange;
struct node;

/* How far the log must be for an answer to go out. */
struct log_need {
    uint64_t written;
    uint64_t synced;
};

struct exchange_config {
    struct cluster_key key;
    uint64_t gossip_delay_us; /* 0: 1 s */
    uint64_t gossip_rate;     /* 0: 200 MiB a second */
    uint64_t retry_memory_us;
    uint64_t catch_up_wait_us;
    uint64_t scrub_interval_us;
    uint64_t last_correlation; /* questions are numbered from here */
};

/* What the node lends, for as long as the exchange lives, and what it does for it. */
struct exchange_node {
    const struct effects *effects;
    struct document_cache *documents;
    struct node_life *life; /* `torn` and `changed` may be set, the rest is read */
    struct steps *steps;
    struct buffer *out; /* for one frame at a time */
    uint64_t *counters; /* NODE_NCOUNTERS */
    struct log_limit *bad_frame_limit;
    struct log_limit *bad_document_limit;

    struct node *self;
    void (*take_document)(struct node *self, uint64_t now_us, struct span bytes);
    void (*reply_frame)(struct node *self, const struct peer *to, const struct frame *frame);
    void (*reply_when)(struct node *self, const struct peer *to, const struct frame *frame,
                       struct log_need need);
    void (*report_news)(struct node *self, uint64_t filter_id);

    /* A batch came in another way than in its router's message. */
    void (*arrived)(struct node *self, const struct record_batch *batch);
    void (*begin_incarnation)(struct node *self, uint64_t now_us, enum amnesia amnesia);
    void (*confirm_by_peers)(struct node *self, uint32_t count);
};

MUST_USE enum status node_exchange_create(const struct exchange_config *config,
                                          const struct exchange_node *node, struct exchange **out);

/* The cluster key is another ring from now on. */
void node_exchange_rekey(struct exchange *self, const struct cluster_key *key);
void node_exchange_destroy(struct exchange **exchange);

/* The node keeps a log: once, before the first turn. Borrowed. */
void node_exchange_begin(struct exchange *self, struct storage *storage);

void node_exchange_turn(struct exchange *self, uint64_t now_us);
uint64_t node_exchange_next_us(const struct exchange *self);

/* How many replicas of other nodes are not followed just now, for those here that count: their
 * nodes do not answer, or there is more to take over. */
uint64_t node_exchange_behind(const struct exchange *self);

/* stir.c: something that decides what is asked has changed: a document, readiness. */
void node_exchange_stir(struct exchange *self);

/* Something of one filter may be due now. */
void node_exchange_look(struct exchange *self, uint64_t filter_id);

/* Again and again: look at all, the more seldom the more there are. */
void node_exchange_look_round(struct exchange *self, uint64_t now_us);

/* The log has become durable a little further. */
void node_exchange_moved(struct exchange *self);

/* False: the link does not lead to a node. */
bool node_exchange_on_answer(struct exchange *self, uint64_t now_us, uint32_t link,
                             const struct frame *frame, size_t size);

/* pull_take.c: a batch that routers brought is in the log, all of it. */
void node_note_batch(struct exchange *self, const struct document_entry *entry,
                     const struct record_batch *batch);
bool node_has_batch(struct exchange *self, const struct document_entry *entry,
                    const struct record_batch *batch);

/* Some may not be there any more. */
void node_forget_batches(struct exchange *self);

/* pull.c: cursors in the log, found and repeated. */
void node_pull_found(struct exchange *self, struct span record);

/* An incarnation begins: how far the former one had come, and what it had, says nothing. */
void node_pull_forget(struct exchange *self);
MUST_USE enum status node_pull_checkpoint(const struct exchange *self);

/* pull_plan.c: what is hosted goes, or is made anew. */
void node_pull_drop(struct hosted_filter *hosted);

/* pull_take.c: may a key be here that an add still under way has brought? */
bool node_pull_doubts(const struct exchange *self, uint64_t now_us);

/* catch_up.c: a node whose log may have lost its end catches up with the others before it counts.
 * Filters that are found at the start, or come before the store has told all, are in doubt. */
void node_doubt(struct exchange *self);
void node_doubt_none(struct exchange *self);
void node_doubt_hosted(const struct exchange *self, struct hosted_filter *hosted);
void node_set_doubted(struct hosted_filter *hosted, bool doubted);

/* peer_memory.c: another node starts, and asks what is remembered of it. */
void node_on_boot_request(struct exchange *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);
void node_remember_found(struct exchange *self, struct span record);
MUST_USE enum status node_remember_checkpoint(const struct exchange *self);

/* serve.c */
void node_on_pull_request(struct exchange *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);

/* Is an answer about the filter under way? */
bool node_serves(const struct exchange *self, uint64_t filter_id);

/* tail.c: a link asks for what was added here. */
void node_on_site_tail_request(struct exchange *self, uint64_t now_us, const struct peer *from,
                               const struct frame *frame);

/* Bytes of the log that some other site has not taken, as far as is known. */
uint64_t node_tail_untaken(const struct exchange *self);

#endif
