/* actor.h - the seam between what decides and what does: events in, effects out.
 *
 * Node, router, coordinator and client are actors: pure state machines that take events
 * with the time as an argument and act through struct effects alone. In the programs
 * lib/runtime's hub drives them with ZeroMQ sockets and the clock of the machine; in tests/sim
 * a simulated network drives the same code in virtual time.
 *
 * Order:   any number of requests and answers, then one turn() that sends what was gathered.
 * Time:    now_us is monotonic, in microseconds, from an unknown origin. next_us() says when
 *          time() is wanted; being called early or late is fine.
 * Errors:  events never fail: what cannot be served is answered, counted or dropped.
 * Owner:   spans, peers and endpoints are borrowed for the call.
 * Threads: none; one thread drives an actor.
 */
#ifndef ORBLOOM_BASE_ACTOR_H
#define ORBLOOM_BASE_ACTOR_H

#include "base/job.h"
#include "base/span.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { PEER_ID_BYTES = 15 };

#define ACTOR_NEVER UINT64_MAX

/* Who a peer has proved to be. Of one that came by a plain transport nothing is known, and nothing
 * is refused for that. */
enum peer_role {
    PEER_ANYBODY = 0,
    PEER_CLIENT, /* these three: a user */
    PEER_MONITOR,
    PEER_ADMIN,
    PEER_ROUTER, /* these: whoever holds the cluster key */
    PEER_NODE,
    PEER_COORDINATOR,
    PEER_NROLES
};

/* Who sent a request, so that it can be answered: a routing id of the server socket. */
struct peer {
    uint8_t size;
    uint8_t id[PEER_ID_BYTES];
    uint8_t role;  /* enum peer_role */
    uint32_t user; /* id in the record of users; 0: it is none */
};

/* A peer's user, while a process has just started and has not heard who its users are: it may be
 * any of them, or nobody. Whatever it asks is put off. */
#define PEER_PENDING UINT32_MAX

/* What an actor can do to the world. */
struct effects {
    void *context;

    /* Answer a peer of the server socket. STATUS_UNAVAILABLE: it is gone or its queue is full;
     * the frame is dropped then. Never blocks. */
    enum status (*reply)(void *context, const struct peer *to, struct span frame);

    /* Open an outgoing link; connects and reconnects by itself. 0 when it can't be made. */
    uint32_t (*link_open)(void *context, const char *endpoint);
    void (*link_close)(void *context, uint32_t link);

    /* Send on a link. STATUS_UNAVAILABLE: not connected, or its queue is full; dropped then.
     * STATUS_OK promises nothing about arrival. Never blocks. */
    enum status (*send)(void *context, uint32_t link, struct span frame);

    uint64_t (*random)(void *context);

    /* The time of day that this machine's clock shows, in ms since 1970: for what people mean by a
     * date. It may be wrong and may jump; nothing is ordered by it. NULL: there is none. */
    uint64_t (*date_ms)(void *context);

    /* For how long what is handed over in this event may have waited here, at most, as the process
     * was stopped: see pulse.h. NULL: it has just come. */
    uint64_t (*waited_us)(void *context);

    /* The time now, as events tell it; on a lane's thread, too. NULL: that of the event. */
    uint64_t (*clock_us)(void *context);

    /* Memory for the next frame, of exactly that size: encoded there it leaves without being
     * copied. Good until it was sent, which a failed send does not do, or room() is called
     * again. NULL, or a NULL result: encode elsewhere. */
    uint8_t *(*room)(void *context, size_t size);

    /* Have a job done on a lane's thread: see job.h. NULL where there are no lanes. */
    void (*submit)(void *context, enum job_lane lane, struct job *job);

    /* The first touch of memory takes time: much of it at once is a job of JOB_MEMORY. */
    bool slow_pages;
};

enum actor_refusal {
    ACTOR_REFUSED_NOISE, /* what came was no frame */
    ACTOR_REFUSED_PEER, /* it was not let in: its key is not known, or it speaks plain, not CURVE */
    ACTOR_REFUSED_FRAME, /* its sender may not send that, or nothing any more */
};

struct actor {
    void *self;
    void (*on_request)(void *self, uint64_t now_us, const struct peer *from, struct span frame);
    void (*on_answer)(void *self, uint64_t now_us, uint32_t link, struct span frame);
    void (*turn)(void *self, uint64_t now_us);
    uint64_t (*next_us)(void *self); /* ACTOR_NEVER: no timer wanted */
    void (*time)(void *self, uint64_t now_us);
    bool (*work)(void *self, uint64_t now_us); /* a slice of background work; true: more is left */

    /* Something was dropped before it got here. NULL: not wanted. */
    void (*refused)(void *self, enum actor_refusal what);
    bool (*awaits)(void *self); /* is an answer expected any moment? NULL: never */
    bool (*over)(void *self);   /* it can't or need not go on: the loop ends; NULL: never */

    /* The peer of a link does not let us in, with any key that there is: cause and remedy. It is
     * tried again by and by. NULL: not wanted. */
    void (*on_shut_out)(void *self, uint64_t now_us, uint32_t link, const char *cause);
};

#endif
