/* looks.h - when each filter is to be looked at next for what it may take over from other nodes,
 * and what it waits for besides, so that of many filters only those that are due cost anything.
 *
 * Each has a time; they stand in a heap by it. Who waits for something else stands in a queue for
 * that, first come, first out.
 *
 * Time:    microseconds, as the node's.
 * Errors:  STATUS_NOMEM.
 * Owner:   looks_fini().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_SYNC_LOOKS_H
#define ORBLOOM_NODE_SYNC_LOOKS_H

#include "base/status.h"
#include "map/document_cache.h"
#include "node/pull/pull.h"

#include <stdbool.h>
#include <stdint.h>

/* What a filter waits for besides its time: numbers of queues. */
enum look_wait {
    LOOK_WAITS_LOG,    /* the own log being durable a little further */
    LOOK_WAITS_URGENT, /* its turn to be compared, which takes precedence */
    LOOK_WAITS_REPAIR, /* its turn to be compared */
    LOOK_WAITS_ROOM,   /* fewer bytes being awaited from others */
    LOOK_WAITS_PEER,   /* the first of those for other nodes: see looks_peer() */
    LOOK_NWAITS = 64,
};

#define LOOK_BIT(wait) (UINT64_C(1) << (wait))

struct look {
    uint64_t filter_id;
    uint64_t due_us;
    uint64_t queued; /* bits of the queues that it stands in */
    uint32_t place;  /* in the heap */
};

struct look_queue {
    uint64_t *ids; /* a ring; filters that have gone may still be in it */
    size_t first;
    size_t count;
    size_t room;
};

struct looks {
    struct look *items; /* as the documents: ascending ids */
    uint32_t *heap;     /* places in items: the earliest first */
    uint32_t *due;      /* places, of looks_pop_due() */
    size_t count;
    size_t room;
    uint64_t inserted; /* of the documents, when they were followed */
    uint64_t removed;
    struct look_queue queues[LOOK_NWAITS];
};

/* A zeroed one is ready. */
void looks_fini(struct looks *self);

/* One for each document, in their order; who is new is due at once. STATUS_NOMEM: as before. */
MUST_USE enum status looks_follow(struct looks *self, const struct document_cache *documents);

/* It is due now, if it is known. */
void looks_now(struct looks *self, uint64_t filter_id);

/* The one at that place of items is due then, if not before. */
void looks_by(struct looks *self, size_t at, uint64_t due_us);

/* The earliest time that one is due; UINT64_MAX: none is. */
uint64_t looks_next_us(const struct looks *self);

/* Take all that are due out of the heap, until looks_by() puts them back: their places, the
 * earliest first, good until the next call. */
size_t looks_pop_due(struct looks *self, uint64_t now_us, const uint32_t **places);

/* Which queue is for those that wait for an answer of a node to a question of that purpose, so that
 * they can ask? Some nodes share one. */
unsigned looks_peer(uint32_t node, enum pull_purpose purpose);

/* The one at that place waits for what the bits say, too. STATUS_NOMEM: not for all of it. */
MUST_USE enum status looks_wait(struct looks *self, size_t at, uint64_t bits);

/* How many wait, at most; and take the one that has waited longest. False: none is left. */
size_t looks_waiting(const struct looks *self, unsigned wait);
bool looks_take(struct looks *self, unsigned wait, size_t *at);

#endif
