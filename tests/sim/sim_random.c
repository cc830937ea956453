#include "tests/sim/sim_random.h"

#include <assert.h>

uint64_t sim_random_next(struct sim_random *self)
{
    uint64_t z = self->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void sim_random_init(struct sim_random *self, uint64_t seed, uint64_t stream)
{
    struct sim_random mix = {.state = seed};

    mix.state = sim_random_next(&mix) ^ stream * UINT64_C(0xda942042e4dd58b5);
    self->state = sim_random_next(&mix);
}

uint64_t sim_random_below(struct sim_random *self, uint64_t bound)
{
    assert(bound > 0);
    return sim_random_next(self) % bound;
}

uint64_t sim_random_between(struct sim_random *self, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + sim_random_below(self, high - low + 1);
}

bool sim_random_chance(struct sim_random *self, uint32_t permille)
{
    return permille > 0 && sim_random_below(self, 1000) < permille;
}
