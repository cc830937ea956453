/* site_cursor.h - how far another site's logs have been applied here: what links keep of it in the
 * logs of their site's nodes, on its way there and back.
 *
 * Bytes of the log: log/record.h. What several of them come to: site/cursor.h.
 */
#ifndef ORBLOOM_BASE_SITE_CURSOR_H
#define ORBLOOM_BASE_SITE_CURSOR_H

#include <stdint.h>

enum { RECORD_MAX_SOURCES = 16 /* all that a slot group may have while slots change */ };

/* One continuous life of a site: numbers rise, and the tag tells two of one number apart. */
struct record_site_life {
    uint64_t number;
    uint64_t tag;
};

/* A node of the other site, and how far its log has been applied here. */
struct record_site_source {
    uint64_t incarnation;
    uint64_t boot;   /* the offset is of this one, or of what it continues */
    uint64_t offset; /* everything below is here */
    uint64_t epoch;  /* of the other site, under which the cursor began */
    uint32_t node;
};

/* How far what a slot group of another site has logged of a filter and keyset is applied to a slot
 * group here: behind the keys that it covers, in the logs of W replicas. A missing one means that
 * the sites are compared, too low a one only repeats. */
struct record_site_cursor {
    uint64_t filter_id;
    uint32_t group; /* here */
    uint32_t keyset;
    uint64_t site[2]; /* the other one */
    struct record_site_life site_life;
    struct record_site_life own_life;
    uint64_t
        loss; /* of this group, or an order to compare: a higher one voids those of lower ones */
    uint32_t site_group;
    uint32_t nsources; /* by rising nodes, each once */
    struct record_site_source sources[RECORD_MAX_SOURCES];
};

#endif
