/* reply.h - what a Redis server answers about one batch, reply by reply.
 *
 * hiredis' reader takes replies apart and calls these functions, which write answers straight
 * into the batch: no reply is ever built as objects. A reply of another kind than the batch's
 * commands give is `wrong`: the peer is no such server.
 *
 * Owner:   reply_reader_create()'s caller calls redisReaderFree(); `self` must outlive it.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_REPLY_H
#define ORBLOOM_CLI_BENCH_REPLY_H

#include "cli/bench/resp.h"

#include <hiredis/hiredis.h>

enum { REPLY_TEXT_BYTES = 200 };

struct reply_taker {
    enum redis_method method;
    enum orbloom_operation operation;
    uint32_t count;   /* keys of the batch; 0: no batch, so that any reply is wrong */
    uint32_t left;    /* replies still to come */
    bool is_array;    /* the reply is an array of integers, not integers alone */
    uint8_t *answers; /* one a key; borrowed */
    uint32_t key;     /* the next reply is about */
    uint32_t hash;    /* bits: which of its positions */
    uint64_t added;   /* set, add: how many were new */
    bool wrong;
    char error[REPLY_TEXT_BYTES]; /* the first error reply; "": none */
};

struct redisReader *reply_reader_create(struct reply_taker *self);

/* Await the replies of a batch; all its answers are unknown so far. */
void reply_begin(struct reply_taker *self, enum orbloom_operation operation, uint32_t count,
                 uint8_t *answers);

/* A whole reply was read. Returns whether it was the batch's last. */
bool reply_end_one(struct reply_taker *self);

#endif
