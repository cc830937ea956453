/* flight.h - how many bytes of requests may be under way to one node: what it answers in a second.
 *
 * A fixed bound is a queue of whatever age a slow node makes of it. Where that is older than
 * clients wait, all that the node answers has been given up and asked again: it is busy and nobody
 * is served. So the bound follows the rate at which the node answers while it has something to
 * answer all the time. Source: the bandwidth-delay product as a bound of what is in flight, as in
 * BBR (Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016), with a delay that is
 * chosen instead of measured.
 *
 * Users share the bound: of U that have something under way each may have a U-th of it, and one
 * message whatever its size, also where others, who had all of it to themselves before, leave no
 * room. So whoever asks for little finds room at once, whatever others do, and what is under way
 * gets beyond the bound only by what such users hold. What is nobody's is shared as if it was one
 * more user's.
 *
 * Units:   bytes as the router counts them, microseconds of a monotonic clock.
 * Errors:  none. What users have is not told apart while there is no memory for that.
 * Owner:   flight_fini() frees what users have.
 * Threads: one.
 */
#ifndef ORBLOOM_ROUTER_FLIGHT_H
#define ORBLOOM_ROUTER_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FLIGHT_LEAST_BYTES = 1 << 20, /* may always be under way, however slow the node */
    FLIGHT_FIRST_BYTES = 4 << 20, /* ... until something is known */
    FLIGHT_AGE_US = 1000000,      /* what is sent now is answered within this */
    FLIGHT_LOOK_US = 250000,      /* a rate is measured for so long */
};

struct flight {
    uint64_t bytes;       /* sent, and not yet answered */
    uint64_t limit_bytes; /* no more than so many */
    uint64_t since_us;    /* when measuring began; only while there are bytes */
    uint64_t answered_bytes;
    uint64_t peak_bytes;   /* the most that was under way meanwhile */
    uint64_t *users;       /* bytes of each; NULL: no user ever had any. See flight.c */
    uint64_t users_bytes;  /* of all of them; the rest is nobody's */
    uint32_t users_active; /* that have any */
};

/* Nothing is under way, and nothing known of the node. No limit is ever more than `most_bytes`. */
struct flight flight_begin(uint64_t most_bytes);
void flight_fini(struct flight *self);

/* May a user, or nobody (0), send so many more? */
bool flight_has_room(const struct flight *self, uint32_t user, uint64_t bytes);

void flight_sent(struct flight *self, uint64_t now_us, uint32_t user, uint64_t bytes);

/* The node has answered so many bytes of what was sent. */
void flight_answered(struct flight *self, uint64_t now_us, uint32_t user, uint64_t bytes,
                     uint64_t most_bytes);

/* They were lost, or are not awaited any more. */
void flight_lost(struct flight *self, uint32_t user, uint64_t bytes);

/* The node has gone, or is very slow: it gets less. */
void flight_slow(struct flight *self, uint64_t most_bytes);

#endif
