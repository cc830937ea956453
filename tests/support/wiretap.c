/* One thread looks at all its sockets a hundred times a second at least, so that new ones and the
 * end are noticed without a pipe. */
#include "tests/support/wiretap.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PART_BYTES = 1 << 16, WAIT_MS = 10 };

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons(port),
    };
}

/* ---- what passes ---- */

static bool send_all(int to, const uint8_t *bytes, size_t size)
{
    size_t sent = 0;
    ssize_t part = 1;

    while (part > 0 && sent < size) {
        part = send(to, bytes + sent, size - sent, MSG_NOSIGNAL);
        sent += part > 0 ? (size_t)part : 0;
    }
    return sent == size;
}

static void keep(struct wiretap *self, struct wiretap_stream *stream, const uint8_t *bytes,
                 size_t size)
{
    (void)pthread_mutex_lock(&self->lock);
    stream->heard = realloc(stream->heard, stream->size + size);
    if (stream->heard == NULL) {
        abort();
    }
    memcpy(stream->heard + stream->size, bytes, size);
    stream->size += size;
    (void)pthread_mutex_unlock(&self->lock);
}

/* False: this way is at its end. */
static bool pass_on(struct wiretap *self, struct wiretap_stream *stream, size_t most)
{
    static _Thread_local uint8_t bytes[PART_BYTES];
    ssize_t size = recv(stream->from, bytes, most < sizeof bytes ? most : sizeof bytes, 0);

    if (size <= 0) {
        return false;
    }
    keep(self, stream, bytes, (size_t)size);
    return send_all(stream->to, bytes, (size_t)size);
}

/* ---- connections ---- */

static void hang_up(struct wiretap_stream pair[2])
{
    (void)close(pair[0].from);
    (void)close(pair[0].to);
    pair[0].from = pair[0].to = pair[1].from = pair[1].to = -1;
}

static int reach(const struct wiretap *self)
{
    struct sockaddr_in address = loopback(self->target);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (server >= 0 && connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(server);
        return -1;
    }
    return server;
}

/* While nobody listens behind it, who comes waits: to hang up would be taken for an answer. */
static void take(struct wiretap *self)
{
    struct wiretap_stream *pair = &self->streams[2 * self->nconnections];
    int server = self->nconnections < WIRETAP_MAX_CONNECTIONS ? reach(self) : -1;
    int client = server >= 0 ? accept4(self->listener, NULL, NULL, SOCK_CLOEXEC) : -1;

    if (client < 0) {
        if (server >= 0) {
            (void)close(server);
        }
        (void)poll(NULL, 0, WAIT_MS);
        return;
    }
    (void)pthread_mutex_lock(&self->lock);
    pair[0] = (struct wiretap_stream){.from = client, .to = server};
    pair[1] = (struct wiretap_stream){.from = server, .to = client};
    self->nconnections++;
    (void)pthread_mutex_unlock(&self->lock);
}

static void break_newest(struct wiretap *self)
{
    for (size_t i = self->nconnections; self->breaks > 0 && i > 0; i--) {
        struct wiretap_stream *pair = &self->streams[2 * (i - 1)];

        if (pair[0].from >= 0) {
            hang_up(pair);
            self->breaks--;
        }
    }
}

/* What the test has said by now. False: it ends. */
static bool obey(struct wiretap *self, size_t *pace)
{
    bool goes_on;

    (void)pthread_mutex_lock(&self->lock);
    break_newest(self);
    *pace = self->pace;
    goes_on = !self->ending;
    (void)pthread_mutex_unlock(&self->lock);
    return goes_on;
}

static void *listen_in(void *context)
{
    static _Thread_local struct pollfd polled[2 * WIRETAP_MAX_CONNECTIONS + 1];
    struct wiretap *self = context;
    size_t pace;

    while (obey(self, &pace)) {
        size_t most = pace != 0 ? pace * WAIT_MS / 1000 : SIZE_MAX;
        size_t count = 2 * self->nconnections; /* Only this thread changes it. */

        for (size_t i = 0; i < count; i++) {
            polled[i] = (struct pollfd){.fd = self->streams[i].from, .events = POLLIN};
        }
        polled[count] = (struct pollfd){.fd = self->listener, .events = POLLIN};
        (void)poll(polled, count + 1, WAIT_MS);
        for (size_t i = 0; i < count; i++) {
            struct wiretap_stream *stream = &self->streams[i];

            if (polled[i].revents != 0 && stream->from >= 0 && !pass_on(self, stream, most)) {
                hang_up(&self->streams[i & ~(size_t)1]);
            }
        }
        if (polled[count].revents != 0) {
            take(self);
        }
        if (pace != 0) {
            (void)poll(NULL, 0, WAIT_MS);
        }
    }
    return NULL;
}

/* ---- from start to end ---- */

void wiretap_start(struct wiretap *self, const char *endpoint)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;

    memset(self, 0, sizeof *self);
    self->target = (uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(self->listener, 0);
    cr_assert_eq(bind(self->listener, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(self->listener, 64), 0);
    cr_assert_eq(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(self->endpoint, sizeof self->endpoint, "tcp://127.0.0.1:%u",
                   ntohs(address.sin_port));
    cr_assert_eq(pthread_mutex_init(&self->lock, NULL), 0);
    cr_assert_eq(pthread_create(&self->thread, NULL, listen_in, self), 0);
}

void wiretap_stop(struct wiretap *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->ending = true;
    (void)pthread_mutex_unlock(&self->lock);
    cr_assert_eq(pthread_join(self->thread, NULL), 0);
    for (size_t i = 0; i < 2 * self->nconnections; i++) {
        if (i % 2 == 0 && self->streams[i].from >= 0) {
            hang_up(&self->streams[i]);
        }
        free(self->streams[i].heard);
    }
    (void)close(self->listener);
    cr_assert_eq(pthread_mutex_destroy(&self->lock), 0);
}

void wiretap_slow(struct wiretap *self, size_t pace)
{
    (void)pthread_mutex_lock(&self->lock);
    self->pace = pace;
    (void)pthread_mutex_unlock(&self->lock);
}

void wiretap_break(struct wiretap *self, size_t count)
{
    (void)pthread_mutex_lock(&self->lock);
    self->breaks = count;
    (void)pthread_mutex_unlock(&self->lock);
}

size_t wiretap_bytes(struct wiretap *self)
{
    size_t bytes = 0;

    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < 2 * self->nconnections; i++) {
        bytes += self->streams[i].size;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return bytes;
}

static size_t count_in(const struct wiretap_stream *stream, const char *text)
{
    const uint8_t *at = stream->heard;
    const uint8_t *end = at + stream->size;
    size_t found = 0;

    while (at != NULL && at < end &&
           (at = memmem(at, (size_t)(end - at), text, strlen(text))) != NULL) {
        found++;
        at++;
    }
    return found;
}

size_t wiretap_count(struct wiretap *self, const char *text)
{
    size_t found = 0;

    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < 2 * self->nconnections; i++) {
        found += count_in(&self->streams[i], text);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return found;
}
