/* space.h - a network of one's own: a namespace of the kernel's, with nothing in it but loopback.
 *
 * It ends with the processes in it; nothing of the machine's own network is touched. Who is not
 * root becomes it in a user namespace, where the system lets him.
 *
 * Errors:  false, with errno.
 * Threads: space_leave() is for a process of one thread; the rest for any.
 */
#ifndef ORBLOOM_BENCH_WAN_SPACE_H
#define ORBLOOM_BENCH_WAN_SPACE_H

#include <stdbool.h>
#include <stdint.h>

/* Leave the present network for one of one's own, and start loopback there. */
bool space_leave(void);

/* A socket by which the devices of the present network are set up; < 0: errno. close() it. */
int space_control(void);

/* Addresses and masks in the order of the host. */
bool space_address(int control, const char *device, uint32_t address, uint32_t mask);
bool space_up(int control, const char *device);

/* So many packets may wait in a device. */
bool space_queue(int control, const char *device, int packets);

/* Connections that are made from now on by a device, in the network of its address, react to loss
 * as that says: "cubic", "bbr". Without right to it as a default one may have it by a route. */
bool space_congestion(const char *device, uint32_t address, uint32_t mask, const char *name);

#endif
