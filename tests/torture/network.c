/* Makes the namespaces and wires of all hosts, and cuts ways by false neighbours. */
#include "tests/torture/network.h"

#include "bench/wan/space.h"
#include "tests/torture/network_link.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_space(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* A namespace with a wire to the bridge. */
static bool add_host(struct network *self, uint32_t host)
{
    bool good = unshare(CLONE_NEWNET) == 0;

    self->spaces[host] = good ? open_space() : -1;
    self->controls[host] = good ? space_control() : -1;
    if (setns(self->spaces[0], CLONE_NEWNET) != 0 || self->spaces[host] < 0 ||
        self->controls[host] < 0) {
        return false;
    }
    return link_make_pair(host, self->spaces[host]) && link_to_bridge(self->controls[0], host) &&
           space_up(self->controls[host], "lo") && link_address(self->controls[host], "eth0", host);
}

static bool build(struct network *self)
{
    if (!space_leave()) {
        return false;
    }
    self->spaces[0] = open_space();
    self->controls[0] = space_control();
    if (self->spaces[0] < 0 || self->controls[0] < 0 || !link_make_bridge(self->controls[0]) ||
        !link_address(self->controls[0], LINK_BRIDGE, 0)) {
        return false;
    }
    for (uint32_t host = 1; host < self->nhosts; host++) {
        if (!add_host(self, host)) {
            return false;
        }
    }
    return true;
}

void network_open(struct network *self, uint32_t nhosts, bool wants_namespaces)
{
    assert(nhosts <= NETWORK_MAX_HOSTS);

    *self = (struct network){.nhosts = nhosts};
    memset(self->spaces, 0xff, sizeof self->spaces);
    memset(self->controls, 0xff, sizeof self->controls);
    if (!wants_namespaces) {
        return;
    }
    if (!build(self)) {
        (void)fprintf(stderr, "torture: no network namespaces: %s\n", strerror(errno));
        network_close(self);
        self->nhosts = nhosts;
        return;
    }
    self->namespaces = true;
    for (uint32_t from = 0; from < nhosts; from++) {
        for (uint32_t to = 0; to < nhosts; to++) {
            network_cut(self, from, to, false);
        }
    }
}

void network_close(struct network *self)
{
    for (uint32_t host = 0; host < self->nhosts; host++) {
        if (self->spaces[host] >= 0) {
            (void)close(self->spaces[host]);
        }
        if (self->controls[host] >= 0) {
            (void)close(self->controls[host]);
        }
    }
    *self = (struct network){0};
}

const char *network_address(const struct network *self, uint32_t host,
                            char text[NETWORK_ADDRESS_BYTES])
{
    if (self->namespaces) {
        (void)snprintf(text, NETWORK_ADDRESS_BYTES, "10.77.0.%u", (host + 1) % 256);
    } else {
        (void)snprintf(text, NETWORK_ADDRESS_BYTES, "127.0.0.1");
    }
    return text;
}

int network_enter(const struct network *self, uint32_t host)
{
    return self->namespaces ? setns(self->spaces[host], CLONE_NEWNET) : 0;
}

void network_cut(const struct network *self, uint32_t from, uint32_t to, bool cut)
{
    if (self->namespaces && from != to) {
        link_set_neighbour(self->controls[from], from == 0 ? LINK_BRIDGE : "eth0", to, cut);
    }
}
