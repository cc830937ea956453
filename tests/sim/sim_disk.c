/* Lets a disk in memory take time and fail, as is drawn from the seed. */
#include "tests/sim/sim_disk.h"

#include "tests/sim/sim_random.h"

#include <assert.h>
#include <string.h>

enum {
    SYNC_LEAST_US = 60,
    SYNC_MOST_US = 400,
    SLOW_MOST_US = 120000,
};

static struct sim_disk_pace draw_pace(struct sim_random *random)
{
    static const uint32_t slows[] = {0, 5, 5, 40};

    return (struct sim_disk_pace){
        .sync_us = sim_random_between(random, SYNC_LEAST_US, SYNC_MOST_US),
        .slow_permille = slows[sim_random_below(random, sizeof slows / sizeof slows[0])],
        .slow_us = sim_random_between(random, SYNC_MOST_US, SLOW_MOST_US),
    };
}

void sim_disk_init(struct sim_disk *self, uint64_t seed, uint64_t stream, const uint64_t *clock_us)
{
    struct sim_random random;

    *self = (struct sim_disk){.clock_us = clock_us};
    sim_random_init(&random, seed, stream);
    self->pace = draw_pace(&random);
    self->kernel_boot = sim_random_next(&random);
    memory_disk_init(&self->memory);
    self->memory.random = random.state;
    self->memory.watch = sim_disk_watch(self);
}

void sim_disk_fini(struct sim_disk *self)
{
    memory_disk_fini(&self->memory);
    sim_disk_forget_copy(self);
}

void sim_disk_attach(struct sim_disk *self)
{
    assert(!self->attached);
    self->attached = true;
    self->rolls_until_us = 0;
    self->merges_until_us = 0;
}

void sim_disk_freeze(struct sim_disk *self)
{
    assert(self->attached);
    self->crashed = true;
}

void sim_disk_detach(struct sim_disk *self)
{
    assert(self->attached);
    self->attached = false;
    self->in_job = false;
    self->spent_us = 0;
    self->crashed = false;
    self->fault = SIM_DISK_GOOD;
    self->rolling = 0;
    self->merging = 0;
    memory_disk_kill(&self->memory);
}

void sim_disk_job_begins(struct sim_disk *self)
{
    assert(!self->in_job);
    self->in_job = true;
    self->spent_us = 0;
}

uint64_t sim_disk_job_ends(struct sim_disk *self)
{
    assert(self->in_job);
    self->in_job = false;
    return self->spent_us;
}
