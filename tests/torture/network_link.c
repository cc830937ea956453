#include "tests/torture/network_link.h"

#include "bench/wan/space.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_bridge.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETWORK UINT32_C(0x0a4d0000) /* 10.77.0.0 */
#define MASK    UINT32_C(0xffffff00)

enum { MESSAGE_BYTES = 512 };

static void put_address(struct sockaddr *out, uint32_t address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

    memcpy(out, &in, sizeof in);
}

static void put_hardware(struct sockaddr *out, uint32_t host)
{
    *out = (struct sockaddr){.sa_family = ARPHRD_ETHER};
    out->sa_data[0] = 2;
    out->sa_data[5] = (char)(host + 1);
}

static struct ifreq request_of(const char *device)
{
    struct ifreq request = {0};

    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    return request;
}

bool link_make_bridge(int control)
{
    return ioctl(control, SIOCBRADDBR, LINK_BRIDGE) == 0;
}

bool link_address(int control, const char *device, uint32_t host)
{
    struct ifreq hardware = request_of(device);

    put_hardware(&hardware.ifr_hwaddr, host);
    return ioctl(control, SIOCSIFHWADDR, &hardware) == 0 &&
           space_address(control, device, NETWORK + host + 1, MASK) && space_up(control, device);
}

bool link_to_bridge(int control, uint32_t host)
{
    struct ifreq bridge = request_of(LINK_BRIDGE);
    char device[IFNAMSIZ];

    (void)snprintf(device, sizeof device, "wire-%u", host);
    bridge.ifr_ifindex = (int)if_nametoindex(device);
    return bridge.ifr_ifindex > 0 && ioctl(control, SIOCBRADDIF, &bridge) == 0 &&
           space_up(control, device);
}

void link_set_neighbour(int control, const char *device, uint32_t to, bool wrong)
{
    enum { NOBODY = 200 };
    struct arpreq request = {.arp_flags = ATF_COM | ATF_PERM};

    put_address(&request.arp_pa, NETWORK + to + 1);
    put_hardware(&request.arp_ha, wrong ? NOBODY : to);
    (void)snprintf(request.arp_dev, sizeof request.arp_dev, "%s", device);
    if (ioctl(control, SIOCSARP, &request) != 0) {
        perror("torture: SIOCSARP");
    }
}

/* ---- a pair of virtual devices takes a netlink message ---- */

struct message {
    struct nlmsghdr header;
    struct ifinfomsg info;
    char rest[MESSAGE_BYTES];
};

static struct rtattr *append(struct message *self, unsigned short type, const void *data,
                             size_t size)
{
    struct rtattr *attribute = (struct rtattr *)(void *)((char *)self +
                                                         NLMSG_ALIGN(self->header.nlmsg_len));

    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    if (size > 0) {
        memcpy(RTA_DATA(attribute), data, size);
    }
    self->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(self->header.nlmsg_len) +
                                        RTA_ALIGN(attribute->rta_len));
    return attribute;
}

static void close_nest(struct message *self, struct rtattr *attribute)
{
    attribute->rta_len = (unsigned short)((char *)self + self->header.nlmsg_len -
                                          (char *)attribute);
}

static void describe_pair(struct message *self, const char *device, int space)
{
    static const struct ifinfomsg peer_info;
    struct rtattr *link;
    struct rtattr *data;
    struct rtattr *peer;

    (void)append(self, IFLA_IFNAME, device, strlen(device) + 1);
    link = append(self, IFLA_LINKINFO, NULL, 0);
    (void)append(self, IFLA_INFO_KIND, "veth", strlen("veth"));
    data = append(self, IFLA_INFO_DATA, NULL, 0);
    peer = append(self, VETH_INFO_PEER, &peer_info, sizeof peer_info);
    (void)append(self, IFLA_IFNAME, "eth0", strlen("eth0") + 1);
    (void)append(self, IFLA_NET_NS_FD, &space, sizeof space);
    close_nest(self, peer);
    close_nest(self, data);
    close_nest(self, link);
}

static bool exchange(const struct message *message)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    char buffer[MESSAGE_BYTES * 2];
    struct nlmsgerr error = {.error = -EIO};
    ssize_t size = -1;

    if (fd >= 0 && send(fd, message, message->header.nlmsg_len, 0) >= 0) {
        size = recv(fd, buffer, sizeof buffer, 0);
    }
    if (size >= (ssize_t)(sizeof(struct nlmsghdr) + sizeof error)) {
        memcpy(&error, buffer + sizeof(struct nlmsghdr), sizeof error);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = -error.error;
    return error.error == 0;
}

bool link_make_pair(uint32_t host, int space)
{
    struct message message = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
                   .nlmsg_type = RTM_NEWLINK,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK},
    };
    char device[IFNAMSIZ];

    (void)snprintf(device, sizeof device, "wire-%u", host);
    describe_pair(&message, device, space);
    return exchange(&message);
}
