/* resp.h - batches of keys as Redis commands.
 *
 *   set        SADD / SMISMEMBER       one command a batch
 *   bloom      BF.MADD / BF.MEXISTS    one command a batch (RedisBloom)
 *   bloom-one  BF.ADD / BF.EXISTS      one command a key
 *   bits       SETBIT / GETBIT         seven commands a key, see bits.h
 *
 * Keys are kept inside the commands, so that only their numbers are written anew; for `bits`
 * they lie before the commands, which resp_finish() writes.
 *
 * Owner:   resp_batch_init()'s caller calls resp_batch_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_RESP_H
#define ORBLOOM_CLI_BENCH_RESP_H

#include "client/orbloom.h"

#include <stdbool.h>

enum redis_method { REDIS_SET, REDIS_BITS, REDIS_BLOOM, REDIS_BLOOM_ONE };

struct resp_plan {
    enum redis_method method;
    const char *key; /* the Redis key; at most 128 bytes */
    uint64_t bits;   /* of the bitmap */
};

struct resp_batch {
    uint8_t *bytes;
    uint32_t most;                    /* keys */
    enum orbloom_operation operation; /* that it is laid out for; 0: none */
    uint8_t *keys;                    /* key i begins at keys + i * stride */
    size_t stride;
    size_t begin; /* of what is to be sent, in bytes */
    size_t end;
};

/* "SMISMEMBER". */
const char *resp_command(enum redis_method method, enum orbloom_operation operation);

/* Replies that a batch of `count` keys brings, and whether the one reply is an array. */
uint32_t resp_replies(enum redis_method method, uint32_t count);
bool resp_is_array(enum redis_method method, enum orbloom_operation operation);

bool resp_batch_init(struct resp_batch *self, const struct resp_plan *plan, uint32_t most);
void resp_batch_fini(struct resp_batch *self);

/* Make it a batch of `count` keys, all but their numbers in place. */
void resp_lay_out(struct resp_batch *self, const struct resp_plan *plan,
                  enum orbloom_operation operation, uint32_t count);

/* The numbers are written: bytes begin .. end - 1 are the commands. */
void resp_finish(struct resp_batch *self, const struct resp_plan *plan, uint32_t count);

#endif
