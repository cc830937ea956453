/* sites_link.h - a link: a process of its site's cluster, and one of what is between the sites.
 *
 * Both are one program with one clock, which starts, stops and dies as one: what comes by either
 * face is served by turns of that face, as in the daemon, whose outer hub rides along in the loop
 * of its inner one.
 *
 * Owner:   the processes are of their clusters, and free themselves.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SITES_SITES_LINK_H
#define ORBLOOM_TESTS_SIM_SITES_SITES_LINK_H

#include "link/link.h"
#include "tests/sim/sim_process.h"

enum { SITES_MAX_LINKS = 2 };

struct site;
struct sites;

struct sites_link {
    struct site *site;
    uint32_t number;
    struct sim_process *inner;
    struct sim_process *outer;
    struct sim_program inner_program;
    struct sim_program outer_program;
    struct router *router;
    struct link *core; /* NULL: it does not run */
    struct actor face; /* towards other sites */
};

/* Its processes, which do not run yet. */
void sites_link_add(struct site *site, uint32_t number);

void sites_link_start(struct sites_link *self);
void sites_link_kill(struct sites_link *self);
void sites_link_pause(struct sites_link *self);
void sites_link_resume(struct sites_link *self);
bool sites_link_lives(const struct sites_link *self);

/* While its site is off, or down, nothing that starts whoever is dead starts the outer half of it,
 * either. */
void sites_link_hold(struct sites_link *self);
void sites_link_release(struct sites_link *self);

/* Is a stream of the filter open, from that site to this link, and do both sides know it? One that
 * has ended again and again is opened more and more seldom; and one whose opening was lost is taken
 * for open by the link that wants it for seconds. */
bool sites_link_receives(const struct sites_link *self, const struct site *from);

#endif
