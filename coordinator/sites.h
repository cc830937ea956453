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

#endif
