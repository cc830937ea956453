/* proto_sample_values.h - what samples of frames are filled with: see proto_samples.h. */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_SAMPLE_VALUES_H
#define ORBLOOM_TESTS_UNIT_PROTO_SAMPLE_VALUES_H

#include "proto/codec.h"

#include <stdint.h>
#include <string.h>

enum sample_size { SAMPLE_EMPTY, SAMPLE_FULL, SAMPLE_LARGE };

static const char *const sample_name = "caf\xc3\xa9.1:x_y-z";

static inline uint64_t sample_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t sample_count(enum sample_size size, size_t full, size_t large)
{
    return size == SAMPLE_EMPTY ? 0 : size == SAMPLE_FULL ? full : large;
}

/* `count` random bits, spare ones 0. */
static inline void sample_plane(uint64_t *words, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < (count + 63) / 64; i++) {
        words[i] = sample_random(&seed);
    }
    if (count % 64 != 0) {
        words[count / 64] &= ((uint64_t)1 << (count % 64)) - 1;
    }
}

#endif
