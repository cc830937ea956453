/* store.h - where documents live: get, multi-key compare-and-swap, and what changed since.
 *
 * Every write raises the store's change number, by one or more, and stamps the keys that it
 * wrote with it, so "everything after change 41" is a complete, resumable answer. Keys that a swap
 * removes are not in it: who must hear of that is told by what the same swap writes. The first
 * key of a swap is never removed, so that the newest change is always a record's.
 *
 * Keys:    short printable text ("filter/7"); values: any bytes up to STORE_MAX_VALUE_BYTES.
 * Errors:  STATUS_NOT_FOUND; STATUS_CONFLICT when any expectation fails (nothing is written
 *          then); STATUS_IO with a logged reason when the store cannot be read or written: whether
 *          a swap that returns it was executed, or will be soon, shows only when the keys are read
 *          again. So callers do not repeat it but decide anew on what they find, as after
 *          STATUS_CONFLICT; an operator's retry finds what was made, and joins it.
 * Durable: a compare-and-swap that returned STATUS_OK survives power loss.
 * Owner:   values handed to callbacks are borrowed for the call.
 * Threads: one thread at a time uses a store, but for moved(), interrupt() and room(); several
 * processes may share what is behind it.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_STORE_H
#define ORBLOOM_COORDINATOR_STORE_STORE_H

#include "base/buffer.h"
#include "base/span.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORE_KEY_BYTES = 160,
    STORE_MAX_VALUE_BYTES = 1 << 20,
    STORE_MAX_SWAPS = 8, /* keys that one swap writes */
    STORE_MAX_KEYS = 64, /* that it writes and removes */
};

/* One key of a compare-and-swap. */
struct store_swap {
    const char *key;
    uint64_t
        expected; /* the key's version now: the change number that wrote it; 0: it must not exist */
    struct span value; /* the new value */
    bool remove;       /* the key goes, and `value` says nothing */
};

/* How large what is behind a store is, in bytes, and may become. */
struct store_room {
    uint64_t bytes;  /* 0: not known */
    uint64_t in_use; /* ... of these; the rest is free within */
    uint64_t quota;  /* past which nothing is written any more; 0: none, or not known */
};

/* Called once a record; return false to stop. */
typedef bool (*store_visit_fn)(void *context, const char *key, uint64_t version, struct span value);

struct store {
    void *self;

    /* Append the key's value to `value`, its version to *version. */
    enum status (*get)(void *self, const char *key, struct buffer *value, uint64_t *version);

    /* Write all of them or none. *change is the new change number, also the keys' version. */
    enum status (*swap)(void *self, const struct store_swap *swaps, size_t count, uint64_t *change);

    /* Records written after change `since`, in order of version. */
    enum status (*since)(void *self, uint64_t since, store_visit_fn visit, void *context);

    /* The store's change number; 0 when it is empty. */
    enum status (*change)(void *self, uint64_t *change);

    /* May anything have been written since this was last asked, by whoever? Costs nothing. NULL:
     * the store does not tell by itself. */
    bool (*moved)(void *self);

    /* From any thread: the operation under way, and all that follow, end soon, with STATUS_IO where
     * they can't be carried out at once. NULL: no operation takes long. */
    void (*interrupt)(void *self);

    /* Why the last operation that failed did so, and what helps, for people; valid until the next
     * operation. NULL: the store does not tell. */
    const char *(*reason)(void *self);

    /* As it was when that was last looked at. From any thread; waits for nothing. NULL: the store
     * does not tell. */
    struct store_room (*room)(void *self);
};

#endif
