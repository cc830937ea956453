/* sim_random.h - the only source of chance in the simulator: a stream of numbers from a seed.
 *
 * Streams of one seed are independent, so that a draw more in one part (a process, the
 * network, the load) does not shift what the others draw.
 *
 * Threads: none.
 * Source:  splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
 *          OOPSLA 2014).
 */
#ifndef ORBLOOM_TESTS_SIM_RANDOM_H
#define ORBLOOM_TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
    uint64_t state;
};

void sim_random_init(struct sim_random *self, uint64_t seed, uint64_t stream);
uint64_t sim_random_next(struct sim_random *self);

/* 0 .. bound - 1; bound > 0. The bias is below bound / 2^64. */
uint64_t sim_random_below(struct sim_random *self, uint64_t bound);

/* low .. high, both included. */
uint64_t sim_random_between(struct sim_random *self, uint64_t low, uint64_t high);

bool sim_random_chance(struct sim_random *self, uint32_t permille);

#endif
