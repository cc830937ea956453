/* cursor.h - what several cursors of another site's logs come to.
 *
 * Each cursor says something true: all that a source had logged below an offset is applied here. So
 * of two about the same the higher one counts, in whatever order and how often they come; and none,
 * or a lower one, only means that something is compared, or sent again.
 *
 * What another life of either site said, or an older loss, is void once a newer one is heard of:
 * what it covered may have been lost since. Of two lives of one number the one with the higher tag
 * stays; whoever uses a cursor holds its lives against those in force.
 *
 * Bounds:  RECORD_MAX_SOURCES sources; of more those of the oldest epochs are left out.
 * Owner:   nothing is owned.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_SITE_CURSOR_H
#define ORBLOOM_SITE_CURSOR_H

#include "base/site_cursor.h"

#include <stdbool.h>

/* Could a link have written it? Its sources are there, by rising nodes, each with a life and an
 * offset that a log has. */
bool site_cursor_valid(const struct record_site_cursor *self);

/* In order of what they are about: filter, slot group here, keyset, site, slot group there. Below
 * 0, 0, above 0. */
int site_cursor_compare(const struct record_site_cursor *a, const struct record_site_cursor *b);

bool site_cursor_equal(const struct record_site_cursor *a, const struct record_site_cursor *b);

/* `self` becomes what both come to, which are about the same. */
void site_cursor_join(struct record_site_cursor *self, const struct record_site_cursor *other);

#endif
