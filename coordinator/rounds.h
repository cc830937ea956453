/* restless.h - the filters that want a look at every event: those that are being
 * dropped, renamed or loaded, those that expire and those with a window. Of many filters these are
 * few, and the others cost nothing.
 *
 * Errors:  STATUS_NOMEM.
 * Owner:   the coordinator; entries are the cache's.
 * Threads: none. */
#ifndef ORBLOOM_COORDINATOR_RESTLESS_H
#define ORBLOOM_COORDINATOR_RESTLESS_H

#include "coordinator/private.h"

/* Its document was taken. It stays one of them until the next document at the earliest. */
MUST_USE enum status restless_note(struct coordinator *self, struct document_entry *entry);

/* It is removed from the cache. */
void restless_forget(struct coordinator *self, const struct document_entry *entry);

void restless_fini(struct coordinator *self);

#endif
