/* sites_relay.h - the way between two sites: a relay of TCP on loopback that delays what passes,
 * and counts it, and may pass on no more than so much a second.
 *
 * What comes at one end leaves at the other one so much later, in its order. Nothing is lost, and
 * neither end's TCP sees the distance: it has no slow start, as if the connection were an old one.
 * (To lose packets takes a relay below TCP: see docs/benchmark.md.)
 *
 * Errors:  false, said on stderr.
 * Owner:   whoever called sites_relay_open() calls sites_relay_close().
 * Threads: one of its own; `delay_us`, `rate` and the counts are for any.
 */
#ifndef ORBLOOM_BENCH_SITES_RELAY_H
#define ORBLOOM_BENCH_SITES_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SITES_RELAY_PAIRS = 16 };

struct sites_relay_piece;

/* From one end to the other. */
struct sites_relay_way {
    struct sites_relay_piece *first;
    struct sites_relay_piece *last;
    uint64_t held;
    uint64_t free_us; /* the line is, by its rate */
    bool blocked;     /* who is to get it takes nothing now */
};

/* A connection that was let in, and the one that goes on from it; < 0: none. */
struct sites_relay_pair {
    int ends[2];
    struct sites_relay_way ways[2]; /* of what end i has sent */
};

struct sites_relay {
    _Atomic uint64_t delay_us; /* each way */
    _Atomic uint64_t rate;     /* bytes a second, each way of each connection; 0: as they come */
    _Atomic uint64_t bytes;    /* that have come, both ways */
    _Atomic uint64_t packets;  /* in which they would have been, of 1,448 bytes at most */
    uint16_t port;             /* where it listens */
    /* its own */
    uint16_t target;
    int listener;
    atomic_bool ending;
    pthread_t thread;
    struct sites_relay_pair pairs[SITES_RELAY_PAIRS];
};

/* To that port of this machine. */
bool sites_relay_open(struct sites_relay *self, uint16_t target);

void sites_relay_close(struct sites_relay *self);

#endif
