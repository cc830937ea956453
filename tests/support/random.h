/* random.h - reproducible random numbers for tests: print the seed where one fails.
 *
 * Source:  SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators").
 */
#ifndef ORBLOOM_TESTS_SUPPORT_RANDOM_H
#define ORBLOOM_TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Of 0 to below - 1; slightly uneven, which tests do not mind. */
static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
    return random_next(state) % below;
}

static inline bool random_chance(uint64_t *state, uint32_t permille)
{
    return permille > 0 && random_below(state, 1000) < permille;
}

#endif
