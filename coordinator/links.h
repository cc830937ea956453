/* links.h - the links that this coordinator hears of: which process links this site to others,
 * where it is reached, and to which sites it is connected.
 *
 * Nothing of it is stored. A link asks each coordinator of its list in turn, as routers do, and is
 * forgotten as they are; a router that asks another coordinator hears of it from there. Who knows
 * of no link can't tell how far behind a site is, and so says less, but nothing wrong.
 *
 * Bounds:  COORDINATOR_MAX_LINKS, the one that was heard of longest ago goes; LINK_MAX_PEERS each.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_LINKS_H
#define ORBLOOM_COORDINATOR_LINKS_H

#include "coordinator/private.h"

/* A router has asked: take down what it tells, if it is a link. False: it is none, or what it tells
 * makes no sense. */
bool links_note(struct coordinator *self, uint64_t now_us, const struct sync_request *request);

/* Where those that live are reached; returns how many. Borrows from `self`. */
size_t links_places(const struct coordinator *self, uint64_t now_us,
                    struct link_place places[COORDINATOR_MAX_LINKS]);

/* Does one of the table live, or the one of that name? */
bool links_hears(const struct coordinator *self, uint64_t now_us, const struct link_heard *link);
bool links_lives(const struct coordinator *self, uint64_t now_us, const char *name);

/* Which site this is, as its links say, and what they call it. NULL: none lives, or they do not say
 * the same. */
const struct link_heard *links_own(const struct coordinator *self, uint64_t now_us);

/* Do those that live say that they are of different sites? */
bool links_disagree(const struct coordinator *self, uint64_t now_us);

/* Another site, as links that live know it. */
struct links_site {
    bool found;
    bool ambiguous; /* they know different ones by that name */
    bool connected; /* one of them is */
    struct site_id id;
};
struct links_site links_find_site(const struct coordinator *self, uint64_t now_us,
                                  const char *name);

/* Is one of them connected to a link of that site, by whatever name? */
bool links_connected(const struct coordinator *self, uint64_t now_us, const struct site_id *id);

#endif
