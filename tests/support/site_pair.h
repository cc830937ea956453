/* site_pair.h - two sites, each a circle of nodes with a link and its router core, and the network
 * between the links. One filter, with one uid, is in both.
 *
 * Site 0 is "eu", site 1 "us"; the link of site 0 dials. Frames between sites take `delay_us`,
 * those of each connection in order, unless their way is cut.
 *
 * Errors:  a failed cr_assert.
 * Owner:   site_pair_init()'s caller calls site_pair_fini().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_SITE_PAIR_H
#define ORBLOOM_TESTS_SUPPORT_SITE_PAIR_H

#include "link/link.h"
#include "proto/codec.h"
#include "tests/support/node_circle.h"

enum {
    SITE_PAIR_FRAMES = 4096,
    SITE_PAIR_STEP_US = 1000,
    SITE_PAIR_FILTER = 5,
};

/* Between the links of two sites. */
struct site_pair_frame {
    uint32_t to;          /* which site */
    bool answer;          /* by the connection that the receiver has dialed */
    uint32_t connection;  /* which of them ... */
    uint8_t renewed;      /* ... that has broken so often */
    uint64_t incarnation; /* of the link that it is for, which may have gone */
    uint64_t due_us;
    uint8_t *bytes;
    size_t size;
};

struct site_pair;

struct site_pair_side {
    struct site_pair *pair;
    uint32_t site;
    struct circle circle;
    struct filter_document document;
    struct effects outer;
    struct router *router;
    struct link *link;    /* NULL: it is down */
    struct actor face;    /* towards the other site */
    uint64_t incarnation; /* of the link */
    uint64_t batch;       /* number of the last one that was added */
};

struct site_pair {
    struct site_pair_side sides[2];
    uint32_t nnodes;         /* of each site */
    uint64_t window;         /* of links that are started ... */
    uint64_t held;           /* ... and what may wait there; 0: as usual */
    uint32_t ncoordinators;  /* ... of their sites */
    uint64_t rate;           /* ... and how much they may send in a second; 0: no bound */
    uint64_t scrub_us;       /* ... and how often they compare all; 0: never */
    uint64_t connections[2]; /* ... and how many there may be between them ... */
    uint64_t crowd;          /* ... once so much is under way by one; 0: as usual */
    uint64_t now_us;
    uint64_t delay_us;
    bool cut[2]; /* nothing gets to that site */

    /* Of each connection. */
    bool opened[SITE_MAX_CONNECTIONS];
    uint8_t renewed[SITE_MAX_CONNECTIONS];
    uint64_t late_us[SITE_MAX_CONNECTIONS]; /* so much longer its frames take */
    bool hangs[SITE_MAX_CONNECTIONS];       /* nothing gets through, which nobody is told */
    uint64_t batches[SITE_MAX_CONNECTIONS]; /* so many frames with keys went by it */
    uint32_t posted;                        /* which one the spy looks at */

    uint64_t sent_bytes[2]; /* towards it */
    struct site_pair_frame frames[SITE_PAIR_FRAMES];
    size_t first;
    size_t last;

    /* May be set: looks at what goes to site `to`; false: lost. */
    bool (*spy)(struct site_pair *self, uint32_t to, const struct frame *frame);
    struct codec_arena *arena;
};

/* On 3 nodes each there is one slot group, on 4 or 5 as many as nodes. */
void site_pair_init(struct site_pair *self, uint32_t nnodes);
void site_pair_fini(struct site_pair *self);

/* Both sites, and what goes between them. */
void site_pair_run(struct site_pair *self, uint64_t us);

/* A link is killed, and another one is started. */
void site_pair_link_stop(struct site_pair *self, uint32_t site);
void site_pair_link_start(struct site_pair *self, uint32_t site);

/* As a router of that site: to a set of its nodes (bits 1 to 3). */
void site_pair_add(struct site_pair *self, uint32_t site, unsigned nodes, const uint64_t *keys,
                   uint32_t count);

/* As a router of that site: keys of one slot group, to the readers of two of its slots, from
 * `first` on. */
void site_pair_add_group(struct site_pair *self, uint32_t site, uint32_t group, uint32_t first,
                         const uint64_t *keys, uint32_t count);

/* How many replicas of a slot group have all of them. */
uint32_t site_pair_copies(struct site_pair *self, uint32_t site, uint32_t group,
                          const uint64_t *keys, uint32_t count);

/* How many of them a check by that node finds. */
int site_pair_count(struct site_pair *self, uint32_t site, uint32_t node, const uint64_t *keys,
                    uint32_t count);

/* The site's document is as it is now. */
void site_pair_hand(struct site_pair *self, uint32_t site);

/* That connection has broken and is there again: what was under way by it is lost. */
void site_pair_break(struct site_pair *self, uint32_t connection);

/* A frame by it, as the site that dials would say it. */
void site_pair_say(struct site_pair *self, uint32_t connection, const struct frame *frame);

uint64_t site_pair_counter(const struct site_pair *self, uint32_t site, const char *name);

#endif
