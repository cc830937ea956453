/* shell_orbloom_handle.h - what a handle of the C library holds; private to shell_orbloom*.c.
 *
 * Threads: one a handle.
 */
#ifndef ORBLOOM_CLIENT_SHELL_ORBLOOM_HANDLE_H
#define ORBLOOM_CLIENT_SHELL_ORBLOOM_HANDLE_H

#include "client/orbloom.h"
#include "client/shell_channel.h"

#include <sys/queue.h>

enum { ORBLOOM_ERROR_BYTES = 1024 };

struct orbloom_request_state;
TAILQ_HEAD(orbloom_requests, orbloom_request_state);

struct orbloom {
    struct channel *channel; /* NULL: connecting failed */
    uint64_t timeout_us;
    size_t max_in_flight;
    size_t in_flight;                    /* of the two lists */
    struct orbloom_requests open;        /* sent */
    struct orbloom_requests done;        /* answered, not yet collected */
    struct orbloom_request_state *shown; /* what the last orbloom_wait() points at */
    char error[ORBLOOM_ERROR_BYTES];
};

/* Set the handle's error text; returns the status as a public code. */
int orbloom_fail(struct orbloom *handle, enum status status, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
