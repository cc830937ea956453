/* packet.h - whose an IPv4 packet between sites is, and how it gets from one site's network into
 * another one's.
 *
 * All sites are on one machine, which would hand packets between its own addresses on at once. So
 * each site sees the others in a network of its own: site a has 10.78.a.a there, and knows site b
 * as 10.78.a.b. On its way from a to b a packet leaves the one network for the other: as from
 * 10.78.b.a it gets to 10.78.b.b, and the answer takes the same way back. (In addresses sites count
 * from 1, everywhere else from 0.)
 *
 * Errors:  none; what is not such a packet has no target.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BENCH_WAN_PACKET_H
#define ORBLOOM_BENCH_WAN_PACKET_H

#include <stddef.h>
#include <stdint.h>

#define PACKET_MASK UINT32_C(0xffffff00) /* of a site's network */

/* How a site knows another one, or itself. */
uint32_t packet_address(uint32_t site, uint32_t other);

/* To which of so many sites it goes that site `from` has sent; -1: to none. */
int packet_target(const uint8_t *packet, size_t size, uint32_t from, uint32_t sites);

/* Of a packet with that target: addresses and checksums as `to` is to see them. */
void packet_carry_over(uint8_t *packet, size_t size, uint32_t from, uint32_t to);

#endif
