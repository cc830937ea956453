/* recent.h - what this process has written last, so that whoever asks for it is not answered by
 * etcd, which reads all records to find those after a version. Pure.
 *
 * It holds each record that was written after change `from`, up to change `upto`, as of then: all
 * of them, and none that a swap has removed since. That is known only while each swap in between
 * was this process' own: each answer of etcd tells the change before it. Any other one empties it.
 *
 * Bounds:  RECENT_BYTES; what was written first goes first, and `from` moves on.
 * Owner:   recent_init()'s caller calls recent_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_RECENT_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_RECENT_H

#include "coordinator/store/store.h"

#include <sys/queue.h>

enum { RECENT_BYTES = 2 << 20 };

struct recent_record;
TAILQ_HEAD(recent_records, recent_record);

struct recent {
    uint64_t from;
    uint64_t upto; /* 0: nothing is known */
    size_t bytes;
    struct recent_records records; /* in order of version */
};

void recent_init(struct recent *self);
void recent_fini(struct recent *self);

/* It may not be all any more. */
void recent_forget(struct recent *self);

/* A swap of this process raised the change number from `before`, not 0, to `change`. */
void recent_note(struct recent *self, uint64_t before, uint64_t change,
                 const struct store_swap *swaps, size_t count);

/* Does it hold all that was written after `since`, if the store's change number is `change`? */
bool recent_knows(const struct recent *self, uint64_t since, uint64_t change);

/* Records after `since`, in order of version. */
void recent_visit(const struct recent *self, uint64_t since, store_visit_fn visit, void *context);

#endif
