/* Makes bridges, pairs of devices and neighbours, by ioctl and netlink. */
#include "tests/torture/network_link.h"

#include "bench/wan/netlink.h"
#include "bench/wan/space.h"

#include <arpa/inet.h>
#include <linux/if_bridge.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define NETWORK UINT32_C(0x0a4d0000) /* 10.77.0.0 */
#define MASK    UINT32_C(0xffffff00)

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

/* ---- a pair of virtual devices ---- */

static void describe_pair(struct netlink_message *message, const char *device, int space)
{
    static const struct ifinfomsg peer_info;
    struct rtattr *link;
    struct rtattr *data;
    struct rtattr *peer;

    (void)netlink_append(message, IFLA_IFNAME, device, strlen(device) + 1);
    link = netlink_append(message, IFLA_LINKINFO, NULL, 0);
    (void)netlink_append(message, IFLA_INFO_KIND, "veth", strlen("veth"));
    data = netlink_append(message, IFLA_INFO_DATA, NULL, 0);
    peer = netlink_append(message, VETH_INFO_PEER, &peer_info, sizeof peer_info);
    (void)netlink_append(message, IFLA_IFNAME, "eth0", strlen("eth0") + 1);
    (void)netlink_append(message, IFLA_NET_NS_FD, &space, sizeof space);
    netlink_close_nest(message, peer);
    netlink_close_nest(message, data);
    netlink_close_nest(message, link);
}

bool link_make_pair(uint32_t host, int space)
{
    static const struct ifinfomsg info;
    struct netlink_message message;
    char device[IFNAMSIZ];

    (void)snprintf(device, sizeof device, "wire-%u", host);
    netlink_begin(&message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof info);
    describe_pair(&message, device, space);
    return netlink_send(&message);
}
