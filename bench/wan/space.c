/* Enters namespaces of its own, and sets devices up there. */
#include "bench/wan/space.h"

#include "bench/wan/netlink.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    return written;
}

/* Be root in a user namespace of one's own, where networks may be made. */
static bool become_root(uid_t user, gid_t group)
{
    char users[32];
    char groups[32];

    (void)snprintf(users, sizeof users, "0 %u 1", user);
    (void)snprintf(groups, sizeof groups, "0 %u 1", group);
    return write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users) &&
           write_text("/proc/self/gid_map", groups);
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

bool space_leave(void)
{
    int control = leave_network() ? space_control() : -1;
    bool good = control >= 0 && space_up(control, "lo");

    if (control >= 0) {
        (void)close(control);
    }
    return good;
}

int space_control(void)
{
    return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static struct ifreq request_of(const char *device)
{
    struct ifreq request = {0};

    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    return request;
}

static void put_address(struct sockaddr *out, uint32_t address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

    memcpy(out, &in, sizeof in);
}

bool space_address(int control, const char *device, uint32_t address, uint32_t mask)
{
    struct ifreq own = request_of(device);
    struct ifreq net = request_of(device);

    put_address(&own.ifr_addr, address);
    put_address(&net.ifr_netmask, mask);
    return ioctl(control, SIOCSIFADDR, &own) == 0 && ioctl(control, SIOCSIFNETMASK, &net) == 0;
}

bool space_up(int control, const char *device)
{
    struct ifreq request = request_of(device);

    if (ioctl(control, SIOCGIFFLAGS, &request) != 0) {
        return false;
    }
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return ioctl(control, SIOCSIFFLAGS, &request) == 0;
}

bool space_queue(int control, const char *device, int packets)
{
    struct ifreq request = request_of(device);

    request.ifr_qlen = packets;
    return ioctl(control, SIOCSIFTXQLEN, &request) == 0;
}

bool space_congestion(const char *device, uint32_t address, uint32_t mask, const char *name)
{
    const struct rtmsg route = {.rtm_family = AF_INET,
                                .rtm_dst_len = (unsigned char)__builtin_popcount(mask),
                                .rtm_table = RT_TABLE_MAIN,
                                .rtm_protocol = RTPROT_KERNEL,
                                .rtm_scope = RT_SCOPE_LINK,
                                .rtm_type = RTN_UNICAST};
    const uint32_t network = htonl(address & mask);
    const uint32_t source = htonl(address);
    const uint32_t index = if_nametoindex(device);
    struct netlink_message message;
    struct rtattr *metrics;

    netlink_begin(&message, RTM_NEWROUTE, NLM_F_REPLACE, &route, sizeof route);
    (void)netlink_append(&message, RTA_DST, &network, sizeof network);
    (void)netlink_append(&message, RTA_PREFSRC, &source, sizeof source);
    (void)netlink_append(&message, RTA_OIF, &index, sizeof index);
    metrics = netlink_append(&message, RTA_METRICS, NULL, 0);
    (void)netlink_append(&message, RTAX_CC_ALGO, name, strlen(name) + 1);
    netlink_close_nest(&message, metrics);
    return netlink_send(&message);
}
