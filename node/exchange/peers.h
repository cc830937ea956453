/* peers.h - links from a node to other nodes: opened when there is something to ask, closed
 * when they are idle, at most one question under way for each (peer, purpose).
 *
 * Units:   microseconds, bytes.
 * Errors:  node_peers_ask(): STATUS_OVERLOADED (a question is under way, or too many bytes are
 *          awaited), STATUS_NOT_FOUND (the node list has no such node), STATUS_UNAVAILABLE (no
 *          link yet), STATUS_NOMEM. Nothing was sent then.
 * Owner:   node_peers_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_EXCHANGE_PEERS_H
#define ORBLOOM_NODE_EXCHANGE_PEERS_H

#include "base/actor.h"
#include "base/buffer.h"
#include "cluster/pull.h"
#include "proto/codec.h"

enum {
    PEERS_MAX_AWAITED_BYTES = 32 << 20,
    PEERS_DEADLINE_US = 2000000, /* for one answer that is read and sent */
    PEERS_HASTE_US = 250000,     /* ... that something waits for, the first time */
    PEERS_IDLE_US = 60000000,    /* a link unused for so long is closed */
};

/* Questions to one peer at a time: one for each purpose of pulls, and one about a start. */
enum { PEERS_MEETING = PULL_NPURPOSES, PEERS_NCALLS };

/* What a question is about; the peers only keep it. */
struct peer_topic {
    uint64_t filter_id;
    uint64_t serial;
    uint32_t item;
    bool repair; /* the item's comparison, else its pull */
};

struct peer_call {
    uint64_t correlation; /* 0: none under way */
    uint64_t deadline_us;
    uint64_t bytes;
    struct peer_topic topic;
};

struct node_peer {
    uint32_t node;
    uint32_t link; /* 0: none */
    uint64_t used_us;
    char endpoint[DOCUMENT_TEXT_BYTES];
    struct peer_call calls[PEERS_NCALLS];
    uint64_t told_end; /* of its log, for those who follow it */
    uint64_t told_incarnation;
    uint64_t told_us; /* 0: never */
};

struct node_peers {
    struct node_peer *items;
    uint32_t count;
    uint32_t capacity;
    uint64_t last_correlation;
    uint64_t awaited_bytes;
};

void node_peers_fini(struct node_peers *self);

/* May a question that brings so many bytes be asked now? */
bool node_peers_idle(const struct node_peers *self, uint32_t node, unsigned purpose,
                     uint64_t bytes);

/* Send `frame` (its correlation is set here) to a node; an answer of at most `bytes` comes back
 * within `wait_us`. *sent: how many bytes went out. */
MUST_USE enum status node_peers_ask(struct node_peers *self, const struct effects *effects,
                                    uint64_t now_us, const struct node_list *nodes, uint32_t node,
                                    unsigned purpose, uint64_t bytes, uint64_t wait_us,
                                    const struct peer_topic *topic, struct frame *frame,
                                    struct buffer *spare, size_t *sent);

bool node_peers_has(const struct node_peers *self, uint32_t link);

/* An answer came: false when nobody waits for it (any more). */
bool node_peers_answered(struct node_peers *self, uint32_t link, uint64_t correlation,
                         struct peer_topic *topic);

/* The node has said that its log has no more from there on for who follows it; and: has it said so
 * since `since_us`? Then *end is set. */
void node_peers_note_end(struct node_peers *self, uint64_t now_us, const struct member *source,
                         uint64_t end);
bool node_peers_told_end(const struct node_peers *self, uint64_t since_us,
                         const struct member *source, uint64_t *end);

/* Take one question whose deadline has passed; false when there is none. */
bool node_peers_expired(struct node_peers *self, uint64_t now_us, struct peer_topic *topic);

/* Close links that nobody has used for long. */
void node_peers_close_idle(struct node_peers *self, const struct effects *effects, uint64_t now_us);

/* When the next deadline passes or a link gets old; ACTOR_NEVER when there are none. */
uint64_t node_peers_next_us(const struct node_peers *self);

#endif
