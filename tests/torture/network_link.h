/* network_link.h - bridges, wires and neighbours of the kernel's network.
 *
 * Host number h has the address 10.77.0.(h + 1) and the hardware address 02:00:00:00:00:(h + 1).
 *
 * Errors:  false, with errno.
 * Threads: any; `control` is a socket of the namespace that is meant.
 */
#ifndef ORBLOOM_TESTS_TORTURE_NETWORK_LINK_H
#define ORBLOOM_TESTS_TORTURE_NETWORK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_BRIDGE "hub"

bool link_make_bridge(int control);

/* A wire: wire-HOST here, eth0 in the namespace `space`. */
bool link_make_pair(uint32_t host, int space);
bool link_to_bridge(int control, uint32_t host);

/* Give a device the host's addresses and start it. */
bool link_address(int control, const char *device, uint32_t host);

/* Where packets for host number `to` are sent: to it or, `wrong`, to nobody. */
void link_set_neighbour(int control, const char *device, uint32_t to, bool wrong);

#endif
