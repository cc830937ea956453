/* A thread that sends PING after PING, and reads the server's RssAnon from /proc meanwhile. */
#include "bench/onlooker.h"

#include "runtime/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LOOK_MS = 2, ANSWER_US = 10000000, STATUS_BYTES = 4096 };

static bool fail(struct onlooker *self, const char *what)
{
    (void)snprintf(self->reason, sizeof self->reason, "%s", what);
    self->failed = true;
    return false;
}

/* ---- memory ---- */

static bool look(struct onlooker *self)
{
    static const char name[] = "RssAnon:";
    char text[STATUS_BYTES];
    ssize_t size = pread(self->status, text, sizeof text - 1, 0);
    const char *at;

    text[size > 0 ? size : 0] = '\0';
    at = strstr(text, name);
    if (at == NULL) {
        return fail(self, "the server's memory can't be read: has it ended?");
    }
    self->last_bytes = strtoull(at + sizeof name - 1, NULL, 10) << 10;
    if (self->last_bytes > self->peak_bytes) {
        self->peak_bytes = self->last_bytes;
    }
    return true;
}

/* ---- PING ---- */

/* What is read is as long as "+PONG\r\n" in the end. */
static bool await_pong(struct onlooker *self, uint64_t since_us)
{
    static const char pong[] = "+PONG\r\n";
    char text[sizeof pong];
    size_t got = 0;

    while (got < sizeof pong - 1) {
        struct pollfd polled = {.fd = self->fd, .events = POLLIN};
        ssize_t size = 0;

        if (poll(&polled, 1, LOOK_MS) == 1) {
            size = recv(self->fd, text + got, sizeof pong - 1 - got, 0);
            if (size <= 0) {
                return fail(self, "the onlooker's connection was closed");
            }
        }
        got += (size_t)size;
        if (!look(self)) {
            return false;
        }
        if (hub_now_us() - since_us > ANSWER_US) {
            return fail(self, "a PING had no answer within 10 s");
        }
    }
    return memcmp(text, pong, sizeof pong - 1) == 0 || fail(self, "no PONG to a PING");
}

static bool ping(struct onlooker *self)
{
    static const char text[] = "PING\r\n";
    uint64_t since_us = hub_now_us();
    uint64_t took_us;

    if (send(self->fd, text, sizeof text - 1, MSG_NOSIGNAL) != (ssize_t)sizeof text - 1) {
        return fail(self, "a PING can't be sent");
    }
    if (!await_pong(self, since_us)) {
        return false;
    }
    took_us = hub_now_us() - since_us;
    self->pings++;
    self->worst_ping_us = took_us > self->worst_ping_us ? took_us : self->worst_ping_us;
    return true;
}

static void *run(void *context)
{
    struct onlooker *self = context;

    while (!atomic_load(&self->stop) && ping(self)) {
        (void)poll(NULL, 0, LOOK_MS);
    }
    return NULL;
}

/* ---- its life ---- */

static void close_both(struct onlooker *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
    }
    if (self->status >= 0) {
        (void)close(self->status);
    }
}

static bool open_both(struct onlooker *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char status[64];

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self->path);
    (void)snprintf(status, sizeof status, "/proc/%d/status", (int)self->pid);
    self->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    self->status = open(status, O_RDONLY | O_CLOEXEC);
    if (self->fd < 0 || connect(self->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        return fail(self, strerror(errno));
    }
    return self->status >= 0 ? look(self) : fail(self, "there is no such process");
}

bool onlooker_start(struct onlooker *self, const char *path, pid_t pid)
{
    *self = (struct onlooker){.path = path, .pid = pid, .fd = -1, .status = -1};
    if (!open_both(self)) {
        close_both(self);
        return false;
    }
    self->first_bytes = self->last_bytes;
    if (pthread_create(&self->thread, NULL, run, self) != 0) {
        close_both(self);
        return fail(self, "a thread can't be started");
    }
    return true;
}

bool onlooker_stop(struct onlooker *self)
{
    atomic_store(&self->stop, true);
    (void)pthread_join(self->thread, NULL);
    close_both(self);
    return !self->failed;
}
