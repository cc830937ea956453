/* looks.h - when each filter is to be looked at next for what it may take over from other nodes, so
 * that of many filters only those that are due are looked at.
 *
 * Time:    microseconds, as the node's.
 * Errors:  STATUS_NOMEM.
 * Owner:   looks_fini().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_EXCHANGE_LOOKS_H
#define ORBLOOM_NODE_EXCHANGE_LOOKS_H

#include "base/status.h"
#include "cluster/document_cache.h"

#include <stdbool.h>
#include <stdint.h>

/* What a filter waits for besides its time. */
enum look_wait {
    LOOK_WAITS_PEER = 1,   /* the answer to another question to a node that it would ask */
    LOOK_WAITS_REPAIR = 2, /* its turn to be compared */
    LOOK_WAITS_URGENT = 4, /* ... which takes precedence */
    LOOK_WAITS_LOG = 8,    /* the own log being durable a little further */
};

struct look {
    uint64_t filter_id;
    uint64_t due_us;
    unsigned waits; /* of enum look_wait */
};

struct looks {
    struct look *items; /* as the documents: ascending ids */
    size_t count;
    size_t room;
    uint64_t inserted; /* of the documents, when they were followed */
    uint64_t removed;
};

/* A zeroed one is ready. */
void looks_fini(struct looks *self);

/* One for each document, in their order; who is new is due at once. STATUS_NOMEM: as before. */
MUST_USE enum status looks_follow(struct looks *self, const struct document_cache *documents);

/* It is due now, if it is known. */
void looks_now(struct looks *self, uint64_t filter_id);

/* The earliest time that one is due; UINT64_MAX: none is. */
uint64_t looks_next_us(const struct looks *self);

/* Does any wait for one of those? */
bool looks_any_waits(const struct looks *self, unsigned waits);

#endif
