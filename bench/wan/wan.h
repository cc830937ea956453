/* wan.h - the ways between sites on one machine: a TUN device a site, and a relay that delays,
 * loses, limits and counts the packets between them, each direction by itself.
 *
 * Real packets of the kernel's TCP pass, one by one, so it sees distance and loss. All processes
 * stay in one network, which must be one of our own (space.h); what is to pass the relay uses the
 * addresses of packet.h, all else is on loopback as ever.
 *
 * Errors:  wan_open() says on stderr what is missing.
 * Owner:   whoever called wan_open() calls wan_close().
 * Threads: one of its own; all functions but open and close are for any.
 */
#ifndef ORBLOOM_BENCH_WAN_WAN_H
#define ORBLOOM_BENCH_WAN_WAN_H

#include "bench/wan/line.h"

enum { WAN_MAX_SITES = 4, WAN_ADDRESS_BYTES = 16 };

struct wan;

/* NULL: there is none. Lines do nothing yet; `seed` chooses what they lose. */
struct wan *wan_open(uint32_t sites, uint64_t seed);
void wan_close(struct wan **self);

/* How site `from` knows site `to`, or itself: "10.78.1.2". Sites count from 0. Returns `text`. */
const char *wan_address(uint32_t from, uint32_t to, char text[WAN_ADDRESS_BYTES]);

/* The line from one site to another; or all of them. */
void wan_set(struct wan *self, uint32_t from, uint32_t to, const struct line_kind *kind);
void wan_set_all(struct wan *self, const struct line_kind *kind);

/* How TCP between sites reacts to loss, "cubic" or "bbr", of connections that are made from now on.
 * False: this kernel does not have it; errno. */
bool wan_set_congestion(const struct wan *self, const char *name);

/* What has passed it: whole IP packets, TCP's own ones too. */
struct line wan_line(struct wan *self, uint32_t from, uint32_t to);

/* Of all of them: packets, bytes, and what became of them. */
struct line wan_sum(struct wan *self);

#endif
