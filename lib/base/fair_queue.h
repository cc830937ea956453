/* fair_queue.h - who is next, so that all who wait get the same share: deficit round robin.
 *
 * Entries wait in flows, one a user, each flow in the order of arrival. Flows have turns, one after
 * the other; in each a flow may use up `quantum` of whatever costs are counted in. What an entry
 * really costs may be told before or after it was taken: whoever uses more than its turn allows
 * owes the rest, and sits out so many turns while others wait. So whatever others do, of F flows
 * that wait none waits longer than for F - 1 turns of the others, a turn being `quantum` and what
 * the last entry in it takes beyond.
 *
 *   push -> [flow 7: a b c] [flow 9: d] -> pop: a, d, b, c
 *
 * Bounds:  flows that wait, and FAIR_QUEUE_IDLE of those that do not: of more of them the one that
 *          has not waited for longest is forgotten, with what it owes.
 * Errors:  fair_queue_push: STATUS_NOMEM, only for a flow that was never seen before, or is
 *          forgotten.
 * Owner:   entries are the caller's, in one queue at a time, and stay where they are.
 * Threads: none.
 * Source:  M. Shreedhar and G. Varghese, "Efficient Fair Queueing using Deficit Round Robin", 1995.
 */
#ifndef ORBLOOM_BASE_FAIR_QUEUE_H
#define ORBLOOM_BASE_FAIR_QUEUE_H

#include "base/number_table.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { FAIR_QUEUE_IDLE = 1024 };

struct fair_flow;

/* Part of what waits. Zeroed: it waits nowhere. */
struct fair_entry {
    TAILQ_ENTRY(fair_entry) entry;
    struct fair_flow *flow; /* NULL: it does not wait */
    uint64_t cost;
};

TAILQ_HEAD(fair_flow_list, fair_flow);

struct fair_queue {
    uint64_t quantum;
    uint64_t round;                /* so many times all who wait had a turn */
    size_t count;                  /* entries that wait */
    struct fair_flow_list waiting; /* flows with entries; who is first has its turn */
    struct fair_flow_list idle;    /* ... without; who waited last is last */
    size_t nidle;
    struct number_table flows; /* all of them */
};

void fair_queue_init(struct fair_queue *self, uint64_t quantum);

/* Entries that wait are forgotten, and may not be touched through this queue any more. */
void fair_queue_fini(struct fair_queue *self);

/* At the end of its flow. `cost`: as far as it is known. */
MUST_USE enum status fair_queue_push(struct fair_queue *self, uint32_t flow,
                                     struct fair_entry *entry, uint64_t cost);

/* Whose turn it is; NULL: nobody waits. */
struct fair_entry *fair_queue_pop(struct fair_queue *self);

/* What the entries of a flow that wait cost together, as far as was said. */
uint64_t fair_queue_waiting(const struct fair_queue *self, uint32_t flow);

/* It was taken, and has cost so much more than was said. Of a flow that is forgotten: nothing. */
void fair_queue_charge(struct fair_queue *self, uint32_t flow, uint64_t cost);

/* It waits no more, if it did. */
void fair_queue_remove(struct fair_queue *self, struct fair_entry *entry);

static inline bool fair_queue_waits(const struct fair_entry *entry)
{
    return entry->flow != NULL;
}

#endif
