#include "tests/torture/network.h"

#include "tests/torture/network_link.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Be root in a user namespace of one's own, where networks may be made. */
static bool become_root(uid_t user, gid_t group)
{
    static const char *const files[] = {"/proc/self/setgroups", "/proc/self/uid_map",
                                        "/proc/self/gid_map"};
    char texts[3][32] = {"deny"};

    (void)snprintf(texts[1], sizeof texts[1], "0 %u 1", user);
    (void)snprintf(texts[2], sizeof texts[2], "0 %u 1", group);
    for (size_t i = 0; i < 3; i++) {
        int fd = open(files[i], O_WRONLY | O_CLOEXEC);
        bool written = fd >= 0 && write(fd, texts[i], strlen(texts[i])) > 0;

        if (fd >= 0) {
            (void)close(fd);
        }
        if (!written) {
            return false;
        }
    }
    return true;
}

static bool leave_network(void)
{
    uid_t user = getuid();
    gid_t group = getgid();

    if (unshare(CLONE_NEWNET) == 0) {
        return true;
    }
    return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && become_root(user, group);
}

static int open_space(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* A namespace with a wire to the bridge. */
static bool add_host(struct network *self, uint32_t host)
{
    bool good = unshare(CLONE_NEWNET) == 0;

    self->spaces[host] = good ? open_space() : -1;
    self->controls[host] = good ? link_socket() : -1;
    if (setns(self->spaces[0], CLONE_NEWNET) != 0 || self->spaces[host] < 0 ||
        self->controls[host] < 0) {
        return false;
    }
    return link_make_pair(host, self->spaces[host]) && link_to_bridge(self->controls[0], host) &&
           link_up(self->controls[host], "lo") && link_address(self->controls[host], "eth0", host);
}

static bool build(struct network *self)
{
    if (!leave_network()) {
        return false;
    }
    self->spaces[0] = open_space();
    self->controls[0] = link_socket();
    if (self->spaces[0] < 0 || self->controls[0] < 0 || !link_up(self->controls[0], "lo") ||
        !link_make_bridge(self->controls[0]) || !link_address(self->controls[0], LINK_BRIDGE, 0)) {
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
