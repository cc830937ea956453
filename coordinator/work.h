/* work.h - what a coordinator does, one after the other, each of which may wait for the store.
 *
 * Requests, answers of nodes, and the turn in which duties look are one piece of work each. Where
 * one waits for the store it stands still, and no other one is begun: so whatever decides sees what
 * is the coordinator's as it left it. Meanwhile the loop goes on: what comes is queued,
 *
 *   [first: nodes' reports and answers] -> served, one by one, in this order -> then the turn
 *   [rest: routers, operators] ----------^
 *
 * and a few things don't wait: counters are told; a node that reports is heard of, as one that is
 * silent is taken for gone, and its shards are moved; the cluster's status is told as it was known
 * last; and a command whose time is nearly over is refused, as nothing was begun for it.
 *
 * Of a node only the newest report waits, in the place of the oldest. Each of the two queues has a
 * bound; a request beyond it is told OVERLOADED, an answer is dropped: whoever asked asks again.
 *
 * Units:   microseconds of the actor's clock.
 * Errors:  work_init: STATUS_NOMEM. Where a store answers without lanes (effects.submit is NULL)
 *          nothing ever waits.
 * Owner:   the coordinator; queued bytes are copies.
 * Threads: the actor's.
 */
#ifndef ORBLOOM_COORDINATOR_WORK_H
#define ORBLOOM_COORDINATOR_WORK_H

#include "base/actor.h"

#include <stdbool.h>
#include <sys/queue.h>

struct coordinator;
struct coroutine;

enum { WORK_MAX_BYTES = 64 << 20, WORK_ITEM_BYTES = 256 /* what each costs beyond its frame */ };

/* A frame that waits. */
struct work_item {
    TAILQ_ENTRY(work_item) entry;
    struct peer from; /* size 0: it came by `link` */
    uint32_t link;
    uint64_t number;     /* frames that had come when it came, itself among them */
    uint64_t place;      /* ... or when the one came in whose place it is */
    uint64_t arrived_us; /* ... which was then */
    uint64_t waited_us;  /* ... and it may have waited for so long before: see actor.h */
    uint64_t aside_us; /* not to wait for the store any longer; ACTOR_NEVER: as long as it takes */
    bool answered;     /* ... and so it was answered while it was being served */
    size_t size;
    uint8_t bytes[];
};

TAILQ_HEAD(work_list, work_item);

struct work_queue {
    struct work_list items;
    size_t bytes;
};

/* What it does with them. */
struct work_hands {
    void (*serve)(struct coordinator *self, uint64_t now_us, const struct work_item *item);
    void (*turn)(struct coordinator *self, uint64_t now_us);

    /* The store has kept a request waiting until aside_us, before anything was changed for it; nor
     * must be now. */
    void (*aside)(struct coordinator *self, uint64_t now_us, const struct work_item *item);
};

struct work {
    const struct work_hands *hands;
    struct coroutine *coroutine; /* NULL: nothing ever waits */
    struct work_queue first;
    struct work_queue rest;
    uint64_t look_us;       /* none of the rest is to be served aside before */
    uint64_t arrivals;      /* frames that have come so far */
    struct work_item *item; /* being served; NULL: none */
    bool under_way;         /* a piece of work was begun, and has not ended */
    bool turn_due;
    bool ending;
    uint64_t waits_since_us; /* for the store; 0: it does not */
};

MUST_USE enum status work_init(struct coordinator *self, const struct work_hands *hands);

/* What stands still goes on without a store, to let go of what it holds; it reaches nobody. */
void work_fini(struct coordinator *self);

/* A frame has come; `aside_us` as above. False: there is no room for it. */
bool work_queue_request(struct coordinator *self, uint64_t now_us, const struct peer *from,
                        struct span bytes, bool first, uint64_t aside_us);
bool work_queue_answer(struct coordinator *self, uint64_t now_us, uint32_t link, struct span bytes);

/* Do what there is to do, unless something stands still; with `turn`, also the turn. */
void work_do(struct coordinator *self, uint64_t now_us, bool turn);

/* Does a piece of work stand still? */
bool work_waits(const struct coordinator *self);

/* For how long has the store not answered? */
uint64_t work_waits_us(const struct coordinator *self, uint64_t now_us);

/* When something that waits is not to wait any longer; ACTOR_NEVER: never. */
uint64_t work_aside_us(const struct coordinator *self);

/* What the request under way asks for is going to be done: it is not answered aside any more.
 * False: it was, and nothing is to be done. */
MUST_USE bool work_begin(struct coordinator *self);

/* The number of the request under way, when it came, and how long it has waited in all. */
uint64_t work_number(const struct coordinator *self);
uint64_t work_arrived_us(const struct coordinator *self);
uint64_t work_waited_us(const struct coordinator *self);

/* ---- for stored.c ---- */

/* Is this a piece of work that can stand still? */
bool work_may_wait(const struct coordinator *self);

/* Stand still until work_go_on(), or the end. */
void work_await(struct coordinator *self);
void work_go_on(struct coordinator *self, uint64_t now_us);

#endif
