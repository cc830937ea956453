/* batch_ring.h - what the youngest batches of the log are called, so that peers that follow
 * are told without the log being read back.
 *
 * Bounded: the oldest entries are forgotten; what is asked of before `from` has to be read.
 * Units:   offsets of the log.
 * Errors:  without memory it forgets all it knew, and knows only what comes after.
 * Owner:   batch_ring_fini().
 * Threads: the actor's.
 */
#ifndef ORBLOOM_NODE_STORE_BATCH_RING_H
#define ORBLOOM_NODE_STORE_BATCH_RING_H

#include "node/store/storage.h"

enum {
    STORAGE_RECENT_MOST = 1 << 16, /* of 64 bytes */
    STORAGE_RECENT_TOLD = STEPS_TOLD_BATCHES,
    STORAGE_RECENT_LOOKED = 4096 /* at, for own adds, at once: some 100 us */
};

/* A batch, as one of its targets has it. */
struct batch_ring_batch {
    uint64_t offset; /* of its record */
    uint64_t filter_id;
    uint64_t slice;
    uint64_t epoch;
    uint64_t producer_id;
    uint64_t number;
    uint32_t keyset;
    uint32_t group;
    uint32_t count;
    bool repaired : 1;
    bool relayed : 1;
    bool fed : 1;
    bool partial : 1;
};

struct batch_ring {
    struct batch_ring_batch *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t first;    /* place of the oldest */
    size_t count;
    uint64_t from; /* all batches of the log from here on are known */
    uint32_t most; /* told at once */

    /* A record's targets are told together. */
    struct record_batch told[STORAGE_RECENT_TOLD + RECORD_MAX_TARGETS];
    uint64_t told_offsets[STORAGE_RECENT_TOLD + RECORD_MAX_TARGETS];
};

/* Nothing below `from` is known. */
void batch_ring_init(struct batch_ring *self, uint64_t from);
void batch_ring_fini(struct batch_ring *self);

/* It was appended at `offset` and ends at `end`. */
void batch_ring_add(struct batch_ring *self, const struct record_batch *batch, uint64_t offset,
                    uint64_t end);

/* Answer a read of the log between `from` and `to` but for the fingerprints, batches having one
 * target and no fingerprints; false: it has to be read. What is told is valid until the next
 * call. */
bool batch_ring_tell(struct batch_ring *self, struct storage_read *read, uint64_t to);

/* Which filters have batches with numbers between `from` and `to`? At most `most` of them, the
 * first ones, as they come and perhaps more than once; *next: where to go on. False: not known. */
bool batch_ring_filters(const struct batch_ring *self, uint64_t from, uint64_t to, uint64_t *ids,
                        size_t most, size_t *count, uint64_t *next);

/* As storage_recall_own(). */
bool batch_ring_own(const struct batch_ring *self, const struct storage_own *own, uint64_t from,
                    uint64_t to, uint64_t *next, bool *found);

#endif
