/* One thread polls all ends: a piece that was read waits in a list until it is due. */
#include "bench/sites_relay.h"

#include "base/heap.h"
#include "runtime/hub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 256 << 10,
    RATED_PIECE_BYTES = 16 << 10, /* with a rate, so that it is a smooth one ... */
    RATED_HELD_BYTES = 256 << 10, /* ... and little waits, as in a router */
    HELD_BYTES = 64 << 20,        /* of one way; then nothing more is read */
    SEGMENT_BYTES = 1448,
    LOOK_US = 50000, /* is it to end? */
    ENDS = 2 * SITES_RELAY_PAIRS,
};

struct sites_relay_piece {
    struct sites_relay_piece *next;
    uint64_t due_us;
    size_t size;
    size_t sent;
    uint8_t bytes[];
};

/* ---- sockets ---- */

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int new_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static bool listen_anywhere(struct sites_relay *self)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;

    self->listener = new_socket();
    if (self->listener < 0 || bind(self->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(self->listener, SITES_RELAY_PAIRS) != 0 ||
        getsockname(self->listener, (struct sockaddr *)&address, &size) != 0) {
        return false;
    }
    self->port = ntohs(address.sin_port);
    return true;
}

/* What is passed on leaves at once. */
static void set_up(int fd)
{
    const int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- pairs ---- */

static void drop_pieces(struct sites_relay_way *way)
{
    while (way->first != NULL) {
        struct sites_relay_piece *next = way->first->next;

        heap_free(way->first);
        way->first = next;
    }
    *way = (struct sites_relay_way){0};
}

static void close_pair(struct sites_relay_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        if (pair->ends[i] >= 0) {
            (void)close(pair->ends[i]);
        }
        pair->ends[i] = -1;
        drop_pieces(&pair->ways[i]);
    }
}

static struct sites_relay_pair *free_pair(struct sites_relay *self)
{
    for (int i = 0; i < SITES_RELAY_PAIRS; i++) {
        if (self->pairs[i].ends[0] < 0) {
            return &self->pairs[i];
        }
    }
    return NULL;
}

static void let_in(struct sites_relay *self)
{
    struct sockaddr_in address = loopback(self->target);
    struct sites_relay_pair pair = {
        .ends = {accept4(self->listener, NULL, NULL, SOCK_CLOEXEC), new_socket()}};
    struct sites_relay_pair *place = free_pair(self);

    if (place == NULL || pair.ends[0] < 0 ||
        connect(pair.ends[1], (struct sockaddr *)&address, sizeof address) != 0) {
        close_pair(&pair); /* It dials again. */
        return;
    }
    set_up(pair.ends[0]);
    set_up(pair.ends[1]);
    *place = pair;
}

/* ---- what passes ---- */

static bool hold(struct sites_relay_way *way, const uint8_t *bytes, size_t size, uint64_t due_us)
{
    struct sites_relay_piece *piece = heap_alloc(1, sizeof *piece + size);

    if (piece == NULL) {
        return false;
    }
    piece->next = NULL;
    piece->due_us = due_us;
    piece->size = size;
    piece->sent = 0;
    memcpy(piece->bytes, bytes, size);
    if (way->last != NULL) {
        way->last->next = piece;
    } else {
        way->first = piece;
    }
    way->last = piece;
    way->held += size;
    return true;
}

/* When a piece that comes now has left the line. */
static uint64_t passed_us(const struct sites_relay *self, struct sites_relay_way *way, size_t size)
{
    uint64_t rate = atomic_load(&self->rate);
    uint64_t now_us = hub_now_us();

    if (rate == 0) {
        return now_us;
    }
    way->free_us = (way->free_us > now_us ? way->free_us : now_us) + size * 1000000 / rate;
    return way->free_us;
}

/* False: that end is closed. */
static bool take(struct sites_relay *self, struct sites_relay_pair *pair, int end)
{
    static uint8_t bytes[PIECE_BYTES]; /* one relay reads at a time: there is one */
    size_t most = atomic_load(&self->rate) > 0 ? RATED_PIECE_BYTES : PIECE_BYTES;
    ssize_t size = recv(pair->ends[end], bytes, most, MSG_DONTWAIT);
    uint64_t left_us;

    if (size <= 0) {
        return size < 0 && (errno == EAGAIN || errno == EINTR);
    }
    atomic_fetch_add(&self->bytes, (uint64_t)size);
    atomic_fetch_add(&self->packets, ((uint64_t)size + SEGMENT_BYTES - 1) / SEGMENT_BYTES);
    left_us = passed_us(self, &pair->ways[end], (size_t)size);
    return hold(&pair->ways[end], bytes, (size_t)size, left_us + atomic_load(&self->delay_us));
}

