/* hub.h - drives one actor with real sockets, timers and signals.
 *
 * One libuv loop; one ZeroMQ ROUTER socket for requests (optional) and one DEALER socket a
 * link. In each turn everything that has arrived is given to the actor, then its turn() is
 * called once: so what is ready together leaves together.
 *
 *   wake -> requests into an inbox -> give the actor what has arrived (HUB_DRAIN_FRAMES a
 *        socket) -> done() of jobs that have run -> time() if due -> turn()
 *        -> again while anything arrived -> a slice of work() -> sleep until the next event
 *
 * Waking a sleeping thread takes longer than most of what it is woken for. Where a hub may spin,
 * it looks for events for so long before it sleeps, while its actor awaits an answer; between
 * looks it leaves the core to whoever wants it.
 *
 * Bounds:  frames longer than max_frame_bytes never reach the actor; routing ids longer than
 *          PEER_ID_BYTES, multi-part messages and what passes the inbox's bound are dropped
 *          and counted.
 * Errors:  hub_create: STATUS_IO (address in use, not permitted, malformed: logged with the
 *          remedy), STATUS_NOMEM.
 * Owner:   hub_create()'s caller calls hub_destroy(); the actor is borrowed.
 * Threads: the loop's thread, but for hub_wake(); libzmq has I/O threads of its own, and each
 *          lane of jobs one from its first job on.
 */
#ifndef ORBLOOM_RUNTIME_HUB_H
#define ORBLOOM_RUNTIME_HUB_H

#include "base/actor.h"
#include "base/status.h"
#include "base/telemetry/histogram.h"
#include "runtime/hub_curve.h"

#include <stdbool.h>
#include <stdint.h>

struct hub;

struct hub_options {
    const char *listen; /* "tcp://127.0.0.1:7401", ":*" for a free port; NULL: no server socket */
    uint64_t max_frame_bytes;
    bool stop_on_signals; /* SIGTERM and SIGINT end hub_run() */

    /* Instead, in the loop's thread: of SIGTERM, SIGINT and SIGHUP. NULL: SIGHUP is not watched. */
    void (*on_signal)(void *context, int number);
    void *signal_context;
    bool on_usr1; /* ... and of SIGUSR1, which ends the process otherwise */

    const struct hub_curve *curve; /* NULL: all sockets are plain */
    unsigned io_threads;           /* of libzmq; 0: one */
};

enum { HUB_MAX_IO_THREADS = 8 };

enum {
    HUB_COUNTER_DROPPED_FRAMES,     /* not one frame, or of a peer with an over-long name */
    HUB_COUNTER_BROKEN_CONNECTIONS, /* peers that do not speak ZMTP */
    HUB_COUNTER_DROPPED_SENDS,
    HUB_COUNTER_REFUSED_PEERS,  /* by an unknown key, or in plain where CURVE is spoken */
    HUB_COUNTER_REFUSED_FRAMES, /* of peers that may not send these, or may not any more */
    HUB_NCOUNTERS
};

MUST_USE enum status hub_create(const struct hub_options *options, struct hub **out);

/* In a child of fork(), before anything is closed there: it has its parent's epoll instance, and
 * what it took off that would be off for the parent, which would not be woken any more. Elsewhere
 * this does nothing. */
void hub_part_from_parent(struct hub *hub);

/* Whoever has replied just now keeps its connections for a fifth of a second more, so that its
 * clients can read that. */
void hub_destroy(struct hub **hub);

/* What the actor acts through; valid until hub_destroy(). */
const struct effects *hub_effects(struct hub *hub);

/* Where the server socket really listens ("tcp://127.0.0.1:41703"); "" without one. */
const char *hub_endpoint(const struct hub *hub);

/* Give the hub its actor; once, before running. */
void hub_attach(struct hub *hub, const struct actor *actor);

/* Have it called in each turn of hub_run(), until it says true. One at a time. */
typedef bool hub_turn_fn(void *context);
void hub_each_turn(struct hub *hub, hub_turn_fn *turn, void *context);

/* Drive `rider`, another hub with sockets, keys and an actor of its own, along with this one: in
 * the same thread, for what must not share a server socket or who is let in. NULL: no longer, which
 * comes before either of them is destroyed. Neither hub_run() nor hub_run_once() is called for a
 * rider, and one hub has one at most. STATUS_IO: the loop can't watch it;
 * STATUS_NOMEM. */
MUST_USE enum status hub_ride(struct hub *hub, struct hub *rider);

/* How long to spin before sleeping; 0, as at first: not at all. */
void hub_set_spin(struct hub *hub, uint64_t spin_us);

/* What happened so far; HUB_COUNTER_... */
uint64_t hub_counter(const struct hub *hub, unsigned counter);

/* How long ago the loop began its last turn. For how long that lane has been at one job; 0: it is
 * at none. */
uint64_t hub_silent_us(const struct hub *hub);
uint64_t hub_busy_us(const struct hub *hub, enum job_lane lane);

/* How long turns of hub_run() have kept the loop from what comes next: without what it slept, and
 * spun. How long jobs of a lane have taken. Of the loop's thread, while the hub's lanes run. */
const struct histogram *hub_turns(const struct hub *hub);
void hub_jobs(struct hub *hub, enum job_lane lane, struct histogram *out);

/* Run until hub_stop(), a signal, or the actor says that it is over. */
void hub_run(struct hub *hub);

/* Run one turn; wait at most `timeout_us` for something to happen. For callers with a loop of
 * their own, such as the client library. */
void hub_run_once(struct hub *hub, uint64_t timeout_us);

void hub_stop(struct hub *hub);

/* End the loop's sleep, so that turn() follows soon. From any thread, until hub_destroy(). */
void hub_wake(struct hub *hub);

/* No job runs or is done any more once this returns: one under way is waited for, the others are
 * forgotten. For the end; hub_destroy() does it too. */
void hub_stop_lanes(struct hub *hub);

/* Monotonic microseconds, which count while the machine sleeps. */
uint64_t hub_now_us(void);

/* Microseconds since 1970, as the machine's clock is set: not for measuring. */
uint64_t hub_wall_us(void);

/* Sleep about so long, whatever comes; less than a second. */
void hub_nap(uint32_t nap_us);

#endif
