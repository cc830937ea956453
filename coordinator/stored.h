/* stored.h - what a coordinator reads from the store and writes to it.
 *
 * The store may take seconds. So each of these is done on a lane's thread, while the work that asks
 * for it stands still (work.h) and the loop goes on: what it finds when it goes on may be older
 * than what has come meanwhile. Where there are no lanes, or nobody's work is under way (at the
 * start), it is done here and now.
 *
 * Errors:  as the store's, see store/store.h; STATUS_NOMEM; STATUS_IO where the coordinator ends.
 * Owner:   keys, values and buffers are borrowed until the call returns.
 * Threads: the actor's, in its work; the store is the lane's meanwhile.
 */
#ifndef ORBLOOM_COORDINATOR_STORED_H
#define ORBLOOM_COORDINATOR_STORED_H

#include "coordinator/store/store.h"

struct coordinator;

/* Append the key's value to `value`, its version to *version. */
MUST_USE enum status stored_get(struct coordinator *self, const char *key, struct buffer *value,
                                uint64_t *version);

/* Write all of them or none, and of a command only while it is wanted: STATUS_DEADLINE, and nothing
 * is written, where its time is over when it comes to that. */
MUST_USE enum status stored_swap(struct coordinator *self, const struct store_swap *swaps,
                                 size_t count);

/* Records written after change `since`, in order of version; as many reads as it takes. */
MUST_USE enum status stored_since(struct coordinator *self, uint64_t since, store_visit_fn visit,
                                  void *context);

/* The store's change number, before the first visit, and what was written after change `known` or,
 * where the number has gone back, all there is. */
MUST_USE enum status stored_news(struct coordinator *self, uint64_t known, uint64_t *change,
                                 store_visit_fn visit, void *context);

#endif
