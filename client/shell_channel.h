/* shell_channel.h - a session with real sockets: what the library and the commands stand on.
 *
 * Errors:  channel_open: STATUS_INVALID or TOO_LARGE (endpoint lists), STATUS_NOMEM, STATUS_IO,
 *          STATUS_MALFORMED, and of credentials as credential_file_read() says.
 * Owner:   whoever called channel_open() calls channel_close().
 * Threads: one thread uses a channel.
 */
#ifndef ORBLOOM_CLIENT_SHELL_CHANNEL_H
#define ORBLOOM_CLIENT_SHELL_CHANNEL_H

#include "client/session.h"
#include "map/access/credential.h"

enum { CHANNEL_REASON_BYTES = 768 };

#define CHANNEL_NO_CREDENTIAL "none"

struct channel;

struct channel_options {
    const char *routers;         /* list; NULL: $ORBLOOM_ROUTER, else the playground's */
    const char *coordinators;    /* list; NULL: $ORBLOOM_COORDINATOR, else the playground's */
    uint64_t attempt_us;         /* 0: a second */
    uint64_t max_inflight_bytes; /* 0: 64 MiB */
    bool in_order;               /* see session.h */
    bool fail_over;              /* ... */
    const char *credential; /* file, read again for each new connection; NULL: $ORBLOOM_CREDENTIAL,
                               else none; "none": none */
    const struct credential *held; /* instead; copied. NULL: none */
};

/* On an error `reason` says which list is wrong and why. */
MUST_USE enum status channel_open(const struct channel_options *options, struct channel **out,
                                  char reason[CHANNEL_REASON_BYTES]);
void channel_close(struct channel **channel);

/* Whom it would lead to: the list that is given, else (NULL) the environment's, else the
 * playground's one. STATUS_INVALID or TOO_LARGE, and `reason`, as of channel_open(). */
MUST_USE enum status channel_routers(const char *given, char names[][DOCUMENT_TEXT_BYTES],
                                     uint32_t *count, char reason[CHANNEL_REASON_BYTES]);
MUST_USE enum status channel_coordinators(const char *given, char names[][DOCUMENT_TEXT_BYTES],
                                          uint32_t *count, char reason[CHANNEL_REASON_BYTES]);

/* By CURVE, as it has a credential. */
bool channel_is_encrypted(const struct channel *channel);

struct session *channel_session(struct channel *channel);

/* Serve sockets and timers once; wait at most `timeout_us` for something to happen. */
void channel_run(struct channel *channel, uint64_t timeout_us);

/* session_ask() and wait for the outcome. `done` is called exactly once, with the refusal of
 * session_ask() itself when there is one. */
void channel_ask(struct channel *channel, uint64_t timeout_us, const struct frame *frame,
                 session_done_fn done, void *context);

#endif
