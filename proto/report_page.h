/* report_page.h - a stretch of slot groups that a node tells at once.
 *
 * Slot groups are in order of filter id and number. A node tells all of them in pages, one behind
 * the other, from the first to the end: a round. A page is all that the node has in that stretch
 * as it is sent, and says nothing of what is beyond.
 *
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_REPORT_PAGE_H
#define ORBLOOM_PROTO_REPORT_PAGE_H

#include "proto/replica_report.h"

#include <stdbool.h>
#include <stddef.h>

struct report_place {
    uint64_t filter_id; /* 0: none */
    uint32_t group;
};

/* Zeroed it is of everything. */
struct report_page {
    struct report_place from; /* the first one; none: from the beginning */
    struct report_place to;   /* the first one beyond; none: to the end */
};

/* Below 0, 0 or above, as a is before b, the same, or behind it. */
int report_place_compare(struct report_place a, struct report_place b);

struct report_place report_place_of(const struct replica_report *report);

static inline bool report_page_begins(const struct report_page *page)
{
    return page->from.filter_id == 0;
}

static inline bool report_page_ends(const struct report_page *page)
{
    return page->to.filter_id == 0;
}

/* Is it a stretch, and are the reports in it, in order and each once? */
bool report_page_fits(const struct report_page *page, const struct replica_report *reports,
                      size_t count);

/* Of reports in order: how many are before the place. */
size_t report_place_find(const struct replica_report *reports, size_t count,
                         struct report_place place);

#endif
