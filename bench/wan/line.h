/* line.h - what a line does to the packets of one direction: it may lose one, delay it, carry no
 * more than so much a second, or be cut.
 *
 * A line with a rate sends one packet after the other; what comes meanwhile waits in a queue before
 * it, and what finds that full is dropped, as in a router. Packets never overtake each other.
 *
 * Units:   microseconds of any clock that rises; bytes of whole packets.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BENCH_WAN_LINE_H
#define ORBLOOM_BENCH_WAN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LINE_ALL = 1000000,     /* as loss: every packet */
    LINE_QUEUE_US = 100000, /* so long a packet may wait for those before it */
};

#define LINE_LOST UINT64_MAX

/* All zero: what comes leaves at once. */
struct line_kind {
    uint64_t delay_us;
    uint32_t loss; /* so many of a million packets, each by chance of its own */
    uint64_t rate; /* bytes a second; 0: no bound */
    bool cut;      /* it carries nothing; what is on its way arrives */
};

struct line {
    struct line_kind kind; /* may be changed at any time */
    uint64_t random;       /* any seed */
    uint64_t packets;      /* that have come, with those that were lost */
    uint64_t bytes;
    uint64_t carried; /* bytes that arrive */
    uint64_t lost;    /* packets, by chance or by a cut */
    uint64_t dropped; /* ... that found the queue full */
    /* its own */
    uint64_t free_us; /* what came before has left then */
    uint64_t due_us;  /* ... and the last of it arrives then */
};

/* A packet comes: when it arrives at the other end, or LINE_LOST. */
uint64_t line_carry(struct line *self, size_t size, uint64_t now_us);

#endif
