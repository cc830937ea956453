/* Many RESP clients in one thread, by epoll: all requests grow a piece at a time, and none ends. */
#include "bench/crowd.h"

#include "base/buffer.h"
#include "base/heap.h"
#include "runtime/hub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 64 << 10, /* sent in one turn */
    ANSWER_BYTES = 256,
    EVENTS = 256,
    LOOK_MS = 10,
};

struct client {
    int fd; /* < 0: gone */
    uint64_t sent;
    bool told;
};

struct crowd {
    const struct crowd_plan *plan;
    struct crowd_result *result;
    struct buffer request;
    struct client *clients;
    uint32_t sending; /* clients that have something left to send */
    int epoll;
    char *reason;
};

static bool give_up(struct crowd *self, const char *what)
{
    (void)snprintf(self->reason, CROWD_REASON_BYTES, "%s: %s", what, strerror(errno));
    return false;
}

/* ---- what they send ---- */

/* "BF.MADD k" and keys, announced in full and sent but for the last bytes. */
static bool make_request(struct crowd *self)
{
    uint32_t size = self->plan->argument_bytes;
    uint32_t arguments = self->plan->request_bytes / size + 1;
    char head[64];
    enum status status;

    buffer_init(&self->request, SIZE_MAX);
    (void)snprintf(head, sizeof head, "*%u\r\n$7\r\nBF.MADD\r\n$1\r\nk\r\n", arguments + 2);
    status = buffer_append(&self->request, span_text(head));
    (void)snprintf(head, sizeof head, "$%u\r\n", size);
    for (uint32_t i = 0; i < arguments && status == STATUS_OK; i++) {
        status = buffer_append(&self->request, span_text(head));
        for (uint32_t left = size; left > 0 && status == STATUS_OK; left--) {
            status = buffer_append(&self->request, span_text("x"));
        }
        status = status == STATUS_OK ? buffer_append(&self->request, span_text("\r\n")) : status;
    }
    self->request.size = self->plan->request_bytes;
    return status == STATUS_OK || give_up(self, "no memory for a request");
}

/* ---- one client ---- */

static bool watch(struct crowd *self, struct client *client, int how, bool sends)
{
    struct epoll_event event = {.events = EPOLLIN | (sends ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = client};

    return epoll_ctl(self->epoll, how, client->fd, &event) == 0 || give_up(self, "epoll");
}

static bool dial(struct crowd *self, struct client *client)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self->plan->path);
    *client = (struct client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        return give_up(self, self->plan->path);
    }
    self->sending++;
    return watch(self, client, EPOLL_CTL_ADD, true);
}

static bool has_sent(const struct crowd *self, const struct client *client)
{
    return client->sent == self->request.size;
}

static void leave(struct crowd *self, struct client *client)
{
    self->sending -= !has_sent(self, client);
    (void)close(client->fd);
    client->fd = -1;
}

static bool was_closed(struct crowd *self, struct client *client)
{
    self->result->told += client->told;
    self->result->mute += !client->told;
    leave(self, client);
    return !self->plan->again || dial(self, client);
}

static bool send_piece(struct crowd *self, struct client *client)
{
    size_t left = self->request.size - client->sent;
    ssize_t sent = send(client->fd, self->request.data + client->sent,
                        left < PIECE_BYTES ? left : PIECE_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0) {
        return true; /* What it is told, and its end, are there to read. */
    }
    client->sent += (uint64_t)sent;
    self->result->sent_bytes += (uint64_t)sent;
    if (!has_sent(self, client)) {
        return true;
    }
    self->sending--;
    return watch(self, client, EPOLL_CTL_MOD, false);
}

static bool read_answer(struct crowd *self, struct client *client)
{
    char text[ANSWER_BYTES];
    ssize_t got = recv(client->fd, text, sizeof text, MSG_DONTWAIT);

    if (got > 0) {
        client->told = client->told || text[0] == '-';
        return true;
    }
    return (got < 0 && (errno == EAGAIN || errno == EINTR)) || was_closed(self, client);
}

/* ---- all of them ---- */

static bool turn(struct crowd *self)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(self->epoll, events, EVENTS, LOOK_MS);
    bool good = true;

    for (int i = 0; i < count && good; i++) {
        struct client *client = events[i].data.ptr;

        if ((events[i].events & (uint32_t)(EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
            good = read_answer(self, client);
        } else {
            good = send_piece(self, client);
        }
    }
    return good;
}

static bool run(struct crowd *self)
{
    uint64_t end_us = hub_now_us() + self->plan->for_us;
    uint64_t rest_since_us = 0;
    bool good = true;

    for (uint32_t i = 0; i < self->plan->clients && good; i++) {
        good = dial(self, &self->clients[i]);
    }
    while (good && hub_now_us() < end_us) {
        good = turn(self);
        rest_since_us = self->sending > 0 ? 0 : rest_since_us != 0 ? rest_since_us : hub_now_us();
        if (rest_since_us != 0 && hub_now_us() - rest_since_us >= self->plan->rest_us) {
            break;
        }
    }
    return good;
}

static void close_all(struct crowd *self)
{
    for (uint32_t i = 0; i < self->plan->clients && self->clients != NULL; i++) {
        if (self->clients[i].fd >= 0) {
            self->result->waiting += has_sent(self, &self->clients[i]);
            leave(self, &self->clients[i]);
        }
    }
}

bool crowd_run(const struct crowd_plan *plan, struct crowd_result *result,
               char reason[CROWD_REASON_BYTES])
{
    struct crowd self = {.plan = plan, .result = result, .reason = reason, .epoll = -1};
    bool good;

    *result = (struct crowd_result){0};
    self.clients = heap_zalloc(plan->clients, sizeof *self.clients);
    for (uint32_t i = 0; i < plan->clients && self.clients != NULL; i++) {
        self.clients[i].fd = -1;
    }
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    good = (self.clients != NULL && self.epoll >= 0) || give_up(&self, "the crowd");
    good = good && make_request(&self) && run(&self);
    close_all(&self);
    heap_free(self.clients);
    buffer_fini(&self.request);
    if (self.epoll >= 0) {
        (void)close(self.epoll);
    }
    return good;
}
