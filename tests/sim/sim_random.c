/* Mixes seed and stream into a state, and draws from it. */
#include "tests/sim/sim_random.h"

#include "tests/support/random.h"

#include <assert.h>

uint64_t sim_random_next(struct sim_random *self)
{
    return random_next(&self->state);
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
    return random_below(&self->state, bound);
}

uint64_t sim_random_between(struct sim_random *self, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + sim_random_below(self, high - low + 1);
}

bool sim_random_chance(struct sim_random *self, uint32_t permille)
{
    return random_chance(&self->state, permille);
}
