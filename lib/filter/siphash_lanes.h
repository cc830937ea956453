/* siphash_lanes.h - private to siphash_*.c: the kernel, in vectors of four lanes.
 *
 * Compiled once for each instruction set. Before including it, define
 *   LANES_TARGET   the attribute that names the instruction set
 *   LANES_VECTORS  how many vectors are interleaved: 2 or 4
 */
#include "filter/siphash.h"

#include <string.h>

/* Always: the loops over vectors must be unrolled, for the state to stay in registers. */
#define LANES_INLINE LANES_TARGET __attribute__((always_inline)) static inline
#define EACH_VECTOR  _Pragma("GCC unroll 4") for (size_t i = 0; i < nvectors; i++)

enum { LANES_OF_VECTOR = 4, LANES = LANES_VECTORS * LANES_OF_VECTOR };

typedef uint64_t lanes __attribute__((vector_size(32)));
typedef uint32_t halves __attribute__((vector_size(32)));
typedef uint8_t octets __attribute__((vector_size(32)));

/* v0 .. v3 of the paper. */
struct lanes_state {
    lanes v0[LANES_VECTORS];
    lanes v1[LANES_VECTORS];
    lanes v2[LANES_VECTORS];
    lanes v3[LANES_VECTORS];
};

/* One instruction with AVX-512, three with AVX2. */
LANES_INLINE lanes rotate(lanes value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* One with either. */
LANES_INLINE lanes rotate_32(lanes value)
{
    halves moved = (halves)value;

    return (lanes)__builtin_shufflevector(moved, moved, 1, 0, 3, 2, 5, 4, 7, 6);
}

LANES_INLINE lanes rotate_16(lanes value)
{
    octets moved = (octets)value;

    return (lanes)__builtin_shufflevector(moved, moved, 6, 7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10,
                                          11, 12, 13, 22, 23, 16, 17, 18, 19, 20, 21, 30, 31, 24,
                                          25, 26, 27, 28, 29);
}

LANES_INLINE void lanes_rounds(struct lanes_state *s, size_t nvectors, size_t rounds)
{
    _Pragma("GCC unroll 4") for (size_t round = 0; round < rounds; round++)
    {
        EACH_VECTOR
        {
            s->v0[i] += s->v1[i];
            s->v2[i] += s->v3[i];
        }
        EACH_VECTOR
        {
            s->v1[i] = rotate(s->v1[i], 13);
            s->v3[i] = rotate_16(s->v3[i]);
        }
        EACH_VECTOR
        {
            s->v1[i] ^= s->v0[i];
            s->v3[i] ^= s->v2[i];
            s->v0[i] = rotate_32(s->v0[i]);
        }
        EACH_VECTOR
        {
            s->v2[i] += s->v1[i];
            s->v0[i] += s->v3[i];
        }
        EACH_VECTOR
        {
            s->v1[i] = rotate(s->v1[i], 17);
            s->v3[i] = rotate(s->v3[i], 21);
        }
        EACH_VECTOR
        {
            s->v1[i] ^= s->v2[i];
            s->v3[i] ^= s->v0[i];
            s->v2[i] = rotate_32(s->v2[i]);
        }
    }
}

LANES_INLINE void lanes_compress(struct lanes_state *s, size_t nvectors, const lanes *words)
{
    EACH_VECTOR
    {
        s->v3[i] ^= words[i];
    }
    lanes_rounds(s, nvectors, 2);
    EACH_VECTOR
    {
        s->v0[i] ^= words[i];
    }
}

LANES_INLINE void lanes_init(struct lanes_state *s, size_t nvectors, const uint64_t secret[2])
{
    EACH_VECTOR
    {
        const lanes zero = {0};

        s->v0[i] = zero + (secret[0] ^ UINT64_C(0x736f6d6570736575));
        s->v1[i] = zero + (secret[1] ^ UINT64_C(0x646f72616e646f6d));
        s->v2[i] = zero + (secret[0] ^ UINT64_C(0x6c7967656e657261));
        s->v3[i] = zero + (secret[1] ^ UINT64_C(0x7465646279746573));
    }
}

LANES_INLINE uint64_t lanes_word(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

LANES_INLINE void lanes_run(const uint64_t secret[2], const struct siphash_group *group,
                            size_t nwords, size_t nvectors, uint64_t *hashes)
{
    struct lanes_state s;
    lanes words[LANES_VECTORS];

    lanes_init(&s, nvectors, secret);
    for (size_t at = 0; at < nwords * sizeof(uint64_t); at += sizeof(uint64_t)) {
        EACH_VECTOR
        {
            const uint8_t *const *keys = &group->keys[i * LANES_OF_VECTOR];

            words[i] = (lanes){lanes_word(keys[0] + at), lanes_word(keys[1] + at),
                               lanes_word(keys[2] + at), lanes_word(keys[3] + at)};
        }
        lanes_compress(&s, nvectors, words);
    }
    EACH_VECTOR
    {
        memcpy(&words[i], &group->tails[i * LANES_OF_VECTOR], sizeof words[i]);
    }
    lanes_compress(&s, nvectors, words);
    EACH_VECTOR
    {
        s.v2[i] ^= 0xff;
    }
    lanes_rounds(&s, nvectors, 4);
    EACH_VECTOR
    {
        words[i] = s.v0[i] ^ s.v1[i] ^ s.v2[i] ^ s.v3[i];
        memcpy(&hashes[i * LANES_OF_VECTOR], &words[i], sizeof words[i]);
    }
}

LANES_TARGET static void lanes_hash(const uint64_t secret[2], const struct siphash_group *group,
                                    size_t words, size_t count, uint64_t *hashes)
{
    if (count <= LANES_OF_VECTOR) {
        lanes_run(secret, group, words, 1, hashes);
    } else if (LANES_VECTORS == 2 || count <= 2 * LANES_OF_VECTOR) {
        lanes_run(secret, group, words, 2, hashes);
    } else {
        lanes_run(secret, group, words, LANES_VECTORS, hashes);
    }
}
