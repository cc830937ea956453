/* front.h - the router's RESP front: clients of Redis' protocol, served by the router's core.
 *
 * An actor around the router's actor: what it is given for itself it takes, all else it hands on.
 * Keys of commands that are ready in one turn become one request per filter and operation, whatever
 * connections they came by; its answer is shared out again. The router sees an ordinary client,
 * whose peer is FRONT_PEER.
 *
 *   bytes of a connection --> session: requests --> command --> gather (keys) --> router
 *                                                          \--> question --> coordinator, router
 *   router's answer --> gather --> calls, in the order of their commands --> bytes
 *
 * Order:   a command on a filter waits until earlier adds of its connection to that filter are
 *          settled, unless it is an add that can join them in one request. Other commands that look
 *          at or change filters wait for all earlier ones. Answers leave in the order of commands.
 * Bounds:  of every connection: what it may have sent unanswered, and what may wait for it to be
 *          read; at a bound it is not read from until there is room. Of all connections: the bytes
 *          that they hold; beyond it whoever holds the most is closed.
 * Errors:  front_create: STATUS_NOMEM.
 * Owner:   front_create()'s caller calls front_destroy(), after the router's.
 * Threads: none; one thread drives it.
 */
#ifndef ORBLOOM_ROUTER_RESP_FRONT_H
#define ORBLOOM_ROUTER_RESP_FRONT_H

#include "base/actor.h"
#include "base/password.h"
#include "base/telemetry/audit_log.h"
#include "base/telemetry/counter.h"
#include "base/telemetry/health.h"
#include "map/access/users.h"
#include "router/router.h"

enum { FRONT_HOST_BYTES = 64 };

/* From here on nothing is slow, as no command is answered so late. */
#define FRONT_SLOW_NEVER_US (UINT64_C(3600) * 1000000)

struct front_config {
    uint64_t capacity;     /* of filters that an add creates */
    double rate;           /* ... and their error rate */
    uint64_t max_capacity; /* of these, and of those that BF.RESERVE makes */
    uint64_t timeout_us;   /* a command is answered within this */
    uint64_t idle_us;      /* a connection that is silent for so long is closed; 0: never */
    uint64_t max_unread;   /* bytes of answers that may wait for a client before it is closed */
    uint64_t max_memory;   /* bytes that all connections may hold: requests, answers, keys */
    uint64_t request_us;   /* a request is whole within this, from its first byte on; 0: for ever */
    bool strict_missing;   /* checks of filters that don't exist are errors, not 0 */
    bool flush;            /* FLUSHALL drops every filter, else it is an error */
    bool guarded;          /* clients must give the password ... */
    struct password password;
    uint64_t auth_us; /* ... within this */
    bool users_only;  /* whoever gives none must be a user, also while there is none */
    uint64_t
        slow_us;     /* commands that take so long are in the slow log; FRONT_SLOW_NEVER_US: none */
    bool slow_items; /* ... with their items */
};

/* Where a connection reached this router. */
struct stream_address {
    char host[FRONT_HOST_BYTES]; /* numeric; "": not by TCP */
    uint32_t port;
};

/* What it does to connections, and asks about them. */
struct stream_effects {
    void *context;

    void (*send)(void *context, void *stream, struct span bytes);

    /* Bytes that were handed over and have not left. */
    size_t (*unsent)(void *context, void *stream);

    /* Read from it, or do not. */
    void (*read)(void *context, void *stream, bool wanted);

    /* Close it once all has left; closed() follows. */
    void (*close)(void *context, void *stream);

    /* Close it now, whatever has not left; closed() follows. */
    void (*drop)(void *context, void *stream);

    /* Left as it is where there is none. */
    void (*local)(void *context, void *stream, struct stream_address *address);

    /* The time of day: microseconds since 1970. */
    uint64_t (*wall_us)(void *context);
};

struct front;

MUST_USE enum status front_create(const struct front_config *config,
                                  const struct router_config *router, const struct effects *effects,
                                  struct front **out);
void front_destroy(struct front **front);

/* What the router is to act through. */
const struct effects *front_effects(struct front *front);

/* The router's actor; and connections, if there are any. Once, before anything happens. */
void front_attach(struct front *front, const struct actor *router,
                  const struct stream_effects *streams);

/* Where the record of users comes from: the newest one that is known, borrowed until the next
 * event; NULL, or of revision 0: none is. `heard`: has it been told whether there is one? */
struct front_users_source {
    void *context;

    const struct user_list *(*users)(void *context);
    bool (*heard)(void *context);

    /* A token was used; coordinators are told by and by. NULL: nobody is. */
    void (*note)(void *context, const struct user_use *use);
};

/* Without it there are no users. Once, before anything happens. */
void front_attach_users(struct front *front, const struct front_users_source *source);

/* Where refused logins and commands are noted; borrowed. NULL, or without this: nowhere. Once,
 * before anything happens. */
void front_attach_audit(struct front *front, const struct audit_sink *sink);

/* The router itself, for dumps; without it they are refused. Once, before anything happens. */
void front_attach_core(struct front *front, struct router *core);

struct actor front_actor(struct front *front);

/* From now on. A command under way keeps the deadline that it has; who has given a former password,
 * or needed none, stays in until RESET; where none is needed any more nobody is a stranger. Users
 * are what the record says. */
void front_configure(struct front *front, const struct front_config *config);

/* The cluster key is another ring from now on. */
void front_rekey(struct front *front, const struct cluster_key *key);

/* The end by and by: nothing more is read, what was read is answered, then each connection is
 * closed. The actor is over() once none is left, or `timeout_us` has passed. */
void front_drain(struct front *front, uint64_t now_us, uint64_t timeout_us);

/* What it counts. */
/* What keeps it from being of use: without news of users it can't tell what a client may do. */
void front_tell_health(const struct front *front, struct health *health);

struct counter_table front_counters(void);
const uint64_t *front_counts(const struct front *front);

/* Connections that are open now. */
uint32_t front_connections(const struct front *front);

/* ---- what happens to connections ---- */

/* A client has connected, from `peer` ("127.0.0.1:50312"); `subject`: of the certificate that it
 * has shown, if that is good, in the form of RFC 2253; else "". NULL: no memory, close it. What is
 * returned names the connection from here on, until front_closed(). */
struct session;

struct session *front_opened(struct front *front, uint64_t now_us, void *stream, const char *peer,
                             const char *subject);
void front_bytes(struct front *front, uint64_t now_us, struct session *session, struct span bytes);
void front_closed(struct front *front, struct session *session);

/* How the handshake of one who connects by TLS has ended; front_opened() follows if it is done. */
enum front_handshake {
    FRONT_TLS_DONE,
    FRONT_TLS_PLAIN,
    FRONT_TLS_VERSION,
    FRONT_TLS_CERTIFICATE,
    FRONT_TLS_BROKEN, /* or what came later */
    FRONT_TLS_LATE,
    FRONT_TLS_CROWDED,
};

void front_shaken(struct front *front, enum front_handshake outcome);

/* All that was handed over has left. */
void front_drained(struct front *front, uint64_t now_us, struct session *session);

#endif
