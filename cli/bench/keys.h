/* keys.h - the keys of a load: URLs of 60 bytes that differ in a number.
 *
 * Key number n is the same in every run. A load sends known and fresh ones in turn: position 0
 * is known 0, position 1 the first fresh one, position 2 known 1...
 *
 * Threads: any; no state.
 */
#ifndef ORBLOOM_CLI_BENCH_KEYS_H
#define ORBLOOM_CLI_BENCH_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_KEY_BYTES = 60 };

struct key_choice {
    uint64_t known;  /* numbers below are known, taken over and over */
    uint64_t fresh;  /* number of the first fresh key */
    bool only_fresh; /* no known ones between */
};

/* The whole key, with number 0. */
void key_write(uint8_t key[BENCH_KEY_BYTES]);

/* Replace the number of a written key. */
void key_set_number(uint8_t key[BENCH_KEY_BYTES], uint64_t number);

/* Give `count` written keys, `stride` bytes apart, the numbers of positions `first` and up. */
void key_choose(const struct key_choice *choice, uint64_t first, uint8_t *keys, size_t stride,
                uint32_t count);

/* How many of the positions first .. first + count - 1 are known. */
uint32_t key_count_known(const struct key_choice *choice, uint64_t first, uint32_t count);

#endif
