/* rounds.h - which filters are looked at, and when.
 *
 * Those that are restless, at every event: they are being dropped, renamed or loaded, they expire,
 * they have a window, they are in sites, or replicas of them are being replaced. Of many filters
 * these are few, and the others cost nothing. Of the others those whose documents have come since
 * the last look; all, where what one of them does may give another one its turn.
 *
 * Errors:  STATUS_NOMEM.
 * Owner:   the coordinator; entries are the cache's.
 * Threads: none. */
#ifndef ORBLOOM_COORDINATOR_ROUNDS_H
#define ORBLOOM_COORDINATOR_ROUNDS_H

#include "coordinator/private.h"

/* Its document was taken. */
MUST_USE enum status rounds_note(struct coordinator *self, struct document_entry *entry);

/* It is removed from the cache. */
void rounds_forget(struct coordinator *self, const struct document_entry *entry);

void rounds_fini(struct coordinator *self);

/* Something has changed that concerns all filters. */
void rounds_want_all(struct coordinator *self);

/* The news since this was asked last, which are none from now on: their ids, or *all. */
size_t rounds_take_news(struct coordinator *self, uint64_t ids[COORDINATOR_NEWS], bool *all);

/* The restless one with the next higher id; NULL: there is none. A look may change the list. */
struct document_entry *rounds_next(const struct coordinator *self, uint64_t after);

/* Is a replica of the filter being replaced? */
bool rounds_is_moving(const struct filter_document *document);

#endif
