/* A datagram socket, and two numbers of the environment. The protocol is too small for a library
 * that brings a journal and a message bus along. */
#include "runtime/supervisor/notify.h"

#include "base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool find_address(struct notify *self, const char *where)
{
    size_t length = strlen(where);

    if ((where[0] != '/' && where[0] != '@') || length < 2 ||
        length >= sizeof self->address.sun_path) {
        return false;
    }
    self->address.sun_family = AF_UNIX;
    memcpy(self->address.sun_path, where, length);
    if (where[0] == '@') { /* Of the abstract names, which begin with a zero. */
        self->address.sun_path[0] = '\0';
    }
    self->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

void notify_open(struct notify *self, const char *where)
{
    *self = (struct notify){.socket = -1};
    if (where == NULL || where[0] == '\0') {
        return;
    }
    if (find_address(self, where)) {
        self->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } else {
        errno = EINVAL;
    }
    if (self->socket < 0) {
        log_line(LOG_WARN, "cannot tell %s how this process does: %s; see NOTIFY_SOCKET", where,
                 strerror(errno));
    }
}

void notify_close(struct notify *self)
{
    if (notify_is_open(self)) {
        (void)close(self->socket);
    }
    self->socket = -1;
}

void notify_send(const struct notify *self, const char *text)
{
    if (!notify_is_open(self) || text[0] == '\0') {
        return;
    }
    if (sendto(self->socket, text, strlen(text), MSG_NOSIGNAL,
               (const struct sockaddr *)&self->address, self->size) < 0) {
        log_line(LOG_DEBUG, "whoever supervises this process was not told how it does: %s",
                 strerror(errno));
    }
}

/* All digits; 0: it is no number, or too large for one. */
static uint64_t read_number(const char *text)
{
    char *end;
    unsigned long long value;

    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return 0;
    }
    errno = 0;
    value = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0 ? value : 0;
}

uint64_t notify_watchdog_us(const char *usec, const char *pid)
{
    if (pid != NULL && read_number(pid) != (uint64_t)getpid()) {
        return 0; /* Meant for who has started us. */
    }
    return read_number(usec);
}
