/* One thread polls all devices: a packet that was read waits in its line's list until it is due. */
#include "bench/wan/wan.h"

#include "base/heap.h"
#include "bench/wan/packet.h"
#include "bench/wan/space.h"
#include "runtime/hub.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PACKET_BYTES = 2048, /* more than a device's MTU */
    DEVICE_QUEUE = 8192, /* packets, while our thread has no core */
    LINE_MOST = 1 << 16, /* packets under way */
    TURN = 256,          /* packets of a device, then it is another one's turn */
    LOOK_US = 50000,     /* is it to end? */
};

struct wan_packet {
    struct wan_packet *next;
    uint64_t due_us;
    size_t size;
    uint8_t bytes[];
};

struct wan_way {
    struct line line;
    struct wan_packet *first;
    struct wan_packet *last;
    uint32_t held;
};

struct wan {
    uint32_t sites;
    int devices[WAN_MAX_SITES];
    atomic_bool ending;
    pthread_t thread;
    pthread_mutex_t lock; /* of all that follows */
    struct wan_way ways[WAN_MAX_SITES][WAN_MAX_SITES];
};

/* ---- devices ---- */

static bool set_up(uint32_t site, const char *name)
{
    int control = space_control();
    bool good = control >= 0 && space_queue(control, name, DEVICE_QUEUE) &&
                space_address(control, name, packet_address(site, site), PACKET_MASK) &&
                space_up(control, name);

    if (control >= 0) {
        (void)close(control);
    }
    return good;
}

static const char *device_name(uint32_t site, char name[IFNAMSIZ])
{
    (void)snprintf(name, IFNAMSIZ, "wan-%u", site + 1);
    return name;
}

