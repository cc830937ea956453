/* round.h - a stretch of a copy: the other site is asked first which keys of it are there. Pure.
 *
 *   GATHERS --round_close()--> OFFERED --round_take()--> OFFERED, finer --> LEFT --> round_clear()
 *
 * Keys are gathered range by range, ascending. What is offered are digests: of the 64 parts of each
 * range that has some of the keys, a range being named by the bits that its fingerprints share. The
 * keys of parts that the other site holds, which has the very same digest there, are dropped; what
 * is in the other parts is offered once more, in 64 parts each; what is left after that is to be
 * sent. Whatever is not offered, or not answered, is left as well: only a part that is held is ever
 * dropped.
 *
 * A range is offered once all of it has been gathered. One that has not, or in which the other site
 * has keys that are not here, has another digest there, and is sent: that costs bytes, and loses
 * nothing. Sets that are unequal have one digest by chance once in 2^64.
 *
 * Units:   8 bytes a key; 512 bytes of digests a range.
 * Errors:  false: memory is out.
 * Owner:   round_clear()
 * Threads: none.
 */
#ifndef ORBLOOM_LINK_SENT_ROUND_H
#define ORBLOOM_LINK_SENT_ROUND_H

#include "base/status.h"
#include "proto/site/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ROUND_KEYS = 1 << 19,   /* are enough for an offer */
    ROUND_PART_KEYS = 1024, /* so many a part, or up to twice as many, are offered first, where
                               shards are that large */
    ROUND_UNOFFERED = 255,
};

enum round_state { ROUND_GATHERS = 0, ROUND_OFFERED, ROUND_LEFT };

struct round {
    enum round_state state;
    uint64_t *keys;
    size_t nkeys;
    size_t room;
    size_t at;    /* LEFT: so many are sent */
    size_t total; /* that were offered first */

    uint32_t least; /* keys a range that are worth an offer */
    uint32_t bits;  /* of the ranges that are offered */
    uint64_t *prefixes;
    size_t nprefixes;
    size_t prefixes_room;
    uint64_t *digests; /* PULL_PARTS a range */
    size_t digests_room;
};

void round_clear(struct round *self);

/* How long prefixes of ranges should be, by so many keys from `first` to `last`; ROUND_UNOFFERED: a
 * range of one shard would have fewer than `least`, so that they are better sent. */
uint32_t round_bits(uint64_t first, uint64_t last, size_t nkeys, uint32_t shard_bits,
                    uint32_t least);

/* More of the keys, above those before. */
MUST_USE bool round_gather(struct round *self, const uint64_t *keys, size_t count);

/* All keys up to `last` are gathered. Those of whole ranges are offered, of `most` at once; the
 * others go to `rest`, which is empty. Of no whole range, or without memory for an offer: all are
 * LEFT. False: nothing was done. */
MUST_USE bool round_close(struct round *self, uint32_t bits, uint32_t least, uint32_t most,
                          uint64_t last, struct round *rest);

/* The answer, a word for each range. Then it is OFFERED once more, or what the other site lacks is
 * LEFT; that also where there is no memory for another offer. */
void round_take(struct round *self, const uint64_t *held);

/* There is no answer: all of it is to be sent. */
void round_leave(struct round *self);

#endif