/* Send what is due of what end `from` has sent. False: the other end is closed. */
static bool pass_on(struct sites_relay_pair *pair, int from, uint64_t now_us)
{
    struct sites_relay_way *way = &pair->ways[from];

    way->blocked = false;
    while (way->first != NULL && way->first->due_us <= now_us) {
        struct sites_relay_piece *piece = way->first;
        ssize_t sent = send(pair->ends[1 - from], piece->bytes + piece->sent,
                            piece->size - piece->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0) {
            way->blocked = errno == EAGAIN;
            return errno == EAGAIN || errno == EINTR;
        }
        piece->sent += (size_t)sent;
        if (piece->sent == piece->size) {
            way->held -= piece->size;
            way->first = piece->next;
            way->last = way->first != NULL ? way->last : NULL;
            heap_free(piece);
        }
    }
    return true;
}

/* Returns when the next piece is due. */
static uint64_t pass_all(struct sites_relay *self, uint64_t now_us)
{
    uint64_t next_us = now_us + LOOK_US;

    for (int i = 0; i < SITES_RELAY_PAIRS; i++) {
        struct sites_relay_pair *pair = &self->pairs[i];

        if (pair->ends[0] < 0) {
            continue;
        }
        if (!pass_on(pair, 0, now_us) || !pass_on(pair, 1, now_us)) {
            close_pair(pair);
        }
        for (int end = 0; end < 2; end++) {
            const struct sites_relay_way *way = &pair->ways[end];

            if (way->first != NULL && !way->blocked && way->first->due_us < next_us) {
                next_us = way->first->due_us;
            }
        }
    }
    return next_us;
}

/* ---- the loop ---- */

static short events_of(const struct sites_relay *self, const struct sites_relay_pair *pair, int end)
{
    uint64_t rate = atomic_load(&self->rate);
    uint64_t on_its_way = rate * atomic_load(&self->delay_us) / 1000000;
    uint64_t most = rate > 0 ? RATED_HELD_BYTES + on_its_way : HELD_BYTES;
    bool reads = pair->ways[end].held < most;

    return (short)((reads ? POLLIN : 0) | (pair->ways[1 - end].blocked ? POLLOUT : 0));
}

static void wait_until(struct sites_relay *self, struct pollfd polled[ENDS + 1], uint64_t next_us)
{
    uint64_t now_us = hub_now_us();
    uint64_t left_us = next_us > now_us ? next_us - now_us : 0;
    struct timespec left = {.tv_sec = (time_t)(left_us / 1000000),
                            .tv_nsec = (long)(left_us % 1000000) * 1000};

    for (int i = 0; i < ENDS; i++) {
        const struct sites_relay_pair *pair = &self->pairs[i / 2];

        polled[i] = (struct pollfd){.fd = pair->ends[i % 2],
                                    .events = events_of(self, pair, i % 2)};
    }
    polled[ENDS] = (struct pollfd){.fd = self->listener, .events = POLLIN};
    if (ppoll(polled, ENDS + 1, &left, NULL) < 0) {
        memset(polled, 0, (ENDS + 1) * sizeof *polled); /* A signal: look again. */
    }
}

static void *serve(void *context)
{
    struct sites_relay *self = context;
    struct pollfd polled[ENDS + 1];

    while (!atomic_load(&self->ending)) {
        wait_until(self, polled, pass_all(self, hub_now_us()));
        for (int i = 0; i < ENDS; i++) {
            struct sites_relay_pair *pair = &self->pairs[i / 2];

            if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
                pair->ends[i % 2] == polled[i].fd && !take(self, pair, i % 2)) {
                close_pair(pair);
            }
        }
        if ((polled[ENDS].revents & POLLIN) != 0) {
            let_in(self);
        }
    }
    return NULL;
}

bool sites_relay_open(struct sites_relay *self, uint16_t target)
{
    *self = (struct sites_relay){.target = target, .listener = -1};
    for (int i = 0; i < SITES_RELAY_PAIRS; i++) {
        self->pairs[i].ends[0] = self->pairs[i].ends[1] = -1;
    }
    if (!listen_anywhere(self) || pthread_create(&self->thread, NULL, serve, self) != 0) {
        (void)fprintf(stderr, "sites: no relay: %s\n", strerror(errno));
        if (self->listener >= 0) {
            (void)close(self->listener);
        }
        self->listener = -1;
        return false;
    }
    return true;
}

void sites_relay_close(struct sites_relay *self)
{
    if (self->listener < 0) {
        return;
    }
    atomic_store(&self->ending, true);
    (void)pthread_join(self->thread, NULL);
    for (int i = 0; i < SITES_RELAY_PAIRS; i++) {
        close_pair(&self->pairs[i]);
    }
    (void)close(self->listener);
    self->listener = -1;
}
