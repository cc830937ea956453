/* bits.h - a classic Bloom filter in one Redis string: what people build from SETBIT
 * and GETBIT. 7 positions a key in 10 bits a key, by double hashing.
 *
 * Shape:   position p is bit 7 - p % 8 of byte p / 8, as Redis counts.
 * Threads: any; no state.
 */
#ifndef ORBLOOM_CLI_BENCH_BITS_H
#define ORBLOOM_CLI_BENCH_BITS_H

#include "cli/bench/keys.h"

enum { BITS_HASHES = 7, BITS_A_KEY = 10 };

/* A Redis string has at most 512 MiB. */
static const uint64_t bits_most = UINT64_C(1) << 32;

/* Bits for so many keys, in whole bytes. */
uint64_t bits_for_keys(uint64_t keys);

/* One hash a key, of keys that lie one after the other. */
enum { BITS_BATCH = 1024 };
void bits_hash(const uint8_t *keys, uint32_t count, uint64_t hashes[BITS_BATCH]);

void bits_positions(uint64_t hash, uint64_t bits, uint64_t positions[BITS_HASHES]);

/* A bitmap that holds keys 0 .. keys - 1; NULL: no memory. heap_pages_free() it. */
uint8_t *bits_build(uint64_t keys, uint64_t bits);

#endif