/* < 0: errno. */
static int open_device(uint32_t site)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    (void)device_name(site, request.ifr_name);
    if (fd >= 0 && (ioctl(fd, TUNSETIFF, &request) != 0 || !set_up(site, request.ifr_name))) {
        int error = errno;

        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static bool open_devices(struct wan *self)
{
    for (uint32_t site = 0; site < self->sites; site++) {
        self->devices[site] = open_device(site);
        if (self->devices[site] < 0) {
            return false;
        }
    }
    return true;
}

/* ---- what passes ---- */

static void drop_first(struct wan_way *way)
{
    struct wan_packet *packet = way->first;

    way->first = packet->next;
    way->last = way->first != NULL ? way->last : NULL;
    way->held--;
    heap_free(packet);
}

static void hold(struct wan_way *way, const uint8_t *bytes, size_t size, uint64_t due_us)
{
    struct wan_packet *packet = way->held < LINE_MOST ? heap_alloc(1, sizeof *packet + size) : NULL;

    if (packet == NULL) {
        way->line.dropped++;
        return;
    }
    packet->next = NULL;
    packet->due_us = due_us;
    packet->size = size;
    memcpy(packet->bytes, bytes, size);
    if (way->last != NULL) {
        way->last->next = packet;
    } else {
        way->first = packet;
    }
    way->last = packet;
    way->held++;
}

/* Whatever else the kernel sends by a device, such as what IPv6 asks at once, goes nowhere. */
static void take(struct wan *self, uint32_t from, uint8_t *bytes, size_t size)
{
    int to = packet_target(bytes, size, from, self->sites);
    uint64_t due_us;

    if (to < 0) {
        return;
    }
    due_us = line_carry(&self->ways[from][to].line, size, hub_now_us());
    if (due_us != LINE_LOST) {
        packet_carry_over(bytes, size, from, (uint32_t)to);
        hold(&self->ways[from][to], bytes, size, due_us);
    }
}

static void take_turn(struct wan *self, uint32_t from)
{
    uint8_t bytes[PACKET_BYTES];
    ssize_t size;

    for (int i = 0; i < TURN && (size = read(self->devices[from], bytes, sizeof bytes)) > 0; i++) {
        take(self, from, bytes, (size_t)size);
    }
}

/* What is due; `next_us` becomes when more is, if that is earlier. */
static void deliver(struct wan_way *way, int device, uint64_t now_us, uint64_t *next_us)
{
    while (way->first != NULL && way->first->due_us <= now_us) {
        if (write(device, way->first->bytes, way->first->size) < 0) {
            way->line.dropped++;
        }
        drop_first(way);
    }
    if (way->first != NULL && way->first->due_us < *next_us) {
        *next_us = way->first->due_us;
    }
}

/* Returns when it has to be called again. */
static uint64_t deliver_all(struct wan *self)
{
    uint64_t now_us = hub_now_us();
    uint64_t next_us = now_us + LOOK_US;

    for (uint32_t from = 0; from < self->sites; from++) {
        for (uint32_t to = 0; to < self->sites; to++) {
            deliver(&self->ways[from][to], self->devices[to], now_us, &next_us);
        }
    }
    return next_us;
}

/* ---- the loop ---- */

static void wait_until(const struct wan *self, uint64_t next_us)
{
    struct pollfd polled[WAN_MAX_SITES];
    uint64_t now_us = hub_now_us();
    uint64_t left_us = next_us > now_us ? next_us - now_us : 0;
    struct timespec left = {.tv_sec = (time_t)(left_us / 1000000),
                            .tv_nsec = (long)(left_us % 1000000) * 1000};

    for (uint32_t site = 0; site < self->sites; site++) {
        polled[site] = (struct pollfd){.fd = self->devices[site], .events = POLLIN};
    }
    (void)ppoll(polled, self->sites, &left, NULL); /* All are read anyway. */
}

static void *serve(void *context)
{
    struct wan *self = context;

    while (!atomic_load(&self->ending)) {
        uint64_t next_us;

        (void)pthread_mutex_lock(&self->lock);
        for (uint32_t site = 0; site < self->sites; site++) {
            take_turn(self, site);
        }
        next_us = deliver_all(self);
        (void)pthread_mutex_unlock(&self->lock);
        wait_until(self, next_us);
    }
    return NULL;
}

/* ---- outside ---- */

static void dispose(struct wan *self)
{
    for (uint32_t from = 0; from < self->sites; from++) {
        for (uint32_t to = 0; to < self->sites; to++) {
            while (self->ways[from][to].first != NULL) {
                drop_first(&self->ways[from][to]);
            }
        }
        if (self->devices[from] >= 0) {
            (void)close(self->devices[from]);
        }
    }
    (void)pthread_mutex_destroy(&self->lock);
    heap_free(self);
}

static struct wan *make(uint32_t sites, uint64_t seed)
{
    struct wan *self = heap_zalloc(1, sizeof *self);

    assert(sites <= WAN_MAX_SITES);
    if (self == NULL) {
        return NULL;
    }
    self->sites = sites;
    (void)pthread_mutex_init(&self->lock, NULL);
    for (uint32_t from = 0; from < sites; from++) {
        self->devices[from] = -1;
        for (uint32_t to = 0; to < sites; to++) {
            self->ways[from][to].line.random = seed + from * WAN_MAX_SITES + to;
        }
    }
    return self;
}

struct wan *wan_open(uint32_t sites, uint64_t seed)
{
    struct wan *self = make(sites, seed);

    if (self == NULL) {
        return NULL;
    }
    if (!open_devices(self) || pthread_create(&self->thread, NULL, serve, self) != 0) {
        (void)fprintf(stderr, "wan: no TUN devices: %s\n", strerror(errno));
        dispose(self);
        return NULL;
    }
    return self;
}

void wan_close(struct wan **self)
{
    if (*self != NULL) {
        atomic_store(&(*self)->ending, true);
        (void)pthread_join((*self)->thread, NULL);
        dispose(*self);
        *self = NULL;
    }
}

const char *wan_address(uint32_t from, uint32_t to, char text[WAN_ADDRESS_BYTES])
{
    uint32_t address = packet_address(from, to);

    (void)snprintf(text, WAN_ADDRESS_BYTES, "%u.%u.%u.%u", address >> 24 & 255, address >> 16 & 255,
                   address >> 8 & 255, address & 255);
    return text;
}

void wan_set(struct wan *self, uint32_t from, uint32_t to, const struct line_kind *kind)
{
    (void)pthread_mutex_lock(&self->lock);
    self->ways[from][to].line.kind = *kind;
    (void)pthread_mutex_unlock(&self->lock);
}

void wan_set_all(struct wan *self, const struct line_kind *kind)
{
    for (uint32_t from = 0; from < self->sites; from++) {
        for (uint32_t to = 0; to < self->sites; to++) {
            wan_set(self, from, to, kind);
        }
    }
}

bool wan_set_congestion(const struct wan *self, const char *name)
{
    char device[IFNAMSIZ];

    for (uint32_t site = 0; site < self->sites; site++) {
        if (!space_congestion(device_name(site, device), packet_address(site, site), PACKET_MASK,
                              name)) {
            return false;
        }
    }
    return true;
}

struct line wan_line(struct wan *self, uint32_t from, uint32_t to)
{
    struct line line;

    (void)pthread_mutex_lock(&self->lock);
    line = self->ways[from][to].line;
    (void)pthread_mutex_unlock(&self->lock);
    return line;
}

struct line wan_sum(struct wan *self)
{
    struct line sum = {0};

    for (uint32_t from = 0; from < self->sites; from++) {
        for (uint32_t to = 0; to < self->sites; to++) {
            struct line line = wan_line(self, from, to);

            sum.packets += line.packets;
            sum.bytes += line.bytes;
            sum.carried += line.carried;
            sum.lost += line.lost;
            sum.dropped += line.dropped;
        }
    }
    return sum;
}
