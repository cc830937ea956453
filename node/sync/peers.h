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
#ifndef ORBLOOM_NODE_SYNC_PEERS_H
#define ORBLOOM_NODE_SYNC_PEERS_H

#include "base/actor.h"
#include "base/buffer.h"
#include "node/pull/pull.h"
#include "proto/codec.h"

enum {
    PEERS_MAX_AWAITED_BYTES = 32 << 20,
    PEERS_DEADLINE_US = 2000000, /* for one answer that is read and sent */
    PEERS_HASTE_US = 250000,     /* ... that something waits for, the first time */
    PEERS_IDLE_US = 60000000,    /* a link unused for so long is closed */
    PEERS_SILENT_US = 100000,    /* how long one that does not answer is let be, at first */
};

/* Questions to one peer at a time: one for each purpose of pulls, and one about a start. */
enum { PEERS_MEETING = PULL_NPURPOSES, PEERS_WATCH, PEERS_NCALLS };

/* What a question is about; the peers only keep it. */
struct peer_topic {
    uint64_t filter_id;
    uint64_t serial;
    uint32_t item;
    uint32_t node; /* who was asked, ... */
    unsigned call; /* ... and for which purpose: set by node_peers_ask() */
    bool repair;   /* the item's comparison, else its pull */
};

/* What a peer's log has, for all that have nothing to ask: see watch.c. */
struct peer_watch {
    uint64_t serial; /* 0: there is none */
    uint64_t incarnation;
    uint64_t position; /* who sleeps has all below, ... */
    uint64_t durable;  /* ... or, of durability sync, below this if that is less */
    uint64_t due_us;
    uint64_t used_us; /* when one was last found asleep */
    uint64_t answers; /* that told all there was */
    uint32_t failures;
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
    char address[NODE_ADDRESS_BYTES];
    struct peer_call calls[PEERS_NCALLS];
    struct peer_watch watch;
    uint64_t
        silent_us; /* it does not answer: let it be until then; 0: it does, as far as is known */
    uint32_t silences; /* in a row */
};

struct node_peers {
    struct node_peer *items;
    uint32_t count;
    size_t capacity;
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

/* NULL: it was never asked. */
struct node_peer *node_peers_find(const struct node_peers *self, uint32_t node);

/* Has it not answered, and is not to be asked for what takes long before *until_us? */
bool node_peers_silent(const struct node_peers *self, uint32_t node, uint64_t *until_us);

/* Take one question whose deadline has passed; false when there is none. */
bool node_peers_expired(struct node_peers *self, uint64_t now_us, struct peer_topic *topic);

/* Close links that nobody has used for long. */
void node_peers_close_idle(struct node_peers *self, const struct effects *effects, uint64_t now_us);

/* When the next deadline passes or a link gets old; ACTOR_NEVER when there are none. */
uint64_t node_peers_next_us(const struct node_peers *self);

#endif
