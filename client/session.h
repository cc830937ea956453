/* session.h - a client's operations until they are answered: the pure core of the library.
 *
 * A session sends each operation to one of its routers and, when that one does not answer
 * in time or cannot be reached, to the next, with a higher attempt. Answers to any attempt
 * count. Operations are answered in any order; all end by their deadline.
 *
 * An add names the id of its filter, as a router has told it for that name: what comes late gets
 * into that one and into no later one.
 *
 * Retrying is always safe: adds are set unions, and a retried add repeats its verdict, or says
 * MAYBE_NEW, rather than a wrong PRESENT (the nodes see to that by op id and attempt).
 *
 * Errors:  session_submit: STATUS_OVERLOADED (bound on bytes or operations in flight, nothing
 *          is sent), STATUS_INVALID, STATUS_TOO_LARGE, STATUS_NOMEM. The outcome of what was
 *          accepted comes through the callback, exactly once.
 * Owner:   keys are copied by session_submit(); results are borrowed for the callback.
 *          The callback may submit again, but must not destroy the session.
 * Threads: none; one thread drives a session.
 */
#ifndef ORBLOOM_CLIENT_SESSION_H
#define ORBLOOM_CLIENT_SESSION_H

#include "base/actor.h"
#include "base/telemetry/counter.h"
#include "proto/codec.h"

enum { SESSION_MAX_ENDPOINTS = 16, SESSION_MAX_OPERATIONS = 4096 };

struct session_config {
    char routers[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t nrouters;
    char coordinators[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t ncoordinators;
    uint64_t attempt_us; /* without an answer for this long, the next router is asked; once all
                            were silent each has twice as long, up to eight times */
    uint64_t max_inflight_bytes; /* of keys not yet answered */
    bool in_order;               /* batches go one way, to one router as long as it answers */
    bool fail_over; /* once no router of its site answers any more, those of another are asked */
};

/* The outcome of one operation. */
struct session_result {
    enum status status;  /* OK: every key is decided; else why some are not */
    const char *message; /* cause and remedy */
    uint32_t attempts; /* how many were sent, but for those that asked which filter has the name */
    size_t count;      /* of keys */
    const uint64_t *present; /* the verdict, see map/quorum.h; all 0 without any answer */
    const uint64_t *absent;
    const struct frame *frame; /* info, admin, stats: the whole answer; NULL without one */
};

typedef void (*session_done_fn)(void *context, const struct session_result *result);

struct session_keys {
    const char *filter;
    enum operation operation;
    const uint8_t *blob; /* the keys, one after the other */
    const uint32_t *lengths;
    size_t count;
    uint32_t slots;         /* replica slots that a check may ask; 0: all */
    uint32_t keyset;        /* feeds: into this one only; 0: whichever does not serve yet */
    uint64_t max_staleness; /* checks: see map/staleness.h; 0: the filter's own bound */
    uint32_t acks;          /* adds: see map/acks.h; 0: the filter's own */
};

struct session;

/* Whose routers are asked about filters in several sites: that of the first one that answered, or
 * that it has failed over to; "": none has told. */
const char *session_site(const struct session *session);

MUST_USE enum status session_create(const struct session_config *config,
                                    const struct effects *effects, struct session **out);

/* Operations still open are dropped without a callback. */
void session_destroy(struct session **session);
struct actor session_actor(struct session *session);

/* Add or check a batch. */
MUST_USE enum status session_submit(struct session *session, uint64_t now_us, uint64_t timeout_us,
                                    const struct session_keys *keys, session_done_fn done,
                                    void *context);

/* Ask a router (info, dumps, loads), a link in its place (age, lag) or a coordinator (admin).
 * Before a change is asked for what it is to name is looked at, and once more when that has moved:
 * see proto/admin_message.h; a filter_id that is set means that filter alone. The frame may reach
 * several coordinators, at any time: by what it names it does nothing twice and nothing late. Texts
 * and arrays that the frame points to are borrowed until the answer. */
MUST_USE enum status session_ask(struct session *session, uint64_t now_us, uint64_t timeout_us,
                                 const struct frame *frame, session_done_fn done, void *context);

size_t session_inflight(const struct session *session);

struct counter_table session_counters(void);

/* One value a counter of that table. */
const uint64_t *session_values(const struct session *session);

#endif
