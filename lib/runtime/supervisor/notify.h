/* notify.h - the way to whoever supervises this process and asked to be told how it does: systemd,
 * as sd_notify(3) describes it, or whatever does the same.
 *
 * $NOTIFY_SOCKET names a unix-domain socket; a message is one datagram of lines NAME=VALUE. What
 * can't be sent is lost: a supervisor that does not listen must hold nobody up.
 *
 * Owner:   whoever opens closes.
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_SUPERVISOR_NOTIFY_H
#define ORBLOOM_RUNTIME_SUPERVISOR_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
    int socket; /* -1: nobody asked */
    struct sockaddr_un address;
    socklen_t size;
};

/* The socket's path, or "@" and a name that no file has. NULL, or what is neither: nobody is told.
 */
void notify_open(struct notify *self, const char *where);
void notify_close(struct notify *self);

static inline bool notify_is_open(const struct notify *self)
{
    return self->socket >= 0;
}

/* Nothing is said where nobody asked, nor when `text` is "". */
void notify_send(const struct notify *self, const char *text);

/* How long this process may be silent before it is ended, as $WATCHDOG_USEC and $WATCHDOG_PID say;
 * 0: for ever. NULL: not set. */
uint64_t notify_watchdog_us(const char *usec, const char *pid);

#endif
