/* sent.h - messages to one node that it has not answered, by the numbers that its answers name.
 *
 * So an answer settles its own message, once, and nothing else: not one that comes twice, nor one
 * that comes after its message was given up.
 *
 *   sent_add -> number -> sent_take (answered) | sent_take_old (given up)
 *
 * Units:   microseconds of a monotonic clock.
 * Bounds:  as many as were reserved: what is awaited is bounded by its bytes, see flight.h.
 * Errors:  sent_reserve: false, no memory; nothing has changed.
 * Owner:   sent_fini() frees the table.
 * Threads: one.
 */
#ifndef ORBLOOM_ROUTER_SENT_H
#define ORBLOOM_ROUTER_SENT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sent_message {
    uint64_t sent_us;
    uint64_t bytes; /* as the router counts them */
    uint32_t user;  /* whose it is; 0: nobody's */
    bool checks;    /* and nothing else: what they take tells how fast the node is */
};

struct sent_place;

/* Zeroed: nothing is awaited. */
struct sent {
    struct sent_place *places;
    size_t capacity;
    size_t used;   /* places that ever were */
    uint32_t free; /* the first of those that are free, by their places' numbers; 0: none */
    uint32_t oldest;
    uint32_t newest;
    uint32_t round; /* tells the users of a place apart */
};

void sent_fini(struct sent *self);

/* There is room for another one. */
MUST_USE bool sent_reserve(struct sent *self);

/* In the order of their times, where there is room. The number of its answer, never 0. */
uint64_t sent_add(struct sent *self, const struct sent_message *message);

/* The one of that number, which is awaited no more. False: none is, and *out is as before. */
bool sent_take(struct sent *self, uint64_t number, struct sent_message *out);

/* The oldest one, if it was sent before `before_us`. */
bool sent_take_old(struct sent *self, uint64_t before_us, struct sent_message *out);

#endif
