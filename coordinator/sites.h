/* sites.h - which site this cluster is, and in which ones a filter is, for people.
 *
 * A process whose option `site` names another one was given coordinators of the wrong cluster, and
 * is refused; one that names none is taken.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SITES_H
#define ORBLOOM_COORDINATOR_SITES_H

#include "coordinator/private.h"

enum { SITES_TEXT_BYTES = SITE_SET_MAX_LIVE * (SITE_NAME_BYTES + 1) };

/* STATUS_INVALID, and why: the process is of another site. */
MUST_USE enum status sites_check(const struct coordinator *self, const struct sync_request *request,
                                 char *message);

/* "eu, us": the names of those that are not GONE. Returns `text`. */
const char *sites_list(const struct site_set *sites, char text[SITES_TEXT_BYTES]);

/* Dropped at all of its sites, and not only here: then all of them are GONE in its set. Such a
 * document is kept for good, as a site that is cut off may ask for it at any time. */
bool sites_dropped_everywhere(const struct filter_document *document);

/* ... which begins so, of one that is ACTIVE: an edit, see records_edit_filter(). */
void sites_drop_everywhere(struct filter_document *document, const void *context);

#endif
