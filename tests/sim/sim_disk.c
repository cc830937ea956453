#include "tests/sim/sim_disk.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>

enum {
    SYNC_LEAST_US = 60,
    SYNC_MOST_US = 400,
    SLOW_MOST_US = 120000,
};

/* ---- the table of files ---- */

struct sim_file *sim_disk_file(const struct sim_disk *self, uint32_t number)
{
    assert(number > 0 && number <= self->nfiles && self->files[number - 1] != NULL);
    return self->files[number - 1];
}

uint32_t sim_disk_add_file(struct sim_disk *self, struct sim_file *file)
{
    size_t at = 0;

    while (at < self->nfiles && self->files[at] != NULL) {
        at++;
    }
    if (at == self->nfiles) {
        self->files = sim_memory_reserve(self->files, &self->capacity, ++self->nfiles,
                                         sizeof *self->files);
    }
    self->files[at] = file;
    return (uint32_t)at + 1;
}

static bool is_open(const struct sim_disk *self, uint32_t number)
{
    bool open = false;

    for (size_t i = 0; i < SIM_MAX_HANDLES; i++) {
        open = open || self->handles[i] == number;
    }
    return open;
}

void sim_disk_collect(struct sim_disk *self)
{
    for (uint32_t number = 1; number <= self->nfiles; number++) {
        if (self->files[number - 1] != NULL && !is_open(self, number) &&
            !sim_folder_refers(&self->folder, number)) {
            sim_file_free(&self->files[number - 1]);
        }
    }
}

uint64_t sim_disk_used(const struct sim_disk *self)
{
    uint64_t used = 0;

    for (size_t i = 0; i < self->nfiles; i++) {
        used += self->files[i] != NULL ? self->files[i]->seen.size : 0;
    }
    return used;
}

/* ---- life ---- */

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
    *self = (struct sim_disk){.clock_us = clock_us, .size_bytes = UINT64_MAX};
    sim_random_init(&self->random, seed, stream);
    self->pace = draw_pace(&self->random);
    self->kernel_boot = sim_random_next(&self->random);
    self->interface = sim_disk_operations(self);
}

void sim_disk_fini(struct sim_disk *self)
{
    for (size_t i = 0; i < self->nfiles; i++) {
        sim_file_free(&self->files[i]);
    }
    heap_free(self->files);
    sim_folder_fini(&self->folder);
    sim_disk_copy_free(&self->copy);
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
    memset(self->handles, 0, sizeof self->handles);
    self->attached = false;
    self->in_job = false;
    self->spent_us = 0;
    self->crashed = false;
    self->fault = SIM_DISK_GOOD;
    self->rolling = 0;
    self->merging = 0;
    sim_disk_collect(self);
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
